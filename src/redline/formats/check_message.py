"""What a message needs to be added to a conversation: a role, and content or calls, in the shape of a known format."""

from redline.errors import FormatError, ValidationError
from redline.formats import FORMATS
from redline.values import payloads
from redline.values.messages import ToolResult
from redline.values.payloads import Payload

__all__ = ["check_message"]

_CONTENT_KEYS = ("content", "parts")


def check_message(payload: Payload, where: str = "The message") -> None:
    """Raise a ValidationError unless some format can read the payload and it says something.

    Content may be empty, but it must be there, unless there are calls. `where` names the message in the error.
    """
    try:
        native = payloads.decode(payload)
    except ValueError as problem:
        raise ValidationError(f"{where} is not JSON: {problem}") from problem
    if not isinstance(native, dict):
        raise ValidationError(f"{where} must be an object with a role and content, not {type(native).__name__}")
    role, keys = native.get("role"), ", ".join(map(str, native)) or "none"
    has_content = any(native.get(key) is not None for key in _CONTENT_KEYS)
    reader = next((known for known in FORMATS.values() if known.evidence(native)), None)
    if reader is None and (not isinstance(role, str) or not role):
        raise ValidationError(f"{where} has no role (its keys are {keys}). Say who speaks, for example user.")
    if reader is None and has_content:
        raise FormatError(
            f"{where} (role {role!r}, keys {keys}) has the shape of no format that Redline knows ({', '.join(FORMATS)}). "
            "Check its role, and that its content is text or blocks of one format."
        )
    # Something may be said outside the content. Of a result its field must be there, which may be empty.
    parts = reader.read(native).parts if reader is not None and not has_content else ()
    is_said = any(not isinstance(part, ToolResult) or native.get(str(part.at[0])) is not None for part in parts)
    if not has_content and not is_said:
        raise ValidationError(f"{where} has neither content nor calls. Give it content; it may be empty.")
