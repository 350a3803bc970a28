"""What a message needs to be added to a conversation: a role, and content or calls, in the shape of a known format."""

from typing import Any

from redline.errors import FormatError, ValidationError
from redline.formats import FORMATS
from redline.values import payloads
from redline.values.messages import Message, ToolResult
from redline.values.payloads import Payload

__all__ = ["check_message"]

_CONTENT_KEYS = ("content", "parts")


def check_message(payload: Payload, where: str = "The message") -> None:
    """Raise a ValidationError unless some format can read the payload and it says something.

    Content may be empty, but it must be there, unless there are calls. `where` names the message in the error.
    """
    native = _object(payload, where)
    reader = next((known for known in FORMATS.values() if known.evidence(native)), None)
    if reader is None:
        raise _misfit(native, where)
    if not _has_content(native) and not _has_part(reader.read(native)):
        raise _silent(where)


def _object(payload: Payload, where: str) -> dict[str, Any]:
    try:
        native = payloads.decode(payload)
    except ValueError as problem:
        raise ValidationError(f"{where} is not JSON: {problem}") from problem
    if not isinstance(native, dict):
        raise ValidationError(f"{where} must be an object with a role and content, not {type(native).__name__}")
    return native


def _has_content(native: dict[str, Any]) -> bool:
    return any(native.get(key) is not None for key in _CONTENT_KEYS)


def _has_part(message: Message) -> bool:
    """Whether something is said outside the content; of a result, that its field is there, which may be empty."""
    native = payloads.decode(message.native)
    return any(not isinstance(part, ToolResult) or native.get(part.at[0]) is not None for part in message.parts)


def _misfit(native: dict[str, Any], where: str) -> ValidationError:
    role = native.get("role")
    if not isinstance(role, str) or not role:
        return ValidationError(f"{where} has no role (its keys are {_keys(native)}). Say who speaks, for example user.")
    if not _has_content(native):
        return _silent(where)
    known = ", ".join(FORMATS)
    return FormatError(
        f"{where} (role {role!r}, keys {_keys(native)}) has the shape of no format that Redline knows ({known}). "
        "Check its role, and that its content is text or blocks of one format."
    )


def _silent(where: str) -> ValidationError:
    return ValidationError(f"{where} has neither content nor calls. Give it content; it may be empty.")


def _keys(native: dict[str, Any]) -> str:
    return ", ".join(map(str, native)) or "none"
