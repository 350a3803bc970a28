"""The Anthropic Messages format: content blocks, results in user messages, the system prompt beside the messages."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from redline.formats.anthropic_flaws import ACCEPTED_IMAGES, FAILED_SILENTLY, find_flaws
from redline.formats.base import Composed, Evidence, Format, what_is_lost
from redline.formats.cache_control import MOST_BREAKPOINTS, mark_paths
from redline.formats.flaws import Flaw
from redline.formats.reading import Reader, kind_of, known_role, read_block, string_at
from redline.values import payloads
from redline.values.messages import Media, MediaSource, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

__all__ = ["Anthropic"]

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_OWN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use"})
_FOREIGN_BLOCKS = frozenset({"tool-call", "tool-result", "image_url", "input_text", "output_text", "refusal", "reasoning"})
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "parts", "call_id"})
_ACCEPTED_ID = re.compile(r"[a-zA-Z0-9_-]+")


_VERSION = re.compile(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
"""Of a model, in its name: `claude-opus-4-8`, `claude-3-5-sonnet-20241022`; a date is none."""


class Anthropic(Format):
    """Reads and writes the messages of the Anthropic Messages API."""

    name: ClassVar[str] = "anthropic"
    messages_field: ClassVar[str] = "messages"
    system_field: ClassVar[str | None] = "system"
    call_ids_are_unique: ClassVar[bool] = True
    refuses_blank_text: ClassVar[bool] = True
    begins_with_system: ClassVar[bool] = False
    blocks_field: ClassVar[str | None] = "content"

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its own block types, impossible by another provider's keys or roles."""
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        content = native.get("content")
        if isinstance(content, str):
            return 1
        if not isinstance(content, list):
            return 0
        return _evidence_of_blocks(content)

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One message; results first, because the provider wants them at the front."""
        ordered = sorted(parts, key=lambda part: not isinstance(part, ToolResult)) if role != "assistant" else parts
        lost: list[str] = []
        compose_part = _composed_in_system if role == "system" else _composed
        blocks = [block for part in ordered for block in compose_part(part, lost)]
        wire_role = role if role in ("assistant", "system") else "user"
        message = {"role": wire_role, "content": blocks}
        return Composed((message,) if blocks else (), tuple(lost))

    def says_something(self, message: Message) -> bool:
        """As for every format; a system message may hold nothing but settings (in the SDK, BetaSystemMessageParam)."""
        if message.parts or message.role != "system":
            return bool(message.parts)
        return bool(payloads.decode(message.native).get("output_config"))

    def within_limits(self, messages: Sequence[Payload]) -> list[Payload]:
        """The messages with four breakpoints at most: the last ones, which end the longest stretches that can be cached."""
        marked = [(place, mark_paths(decoded)) for place, decoded in enumerate(map(payloads.decode, messages))]
        surplus = sum(len(paths) for _, paths in marked) - MOST_BREAKPOINTS
        kept = list(messages)
        for place, paths in marked:
            if surplus <= 0:
                break
            kept[place] = payloads.remove(kept[place], paths[:surplus]) if paths else kept[place]
            surplus -= len(paths)
        return kept

    def takes_later_system(self, model: str) -> bool:
        """From Claude 4.8 on; earlier models answer "role 'system' is not supported on this model".

        https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-8
        """
        version = _VERSION.search(model)
        return bool(model) and (version is None or (int(version[1]), int(version[2] or 0)) >= (4, 8))

    def _system_of(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Blocks of text, each as it was said: a breakpoint stays where the caller set it."""
        blocks: list[dict[str, Any]] = []
        for message in messages:
            held = payloads.decode(self.sendable(message.native)).get("content")
            said = [{"type": "text", "text": held}] if isinstance(held, str) else held
            blocks += [block for block in said or () if kind_of(block) == "text" and block.get("text")]
        return blocks

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        return find_flaws(native)

    def _role(self, native: dict[str, Any]) -> Role:
        return known_role(native, _ROLES) or "user"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:  # noqa: ARG002 - blocks say what they are
        content = native.get("content")
        if isinstance(content, str):
            return (Text(content, ("content",)),)
        if isinstance(content, list):
            return tuple([read_block(block, ("content", at), _READERS, _carried) for at, block in enumerate(content)])
        return ()

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        match part:
            case ToolCall():
                return (*part.at, "input"), replacement
            case ToolResult():
                return (*part.at, "content"), replacement
            case _ if isinstance(part.at[-1], str):  # all of a content, not a block in it
                return part.at, replacement
            case Text():
                return (*part.at, "text"), replacement
            case Reasoning() if "thinking" in value_at(native, part.at):
                return (*part.at, "thinking"), replacement
            case _:
                return part.at, _words_instead(value_at(native, part.at), replacement)

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:  # noqa: ARG002 - the same for every message
        """The API takes letters, digits, underscores and hyphens."""
        own = part.id if isinstance(part, ToolCall) else part.call_id
        return own is not None and _ACCEPTED_ID.fullmatch(own) is not None

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - the same in every message
        return (*part.at, "id" if isinstance(part, ToolCall) else "tool_use_id")


def _words_instead(block: Any, words: str) -> dict[str, Any]:
    """A text block in the place of another; a cache breakpoint stays where the caller set it."""
    said = {"type": "text", "text": words}
    is_breakpoint = isinstance(block, dict) and "cache_control" in block
    return {**said, "cache_control": block["cache_control"]} if is_breakpoint else said


# --- reading


def _read_block(block: Any, at: Path) -> Part:
    """One content block as a part; unknown ones are carried as they are."""
    return read_block(block, at, _READERS, _carried)


def _carried(kind: str, block: Any, at: Path) -> Part:
    return _hosted_result(block, at) if kind.endswith("_tool_result") else Opaque(kind, block, at)


def _text(block: dict[str, Any], at: Path) -> Part | None:
    text = block.get("text")
    return Text(text, at) if isinstance(text, str) else None


def _thinking(block: dict[str, Any], at: Path) -> Part | None:
    text = block.get("thinking")
    return Reasoning(text, bool(block.get("signature")), at) if isinstance(text, str) else None


def _redacted_thinking(_block: dict[str, Any], at: Path) -> Part:
    return Reasoning("", is_bound=True, at=at)


def _call(block: dict[str, Any], at: Path) -> Part:
    return ToolCall(string_at(block, "id"), string_at(block, "name") or "", block.get("input"), at=at)


def _hosted_call(block: dict[str, Any], at: Path) -> Part:
    return msgspec.structs.replace(_call(block, at), is_hosted=True)


def _result(block: dict[str, Any], at: Path) -> Part:
    failed = bool(block.get("is_error"))
    return ToolResult(string_at(block, "tool_use_id"), _inside(block, at), None, failed, at=at)


def _hosted_result(block: dict[str, Any], at: Path) -> Part:
    return msgspec.structs.replace(_result(block, at), is_hosted=True)


def _inside(block: dict[str, Any], at: Path) -> tuple[Text | Media | Opaque, ...]:
    content, inner = block.get("content"), (*at, "content")
    if isinstance(content, str):
        return (Text(content, inner),)
    if isinstance(content, list):
        return tuple([_nested(item, (*inner, position)) for position, item in enumerate(content)])
    if content is None:
        return ()
    return (Opaque(str(content.get("type")) if isinstance(content, dict) else "unknown", content, inner),)


def _nested(block: Any, at: Path) -> Text | Media | Opaque:
    part = _read_block(block, at)
    return part if isinstance(part, Text | Media | Opaque) else Opaque(str(block["type"]), block, at)


def _media(block: dict[str, Any], at: Path) -> Part | None:
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    media_type = string_at(source, "media_type") or ("image/*" if block["type"] == "image" else "application/*")
    for source_type, key in _MEDIA_SOURCES.items():
        if source.get("type") == source_type and isinstance(source.get(key), str):
            return Media(media_type, source[key], source_type, at)
    return None


_ACCEPTED_TYPES = ACCEPTED_IMAGES | {"application/pdf"}
_MEDIA_SOURCES: dict[MediaSource, str] = {"base64": "data", "url": "url", "file": "file_id", "text": "data"}

_READERS: dict[str, Reader[Part]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted_thinking,
    "tool_use": _call,
    "server_tool_use": _hosted_call,
    "mcp_tool_use": _hosted_call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}


# --- recognising


def _evidence_of_blocks(blocks: list[Any]) -> Evidence:
    found: Evidence = 1
    for block in blocks:
        kind = kind_of(block)
        if kind in _FOREIGN_BLOCKS or (kind == "tool_result" and _is_foreign_result(block)):
            return 0
        if kind in _OWN_BLOCKS:
            found = 2
    return found


def _is_foreign_result(block: dict[str, Any]) -> bool:
    """Older Neovate sessions use the same name for a result, and another key for the call it answers."""
    return "id" in block and "tool_use_id" not in block


# --- composing


def _composed(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text else []
        case ToolCall(id, name, is_hosted=False):
            return [{"type": "tool_use", "id": id, "name": name, "input": part.arguments}]
        case ToolResult(is_hosted=False):
            return [_composed_result(part, lost)]
        case Media() if _is_accepted(part):
            return [_composed_media(part)]
        case _:
            lost.append(what_is_lost(part, "anthropic"))
            return []


def _composed_in_system(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    """The system speaks in words only."""
    if isinstance(part, Text):
        return _composed(part, lost)
    lost.append(what_is_lost(part, "anthropic"))
    return []


def _composed_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """A failure is told in words; beside a picture there is no other way to tell it."""
    answer = {"type": "tool_result", "tool_use_id": result.call_id}
    blocks = [block for part in result.parts for block in _composed(part, lost)]
    if any(block["type"] != "text" for block in blocks):
        told = [{"type": "text", "text": "Error:"}] if result.is_error else []
        return {**answer, "content": [*told, *blocks]}
    if result.is_error:
        return {**answer, "content": result.text or FAILED_SILENTLY, "is_error": True}
    return {**answer, "content": result.text}


def _is_accepted(media: Media) -> bool:
    """The API refuses a whole request for one picture or document of a type it does not take."""
    match media.source_type:
        case "base64":
            return media.media_type in _ACCEPTED_TYPES
        case "text":
            return True
        case _:
            return media.media_type.startswith(("image/", "application/", "text/"))


def _composed_media(media: Media) -> dict[str, Any]:
    if media.source_type == "text":
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": media.source}}
    kind = "image" if media.media_type.startswith("image/") else "document"
    source = {"type": media.source_type, _MEDIA_SOURCES[media.source_type]: media.source}
    if media.source_type == "base64":
        source["media_type"] = media.media_type
    return {"type": kind, "source": source}
