"""Whose request it is: the session that an agent names, the account it belongs to, and whether a subscription pays for it."""

import base64
import hashlib
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from redline.values import payloads
from redline.wire.body import Body

__all__ = ["account_in_user_id", "namespace_of", "session_in_user_id", "session_of", "signature_of", "subscription_of"]

_MOST_NAME_CHARS = 200
"""Longer names are cut: they come from a client, and are only there to keep equal histories apart."""
_CREDENTIALS = frozenset(
    {
        "cf-access-client-id",
        "cf-access-client-secret",
        "chatgpt-account-id",
        "openai-organization",
        "openai-project",
        "x-functions-key",
        "x-goog-user-project",
        "x-litellm-key",
    }
)
"""Headers that say who pays, beside those with the endings below."""
_CREDENTIAL_ENDINGS = ("api-key", "apikey", "authorization", "-auth", "subscription-key", "auth-token", "access-token")
_CREDENTIAL_PARAMETERS = frozenset({"key", "api_key", "api-key", "apikey", "access_token", "code", "subscription-key"})
"""Of a query, in lower case; Gemini's key is `key`."""
_PASSING_COOKIES = ("__cf", "_cf", "cf_", "awsalb", "gclb", "arraffinity", "incap_", "visid_incap", "nlbi_", "ak_bmsc", "bm_")
"""How cookies of load balancers and firewalls begin, in lower case: they change by themselves, whoever sends them."""
_SIGNATURES = ("x-amz-content-sha256", "content-digest", "digest", "content-md5", "signature")
_SESSION_SUFFIX = re.compile(r"_session_([0-9A-Za-z-]+)$")
_ACCOUNT = re.compile(r"_account_([0-9A-Za-z-]+)")
_JWT = re.compile(r"(?i:bearer\s+)?[\w-]+\.([\w-]+)\.[\w-]*")
_BILLING = re.compile(rb'"x-anthropic-billing-header[^"]{0,2000}?\bcch=')


def session_of(headers: Mapping[str, str], body: Body) -> str:
    """The name under which the client keeps this history; empty where it names none. Header names are in lower case.

    A sub-agent has its own name, never that of the session that started it.
    """
    name = _claude_code(headers) or _codex(headers) or headers.get("x-session-id", "") or body.session
    return name[:_MOST_NAME_CHARS]


def _claude_code(headers: Mapping[str, str]) -> str:
    session, agent = headers.get("x-claude-code-session-id", ""), headers.get("x-claude-code-agent-id", "")
    return f"{session}/{agent}" if session and agent else session


def _codex(headers: Mapping[str, str]) -> str:
    """The thread; after a compaction also the number of its window, which begins anew."""
    thread = next((headers[name] for name in ("thread-id", "session-id", "session_id") if headers.get(name)), "")
    window = headers.get("x-codex-window-id", "").rpartition(":")[2]
    return f"{thread}/{window}" if thread and window not in ("", "0") else thread


def session_in_user_id(user_id: object) -> str:
    """The session that Claude Code writes into `metadata.user_id`: as JSON, in older versions at the end of a name."""
    return _in_user_id(user_id, _SESSION_SUFFIX, "session_id")


def account_in_user_id(user_id: object) -> str:
    """The account that Claude Code writes there; empty where it has none, or a key."""
    return _in_user_id(user_id, _ACCOUNT, "account_uuid")


def _in_user_id(user_id: object, written: re.Pattern[str], name: str) -> str:
    if not isinstance(user_id, str):
        return ""
    if found := written.search(user_id):
        return found[1]
    named = _object_in(user_id).get(name)
    return named if isinstance(named, str) else ""


def _object_in(text: str | bytes) -> Mapping[str, object]:
    """The JSON object that a text is; an empty one for any other text."""
    try:
        found = payloads.decode_text(text) if isinstance(text, str) else payloads.decode(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def subscription_of(headers: Mapping[str, str], body: bytes = b"") -> str:
    """What shows that a subscription pays for the request, or that the client attests it; empty where a key pays."""
    beta = next((name for name in headers.get("anthropic-beta", "").split(",") if name.strip().startswith("oauth-")), "")
    if beta:
        return beta.strip()
    for name in ("chatgpt-account-id", "x-oai-attestation"):
        if name in headers:
            return name
    if headers.get("authorization", "").lower().startswith("bearer sk-ant-oat"):
        return "a login's token"
    return "cch=" if b"cch=" in body and _BILLING.search(body) else ""


def signature_of(headers: Mapping[str, str]) -> str:
    """The header that ties a request to its body, which must then stay as it is; empty where there is none."""
    if headers.get("authorization", "").upper().startswith("AWS4-"):
        return "authorization"
    return next((name for name in _SIGNATURES if name in headers), "")


def namespace_of(headers: Mapping[str, str], label: str, key: bytes, *, query: str = "", account: str = "") -> str:
    """Whose histories these are: a keyed hash of every credential that a request carries, and the label of its path.

    No credential is in it. The token of a login is renewed every few hours, so what stays the same is taken in its place: the
    subject that the token names, else the account that the headers or the body name.
    """
    shown = {name: value for name, value in headers.items() if value and _is_credential(name)}
    if "authorization" in shown:
        shown["authorization"] = _payer(shown["authorization"], headers, account)
    shown["cookie"] = ";".join(sorted(_lasting_cookies(headers.get("cookie", ""))))
    shown |= {f"?{name}": value for name, value in parse_qsl(query) if name.lower() in _CREDENTIAL_PARAMETERS}
    credentials = [f"{name}={value}" for name, value in sorted(shown.items()) if value]
    names = [_hashed("\0".join(credentials), key)] if credentials else []
    return " ".join([*names, f"label-{label}"] if label else names)


def _is_credential(name: str) -> bool:
    return name in _CREDENTIALS or name.endswith(_CREDENTIAL_ENDINGS)


def _payer(authorization: str, headers: Mapping[str, str], account: str) -> str:
    """Whom a bearer's token belongs to, where that is known; else the token."""
    if (found := _JWT.fullmatch(authorization.strip())) and (subject := _subject_of(found[1])):
        return subject
    if "chatgpt-account-id" in headers:
        return ""
    return f"account {account}" if account and subscription_of(headers) else authorization


def _subject_of(claims: str) -> str:
    """The issuer and the subject in the middle of a JSON Web Token; nobody is let in by it, so it is not verified."""
    try:
        told = _object_in(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    except ValueError:
        return ""
    return f"{told.get('iss', '')} {told['sub']}" if isinstance(told.get("sub"), str) else ""


def _lasting_cookies(header: str) -> list[str]:
    cookies = (one.strip() for one in header.split(";"))
    return [one for one in cookies if one and not one.lower().startswith(_PASSING_COOKIES)]


def _hashed(secret: str, key: bytes) -> str:
    return hashlib.blake2b(secret.encode("utf-8", "surrogateescape"), key=key[:64], digest_size=16).hexdigest()
