"""What may be said in an attribute: names that Redline or a provider gave, and of all others a hash."""

import re
from hashlib import blake2b

from redline.editor import EditedRequest
from redline.engine.request import Request
from redline.policy import EDITOR_POLICY, Policy
from redline.rules import RULES
from redline.rules.presets import PRESET_RULES

__all__ = ["OPERATIONS", "PROVIDERS", "hashed", "model_label", "policy_label", "rule_label", "session_label", "untouched_label"]

OPERATIONS = {"gemini": "generate_content"}
"""By format, what GenAI conventions call the asking of a model, where it is not `chat`."""
PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai_chat": "openai",
    "openai_responses": "openai",
    "gemini": "gcp.gemini",
}
"""By provider or format, the name that GenAI conventions have for the provider."""

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def hashed(text: str) -> str:
    """A short hash, which tells names apart and does not give them away."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def model_label(model: str) -> str:
    """The model as the client named it; `other` for what no model is called."""
    return model if _MODEL.fullmatch(model) else "other" if model else ""


def session_label(session: str) -> str:
    """The id that a client gave the session; a hash where it is more than an id, as a path is."""
    return session if not session or _SESSION.fullmatch(session) else hashed(session)


def rule_label(rule: str) -> str:
    """A rule of Redline by its name; a log may name any other, and what it says there may be anything."""
    return rule if rule in RULES else "other"


def policy_label(policy: Policy) -> str:
    """The preset that it is; `custom` if it is none."""
    if policy in (Policy(), EDITOR_POLICY):
        return "default"
    return next((name for name in ("documents", *PRESET_RULES) if policy == Policy.named(name)), "custom")


def untouched_label(untouched: str, request: Request | None) -> str:
    """Why nothing was looked at or changed. A history may be left alone for a reason in anybody's words."""
    if isinstance(request, EditedRequest) and request.log and untouched == request.untouched:
        return "it is left alone" if untouched else ""
    return untouched.partition(" (")[0]
