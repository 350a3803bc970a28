"""What the Gemini API refuses in one content, wherever it is: each rule with where it is written down."""

from collections.abc import Iterator
from typing import Any

from redline.formats.flaws import STORED_FIELDS, Flaw, fields_in
from redline.formats.tool_input import as_object
from redline.values.payloads import Path

__all__ = ["find_flaws"]

_ROLES = (None, "user", "model", "function", "tool", "system")
"""`system` is known, and has its place beside the contents: another law."""
_CONTENT_FIELDS = frozenset({"role", "parts"})
"""`Unknown name "…" at 'contents[0]': Cannot find field`; in the SDK, types.Content."""
_PART_FIELDS = STORED_FIELDS | {"type", "id"}
_BESIDE = frozenset({"thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata"})
"""What may be beside the data of a part, and is none."""


def find_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """Every flaw of a content."""
    if native.get("role") not in _ROLES:
        yield Flaw("known_roles", ("role",), f"the role {native.get('role')!r}", "user")
    if not native.keys() <= _CONTENT_FIELDS:
        yield from fields_in(native, native.keys() - _CONTENT_FIELDS)
    parts = native.get("parts")
    for position, part in enumerate(parts if isinstance(parts, list) else ()):
        yield from _in_part(part, ("parts", position))


def _in_part(part: Any, at: Path) -> Iterator[Flaw]:
    if isinstance(part, str):
        yield Flaw("block_shapes", at, "a string among the parts", {"text": part})
        return
    if not isinstance(part, dict) or not _has_data(part):
        yield Flaw("block_shapes", at, "a part that holds no data")
        return
    yield from fields_in(part, _PART_FIELDS, at)
    for key in ("functionCall", "function_call"):
        if isinstance(part.get(key), dict):
            yield from _in_call(part[key], (*at, key))
    for key in ("functionResponse", "function_response"):
        if isinstance(part.get(key), dict):
            yield from _in_response(part[key], (*at, key))


def _has_data(part: dict[str, Any]) -> bool:
    """`required oneof field 'data' must have one initialized field`; a signature alone is sent back as it came."""
    refused = _PART_FIELDS | _BESIDE
    is_signed = bool(part.get("thoughtSignature") or part.get("thought_signature"))
    return is_signed or any(value is not None for key, value in part.items() if key not in refused)


def _in_call(call: dict[str, Any], at: Path) -> Iterator[Flaw]:
    args = call.get("args")
    if args is not None and not isinstance(args, dict):
        yield Flaw("call_inputs", (*at, "args"), f"the args are {type(args).__name__}, not an object", as_object(args))
    yield from _in_name(call, at)


def _in_response(answer: dict[str, Any], at: Path) -> Iterator[Flaw]:
    """`response` is a Struct: https://ai.google.dev/api/caching#FunctionResponse."""
    held = answer.get("response")
    if not isinstance(held, dict):
        said = {} if held is None else {"output": held}
        yield Flaw("block_shapes", (*at, "response"), f"the response is {type(held).__name__}, not an object", said)
    yield from _in_name(answer, at)


def _in_name(held: dict[str, Any], at: Path) -> Iterator[Flaw]:
    """`function_response.name: Name cannot be empty` (google-gemini/gemini-cli)."""
    if not isinstance(held.get("name"), str) or not held["name"]:
        yield Flaw("tool_names", (*at, "name"), f"the name {held.get('name')!r}", "tool")
