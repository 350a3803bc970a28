"""Secrets in JSON give way to a word that says what stood there; nothing else in the bytes changes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["SECRETS", "Secret", "redact", "redact_text"]


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret, and how it is recognised."""

    name: str
    """What stands in its place, between brackets."""
    pattern: re.Pattern[str]
    """What goes is the group `secret`; what is matched besides stays."""
    hints: tuple[str, ...]
    """A text that in small letters holds none of these holds no such secret. To look for them is faster than to match."""

    def may_be_in(self, lowered: str) -> bool:
        """Whether it is worth while to match."""
        for hint in self.hints:  # noqa: SIM110  # twice as fast as any(), and this is where the time goes
            if hint in lowered:
                return True
        return False


def redact(payload: bytes) -> bytes:
    """JSON with the secrets in its strings replaced. Keys, numbers, spacing and every other character stay as they are."""
    text = payload.decode("utf-8", "surrogateescape")
    kinds = _possible(text, SECRETS)
    pieces = list(_pieces(text, kinds)) if kinds else []
    return "".join(pieces).encode("utf-8", "surrogateescape") if len(pieces) > 1 else payload


def redact_text(text: str) -> str:
    """A text with its secrets replaced."""
    return _redacted(text, SECRETS)


# --- JSON: each string that is a value is looked at by itself, in the characters that it means

Kinds = tuple[Secret, ...]

_STRING = re.compile(r'"(?P<inner>[^"\\]*+(?:\\.[^"\\]*+)*+)"(?P<colon>\s*+:\s*+)?', re.DOTALL)
_CHARACTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\b": "\b", r"\f": "\f"}


def _pieces(text: str, kinds: Kinds) -> Iterator[str]:
    """The text in pieces, those that held secrets exchanged; one piece if there was none."""
    at, key, key_end = 0, "", -1
    for found in _STRING.finditer(text):
        if found["colon"]:
            key, key_end = found["inner"], found.end()
            continue
        is_named = found.start() == key_end and _names_a_secret(key)
        inner = found["inner"]
        shown = _named_value(inner, kinds) if is_named else _value(inner, kinds)
        if shown != inner:
            yield text[at : found.start("inner")]
            yield shown
            at = found.end("inner")
    yield text[at:]


@lru_cache(maxsize=1024)
def _names_a_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _named_value(inner: str, kinds: Kinds) -> str:
    """The value of a key that says it is secret. One that is empty or redacted already says nothing."""
    shown = _value(inner, kinds)
    return shown if not inner or _MARK in shown else _marker("secret")


def _value(inner: str, kinds: Kinds) -> str:
    """What stands between the quotes, with its secrets replaced and every other escape as it was written."""
    if len(inner) < _SHORTEST:
        return inner
    if "\\" not in inner:
        return _redacted(inner, kinds)
    meant = json.loads(f'"{inner}"', strict=False)
    return inner if _redacted(meant, kinds) == meant else _respelled(inner, kinds)


def _respelled(inner: str, kinds: Kinds) -> str:
    """Each escape counts as one character, so that places in what is meant are places in what is written."""
    written: list[str] = _CHARACTER.findall(inner)
    meant, before = list(map(_meaning, written)), None
    while meant != before:
        before = meant
        for kind in kinds:
            if spans := _spans("".join(meant), kind):
                written, meant = _exchanged(written, spans, kind), _exchanged(meant, spans, kind)
    return "".join(written)


def _meaning(written: str) -> str:
    if len(written) == 1:
        return written
    if len(written) == 6:
        return chr(int(written[2:], 16))
    return _ESCAPES.get(written, written[1])


# --- texts

_SHORTEST = 6
"""`://:x@`; nothing shorter is a secret by itself."""
_MARK = "[redacted "
"""What is a secret holds no bracket, so what is redacted stays as it is."""


def _redacted(text: str, kinds: Kinds) -> str:
    before = None
    while text != before:  # what stood beside a secret may show as another once that is gone
        before = text
        for kind in _possible(text, kinds):
            if spans := _spans(text, kind):
                text = "".join(_exchanged(text, spans, kind))
    return text


def _possible(text: str, kinds: Kinds) -> Kinds:
    lowered = text.lower()
    return tuple([kind for kind in kinds if kind.may_be_in(lowered)])


def _spans(text: str, kind: Secret) -> list[tuple[int, int]]:
    return [found.span("secret") for found in kind.pattern.finditer(text)]


def _exchanged(characters: Sequence[str], spans: list[tuple[int, int]], kind: Secret) -> list[str]:
    """The characters, with the name of the kind in the place of each span."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += [*characters[at:start], *_marker(kind.name)]
        at = end
    return [*pieces, *characters[at:]]


def _marker(name: str) -> str:
    return f"{_MARK}{name}]"


# --- the kinds

_DIGIT_IN = r"(?=[A-Za-z_-]{0,200}[0-9])"
"""Random characters hold a digit; words with hyphens seldom do. A limit, here as below, keeps the time linear."""
_NAMES = (
    ("password",),
    ("passwd",),
    ("passphrase",),
    ("client", "secret"),
    *((word, "key") for word in ("access", "account", "api", "private", "secret")),
    *((word, "token") for word in ("access", "auth", "authorization", "bearer", "refresh", "session")),
)
"""Names that only secrets have. `token` and `key` alone have many other meanings."""


def _spellings(name: tuple[str, ...]) -> Iterator[str]:
    """`api_key`, `api-key`, `apikey`, `apiKey`, `ApiKey`, `API_KEY`, `APIKEY`."""
    yield from ("_".join(name), "-".join(name), "".join(name))
    yield name[0] + "".join(word.capitalize() for word in name[1:])
    yield "".join(word.capitalize() for word in name)
    yield from ("_".join(name).upper(), "".join(name).upper())


_NAMED = f"(?:{'|'.join(sorted({spelling for name in _NAMES for spelling in _spellings(name)}, reverse=True))})"
"""Spelled out, because Python matches letters of either case many times slower."""
_NAME_HINTS = tuple(sorted({f"{name[0][-1]}{between}{name[1]}" for name in _NAMES[3:] for between in ("_", "-", "")}))
_SECRET_KEY = re.compile(rf"{_NAMED}$|^(?i:secret|authorization)$")
_IS = r"\\*[\"']?\s{0,3}(?:=>|:=|[:=])\s{0,3}"
"""Between a name and its value: in JSON, in JSON inside of strings, in YAML, shell and code."""


def _kind(name: str, pattern: str, *hints: str) -> Secret:
    return Secret(name, re.compile(pattern), hints)


def _token(name: str, pattern: str, *hints: str) -> Secret:
    """A secret that its first characters give away. It does not begin in the middle of a word."""
    return _kind(name, rf"(?<![A-Za-z0-9])(?P<secret>{pattern})", *hints)


def _private_key() -> Secret:
    """A whole block, whatever stands between its lines (a diff's signs, line numbers), or the beginning of one."""
    begin, end = (rf"-----{word} [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----" for word in ("BEGIN", "END"))
    whole = rf"(?:(?!-----BEGIN)[\s\S])*?{end}"
    gap = r"(?:\s|\\[nr])"
    beginning = rf"(?:{gap}*+[A-Za-z0-9+/=]{{30,}}+)++(?:{gap}++[A-Za-z0-9+/=]++)?"
    return _kind("private key", rf"(?P<secret>{begin}(?:{whole}|{beginning}))", "private key")


def _named_secrets() -> Kinds:
    """Secrets that only their names give away: between quotes, bare, or as a line of settings for a shell."""
    code = r"(?![A-Za-z_]\w*[.(]|[A-Z][a-z]+\d+[A-Z])"  # `config.password`, `getpass()`, `Uint8Array`
    quoted = r"(?<=[\"'])[^\"'\\\n\[\]]{4,}(?=\\*[\"'])"
    bare = rf"{code}(?=[A-Za-z+/=_.~!@#%^&*-]{{0,200}}[0-9])[A-Za-z0-9+/=_.~!@#%^&*-]{{8,}}"
    line = r"(?m:^)[ \t]*(?:export[ \t]+)?[A-Z0-9_]*(?:PASSWORD|SECRET|TOKEN|API_?KEY)="
    return (
        _kind("secret", rf"{_NAMED}{_IS}\\*[\"']?(?P<secret>{quoted}|{bare})", "passw", "passphrase", "secret", *_NAME_HINTS),
        _kind("secret", rf"{line}(?P<secret>[^\s\"'`$<>(){{}}\[\]]{{6,}})", "password=", "secret=", "token=", "key="),
    )


SECRETS: Kinds = (
    _private_key(),
    _kind("password", r"://[^\s/:@\"'<>\[\]]*:(?P<secret>[^\s/@\"'<>\[\]]+)@", "@"),
    _kind("JSON web token", r"(?<![A-Za-z0-9_-])(?P<secret>eyJ[A-Za-z0-9_-]{10,}+(?:\.[A-Za-z0-9_-]{6,}+){1,4})", "eyj"),
    _token("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-"),
    _token("API key", rf"sk-{_DIGIT_IN}[A-Za-z0-9_-]{{20,}}", "sk-"),
    _token("API key", rf"(?:gsk_|xai-|pplx-|nvapi-){_DIGIT_IN}[A-Za-z0-9_-]{{20,}}", "gsk_", "xai-", "pplx-", "nvapi-"),
    _token(
        "Google key", r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}", "aiza", "ya29.", "gocspx-"
    ),
    _token("AWS key", r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "akia", "asia"),
    _token(
        "GitHub token",
        r"gh[opsu]_[A-Za-z0-9_]{30,}|github_pat_[A-Za-z0-9_]{20,}",
        "ghp_",
        "gho_",
        "ghs_",
        "ghu_",
        "github_pat_",
    ),
    _token("GitLab token", r"glpat-[A-Za-z0-9_.-]{20,}", "glpat-"),
    _token("Slack token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}", "xox", "xapp-"),
    _token("Stripe key", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{20,}", "k_live_", "k_test_", "whsec_"),
    _token("Hugging Face token", r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _token("package index token", r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}", "npm_", "pypi-"),
    _token("SendGrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "sg."),
    _token("cloud token", r"dop_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|hvs\.[A-Za-z0-9_-]{24,}", "dop_v1_", "dapi", "hvs."),
    _kind("storage key", r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/=]{40,})", "accountkey=", "accesskey="),
    _kind("signature", r"(?:[?&]sig|X-Amz-Signature)=(?P<secret>[A-Za-z0-9%+/=_-]{20,})", "sig=", "x-amz-signature="),
    _kind("bearer token", r"[Bb]earer\s+(?P<secret>(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,})", "bearer"),
    _kind("password", rf"[Aa]uthorization{_IS}\\*[\"']?[Bb]asic\s+(?P<secret>[A-Za-z0-9+/=]{{8,}})", "authorization"),
    *_named_secrets(),
)
"""Every kind, the more telling ones first."""
