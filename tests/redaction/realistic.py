"""Secrets as they are met in the transcripts of agents, made up: each is put together here, so that no scanner finds one.

A case is what kind it is, the text it is met in, and the secret that must not be left over.
"""

import base64
import random
import string
from typing import NamedTuple

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    """One secret where it is met."""

    kind: str
    text: str
    secret: str


_drawn = random.Random(63)
_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def _body(length: int, letters: str = _LETTERS) -> str:
    """Random characters, with a digit among the first, as nearly all that are drawn have."""
    return _drawn.choice(letters) + "7" + "".join(_drawn.choice(letters) for _ in range(length - 2))


def _url_safe(length: int) -> str:
    return _body(length - 1, _LETTERS + "_-") + "x"


def _hex(length: int) -> str:
    return _body(length, _HEX)


def _base64(length: int) -> str:
    return base64.b64encode(_body(length).encode()).decode()


def _uuid() -> str:
    return "-".join(_hex(length) for length in (8, 4, 4, 4, 12))


_TOKENS = {
    "Anthropic": [
        "sk-ant-" + "api03-" + _url_safe(93) + "AA",
        "sk-ant-" + "oat01-" + _url_safe(80),
        "sk-ant-" + "admin01-" + _url_safe(93),
    ],
    "OpenAI": ["sk-" + "proj-" + _url_safe(120), "sk-" + _body(48), "sk-" + "svcacct-" + _url_safe(60)],
    "OpenRouter": ["sk-" + "or-v1-" + _hex(64)],
    "DeepSeek": ["sk-" + _hex(32)],
    "Groq": ["gsk" + "_" + _body(52)],
    "xAI": ["xai" + "-" + _body(80)],
    "Perplexity": ["pplx" + "-" + _body(48)],
    "NVIDIA": ["nvapi" + "-" + _url_safe(64)],
    "Cerebras": ["csk" + "-" + _body(48).lower()],
    "Together": ["tgp_v1" + "_" + _url_safe(43)],
    "Fireworks": ["fw" + "_" + _body(24)],
    "Replicate": ["r8" + "_" + _body(37)],
    "Pinecone": ["pcsk" + "_" + _body(60)],
    "Tavily": ["tvly" + "-dev-" + _body(32)],
    "Jina": ["jina" + "_" + _hex(32) + _url_safe(20)],
    "Firecrawl": ["fc" + "-" + _hex(32)],
    "LangSmith": ["lsv2" + "_pt_" + _hex(32) + "_" + _hex(10)],
    "Langfuse": ["sk-lf" + "-" + _uuid()],
    "ElevenLabs": ["sk" + "_" + _hex(48)],
    "Google": [
        "AI" + "za" + _body(35),
        "ya29" + ".a0" + _url_safe(120),
        "GOC" + "SPX-" + _url_safe(28),
        "1//0" + _url_safe(60),
    ],
    "AWS": [
        "AK" + "IA" + _body(16, string.ascii_uppercase + "234567"),
        "AS" + "IA" + _body(16, string.ascii_uppercase + "234567"),
    ],
    "Bedrock": ["AB" + "SK" + _base64(96)],
    "Azure": [_body(3) + "8Q~" + _body(34)],
    "Alibaba Cloud": ["LT" + "AI" + "5t" + _body(18)],
    "GitHub": [f"gh{letter}" + "_" + _body(36) for letter in "posur"] + ["github" + "_pat_" + _body(22) + "_" + _body(59)],
    "GitLab": [
        "gl" + "pat-" + _url_safe(20),
        "gl" + "dt-" + _url_safe(20),
        "gl" + "rt-" + _url_safe(20),
        "gl" + "ptt-" + _hex(40),
    ],
    "Slack": [
        "xox" + f"b-{_body(11, string.digits)}-{_body(12, string.digits)}-" + _body(24),
        "xo" + "xp-12-34-" + _hex(32),
        "xa" + "pp-1-A0-12-" + _hex(64),
    ],
    "Discord": ["M" + _body(23) + "." + _body(6) + "." + _url_safe(38)],
    "Telegram": [_body(10, string.digits) + ":" + "AA" + _url_safe(33)],
    "Stripe": ["sk" + "_live_" + _body(24), "rk" + "_test_" + _body(24), "whsec" + "_" + _body(32)],
    "Square": ["sq0" + "atp-" + _url_safe(22), "sq0" + "csp-" + _url_safe(43)],
    "PayPal": ["access_" + "token$production$" + _hex(16) + "$" + _hex(32)],
    "Shopify": ["shp" + "at_" + _hex(32), "shp" + "ss_" + _hex(32), "shp" + "ca_" + _hex(32)],
    "Twilio": ["S" + "K" + _hex(32)],
    "SendGrid": ["S" + "G." + _url_safe(22) + "." + _url_safe(43)],
    "Mailgun": ["key" + "-" + _hex(32)],
    "Mailchimp": [_hex(32) + "-us" + "21"],
    "Brevo": ["xkey" + "sib-" + _hex(64) + "-" + _body(16)],
    "Resend": ["re" + "_" + _body(8) + "_" + _body(24)],
    "Hugging Face": ["hf" + "_" + _body(34, string.ascii_letters)],
    "npm": ["npm" + "_" + _body(36)],
    "PyPI": ["pypi" + "-AgEIcHlwaS5vcmc" + _url_safe(150)],
    "RubyGems": ["ruby" + "gems_" + _hex(48)],
    "crates.io": ["ci" + "o" + _body(32)],
    "Docker Hub": ["dckr" + "_pat_" + _url_safe(27), "dckr" + "_oat_" + _url_safe(32)],
    "Docker Swarm": ["SWM" + "TKN-1-" + _body(50).lower() + "-" + _body(25).lower()],
    "DigitalOcean": ["dop" + "_v1_" + _hex(64), "doo" + "_v1_" + _hex(64)],
    "Databricks": ["da" + "pi" + _hex(32)],
    "Heroku": ["HR" + "KU-" + _uuid()],
    "Netlify": ["nf" + "p_" + _body(36)],
    "Supabase": ["sb" + "p_" + _hex(40), "sb" + "_secret_" + _url_safe(31)],
    "PlanetScale": ["pscale" + "_tkn_" + _url_safe(43), "pscale" + "_pw_" + _url_safe(43)],
    "Pulumi": ["pu" + "l-" + _hex(40)],
    "Tailscale": ["ts" + "key-auth-" + _body(12) + "CNTRL-" + _body(32)],
    "OpenShift": ["sha256" + "~" + _url_safe(43)],
    "Terraform": [_body(14) + ".atlas" + "v1." + _body(67)],
    "Vault": ["hv" + "s." + _url_safe(90), "hv" + "b." + _url_safe(90)],
    "Doppler": ["dp" + ".pt." + _body(43)],
    "1Password": ["op" + "s_eyJ" + _base64(200)],
    "age": ["AGE-SECRET" + "-KEY-1" + _body(58).upper()],
    "Grafana": ["gl" + "sa_" + _body(32) + "_" + _hex(8), "gl" + "c_" + _base64(60)],
    "New Relic": ["NR" + "AK-" + _body(27).upper()],
    "Sentry": ["snt" + "rys_" + _base64(80), "snt" + "ryu_" + _hex(64)],
    "Dynatrace": ["dt0" + "c01." + _body(24).upper() + "." + _body(64).upper()],
    "SonarQube": ["sq" + "u_" + _hex(40), "sq" + "p_" + _hex(40)],
    "Notion": ["nt" + "n_" + _body(46), "secr" + "et_" + _body(43)],
    "Linear": ["lin" + "_api_" + _body(40)],
    "Figma": ["fig" + "d_" + _url_safe(40)],
    "Postman": ["PM" + "AK-" + _hex(24) + "-" + _hex(34)],
    "Atlassian": ["ATA" + "TT3" + _url_safe(180), "AT" + "BB" + _body(32)],
    "Airtable": ["pa" + "t" + _body(14) + "." + _hex(64)],
    "Asana": ["1/" + _body(16, string.digits) + ":" + _hex(32)],
    "Contentful": ["CF" + "PAT-" + _url_safe(43)],
    "CircleCI": ["CCI" + "PAT_" + _body(22) + "_" + _hex(40)],
    "Buildkite": ["bk" + "ua_" + _hex(40)],
    "Facebook": ["EA" + "A" + _body(120)],
    "Bitcoin": ["xp" + "rv" + _body(107)],
    "JSON web token": ["ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxIn0." + _url_safe(43)],
}
"""Those that are one wherever they are."""

_word, _words = "hunter2!x", "correct-horse-battery"
_key, _hexadecimal, _mixed = _body(32), _hex(40), _url_safe(43)
_user = _base64(12)

_AROUND = {
    "header": [
        (f"X-Api-Key: {_key}", _key),
        (f"x-api-key: {_hexadecimal}", _hexadecimal),
        (f"curl -H 'X-API-KEY: {_mixed}' https://example.com", _mixed),
        (f'curl -H "Authorization: Bearer {_mixed}" https://x.dev', _mixed),
        (f"Authorization: Token {_hexadecimal}", _hexadecimal),
        (f"Authorization: ApiKey {_key}", _key),
        (f"authorization: {_mixed}", _mixed),
        (f"Authorization: Basic {_user}", _user),
        (f"Proxy-Authorization: Basic {_user}", _user),
        (f"PRIVATE-TOKEN: {_key}", _key),
        (f"X-Auth-Token: {_hexadecimal}", _hexadecimal),
        (f"X-Vault-Token: {_key}", _key),
        (f"Ocp-Apim-Subscription-Key: {_hex(32)}", ""),
        (f"headers = {{'X-Api-Key': '{_key}'}}", _key),
        (f"req.setRequestHeader('X-Api-Key', '{_key}')", _key),
        (f"headers['Authorization'] = 'Bearer {_key}'", _key),
    ],
    "cookie": [
        (f"Cookie: sid={_key}; theme=dark", _key),
        (f"cookie: theme=dark; session={_mixed}", _mixed),
        (f"Set-Cookie: auth={_hexadecimal}; Path=/; HttpOnly", _hexadecimal),
        (f"curl -b 'PHPSESSID={_key}' https://x.dev", _key),
        (f'curl --cookie "connect.sid=s%3A{_key}" https://x.dev', _key),
        (f"-H 'Cookie: a=1; JSESSIONID={_key}'", _key),
    ],
    "command line": [
        (f"tool login --password {_word}", _word),
        (f"tool login --password={_words}", _words),
        (f"gh auth --token={_key}", _key),
        (f"deploy --token {_hexadecimal} --force", _hexadecimal),
        (f"tool --api-key {_key}", _key),
        (f"tool --api-key='{_key}'", _key),
        (f"aws configure set --secret-access-key {_mixed}", _mixed),
        (f"tool --client-secret {_key}", _key),
        (f"curl -u admin:{_word} https://x.dev", _word),
        (f"curl -s --user 'admin:{_words}' https://x.dev", _words),
        (f"wget --http-user=me --http-password={_word} https://x.dev", _word),
        (f"mysql -h db -u root -p{_word} shop", _word),
        (f"sshpass -p {_word} ssh me@host", _word),
        (f"sshpass -p '{_words}' ssh me@host", _words),
        (f"docker login -u me -p {_word} registry.dev", _word),
        (f"redis-cli -h cache -a {_word} ping", _word),
        (f"openssl rsa -in key.pem -passin pass:{_word}", _word),
        (f"echo {_word} | sudo -S apt update", _word),
        (f"echo '{_key}' | docker login --username me --password-stdin", _key),
        (f'"args": ["serve", "--token", "{_key}"]', _key),
        (f"ldapsearch -x -D cn=admin -w {_word} -b dc=x", _word),
        (f"net user bob /pass:{_word}", _word),
        (f"net user bob /PASSWORD:{_words} /add", _words),
        (f"net user bob {_word}", _word),
        (f"C:\\> net.exe user bob {_words} /add /domain", _words),
        (f'net user "Bob Smith" "{_word}" /add', _word),
        (f"net use Z: \\\\server\\share /user:corp\\bob {_word}", _word),
        (f"cmdkey /add:server /user:bob /pass:{_words}", _words),
        (f"wmic /node:host /user:bob /password:{_words} os get name", _words),
        (f'tool.exe /pwd:"{_words}"', _words),
        (f"xfreerdp /v:host /u:bob /p:{_word}", _word),
        (f"schtasks /create /tn job /ru bob /rp {_word}", _word),
        (f"psexec64.exe \\\\host -u bob -p {_word} cmd", _word),
    ],
    "settings": [
        (f"DB_PASSWORD={_words}", _words),
        (f"export GITHUB_TOKEN={_key}", _key),
        (f"cd app && API_KEY={_key} ./run.sh", _key),
        (f"docker run -e SLACK_TOKEN={_key} image", _key),
        (f"SECRET_KEY_BASE={_hex(64)}", ""),
        (f'declare -x NPM_TOKEN="{_key}"', _key),
        (f"JWT_SECRET='{_words}'", _words),
        (f"PGPASSWORD={_word} psql -h db", _word),
        (f"MYSQL_ROOT_PASSWORD={_words}", _words),
        (f"AWS_SECRET_ACCESS_KEY={_body(20)}/{_body(19)}", ""),
        (f"ENV API_TOKEN {_key}", _key),
        (f'$env:API_KEY = "{_key}"', _key),
        (f"set DB_PASS={_word}", _word),
        (f"ENCRYPTION_KEY={_base64(32)}", ""),
        (f"//registry.npmjs.org/:_authToken={_uuid()}", ""),
        (f"machine x.dev login me password {_word}", _word),
        (f"db.internal:5432:shop:admin:{_word}", _word),
    ],
    "configuration": [
        (f"API Key: {_key}", _key),
        (f"API key: `{_key}`", _key),
        (f"**Password:** {_word}", _word),
        (f"jwt_secret: {_words}9", f"{_words}9"),
        (f'jwt_secret: "{_words}"', _words),
        (f"  password: {_words}", _words),
        (f"spring.datasource.password={_words}", _words),
        (f"password = '{_words}'", _words),
        (f'client_secret = "{_mixed}"', _mixed),
        (f'"refresh_token": "{_mixed}"', _mixed),
        (f"<password>{_word}</password>", _word),
        (f'<add key="ApiKey" value="{_key}" />', _key),
        (f"Server=db;Database=shop;User Id=sa;Password={_word};", _word),
        (f"Server=db;Uid=sa;Pwd={_words};", _words),
        (f"AccountName=x;AccountKey={_base64(64)};EndpointSuffix=y", ""),
        (f"token: {_hexadecimal}", _hexadecimal),
        (f'os.environ["API_KEY"] = "{_key}"', _key),
        (f'apiKey: "{_key}",', _key),
        (f"private_key = {_hex(64)}", ""),
        (f'"auths": {{"registry.dev": {{"auth": "{_user}"}}}}', _user),
        (f"the password is {_word} by the way", _word),
        (f"ALTER USER app WITH PASSWORD '{_words}';", _words),
        (f"CREATE USER app IDENTIFIED BY '{_words}';", _words),
        (f'{{"name": "DB_PASSWORD", "value": "{_words}"}}', _words),
    ],
    "address": [
        (f"postgres://app:{_word}@db.internal:5432/shop", _word),
        (f"mongodb+srv://app:{_words}@cluster0.x.mongodb.net", _words),
        (f"redis://:{_word}@cache:6379/0", _word),
        (f"https://me:{_key}@github.com/x/y.git", _key),
        (f"amqps://me:{_words}@mq/vhost", _words),
        (f"https://api.x.dev/v1?api_key={_key}&q=1", _key),
        (f"https://maps.x.dev/geo?key={_mixed}", _mixed),
        (f"wss://x.dev/ws?token={_hexadecimal}", _hexadecimal),
        (f"https://x.dev/cb#x?access_token={_mixed}&state=1", _mixed),
        (f"https://x.blob.core.windows.net/y?sv=1&sig={_body(40)}%3D&se=2", ""),
        (f"https://s3.x/y?X-Amz-Signature={_hex(64)}", ""),
        (f"https://{_hex(32)}@o12.ingest.sentry.io/34", ""),
    ],
    "webhook": [
        ("https://hooks.slack.com/" + f"services/T{_body(8).upper()}/B{_body(8).upper()}/{_key}", _key),
        ("https://hooks.slack.com/" + f"workflows/T{_body(8)}/A1/1/{_key}", _key),
        ("https://discord.com/" + f"api/webhooks/{_body(18, string.digits)}/{_mixed}", _mixed),
        ("https://discordapp.com/" + f"api/v10/webhooks/{_body(18, string.digits)}/{_mixed}", _mixed),
        (
            "https://x.webhook.office.com/" + f"webhookb2/{_uuid()}@{_uuid()}/IncomingWebhook/{_hexadecimal}/{_uuid()}",
            _hexadecimal,
        ),
        ("https://hooks.zapier.com/" + f"hooks/catch/123456/{_body(8)}x/", ""),
        ("https://api.telegram.org/" + f"bot{_body(10, string.digits)}:AA{_url_safe(33)}/sendMessage", ""),
        ("https://oapi.dingtalk.com/" + f"robot/send?access_token={_hex(64)}", ""),
        ("https://open.feishu.cn/" + f"open-apis/bot/v2/hook/{_uuid()}", ""),
    ],
    "elsewhere": [
        ("    client-key-data: LS0tLS1CRUdJTiB" + f"SU0EgUFJJVkFURSB{_key}", _key),
        (f"git remote set-url origin https://{_key}@github.com/x/y", _key),
        (f"requests.get(url, auth=('me', '{_words}'))", _words),
        (f"auth=HTTPBasicAuth('me', '{_words}')", _words),
        (f'psql "host=x password={_words} user=y"', _words),
        (f"password    {_word}", _word),
        (f"API_KEY:         {_key}", _key),
        (f"密码：{_word}", _word),
        (f"密码是 {_word}", _word),
        (f"Contraseña: {_word}", _word),
        (f"npm config set //registry.npmjs.org/:_authToken {_key}", _key),
        (f"ssh-keygen -N {_word} -f key", _word),
        (f"ansible_ssh_pass={_word}", _word),
        (f"kubectl create secret generic x --from-literal=password={_words}", _words),
        (f"-d 'username=me&password={_words}'", _words),
        (f"host=github.com\nusername=me\npassword={_words}", _words),
        (f"x-amz-security-token: {_mixed}", _mixed),
        (f"+OPENAI_API_KEY={_key}", _key),
        (f"     12\tOPENAI_API_KEY={_key}", _key),
    ],
    "password hash": [
        ("root:$6$" + f"{_body(8)}${_body(86)}:19000:0:99999:7:::", ""),
        ("admin:$apr1$" + f"{_body(8)}${_body(22)}", ""),
        ("$2b$12$" + _body(53), ""),
    ],
}
"""Those that what is around them gives away. Where no secret is named, it is the longest run of characters."""


def _pem(label: str, lines: int) -> str:
    body = "\n".join(_body(64) for _ in range(lines))
    return f"-----BEGIN {label}PRIVATE" + f" KEY-----\n{body}\n-----END {label}PRIVATE" + " KEY-----"


def _cases() -> list[Case]:
    found = [Case(kind, f"see {secret} there", secret) for kind, secrets in _TOKENS.items() for secret in secrets]
    for kind, pairs in _AROUND.items():
        for text, secret in pairs:
            found.append(Case(kind, text, secret or _longest(text)))
    for label in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        key = _pem(label, 6)
        found.append(Case("private key", f"cat key.pem\n{key}\n$", key.splitlines()[3]))
    return found


def _longest(text: str) -> str:
    """The longest run of letters, digits and what random characters are written with."""
    runs = "".join(sign if sign.isalnum() or sign in "+/_-" else " " for sign in text).split()
    return max(runs, key=len)


CASES = _cases()
