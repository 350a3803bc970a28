"""Secrets that only their names give away: `password`, `api_key`, `DB_PASSWORD`, `--token`, in JSON, YAML, shell or code."""

import re
from functools import lru_cache

from redline.redaction.kinds import Secret, secret_kinds

_KEYS = "access account api app auth deploy encryption license master private secret service shared signing subscription"
_TOKENS = (
    "access api app auth authorization bearer bot csrf deploy github gitlab id identity jwt job npm oauth personal private "
    "refresh registry secret security session slack user vault verification webhook xsrf"
)


def _either(word: str) -> str:
    """A word in small letters, capitalised, or in capitals; spelled out, because Python is slow to match either case."""
    return rf"[{word[0]}{word[0].upper()}](?:{word[1:]}|{word[1:].upper()})"


def _after(words: str, last: str) -> str:
    """The last word of a name that has two. What is before it is looked at only where that is found."""
    names = [f"{word}{between}{last}" for word in words.split() for between in ("", "-")]
    spelled = ["".join(f"[{sign}{sign.upper()}]" if sign != "-" else "[ _-]" for sign in name) for name in names]
    return rf"{_either(last)}(?:{'|'.join(f'(?<={name})' for name in spelled)})"


_PASSWORDS = "|".join(map(_either, ("password", "passwd", "passphrase", "passcode", "mnemonic")))
_STRONG = (
    rf"(?:{_PASSWORDS}|_pass(?=\s?[=:])|pwd(?<![A-Z]...)|(?<=[_a-z])Pwd|_PWD|[Pp]wd(?==)"
    rf"|{_either('secret')}(?:[ _-]?{_either('key')})?|{_after(_KEYS, 'key')}|{_after(_TOKENS, 'token')})"
)
"""Names that only secrets have. `token` and `key` alone have many other meanings."""
_MORE = r"(?:_(?:PROD|PRODUCTION|DEV|TEST|LIVE|STAGING|BASE|VALUE|OLD|NEW|MAIN)|_?\d{1,2})?"
"""What may follow a name without making it another: which of several it is."""

_SIGN = r"=>|:=|\?=|==|:\*\*|[:=>]|\s[iI]s:?\s|[ \t]{2,30}"
_NEXT = r"\\*[\"']\s{0,3},\s{0,20}(?=\\*[\"'][^\"'\\\n]{0,200}+\\*[\"'](?!\s{0,3}:))"
_VALUE = r"\\*[\"'](?:\s{0,3},\s{0,20}\\*[\"'][Vv]al(?:ue)?\\*[\"']\s{0,3}:|\s{1,3}value=)\s{0,3}"
_IS = rf"(?:(?:\\*[\"'`]\]?)?\*{{0,2}}\s{{0,3}}(?:{_SIGN})[ \t]{{0,30}}+\s{{0,3}}|{_NEXT}|{_VALUE})(?:[rbfu](?=[\"']))?"
"""Between a name and its value: in JSON, in JSON inside of strings, in YAML, XML, shell, code and plain words; as the next
argument of a call; and where names and values are fields of their own."""
_FREE = r"(?![^\"'`\n]{0,200}\[redacted |\$[A-Za-z_{(]|[<{%]|\*{3}|\.{3}|#\{)"
"""Not what is redacted already, nor a variable or a place to fill in."""
_TYPE = (
    r"(?!(?:str|string|String|bytes|number|bool|boolean|int|any|object|unknown|null|None|nil|NULL|true|false|True|False|undefined|"
    r"optional|required|SecretStr|void|self|this|input|password|Password|secret|Secret|token|Token)(?![A-Za-z0-9_-]))"
)
"""Not what code says of a value instead of the value."""
_CALL = r"(?![A-Za-z_]+[.(\[]|[A-Z][a-z]+\d+[A-Z]|[a-z]+[A-Z]\w*[.(\[])"
"""Not `config.password`, `getpass()`, `tokens[1]`, `Uint8Array`."""
_QUOTED = (
    r"(?:(?<=\\\")(?:[^\"\\\n]|\\+[^\"\\\n]|\\{3}\"){4,}+|(?<!\\\")(?<=\")(?:[^\"\\\n]|\\[^\n]){4,}+"
    r"|(?<=\\')(?:[^'\\\n]|\\+[^'\\\n]|\\{3}'){4,}+|(?<!\\')(?<=')(?:[^'\\\n]|\\[^\n]){4,}+|(?<=`)[^`\n]{4,}+)"
)
"""All up to the quote that closes, or the line's end where something was cut off. Quotes of JSON inside of strings have a
backslash before them; a quote of theirs has three."""
_BARE = r"[^\s\"'`,;<>(){}\\]"


_DIGIT = r"(?=[^\s0-9\"'`,;<>()\\]{0,200}[0-9])"
_ASSIGNED = rf"\\*[\"'`]?(?P<secret>{_FREE}{_TYPE}(?:{_QUOTED}|{_CALL}{_DIGIT}{_BARE}{{6,}}+))"
_REST_OF_LINE = rf"(?P<secret>{_FREE}{_TYPE}{_CALL}(?![A-Z][a-z]+[A-Z]|\w*[Pp]ass|[\"'`|>&*!]){_BARE}{{4,}}+)"


# --- settings: `NAME=value` in capitals, wherever shells and containers take it; its value needs no digit

_SETTING = (
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|ENCRYPTION_?KEY|MASTER_?KEY"
    rf"|AUTH_?KEY|_(?:PWD|PASS|PW|PAT|AUTH|CREDENTIALS?|SIGNING_KEY|SERVICE_KEY|SALT)){_MORE}"
)
_CODE = r"(?![A-Za-z_.]+[(\[]|(?:os|self|process|config|settings|env|args)\.)"
_SET_TO = rf"{_FREE}(?!(?:true|false|null|none|\d{{1,6}})(?![^\s\"'`])){_CODE}"
_SETTERS = r"(?:ENV|ARG|setx|gh secret set|heroku config:set|fly secrets set)\s[A-Z0-9_]{0,60}?"


# --- options: `--password X`, `--token=X`, and `"--api-key", "X"` in a list of arguments

_OPTIONS = (
    "password|passwd|passphrase|pass|pwd|token|secret|api-?key|api_key|access-key|secret-key|secret-access-key|auth-?key|"
    "client-secret|credential|private-token|auth|pat|license-key|encryption-key|key-password|storepass|keypass"
)
_OPTION_GAP = r"(?:=|[ \t]{1,3}|\\*[\"'],\s{0,20})\\*[\"']?"
_OPTION_VALUE = rf"{_FREE}(?![-(|&/]|[A-Z_]+(?![^\s\"']))(?:{_QUOTED}|[^\s\"'`\\<>|;&,\])]{{4,}}+)"

# --- names that need more than a value

_WEAK_NAMES = "|".join(
    (*map(_either, ("token", "credential", "credentials", "signature")), "_auth", "[\"']auth", "[Aa]uth[Kk]ey")
)
_LOOKS_RANDOM = r"(?=[A-Za-z_.~+/=-]{0,60}[0-9])(?=[0-9_.~+/=-]{0,60}[A-Za-z])[A-Za-z0-9_.~+/=-]{16,}+"

_FOREIGN = "密码|口令|密钥|令牌|パスワード|비밀번호|пароль|contraseña|passwort|kennwort|mot de passe"
_FOREIGN_NAMES = "|".join(rf"[{word[0]}{word[0].upper()}]{word[1:]}" for word in _FOREIGN.split("|"))

NAMES: tuple[Secret, ...] = secret_kinds(
    "secret",
    {
        # A name, a sign, and a value: between quotes; bare, with a digit; or as the rest of a line.
        "passw|passp|passc|_pass|mnemonic|secret|pwd|key|token": rf"{_STRONG}{_MORE}{_IS}{_ASSIGNED}",
        "passw|passp|pwd": (
            rf"(?:{_PASSWORDS}|pwd|Pwd)(?:(?::[ \t]{{1,3}}|[ \t]?=[ \t]?){_REST_OF_LINE})"
            r"(?:[ \t\r]*+(?m:$)|(?=;)|(?<=\S)(?=[ \t]\w+=))"
        ),
        "passw|passp|secret|token|key|_pwd|_pass|_pw|_pat|_auth|_credential|_salt": (
            rf"{_SETTING}=\\*[\"']?(?P<secret>{_SET_TO}(?:{_QUOTED}|[^\s\"'`<>|;&\\(){{}},]{{4,}}+))"
        ),
        "env |arg |set": rf"{_SETTERS}{_SETTING}\s\\*[\"']?(?P<secret>{_SET_TO}[^\s\"'\\]{{4,}}+)",
        "_key=": rf"[A-Z]_KEY=\\*[\"']?(?P<secret>{_SET_TO}(?=[A-Za-z+/=_-]{{0,200}}[0-9])[A-Za-z0-9+/=_.-]{{16,}}+)",
        "pass|pwd|token|secret|key|-auth|credential|-pat": (
            rf"-(?<![\w-]-)-?(?:[a-z0-9]{{1,20}}[-_]){{0,4}}(?:{_OPTIONS}){_OPTION_GAP}(?P<secret>{_OPTION_VALUE})"
        ),
        # `/pass:X`, as programs of Windows take it.
        "/pass|/pwd": rf"/(?<![\w/.:]/)(?i:pass|password|passwd|passphrase|pwd)[:=]\\*[\"']?(?P<secret>{_OPTION_VALUE})",
        # `token` and its like, if what follows looks random.
        "token|auth|credential|signature": rf"(?:{_WEAK_NAMES}){_IS}\\*[\"'`]?(?P<secret>{_FREE}{_CALL}{_LOOKS_RANDOM})",
        # The commonest words for a password in other languages.
        _FOREIGN: (
            rf"(?:{_FOREIGN_NAMES})\s?(?:[:：=]|是|为)\s{{0,3}}[\"'`]?"
            rf"(?P<secret>{_FREE}(?=[^\s0-9]{{0,200}}[0-9])[!#-&(-Z^_a-~]{{6,}}+)"
        ),
    },
)


# --- keys of JSON

_KEY = re.compile(
    rf"{_STRONG}{_MORE}$|^[A-Z0-9_]*(?:TOKEN|(?<!_TO)_PASS|_PWD|_PAT|_AUTH|_CREDENTIALS?)$"
    r"|^(?i:(?:proxy-)?authorization|(?:set-)?cookie|pass)$|^[pP]wd$|(?i:connection_?string)$"
)
_WEAK_KEY = re.compile(r"(?i:token|_auth|^auth|credentials?)$")
_RANDOM = re.compile(r"(?=[A-Za-z_.~+/=:-]{0,60}[0-9])(?=[0-9_.~+/=:-]{0,60}[A-Za-z])[A-Za-z0-9_.~+/=:-]{16,}+")
_ARGUMENT = re.compile(rf"--?(?:[a-z0-9]+[-_]){{0,4}}(?:{_OPTIONS})|(?i:x-api-key|api-key|authorization|cookie)")


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether only secrets have such a name, as a key of JSON or of settings."""
    return _KEY.search(name) is not None


@lru_cache(maxsize=1024)
def names_a_token(name: str) -> bool:
    """Whether the value of such a key is a secret if it looks random."""
    return _WEAK_KEY.search(name) is not None


def takes_a_secret(argument: str) -> bool:
    """Whether what follows in a list is a secret: after an option such as `--token`, or the name of a header."""
    return argument[:1] in "-xXaAcC" and _ARGUMENT.fullmatch(argument) is not None


def is_random(value: str) -> bool:
    """Whether a value looks as if it had been drawn: letters and digits, no spaces, long."""
    return _RANDOM.fullmatch(value) is not None
