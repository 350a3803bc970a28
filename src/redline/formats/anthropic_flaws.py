"""What Anthropic refuses in one message, wherever it is: each rule with where it is written down."""

from collections.abc import Callable, Iterator
from typing import Any

from redline.formats.flaws import STORED_FIELDS, Flaw, fields_in, null_fields_in
from redline.formats.reading import kind_of
from redline.formats.tool_input import as_object
from redline.values.payloads import Path

__all__ = ["ACCEPTED_IMAGES", "FAILED_SILENTLY", "find_flaws"]

ACCEPTED_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""https://docs.claude.com/en/docs/build-with-claude/vision; in the SDK, Base64ImageSourceParam."""

FAILED_SILENTLY = "The tool failed and said nothing."
"""What a failed result says that has no words: `content cannot be empty if is_error is true` (bytedance/trae-agent#230)."""

_ROLES = ("user", "assistant", "system")
_MESSAGE_FIELDS = {
    "system": frozenset({"role", "content", "output_config", "clear_at"}),
}
_PLAIN_FIELDS = frozenset({"role", "content"})
"""`Extra inputs are not permitted`; in the SDK, UserMessageParam, AssistantMessageParam, BetaSystemMessageParam."""
_BLOCK_FIELDS = STORED_FIELDS | {"index", "partial_json"}
_NAMELESS_FIELDS = _BLOCK_FIELDS | {"id"}
_UNMARKED_FIELDS = _NAMELESS_FIELDS | {"cache_control"}
"""A breakpoint cannot end in thinking: https://docs.claude.com/en/docs/build-with-claude/prompt-caching."""
_USERS_BLOCKS = frozenset({"image", "document"})
"""`'image' blocks are not permitted within assistant turns` (SEMOSS/Semoss#2323)."""
_NOT_IN_RESULTS = frozenset({"thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"})
"""In the SDK, ToolResultBlockParam.content."""
_LONGEST_NAME = 200
"""`tool_use.name: String should have at most 200 characters`."""


def find_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """Every flaw of a message."""
    role, content = native.get("role"), native.get("content")
    if role not in _ROLES:
        yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
    allowed = _MESSAGE_FIELDS.get(role, _PLAIN_FIELDS) if isinstance(role, str) else _PLAIN_FIELDS
    if not native.keys() <= allowed:
        yield from fields_in(native, native.keys() - allowed)
    if not isinstance(content, str | list) and not (role == "system" and content is None):
        found = f"the content is {type(content).__name__}, not text or blocks"
        yield Flaw("block_shapes", ("content",), found, "" if content is None else str(content))
    for position, block in enumerate(content if isinstance(content, list) else ()):
        if role != "user" and (kind := kind_of(block)) in _USERS_BLOCKS:
            yield Flaw("block_shapes", ("content", position), f"a block of type {kind!r} that is not the user's", _unseen(kind))
        else:
            yield from _in_block(block, ("content", position))


def _in_block(block: Any, at: Path) -> Iterator[Flaw]:
    if isinstance(block, dict):
        yield from _CHECKS.get(kind_of(block), _in_unknown)(block, at)
    elif isinstance(block, str):
        yield Flaw("block_shapes", at, "a string among the blocks", {"type": "text", "text": block})
    else:
        yield Flaw("block_shapes", at, f"a {type(block).__name__} among the blocks")


def _in_unknown(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    """A block that Redline does not know is carried as it is; only one that names no type is refused for certain."""
    if not isinstance(block.get("type"), str):
        yield Flaw("block_shapes", at, "a block without a type")


def _in_text(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    if not isinstance(block.get("text"), str):
        yield Flaw("block_shapes", at, "a text block without text")
        return
    yield from fields_in(block, _NAMELESS_FIELDS, at)


def _in_thinking(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    """Without its signature it is another model's: `thinking.signature: Field required`. Servers that speak this format may
    leave it empty, and want it back so."""
    if not isinstance(block.get("thinking"), str) or not isinstance(block.get("signature"), str):
        yield Flaw("signed_reasoning", at, "thinking without its signature")
        return
    yield from fields_in(block, _UNMARKED_FIELDS, at)


def _in_redacted(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    if not isinstance(block.get("data"), str):
        yield Flaw("signed_reasoning", at, "redacted thinking without its data")
        return
    yield from fields_in(block, _UNMARKED_FIELDS, at)


def _in_call(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    yield from fields_in(block, _BLOCK_FIELDS, at)
    yield from null_fields_in(block, ("caller",), at)
    if not isinstance(block.get("input"), dict):
        found = f"the input is {type(block.get('input')).__name__}, not an object"
        yield Flaw("call_inputs", (*at, "input"), found, as_object(block.get("input")))
    name = block.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        named = name[:_LONGEST_NAME] if isinstance(name, str) and name else "tool"
        yield Flaw("tool_names", (*at, "name"), f"the name {str(name)[:40]!r}", named)


def _in_result(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    yield from fields_in(block, _NAMELESS_FIELDS, at)
    content, is_error = block.get("content"), block.get("is_error")
    yield from null_fields_in(block, ("is_error",) if is_error else ("is_error", "content"), at)
    if isinstance(content, dict | int | float):
        yield Flaw("block_shapes", (*at, "content"), f"the content is {type(content).__name__}", str(content))
    elif is_error and not _says_something(content):
        yield Flaw("failed_results", (*at, "content"), "a failure without a word", FAILED_SILENTLY)
    elif is_error and isinstance(content, list) and any(kind_of(inner) != "text" for inner in content):
        found = "a failure that holds something else than text"
        yield Flaw("failed_results", (*at, "is_error"), found, False)
        yield Flaw("failed_results", (*at, "content"), found, [{"type": "text", "text": "Error:"}, *_taken(content)])
    elif isinstance(content, list) and (taken := _taken(content)) != content:
        yield Flaw("block_shapes", (*at, "content"), "a block in it that is refused", taken)


def _says_something(content: Any) -> bool:
    if isinstance(content, list):
        return any(kind_of(inner) != "text" or inner.get("text") for inner in content)
    return bool(content)


def _taken(content: list[Any]) -> list[Any]:
    """What is inside a result, without what is refused there: strings become blocks, blank texts and odd values go."""
    kept: list[Any] = []
    for inner in content:
        if isinstance(inner, str):
            kept += [{"type": "text", "text": inner}] if inner else []
        elif isinstance(inner, dict) and isinstance(inner.get("type"), str):
            flaws = list(_in_image(inner, ())) if inner["type"] == "image" else []
            is_refused = inner["type"] in _NOT_IN_RESULTS or (inner["type"] == "text" and not inner.get("text"))
            kept += [] if is_refused else [flaws[0].instead if flaws else inner]
    return kept


def _in_image(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    source = block.get("source")
    if not isinstance(source, dict):
        yield Flaw("accepted_media", at, "a picture without a source", _unseen("picture"))
    elif source.get("type") == "base64" and source.get("media_type") not in ACCEPTED_IMAGES:
        media_type = str(source.get("media_type"))
        yield Flaw("accepted_media", at, f"a picture of type {media_type!r}", _unseen(media_type))
    elif at:
        yield from fields_in(block, _NAMELESS_FIELDS, at)


def _unseen(kind: str) -> dict[str, str]:
    return {"type": "text", "text": f"[{kind}: not shown, the provider does not take it]"}


_CHECKS: dict[str, Callable[[dict[str, Any], Path], Iterator[Flaw]]] = {
    "text": _in_text,
    "thinking": _in_thinking,
    "redacted_thinking": _in_redacted,
    "tool_use": _in_call,
    "tool_result": _in_result,
    "image": _in_image,
}
