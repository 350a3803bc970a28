"""The kinds of secret: told by their first characters, as services publish them, or by their shape or what is around them."""

import re
from dataclasses import dataclass
from functools import lru_cache

MARK = "[redacted "
"""How the word in the place of a secret begins. What holds it is no secret any more, so doing it again changes nothing."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret, and how it is recognised."""

    name: str
    """What is written in its place, between brackets."""
    expression: str
    """What goes is the group `secret`; what is matched besides stays. It must take linear time: whatever may be repeated and
    still fail is possessive or limited, or ends where the next one starts."""
    hints: tuple[str, ...]
    """A text that in small letters holds none of these holds no such secret. To look for them is faster than to match."""
    is_one_word: bool = False
    """Whether it has no spaces and is long, so that its hints are in a long word of the text."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed: all of them take a tenth of a second."""
        return _compiled(self.expression)

    @property
    def marker(self) -> str:
        """What is written in its place."""
        return f"{MARK}{self.name}]"


def secret_kind(name: str, expression: str, hints: str = "") -> Secret:
    """A kind, its hints in one string with `|` between them."""
    return Secret(name, expression, tuple(hints.split("|")) if hints else ())


def secret_kinds(name: str, expressions: dict[str, str]) -> tuple[Secret, ...]:
    """Kinds of one name, each by its hints and its expression."""
    return tuple(secret_kind(name, expression, hints) for hints, expression in expressions.items())


_compiled = lru_cache(maxsize=1024)(re.compile)


@dataclass(frozen=True, slots=True)
class Token:
    """A kind of secret with the words that its secrets begin with."""

    name: str
    begins: tuple[str, ...]
    body: str
    """A pattern of what follows."""

    def kind(self) -> Secret:
        """As a kind of secret. It does not begin in the middle of a word."""
        begins = "|".join(rf"{begin}(?<![A-Za-z0-9]{begin})" for begin in map(re.escape, sorted(self.begins, reverse=True)))
        hints = tuple(begin.lower() for begin in self.begins)
        return Secret(self.name, rf"(?P<secret>(?:{begins})(?:{self.body}))", hints, is_one_word=True)


_URL_SAFE = r"A-Za-z0-9_\-"
_ALPHANUMERIC = "A-Za-z0-9"
_BASE64 = "A-Za-z0-9+/="


def _random(least: int, characters: str = _URL_SAFE) -> str:
    """At least so many characters, with a digit: random characters hold one, words with hyphens seldom do."""
    return rf"(?=[A-Za-z_+/=.-]{{0,200}}[0-9])[{characters}]{{{least},}}+"


TOKENS: tuple[Token, ...] = (
    Token("private key", ("LS0tLS1CRUdJTiB",), r"(?!DRVJU)[A-Za-z0-9+/=]{20,}+"),
    Token("Anthropic key", ("sk-ant-",), r"[A-Za-z0-9_-]{16,}+"),
    Token("API key", ("sk-", "gsk_", "xai-", "pplx-", "nvapi-", "csk-", "tgp_v1_", "fw_", "pcsk_", "llx-"), _random(20)),
    Token("API key", ("r8_", "tvly-", "jina_", "fc-", "rpa_", "ctx7sk-", "sgp_", "phx_", "e2b_", "BSA"), _random(24)),
    Token("Google key", ("AIza",), r"[A-Za-z0-9_-]{35,}+"),
    Token("Google key", ("ya29.", "GOCSPX-", "AQ.Ab", "1//0"), r"[A-Za-z0-9_-]{20,}+"),
    Token("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}(?![A-Z0-9])"),
    Token("AWS key", ("ABSK", "bedrock-api-key-"), _random(40, _BASE64)),
    Token("AWS key", ("amzn.mws.",), r"[a-f0-9-]{36}"),
    Token("GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), r"[A-Za-z0-9_]{30,}+"),
    Token("GitHub token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+"),
    Token("GitLab token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-"), r"[A-Za-z0-9_.-]{20,}+"),
    Token("GitLab token", ("glagent-", "gloas-", "glsoat-", "glffct-", "GR1348941"), r"[A-Za-z0-9_.-]{20,}+"),
    Token("Slack token", tuple(f"xox{letter}-" for letter in "abceoprs"), r"[A-Za-z0-9-]{12,}+"),
    Token("Slack token", ("xapp-", "xoxe.xoxp-", "xoxe.xoxb-"), r"[A-Za-z0-9-]{20,}+"),
    Token("Stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"[A-Za-z0-9]{20,}+"),
    Token("API key", ("lsv2_pt_", "lsv2_sk_", "wandb_v1_", "esecret_", "sk_"), _random(24)),
    Token("payment key", ("sq0atp-", "sq0csp-", "FLWSECK-", "FLWSECK_TEST-", "rzp_live_"), _random(14)),
    Token("payment key", ("access_token$production$", "access_token$sandbox$"), r"[a-z0-9$]{40,}+"),
    Token("payment key", ("shippo_live_", "shippo_test_", "EZAK", "EZTK", "duffel_live_", "duffel_test_"), _random(30)),
    Token("shop token", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"), r"[A-Fa-f0-9]{32,}+"),
    Token("Hugging Face token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,}+"),
    Token("package index token", ("npm_",), r"[A-Za-z0-9_]{36,}+"),
    Token("package index token", ("pypi-",), r"[A-Za-z0-9_-]{50,}+"),
    Token("package index token", ("rubygems_", "CLOJARS_", "oy2", "cio"), _random(32, _ALPHANUMERIC)),
    Token("package index token", ("AKCp", "cmVmd"), _random(59, _ALPHANUMERIC)),
    Token("Docker token", ("dckr_pat_", "dckr_oat_", "SWMTKN-1-"), r"[A-Za-z0-9_-]{20,}+"),
    Token("SendGrid key", ("SG.",), r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    Token("mail key", ("xkeysib-", "xsmtpsib-", "key-"), r"[a-f0-9]{32,}+(?:-[A-Za-z0-9]++)?"),
    Token("mail key", ("re_",), r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}+"),
    Token("cloud token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{40,}+"),
    Token("cloud token", ("dapi", "dkea", "dose"), r"[a-f0-9]{32}(?:-\d)?(?![a-z0-9])"),
    Token("cloud token", ("HRKU-", "nfp_", "rnd_", "napi_", "vcp_", "vck_", "vca_"), _random(20)),
    Token("cloud token", ("fm2_", "fo1_"), _random(30, _BASE64 + r"_,\-")),
    Token("cloud token", ("sbp_", "sb_secret_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"), _random(20, _URL_SAFE + ".")),
    Token("cloud token", ("pul-", "tskey-", "LTAI", "AKID", "AQVN", "cfut_", "cfat_", "ico-"), _random(20)),
    Token("cloud token", ("v1.0-",), r"[a-f0-9]{24}-[a-f0-9]{100,}+"),
    Token("cloud token", ("sha256~",), r"[A-Za-z0-9_-]{43}"),
    Token("cloud token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,}+"),
    Token("vault token", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), r"[A-Za-z0-9_.-]{30,}+"),
    Token("vault token", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]{40,}+"),
    Token("vault token", ("A3-",), r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){3,5}"),
    Token("vault token", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}+"),
    Token("monitoring key", ("glc_", "glsa_", "eyJrIjoi"), _random(32, _BASE64 + "_")),
    Token("monitoring key", ("NRAK-", "NRII-", "NRIQ-", "NRRA-", "sntrys_", "sntryu_"), _random(20, _BASE64 + r"_\-")),
    Token("monitoring key", ("dt0c01.", "dt0s16.", "dt0s02."), r"[A-Z0-9]{8,}+\.[A-Z0-9]{32,}+"),
    Token("monitoring key", ("hcaik_", "hcxik_", "hcamk_", "squ_", "sqp_", "sqa_"), _random(32)),
    Token("workspace token", ("ntn_", "secret_", "lin_api_", "lin_oauth_", "figd_", "figo_", "PMAK-"), _random(32)),
    Token("workspace token", ("ATATT3", "ATCTT3", "ATOA", "ATBB"), _random(20, _BASE64 + r"_\-")),
    Token("workspace token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Token("workspace token", ("0/", "1/", "2/"), r"(?:[0-9]{10,20}(?:/[0-9]{10,20})?:)?[a-f0-9]{32}(?![a-f0-9])"),
    Token("workspace token", ("tfp_", "CFPAT-", "pnu_", "rdme_", "fio-u-", "sl.", "p8e-"), _random(30)),
    Token("build token", ("bkua_", "CCIPAT_", "CCIPRJ_"), _random(30)),
    Token("social token", ("EAA",), r"(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{60,}+"),
    Token("social token", ("AAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9%]{50,}+"),
    Token("wallet key", ("xprv", "nsec1"), r"[A-Za-z0-9]{50,}+"),
)
"""Each row a service or several; docs/the-record.md says which. The more telling beginnings come first."""


_IS = r"(?:\\*[\"']\]?)?\s{0,3}(?:=>|:=|[:=,])\s{0,3}\\*[\"'`]?"
"""Between the name of a header and its value: on the wire, in JSON, in code."""
_OPEN = r"(?!\[redacted |\$[A-Za-z_{(]|[<{%*]|\.{3})"
"""Not what is redacted already, nor a variable or a place to fill in."""

# --- private keys

_BEGIN, _END = (rf"-----{word} (?:[A-Z0-9]{{1,20}} ){{0,4}}PRIVATE KEY(?: BLOCK)?-----" for word in ("BEGIN", "END"))
_WHOLE_KEY = rf"(?:(?!-----BEGIN)[\s\S])*?{_END}"
_GAP = r"(?:\s|\\[nr]|[|>-])"
_BEGINNING_OF_KEY = rf"(?:{_GAP}*+[A-Za-z0-9+/=]{{30,}}+)++(?:{_GAP}++[A-Za-z0-9+/=]++)?"

_PRIVATE_KEY = secret_kind("private key", rf"(?P<secret>{_BEGIN}(?:{_WHOLE_KEY}|{_BEGINNING_OF_KEY}))", "private key")
"""A whole block, whatever is between its lines (a diff's signs, line numbers), or the beginning of one."""

# --- addresses

_WEBHOOK_HOSTS = {
    r"hooks\.slack\.com/(?:services|workflows|triggers)/": "hooks.slack.com",
    r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/": "/webhooks/",
    r"\.webhook\.office\.com/webhookb2/": "webhook.office.com",
    r"outlook\.office(?:365)?\.com/webhook/": "outlook.office",
    r"hooks\.zapier\.com/hooks/catch/": "hooks.zapier.com",
    r"maker\.ifttt\.com/trigger/[\w-]{1,60}/with/key/": "maker.ifttt.com",
    r"hook\.(?:[a-z0-9]{2,4}\.)?make\.com/": "make.com/",
    r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/": "/bot/v2/hook/",
    r"/hooks/(?=[a-z0-9]{26}(?![a-z0-9]))": "/hooks/",
}
"""Whoever knows such an address may write to its channel. The host stays, to say whose it is."""

_WEBHOOKS = (
    *(secret_kind("webhook", rf"{host}(?P<secret>[A-Za-z0-9_@/.-]{{8,}}+)", hint) for host, hint in _WEBHOOK_HOSTS.items()),
    secret_kind("webhook", r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=(?P<secret>[a-f0-9-]{30,}+)", "qyapi.weixin"),
)

_PARAMETER = rf"{_OPEN}[A-Za-z0-9%+/=_.~-]"
_SIGNATURES = "sig|signature|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token|sas|hmac"
_KEY_NAMES = "key|token|auth|code|apikey|api_key|api-key|access_token|auth_token|id_token|refresh_token|appid|subscription-key"
_PASSWORD_NAMES = "pass|pw|pwd|password|passwd|secret|client_secret|clientSecret"

_QUERY = r"[?&;](?:amp;)?"
_SIGNED, _PASSWORD = rf"=(?P<secret>{_PARAMETER}{{20,}}+)", rf"=(?P<secret>{_PARAMETER}{{4,}}+)"
_KEY = rf"=(?P<secret>(?=[A-Za-z%+/=_.~-]{{0,200}}[0-9]){_PARAMETER}{{16,}}+)"

_ADDRESSES = (
    secret_kind("password", r"://[^\s/:@\"'<>\[\]]{0,200}:(?P<secret>(?!\$[A-Z_{(]|[<{])[^\s/@\"'<>\[\]]{1,500})@", "@"),
    secret_kind("password", r"://(?P<secret>(?=[A-Za-z_.-]{0,200}[0-9])[A-Za-z0-9_.-]{20,}+)(?=@)", "@"),
    secret_kind("signature", rf"(?:{_QUERY}(?:{_SIGNATURES})|X-Amz-Signature){_SIGNED}", "sig|sas=|hmac=|x-amz"),
    secret_kind("secret", rf"[?&](?:amp;)?(?:{_KEY_NAMES}){_KEY}", _KEY_NAMES.lower().replace("|", "=|") + "="),
    secret_kind("secret", rf"[?&](?:amp;)?(?:{_PASSWORD_NAMES}){_PASSWORD}", _PASSWORD_NAMES.lower().replace("|", "=|") + "="),
)
"""In the user's part, or as a parameter."""

# --- what has a form of its own, but no word that it begins with

_SHAPES = (
    secret_kind("JSON web token", r"(?<![A-Za-z0-9_-])(?P<secret>eyJ[A-Za-z0-9_-]{10,}+(?:\.[A-Za-z0-9_-]{6,}+){1,4})", "eyj"),
    secret_kind(
        "chat bot token", r"(?P<secret>[MNO](?<![A-Za-z0-9].)[A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+)", "."
    ),
    secret_kind("chat bot token", r"(?<![0-9])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}+)", ":aa"),
    secret_kind("cloud token", r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+)", ".atlasv1."),
    secret_kind("cloud token", r"(?<![A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}+)", "q~"),
    secret_kind("mail key", r"(?<![a-z0-9-])(?P<secret>[a-f0-9]{32}-us[0-9]{1,2})(?![a-z0-9])", "-us"),
    secret_kind("phone service key", r"(?P<secret>SK(?<![A-Za-z0-9]SK)[a-f0-9]{32})(?![A-Za-z0-9])", "sk"),
    secret_kind(
        "storage key",
        r"(?:AccountKey|SharedAccessKey|SharedSecret)=(?P<secret>[A-Za-z0-9+/=]{40,}+)",
        "accountkey=|accesskey=|sharedsecret=",
    ),
    secret_kind(
        "password hash",
        r"(?P<secret>\$(?:2[abxy]|apr1|[156]|y|argon2(?:id|i|d)|pbkdf2[\w-]{0,20}|scrypt)\$[A-Za-z0-9./=,+$-]{20,}+)",
        "$2|$apr1$|$1$|$5$|$6$|$y$|$argon2|$pbkdf2|$scrypt",
    ),
)

# --- the words that a wallet is restored with

_SEED_NAME = (
    r"(?:(?:[Ss]eed|SEED|[Rr]ecovery|RECOVERY|[Bb]ackup|BACKUP|[Ss]ecret|SECRET|[Ww]allet|WALLET|[Mm]nemonic|MNEMONIC)"
    r"[ _-]?(?:[Pp]hrase|PHRASE|[Ww]ords?|WORDS?|[Ss]eed|SEED|[Ss]entence)|[Mm]nemonic|MNEMONIC|[Bb][Ii][Pp]-?39|[Ss]eed|SEED)"
)
_SEED_WORDS = r"(?:[a-z]{3,8}(?:[ \t]{0,4}[\s,;|]\s{0,3}(?:\d{1,2}[.):]?\s{0,3})?)(?=[a-z])){11,23}+[a-z]{3,8}(?![a-z])"

_SEED_PHRASE = secret_kind(
    "seed phrase",
    rf"{_SEED_NAME}[^\n\[\]]{{0,60}}?(?:[:=\"'`>]|\bis\b|\n)[\s\"'`(]{{0,6}}(?:1[.):]?\s{{0,3}})?(?P<secret>{_SEED_WORDS})",
    "seed|mnemonic|phrase|bip39|bip-39|wallet|recovery|backup",
)
"""Twelve to twenty-four short words in a row, after what says that they are one: BIP-39's words have three to eight letters."""

# --- headers, as they are sent, and as commands and code spell them

_SCHEMES = (
    "Bearer|bearer|BEARER|Basic|basic|Token|token|ApiKey|apikey|Api-Key|APIKEY|SSWS|Key|key|Bot|OAuth|GenieKey|DeepL-Auth-Key"
    "|Negotiate|NTLM|Apikey|Splunk|Klaviyo-API-Key|GoogleLogin auth="
)
_AUTHORIZATION = r"(?:[Aa]uthorization|AUTHORIZATION)"
_LETTERS = r"[A-Za-z0-9._~+/=|:-]"
_WITH_DIGIT = r"(?=[A-Za-z._~+/=|:-]{0,200}[0-9])"
_COOKIE = r"[^\s\"'\\;,\[\]]"
_COOKIES = rf"{_OPEN}[\w.!%-]{{1,100}}={_COOKIE}{{4,}}+(?:;[ \t]?[\w.!%-]{{1,100}}+={_COOKIE}*+)*+"

_HEADERS = (
    secret_kind("bearer token", rf"[Bb]earer\s{{1,3}}(?P<secret>{_OPEN}{_WITH_DIGIT}{_LETTERS}{{16,}}+)", "bearer"),
    *(
        secret_kind(name, rf"{_AUTHORIZATION}{_IS}{shown}", "authorization")
        for name, shown in (
            ("password", rf"[Bb]asic\s{{1,3}}(?P<secret>{_OPEN}[A-Za-z0-9+/=]{{8,}}+)"),
            ("authorization", rf"(?:{_SCHEMES})[\s:]{{0,3}}(?P<secret>{_OPEN}{_LETTERS}{{12,}}+)"),
            ("authorization", rf"(?P<secret>{_OPEN}{_WITH_DIGIT}{_LETTERS}{{12,}}+)"),
        )
    ),
    secret_kind("authorization", r"Digest [^\n]{0,400}?response=\\*\"?(?P<secret>[a-f0-9]{32,64}+)", "digest "),
    secret_kind("signature", r"AWS4-HMAC-SHA256 [^\n]{0,400}?Signature=(?P<secret>[a-f0-9]{64})", "aws4-hmac"),
    secret_kind("cookie", rf"(?<![A-Za-z])(?<![Ss]et-)(?:[Cc]ookie|COOKIE){_IS}(?P<secret>{_COOKIES})", "cookie"),
    secret_kind("cookie", rf"[Ss]et-[Cc]ookie{_IS}[\w.!%-]{{1,100}}=(?P<secret>{_OPEN}{_COOKIE}{{4,}}+)", "set-cookie"),
    secret_kind("cookie", rf"(?:-b(?<!\S-b)|--cookie)[ =]{{1,2}}\\*[\"']?(?P<secret>{_COOKIES})", "-b|--cookie"),
    secret_kind(
        "cookie",
        rf"(?:PHPSESSID|JSESSIONID|connect\.sid|sessionid|_session|csrftoken|laravel_session)=(?P<secret>{_OPEN}{_COOKIE}{{12,}}+)",
        "phpsessid=|jsessionid=|connect.sid=|sessionid=|_session=|csrftoken=",
    ),
)

# --- passwords that programs take beside their names

_NEAR = r"[^\n|;]{0,300}?[\s\"',]"
_TAKES = r"(?:\s{1,3}|=|\\*[\"'],\s{0,3})\\*[\"']?"
_WORD = rf"{_OPEN}(?!-)[^\s\"'\\,\[\]]"
_LONG_WORD = rf"(?P<secret>{_WORD}{{3,}}+)"
_USER_AND_PASSWORD = rf"[\w.@+-]{{1,100}}:(?P<secret>(?!\d+(?!\S)){_WORD}{{2,}}+)"
"""What is a number is a user's, not a password."""
_ACCOUNT = r"(?:\\*[\"'][^\"'\\\n]{1,100}\\*[\"']|[\w.@\\-]{1,100})"
_NO_PLAIN_WORD = r"(?!/|\d+(?!\S))(?:(?=\S{0,100}[0-9!@#^&$])|(?=\S{3,100} /[a-z]))"
"""With a sign or a digit in it, or with an option after it: `the net user experience is good` is no command."""

_COMMANDS = secret_kinds(
    "password",
    {
        "curl|wget|http|xh": (
            rf"(?:curl|wget|https?|xh)\b{_NEAR}(?:-u|--user|--proxy-user|-U|--auth|-a){_TAKES}{_USER_AND_PASSWORD}"
        ),
        "mysql": rf"mysql(?:dump|admin|import|sh)?\b{_NEAR}-p(?P<secret>{_WORD}{{3,}}+)",
        "sshpass": rf"sshpass\b{_NEAR}-p\s{{0,3}}\\*[\"']?(?P<secret>{_WORD}{{2,}}+)",
        " login": rf"(?:docker|podman|helm|az|oc|skopeo|buildah)\b[^\n|;]{{0,40}}?\blogin\b{_NEAR}-p{_TAKES}{_LONG_WORD}",
        "redis-cli": rf"redis-cli\b{_NEAR}(?:-a|--pass){_TAKES}{_LONG_WORD}",
        "ldap": rf"(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami)\b{_NEAR}-w{_TAKES}{_LONG_WORD}",
        "zip |7z |rar ": (
            rf"(?:zip|unzip|7z|rar|unrar)\b{_NEAR}(?:-P\s{{1,3}}|-p)\\*[\"']?(?P<secret>(?!assword){_WORD}{{4,}}+)"
        ),
        "ssh-keygen": rf"ssh-keygen\b{_NEAR}-[NP]{_TAKES}{_LONG_WORD}",
        ":_auth|:_password": rf":_(?:authToken|auth|password){_TAKES}(?P<secret>{_WORD}{{6,}}+)",
        "auth": (
            r"(?:auth=\(|[Bb]asic_?[Aa]uth\()\s{0,9}\\*[\"'][^\"'\n]{1,100}[\"'],\s{0,9}\\*[\"']"
            rf"(?P<secret>{_OPEN}[^\"'\\\n\[\]]{{3,}}+)"
        ),
        "pass:": rf"-pass(?:in|out|wd)?{_TAKES}pass:{_LONG_WORD}",
        "smbclient": rf"smbclient\b{_NEAR}-U{_TAKES}[\w.@\\/-]{{1,100}}%{_LONG_WORD}",
        "htpasswd": rf"htpasswd\b{_NEAR}-\w*b\w*\s+\S{{1,200}}\s+\S{{1,100}}\s+{_LONG_WORD}",
        "echo|printf": (
            rf"(?:echo|printf)\s(?:-n\s)?\\*[\"']?(?P<secret>{_WORD}{{4,}}+)\\*[\"']?\s?\|\s?"
            r"(?:sudo -S|(?:docker|podman|helm|gh|glab|npm|oc)\b[^\n|;]{0,60}(?:login|auth|secret)|passwd|chpasswd)"
        ),
        "net user |net.exe user |/user:": (
            rf"\bnet(?:\.exe)? (?:user {_ACCOUNT}|use [^\n|;]{{0,200}}?/user:{_ACCOUNT}) "
            rf"\\*[\"']?(?P<secret>{_NO_PLAIN_WORD}{_WORD}{{3,}}+)"
        ),
        "freerdp|schtasks|psexec": (
            rf"(?:freerdp3?|schtasks|psexec(?:64)?)(?:\.exe)?\b{_NEAR}(?:/p:|[/-]r?p\s{{1,3}})\\*[\"']?{_LONG_WORD}"
        ),
        "password": rf"\blogin\s{{1,4}}\S{{1,200}}\s{{1,4}}password\s{{1,4}}{_LONG_WORD}",
        ":": (
            rf"(?m:^)[\w.*-]{{1,200}}:(?:\d{{2,5}}|\*):[\w.*-]{{1,100}}:[\w.*-]{{1,100}}:"
            rf"(?P<secret>{_OPEN}[^\s:\[\]]{{3,}}+)[ \t\r]*+(?m:$)"
        ),
        "password|identified": (
            rf"(?:PASSWORD|[Pp]assword|IDENTIFIED BY|identified by|IDENTIFIED WITH \w{{1,40}} BY)\s{{1,3}}"
            rf"'(?P<secret>{_OPEN}[^'\n\[\]]{{3,}}+)'"
        ),
    },
)

PLACES: tuple[Secret, ...] = (_PRIVATE_KEY, *_WEBHOOKS, *_ADDRESSES, *_SHAPES, _SEED_PHRASE, *_HEADERS, *_COMMANDS)
