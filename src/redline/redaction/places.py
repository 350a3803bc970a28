"""Secrets that their shape or what is around them gives away: key blocks, addresses, headers, cookies, command lines."""

from redline.redaction.secret import Secret, secret_kind

__all__ = ["PLACES"]

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

_ADDRESSES = (
    secret_kind("password", r"://[^\s/:@\"'<>\[\]]{0,200}:(?P<secret>(?!\$[A-Z_{(]|[<{])[^\s/@\"'<>\[\]]{1,500})@", "@"),
    secret_kind("password", r"://(?P<secret>(?=[A-Za-z_.-]{0,200}[0-9])[A-Za-z0-9_.-]{20,}+)(?=@)", "@"),
    secret_kind(
        "signature",
        rf"(?:[?&;](?:amp;)?(?:{_SIGNATURES})|X-Amz-Signature)=(?P<secret>{_PARAMETER}{{20,}}+)",
        "sig",
        "sas=",
        "hmac=",
        "x-amz",
    ),
    secret_kind(
        "secret",
        rf"[?&](?:amp;)?(?:{_KEY_NAMES})=(?P<secret>(?=[A-Za-z%+/=_.~-]{{0,200}}[0-9]){_PARAMETER}{{16,}}+)",
        *(f"{name.lower()}=" for name in _KEY_NAMES.split("|")),
    ),
    secret_kind(
        "secret",
        rf"[?&](?:amp;)?(?:{_PASSWORD_NAMES})=(?P<secret>{_PARAMETER}{{4,}}+)",
        *(f"{name.lower()}=" for name in _PASSWORD_NAMES.split("|")),
    ),
)
"""In the user's part, or as a parameter."""

# --- what has a form of its own, but no word that it begins with

_SHAPES = (
    secret_kind("JSON web token", r"(?<![A-Za-z0-9_-])(?P<secret>eyJ[A-Za-z0-9_-]{10,}+(?:\.[A-Za-z0-9_-]{6,}+){1,4})", "eyj"),
    secret_kind(
        "chat bot token",
        r"(?P<secret>[MNO](?<![A-Za-z0-9].)[A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+)",
        ".",
    ),
    secret_kind("chat bot token", r"(?<![0-9])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}+)", ":aa"),
    secret_kind("cloud token", r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+)", ".atlasv1."),
    secret_kind("cloud token", r"(?<![A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}+)", "q~"),
    secret_kind("mail key", r"(?<![a-z0-9-])(?P<secret>[a-f0-9]{32}-us[0-9]{1,2})(?![a-z0-9])", "-us"),
    secret_kind("phone service key", r"(?P<secret>SK(?<![A-Za-z0-9]SK)[a-f0-9]{32})(?![A-Za-z0-9])", "sk"),
    secret_kind(
        "storage key",
        r"(?:AccountKey|SharedAccessKey|SharedSecret)=(?P<secret>[A-Za-z0-9+/=]{40,}+)",
        "accountkey=",
        "accesskey=",
        "sharedsecret=",
    ),
    secret_kind(
        "password hash",
        r"(?P<secret>\$(?:2[abxy]|apr1|[156]|y|argon2(?:id|i|d)|pbkdf2[\w-]{0,20}|scrypt)\$[A-Za-z0-9./=,+$-]{20,}+)",
        *("$2", "$apr1$", "$1$", "$5$", "$6$", "$y$", "$argon2", "$pbkdf2", "$scrypt"),
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
    *("seed", "mnemonic", "phrase", "bip39", "bip-39", "wallet", "recovery", "backup"),
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
    secret_kind(
        "password", rf"{_AUTHORIZATION}{_IS}[Bb]asic\s{{1,3}}(?P<secret>{_OPEN}[A-Za-z0-9+/=]{{8,}}+)", "authorization"
    ),
    secret_kind(
        "authorization",
        rf"{_AUTHORIZATION}{_IS}(?:{_SCHEMES})[\s:]{{0,3}}(?P<secret>{_OPEN}{_LETTERS}{{12,}}+)",
        "authorization",
    ),
    secret_kind("authorization", rf"{_AUTHORIZATION}{_IS}(?P<secret>{_OPEN}{_WITH_DIGIT}{_LETTERS}{{12,}}+)", "authorization"),
    secret_kind("authorization", r"Digest [^\n]{0,400}?response=\\*\"?(?P<secret>[a-f0-9]{32,64}+)", "digest "),
    secret_kind("signature", r"AWS4-HMAC-SHA256 [^\n]{0,400}?Signature=(?P<secret>[a-f0-9]{64})", "aws4-hmac"),
    secret_kind("cookie", rf"(?<![A-Za-z])(?<![Ss]et-)(?:[Cc]ookie|COOKIE){_IS}(?P<secret>{_COOKIES})", "cookie"),
    secret_kind("cookie", rf"[Ss]et-[Cc]ookie{_IS}[\w.!%-]{{1,100}}=(?P<secret>{_OPEN}{_COOKIE}{{4,}}+)", "set-cookie"),
    secret_kind("cookie", rf"(?:-b(?<!\S-b)|--cookie)[ =]{{1,2}}\\*[\"']?(?P<secret>{_COOKIES})", "-b", "--cookie"),
    secret_kind(
        "cookie",
        rf"(?:PHPSESSID|JSESSIONID|connect\.sid|sessionid|_session|csrftoken|laravel_session)=(?P<secret>{_OPEN}{_COOKIE}{{12,}}+)",
        *("phpsessid=", "jsessionid=", "connect.sid=", "sessionid=", "_session=", "csrftoken="),
    ),
)

# --- passwords that programs take beside their names

_NEAR = r"[^\n|;]{0,300}?[\s\"',]"
_TAKES = r"(?:\s{1,3}|=|\\*[\"'],\s{0,3})\\*[\"']?"
_WORD = rf"{_OPEN}(?!-)[^\s\"'\\,\[\]]"
_USER_AND_PASSWORD = rf"[\w.@+-]{{1,100}}:(?P<secret>(?!\d+(?!\S)){_WORD}{{2,}}+)"
"""What is a number is a user's, not a password."""
_ACCOUNT = r"(?:\\*[\"'][^\"'\\\n]{1,100}\\*[\"']|[\w.@\\-]{1,100})"
_NO_PLAIN_WORD = r"(?!/|\d+(?!\S))(?:(?=\S{0,100}[0-9!@#^&$])|(?=\S{3,100} /[a-z]))"
"""With a sign or a digit in it, or with an option after it: `the net user experience is good` is no command."""

_COMMANDS = (
    secret_kind(
        "password",
        rf"(?:curl|wget|https?|xh)\b{_NEAR}(?:-u|--user|--proxy-user|-U|--auth|-a){_TAKES}{_USER_AND_PASSWORD}",
        *("curl", "wget", "http", "xh"),
    ),
    secret_kind("password", rf"mysql(?:dump|admin|import|sh)?\b{_NEAR}-p(?P<secret>{_WORD}{{3,}}+)", "mysql"),
    secret_kind("password", rf"sshpass\b{_NEAR}-p\s{{0,3}}\\*[\"']?(?P<secret>{_WORD}{{2,}}+)", "sshpass"),
    secret_kind(
        "password",
        rf"(?:docker|podman|helm|az|oc|skopeo|buildah)\b[^\n|;]{{0,40}}?\blogin\b{_NEAR}-p{_TAKES}(?P<secret>{_WORD}{{3,}}+)",
        " login",
    ),
    secret_kind("password", rf"redis-cli\b{_NEAR}(?:-a|--pass){_TAKES}(?P<secret>{_WORD}{{3,}}+)", "redis-cli"),
    secret_kind(
        "password", rf"(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami)\b{_NEAR}-w{_TAKES}(?P<secret>{_WORD}{{3,}}+)", "ldap"
    ),
    secret_kind(
        "password",
        rf"(?:zip|unzip|7z|rar|unrar)\b{_NEAR}(?:-P\s{{1,3}}|-p)\\*[\"']?(?P<secret>(?!assword){_WORD}{{4,}}+)",
        *("zip ", "7z ", "rar "),
    ),
    secret_kind("password", rf"ssh-keygen\b{_NEAR}-[NP]{_TAKES}(?P<secret>{_WORD}{{3,}}+)", "ssh-keygen"),
    secret_kind("password", rf":_(?:authToken|auth|password){_TAKES}(?P<secret>{_WORD}{{6,}}+)", ":_auth", ":_password"),
    secret_kind(
        "password",
        rf"(?:auth=\(|[Bb]asic_?[Aa]uth\()\s{{0,9}}\\*[\"'][^\"'\n]{{1,100}}[\"'],\s{{0,9}}\\*[\"'](?P<secret>{_OPEN}[^\"'\\\n\[\]]{{3,}}+)",
        "auth",
    ),
    secret_kind("password", rf"-pass(?:in|out|wd)?{_TAKES}pass:(?P<secret>{_WORD}{{3,}}+)", "pass:"),
    secret_kind("password", rf"smbclient\b{_NEAR}-U{_TAKES}[\w.@\\/-]{{1,100}}%(?P<secret>{_WORD}{{3,}}+)", "smbclient"),
    secret_kind("password", rf"htpasswd\b{_NEAR}-\w*b\w*\s+\S{{1,200}}\s+\S{{1,100}}\s+(?P<secret>{_WORD}{{3,}}+)", "htpasswd"),
    secret_kind(
        "password",
        rf"(?:echo|printf)\s(?:-n\s)?\\*[\"']?(?P<secret>{_WORD}{{4,}}+)\\*[\"']?\s?\|\s?"
        r"(?:sudo -S|(?:docker|podman|helm|gh|glab|npm|oc)\b[^\n|;]{0,60}(?:login|auth|secret)|passwd|chpasswd)",
        *("echo", "printf"),
    ),
    secret_kind(
        "password",
        rf"\bnet(?:\.exe)? (?:user {_ACCOUNT}|use [^\n|;]{{0,200}}?/user:{_ACCOUNT}) "
        rf"\\*[\"']?(?P<secret>{_NO_PLAIN_WORD}{_WORD}{{3,}}+)",
        *("net user ", "net.exe user ", "/user:"),
    ),
    secret_kind(
        "password",
        rf"(?:freerdp3?|schtasks|psexec(?:64)?)(?:\.exe)?\b{_NEAR}(?:/p:|[/-]r?p\s{{1,3}})\\*[\"']?(?P<secret>{_WORD}{{3,}}+)",
        *("freerdp", "schtasks", "psexec"),
    ),
    secret_kind("password", rf"\blogin\s{{1,4}}\S{{1,200}}\s{{1,4}}password\s{{1,4}}(?P<secret>{_WORD}{{3,}}+)", "password"),
    secret_kind(
        "password",
        rf"(?m:^)[\w.*-]{{1,200}}:(?:\d{{2,5}}|\*):[\w.*-]{{1,100}}:[\w.*-]{{1,100}}:"
        rf"(?P<secret>{_OPEN}[^\s:\[\]]{{3,}}+)[ \t\r]*+(?m:$)",
        ":",
    ),
    secret_kind(
        "password",
        rf"(?:PASSWORD|[Pp]assword|IDENTIFIED BY|identified by|IDENTIFIED WITH \w{{1,40}} BY)\s{{1,3}}"
        rf"'(?P<secret>{_OPEN}[^'\n\[\]]{{3,}}+)'",
        *("password", "identified"),
    ),
)

PLACES: tuple[Secret, ...] = (_PRIVATE_KEY, *_WEBHOOKS, *_ADDRESSES, *_SHAPES, _SEED_PHRASE, *_HEADERS, *_COMMANDS)
