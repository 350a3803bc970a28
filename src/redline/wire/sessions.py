"""Whose request it is: the session that an agent names, the account it belongs to, and whether a subscription pays for it."""

import hashlib
import re
from collections.abc import Mapping

from redline.values import payloads
from redline.wire.body import Body

__all__ = ["namespace_of", "session_in_user_id", "session_of", "signature_of", "subscription_of"]

_MOST_NAME_CHARS = 200
"""Longer names are cut: they come from a client, and are only there to keep equal histories apart."""
_CREDENTIALS = ("x-api-key", "x-goog-api-key", "api-key", "authorization")
_SIGNATURES = ("x-amz-content-sha256", "content-digest", "digest", "content-md5", "signature")
_SESSION_SUFFIX = re.compile(r"_session_([0-9A-Za-z-]+)$")
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
    if not isinstance(user_id, str):
        return ""
    if found := _SESSION_SUFFIX.search(user_id):
        return found[1]
    try:
        named = payloads.decode_text(user_id)
    except (ValueError, RecursionError):
        return ""
    session = named.get("session_id") if isinstance(named, dict) else None
    return session if isinstance(session, str) else ""


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


def namespace_of(headers: Mapping[str, str], label: str, key: bytes) -> str:
    """Whose histories these are: the label of the path, else a keyed hash of the credential; never the credential.

    The token of a login is renewed every hour, so the account is taken in its place, or all logins are one.
    """
    if label:
        return f"label-{label}"
    if account := headers.get("chatgpt-account-id"):
        return _hashed(f"account {account}", key)
    if subscription_of(headers):
        return "login"
    credential = next((headers[name] for name in _CREDENTIALS if headers.get(name)), "")
    return _hashed(credential, key) if credential else ""


def _hashed(secret: str, key: bytes) -> str:
    return hashlib.blake2b(secret.encode("utf-8", "surrogateescape"), key=key[:64], digest_size=16).hexdigest()
