"""The Anthropic Messages format: content blocks, results in user messages, the system prompt beside the messages."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from redline.providers.anthropic.cache_control import MOST_BREAKPOINTS, mark_paths
from redline.providers.flaws import STORED_FIELDS, Flaw, fields_in, null_fields_in
from redline.providers.format import (
    Composed,
    Evidence,
    Format,
    blocks_of,
    compose_turn,
    inner_part,
    input_as_object,
    is_flagged_failed,
    kind_of,
    known_role,
    string_at,
)
from redline.values import payloads
from redline.values.messages import Media, MediaSource, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_OWN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use"})
_FOREIGN_BLOCKS = frozenset({"tool-call", "tool-result", "image_url", "input_text", "output_text", "refusal", "reasoning"})
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "parts", "call_id"})
_MEDIA_SOURCES: dict[MediaSource, str] = {"base64": "data", "url": "url", "file": "file_id", "text": "data"}
"""By the type of a source, the key that holds it."""
_ACCEPTED_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""https://docs.claude.com/en/docs/build-with-claude/vision; in the SDK, Base64ImageSourceParam."""
_FAILED_SILENTLY = "The tool failed and said nothing."
"""What a failed result says that has no words: `content cannot be empty if is_error is true` (bytedance/trae-agent#230)."""
_VERSION = re.compile(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
"""Of a model, in its name: `claude-opus-4-8`, `claude-3-5-sonnet-20241022`; a date is none."""


class Anthropic(Format):
    """Reads and writes the messages of the Anthropic Messages API."""

    name = "anthropic"
    model_prefix = "claude-"
    messages_field = "messages"
    roles = _ROLES
    volatile_fields = frozenset({"cache_control", "index"})
    told_fields = frozenset({"role", "content", "id", "model"})
    told_block_fields = frozenset({"text", "content", "input", "name", "id", "tool_use_id", "is_error", "source"})
    system_field = "system"
    accepted_id = re.compile(r"[a-zA-Z0-9_-]+")
    call_ids_are_unique = True
    refuses_blank_text = True
    takes_empty_answer = True
    takes_cache_breakpoints = True
    clears_tool_results = True
    begins_with_system = False
    blocks_field = "content"

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its own block types, impossible by another provider's keys or roles."""
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        content = native.get("content")
        if isinstance(content, str):
            return 1
        if not isinstance(content, list):
            return 0
        found: Evidence = 1
        for block in content:
            kind = kind_of(block)
            if kind in _FOREIGN_BLOCKS:
                return 0
            # Older Neovate sessions use the same name for a result, and another key for the call it answers.
            if kind == "tool_result" and "id" in block and "tool_use_id" not in block:
                return 0
            if kind in _OWN_BLOCKS:
                found = 2
        return found

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:  # noqa: ARG002 - blocks say what they are
        content = native.get("content")
        if isinstance(content, str):
            return (Text(content, ("content",)),)
        if isinstance(content, list):
            return tuple([_read_block(block, ("content", position)) for position, block in enumerate(content)])
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
        block = value_at(native, part.at)
        if isinstance(part, Reasoning) and "thinking" in block:
            return (*part.at, "thinking"), replacement
        # A cache breakpoint stays where the caller set it.
        is_breakpoint = isinstance(block, dict) and "cache_control" in block
        kept = {"cache_control": block["cache_control"]} if is_breakpoint else {}
        return part.at, {**_text_block(replacement), **kept}

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - the same in every message
        return (*part.at, "id" if isinstance(part, ToolCall) else "tool_use_id")

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One message; results first, because the provider wants them at the front. The system speaks in words only."""
        blocks, lost = compose_turn(role, parts, _compose_block, self.name)
        message = {"role": role if role in ("assistant", "system") else "user", "content": blocks}
        return Composed((message,) if blocks else (), lost)

    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema is under Anthropic's own name for it."""
        return {"name": name, "description": description, "input_schema": schema}

    def takes_later_system(self, model: str) -> bool:
        """From Claude 4.8 on; earlier models answer "role 'system' is not supported on this model"."""
        # https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-8
        version = _VERSION.search(model)
        return bool(model) and (version is None or (int(version[1]), int(version[2] or 0)) >= (4, 8))

    def _system_of(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Blocks of text, each as it was said: a breakpoint stays where the caller set it."""
        blocks: list[dict[str, Any]] = []
        for message in messages:
            held = payloads.decode(self.sendable(message.native)).get("content")
            said = [_text_block(held)] if isinstance(held, str) else held
            blocks += [block for block in said or () if kind_of(block) == "text" and not _is_blank(block)]
        return blocks

    def says_something(self, message: Message) -> bool:
        """As for every format; a system message may hold nothing but settings (in the SDK, BetaSystemMessageParam)."""
        if message.parts or message.role != "system":
            return bool(message.parts)
        return bool(payloads.decode(message.native).get("output_config"))

    def within_limits(self, messages: Sequence[Payload]) -> list[Payload]:
        """The messages with four breakpoints at most: the last ones, which end the longest prefixes that can be cached."""
        marked = [(place, mark_paths(decoded)) for place, decoded in enumerate(map(payloads.decode, messages))]
        surplus = sum(len(paths) for _, paths in marked) - MOST_BREAKPOINTS
        kept = list(messages)
        for place, paths in marked:
            if surplus <= 0:
                break
            kept[place] = payloads.remove(kept[place], paths[:surplus]) if paths else kept[place]
            surplus -= len(paths)
        return kept

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        role, content = native.get("role"), native.get("content")
        if role not in ("user", "assistant", "system"):
            yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
        taken = _SYSTEM_FIELDS if role == "system" else _MESSAGE_FIELDS
        if not native.keys() <= taken:
            yield from fields_in(native, native.keys() - taken)
        if not isinstance(content, str | list) and not (role == "system" and content is None):
            found = f"the content is {type(content).__name__}, not text or blocks"
            yield Flaw("block_shapes", ("content",), found, "" if content is None else str(content))
        for position, block in enumerate(content if isinstance(content, list) else ()):
            at, kind = ("content", position), kind_of(block)
            if isinstance(block, str):
                yield Flaw("block_shapes", at, "a string among the blocks", _text_block(block))
            elif role != "user" and kind in _USERS_BLOCKS:
                yield Flaw("block_shapes", at, f"a block of type {kind!r} that is not the user's", _not_shown(kind))
            else:
                yield from _block_flaws(block, kind, at)


def _read_block(block: Any, at: Path) -> Part:
    """One content block as a part; of an unknown type, or malformed, it is carried as it is. The commonest types come first."""
    kind = kind_of(block)
    match kind:
        case "text" if isinstance(block.get("text"), str):
            return Text(block["text"], at)
        case "tool_result":
            return _read_result(block, at, is_hosted=False)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            name = string_at(block, "name") or ""
            return ToolCall(string_at(block, "id"), name, block.get("input"), kind != "tool_use", at)
        case "thinking" if isinstance(block.get("thinking"), str):
            return Reasoning(block["thinking"], bool(block.get("signature")), at)
        case "redacted_thinking":
            return Reasoning("", is_bound=True, at=at)
        case "image" | "document":
            return _read_media(block, at) or Opaque(kind, block, at)
        case _ if kind.endswith("_tool_result"):
            return _read_result(block, at, is_hosted=True)
    return Opaque(kind, block, at)


def _read_result(block: dict[str, Any], at: Path, *, is_hosted: bool) -> ToolResult:
    content, inside = block.get("content"), (*at, "content")
    parts: list[Text | Media | Opaque] = []
    if isinstance(content, str):
        parts.append(Text(content, inside))
    elif isinstance(content, list):
        parts += [inner_part(_read_block(inner, (*inside, place)), inner) for place, inner in enumerate(content)]
    elif content is not None:
        parts.append(Opaque(kind_of(content), content, inside))
    failed = bool(block.get("is_error")) or is_flagged_failed(block)
    return ToolResult(string_at(block, "tool_use_id"), tuple(parts), None, failed, is_hosted, at)


def _read_media(block: dict[str, Any], at: Path) -> Media | None:
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    media_type = string_at(source, "media_type") or ("image/*" if block["type"] == "image" else "application/*")
    for source_type, key in _MEDIA_SOURCES.items():
        if source.get("type") == source_type and isinstance(source.get(key), str):
            return Media(media_type, source[key], source_type, at)
    return None


def _compose_block(part: Part, lost: list[str]) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return _text_block(text)
        case ToolCall(id, name, is_hosted=False):
            return {"type": "tool_use", "id": id, "name": name, "input": part.arguments}
        case ToolResult(is_hosted=False):
            return _compose_result(part, lost)
        case Media():
            return _compose_media(part)
    return None


def _compose_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """A failure is told in words; beside a picture there is no other way to tell it."""
    answer = {"type": "tool_result", "tool_use_id": result.call_id}
    blocks = blocks_of(result.parts, _compose_block, Anthropic.name, lost)
    if any(block["type"] != "text" for block in blocks):
        return {**answer, "content": [*([_text_block("Error:")] if result.is_error else []), *blocks]}
    if result.is_error:
        return {**answer, "content": result.text or _FAILED_SILENTLY, "is_error": True}
    return {**answer, "content": result.text}


def _compose_media(media: Media) -> dict[str, Any] | None:
    """None for a type that is not taken: the API refuses a whole request for one such picture or document."""
    if media.source_type == "text":
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": media.source}}
    source = {"type": media.source_type, _MEDIA_SOURCES[media.source_type]: media.source}
    if media.source_type == "base64":
        if media.media_type not in (*_ACCEPTED_IMAGES, "application/pdf"):
            return None
        source["media_type"] = media.media_type
    elif not media.media_type.startswith(("image/", "application/", "text/")):
        return None
    return {"type": "image" if media.media_type.startswith("image/") else "document", "source": source}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


# --- what the API refuses, wherever the message is


_MESSAGE_FIELDS = frozenset({"role", "content"})
_SYSTEM_FIELDS = _MESSAGE_FIELDS | {"output_config", "clear_at"}
"""`Extra inputs are not permitted`; in the SDK, UserMessageParam, AssistantMessageParam, BetaSystemMessageParam."""
_USERS_BLOCKS = frozenset({"image", "document"})
"""`'image' blocks are not permitted within assistant turns` (SEMOSS/Semoss#2323)."""
_NOT_IN_RESULTS = frozenset({"thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"})
"""In the SDK, ToolResultBlockParam.content."""
_LONGEST_NAME = 200
"""`tool_use.name: String should have at most 200 characters`."""

# Fields that are refused in a call; in a block that has no id; in one that no cache breakpoint can end in, as thinking:
# https://docs.claude.com/en/docs/build-with-claude/prompt-caching
_NOT_IN_CALLS = STORED_FIELDS | {"index", "partial_json"}
_NOT_IN_BLOCKS = _NOT_IN_CALLS | {"id"}
_NOT_IN_THINKING = _NOT_IN_BLOCKS | {"cache_control"}


def _block_flaws(block: Any, kind: str, at: Path) -> Iterator[Flaw]:
    """Blocks of types that Redline does not know are carried as they are."""
    match kind:
        case "text" if isinstance(block.get("text"), str):
            yield from fields_in(block, _NOT_IN_BLOCKS, at)
        case "text":
            yield Flaw("block_shapes", at, "a text block without text")
        case "tool_use":
            yield from _call_flaws(block, at)
        case "tool_result":
            yield from _result_flaws(block, at)
        case "thinking" | "redacted_thinking":
            # Without its signature it is another model's: `thinking.signature: Field required`. Servers that speak this
            # format may leave it empty, and want it back so.
            needed = ("thinking", "signature") if kind == "thinking" else ("data",)
            if all(isinstance(block.get(key), str) for key in needed):
                yield from fields_in(block, _NOT_IN_THINKING, at)
            else:
                yield Flaw("signed_reasoning", at, f"{kind} without its {needed[-1]}")
        case "image" if (refused := _refused_image(block)) is not None:
            yield Flaw("accepted_media", at, *refused)
        case "image":
            yield from fields_in(block, _NOT_IN_BLOCKS, at)
        case "unknown":
            found = "a block without a type" if isinstance(block, dict) else f"a {type(block).__name__} among the blocks"
            yield Flaw("block_shapes", at, found)


def _call_flaws(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    yield from fields_in(block, _NOT_IN_CALLS, at)
    yield from null_fields_in(block, ("caller",), at)
    held, name = block.get("input"), block.get("name")
    if not isinstance(held, dict):
        found = f"the input is {type(held).__name__}, not an object"
        yield Flaw("call_inputs", (*at, "input"), found, input_as_object(held))
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        named = name[:_LONGEST_NAME] if isinstance(name, str) and name else "tool"
        yield Flaw("tool_names", (*at, "name"), f"the name {str(name)[:40]!r}", named)


def _result_flaws(block: dict[str, Any], at: Path) -> Iterator[Flaw]:
    yield from fields_in(block, _NOT_IN_BLOCKS, at)
    content, is_error = block.get("content"), block.get("is_error")
    yield from null_fields_in(block, ("is_error",) if is_error else ("is_error", "content"), at)
    if isinstance(content, dict | int | float):
        yield Flaw("block_shapes", (*at, "content"), f"the content is {type(content).__name__}", str(content))
        return
    blocks = content if isinstance(content, list) else []
    is_silent = all(_is_blank(inner) for inner in blocks) if blocks else not str(content or "").strip()
    if is_error and is_silent:
        yield Flaw("failed_results", (*at, "content"), "a failure without a word", _FAILED_SILENTLY)
    elif is_error and any(kind_of(inner) != "text" for inner in blocks):
        found = "a failure that holds something else than text"
        yield Flaw("failed_results", (*at, "is_error"), found, False)
        yield Flaw("failed_results", (*at, "content"), found, [_text_block("Error:"), *_accepted_in_result(blocks)])
    elif blocks and (accepted := _accepted_in_result(blocks)) != blocks:
        yield Flaw("block_shapes", (*at, "content"), "a block in it that is refused", accepted)


def _accepted_in_result(blocks: list[Any]) -> list[Any]:
    """What is inside a result, without what is refused there: strings become blocks, blank texts and odd values go."""
    accepted: list[Any] = []
    for inner in blocks:
        kind = kind_of(inner)
        if isinstance(inner, str) and inner.strip():
            accepted.append(_text_block(inner))
        elif kind == "image":
            refused = _refused_image(inner)
            accepted.append(refused[1] if refused else inner)
        elif kind not in _NOT_IN_RESULTS and kind != "unknown" and not _is_blank(inner):
            accepted.append(inner)
    return accepted


def _is_blank(block: Any) -> bool:
    """A block of text without a word: `text content blocks must contain non-whitespace text`."""
    words = block.get("text") if kind_of(block) == "text" else "-"
    return not (isinstance(words, str) and words.strip())


def _refused_image(block: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Why a picture is not taken, and the words that are sent for it; None for one that is taken."""
    source = block.get("source")
    if not isinstance(source, dict):
        return "a picture without a source", _not_shown("picture")
    media_type = str(source.get("media_type"))  # which may be anything
    if source.get("type") == "base64" and media_type not in _ACCEPTED_IMAGES:
        return f"a picture of type {media_type!r}", _not_shown(media_type)
    return None


def _not_shown(kind: str) -> dict[str, Any]:
    return _text_block(f"[{kind}: not shown, the provider does not take it]")
