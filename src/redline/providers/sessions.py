"""Whose request it is: the session that an agent names, the account it belongs to, and whether a subscription pays for it."""

import base64
import hashlib
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from redline.providers.api import Body
from redline.providers.flaws import names
from redline.values import payloads

_MOST_NAME_CHARS = 200
"""Longer names are cut: they come from a client, and are only there to keep equal histories apart."""
_CREDENTIALS = names(
    "cf-access-client-id cf-access-client-secret chatgpt-account-id openai-organization openai-project x-functions-key "
    "x-goog-user-project x-litellm-key"
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
    """The client's name for this history, a sub-agent's its own; empty where it names none. Header names are in lower case."""
    name = headers.get("x-claude-code-session-id", "")
    inner = headers.get("x-claude-code-agent-id", "")
    if not name:  # of Codex: the thread; after a compaction also the number of its window, which begins anew
        name = next((headers[name] for name in ("thread-id", "session-id", "session_id") if headers.get(name)), "")
        window = headers.get("x-codex-window-id", "").rpartition(":")[2]
        inner = window if window != "0" else ""
    if name:
        return f"{name}/{inner}"[:_MOST_NAME_CHARS] if inner else name[:_MOST_NAME_CHARS]
    return (headers.get("x-session-id", "") or body.session)[:_MOST_NAME_CHARS]


def parse_user_id(user_id: object) -> tuple[str, str]:
    """The session and the account in Claude Code's `metadata.user_id`, JSON or, earlier, one name; empty where missing."""
    if not isinstance(user_id, str):
        return "", ""
    session, account = _SESSION_SUFFIX.search(user_id), _ACCOUNT.search(user_id)
    told = {} if session and account else _object_in(user_id)
    named = [held if isinstance(held := told.get(name), str) else "" for name in ("session_id", "account_uuid")]
    return session[1] if session else named[0], account[1] if account else named[1]


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
    shown = {
        name: value for name, value in headers.items() if value and (name in _CREDENTIALS or name.endswith(_CREDENTIAL_ENDINGS))
    }
    if "authorization" in shown:
        shown["authorization"] = _payer(shown["authorization"], headers, account)
    cookies = [one.strip() for one in headers.get("cookie", "").split(";")]
    shown["cookie"] = ";".join(sorted(one for one in cookies if one and not one.lower().startswith(_PASSING_COOKIES)))
    shown |= {f"?{name}": value for name, value in parse_qsl(query) if name.lower() in _CREDENTIAL_PARAMETERS}
    credentials = [f"{name}={value}" for name, value in sorted(shown.items()) if value]
    secret = "\0".join(credentials).encode("utf-8", "surrogateescape")
    names = [hashlib.blake2b(secret, key=key[:64], digest_size=16).hexdigest()] if credentials else []
    return " ".join([*names, f"label-{label}"] if label else names)


def _payer(authorization: str, headers: Mapping[str, str], account: str) -> str:
    """The issuer and the subject of a JSON Web Token, not verified as it lets nobody in; else the account, or the token."""
    if found := _JWT.fullmatch(authorization.strip()):
        try:
            told = _object_in(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
        except ValueError:
            told = {}
        if isinstance(told.get("sub"), str):
            return f"{told.get('iss', '')} {told['sub']}"
    if "chatgpt-account-id" in headers:
        return ""
    return f"account {account}" if account and subscription_of(headers) else authorization
