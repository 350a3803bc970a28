"""The AI SDK format: its model messages since version 4, and the session lines of Neovate, which resemble them."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from redline.formats.ai_sdk_flaws import find_flaws
from redline.formats.base import Composed, Evidence, Format, base64_text, result_words, what_is_lost
from redline.formats.flaws import Flaw
from redline.formats.reading import Reader, kind_of, known_role, read_block, split_data_url, string_at
from redline.values import payloads
from redline.values.messages import Media, MediaSource, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, value_at

__all__ = ["AiSdk"]

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "parts", "call_id"})
_FOREIGN_BLOCKS = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "document",
        "image_url",
        "input_text",
        "output_text",
        "refusal",
    }
)


class AiSdk(Format):
    """Reads and writes the AI SDK's model messages; its UI messages (with `parts`) are another thing."""

    name: ClassVar[str] = "ai_sdk"
    messages_field: ClassVar[str] = "messages"
    system_field: ClassVar[str | None] = "system"
    blocks_field: ClassVar[str | None] = "content"

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its tool parts, impossible by another format's keys, blocks or roles."""
        role, content = known_role(native, _ROLES), native.get("content")
        if role is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        if isinstance(content, str):
            return 0 if role == "tool" else 1
        return _evidence_of_blocks(content) if isinstance(content, list) else 0

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One message, and before it one of role `tool` with all the results."""
        if role == "system":
            return _composed_system(parts)
        lost: list[str] = []
        answers: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, ToolResult) and not part.is_hosted:
                answers.append(_composed_result(part, lost))
            else:
                others.extend(_composed(part, lost))
        turns = (("tool", answers), ("assistant" if role == "assistant" else "user", others))
        said = tuple({"role": turn, "content": content} for turn, content in turns if content)
        return Composed(said, tuple(lost))

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        return find_flaws(native)

    def _role(self, native: dict[str, Any]) -> Role:
        role, content = known_role(native, _ROLES) or "user", native.get("content")
        if role != "user" or not isinstance(content, list):
            return role
        return "tool" if content and all(_is_result(block) for block in content) else "user"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:
        content = native.get("content")
        if isinstance(content, str):
            return (Text(content, ("content",)),)
        if not isinstance(content, list):
            return ()
        parts = [read_block(block, ("content", position), _READERS) for position, block in enumerate(content)]
        return tuple([_hosted(part) for part in parts] if role == "assistant" else parts)

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        held = value_at(native, part.at)
        match part:
            case Text() if isinstance(part.at[-1], str):  # plain words or JSON under a key, not a block in a list
                return part.at, replacement
            case Text() | Reasoning() if "text" in held:
                return (*part.at, "text"), replacement
            case ToolCall():
                return (*part.at, _input_key(held)), replacement
            case ToolResult():
                return _reworded_result(held, part, replacement)
            case _:
                return part.at, _words_instead(held, replacement)

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:
        is_neovate = str(value_at(native, part.at)["type"]).startswith("tool_")
        return (*part.at, "id" if is_neovate else "toolCallId")


# --- reading


def _hosted(part: Part) -> Part:
    """A result beside the call it answers: the provider ran the tool."""
    return msgspec.structs.replace(part, is_hosted=True) if isinstance(part, ToolResult) else part


def _read_text(block: dict[str, Any], at: Path) -> Part | None:
    text = string_at(block, "text")
    return Text(text, at) if text is not None else None


def _read_reasoning(block: dict[str, Any], at: Path) -> Part | None:
    text = string_at(block, "text")
    return Reasoning(text, _is_signed(block), at) if text is not None else None


def _read_hidden_reasoning(_block: dict[str, Any], at: Path) -> Part:
    return Reasoning("", is_bound=True, at=at)


def _read_reasoning_file(block: dict[str, Any], at: Path) -> Part:
    return Reasoning("", _is_signed(block), at)


def _read_call(block: dict[str, Any], at: Path) -> Part:
    call_id, name, is_hosted = string_at(block, "toolCallId"), string_at(block, "toolName"), _is_hosted(block)
    return ToolCall(call_id, name or "", block.get(_input_key(block)), is_hosted, at)


def _read_neovate_call(block: dict[str, Any], at: Path) -> Part:
    return ToolCall(string_at(block, "id"), string_at(block, "name") or "", block.get("input"), at=at)


def _read_result(block: dict[str, Any], at: Path) -> Part:
    call_id, name = string_at(block, "toolCallId"), string_at(block, "toolName")
    return ToolResult(call_id, _inside(block, at), name, _is_failure(block), _is_hosted(block), at)


def _read_neovate_result(block: dict[str, Any], at: Path) -> Part | None:
    if not _is_result(block):
        return None
    return ToolResult(string_at(block, "id"), _inside(block, at), string_at(block, "name"), _is_failure(block), at=at)


def _is_result(block: Any) -> bool:
    """Also an older Neovate result, which has its own key for the id; one with Anthropic's is not of this format."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind == "tool-result" or (kind == "tool_result" and "id" in block and "tool_use_id" not in block)


def _is_hosted(block: dict[str, Any]) -> bool:
    return block.get("providerExecuted") is True


def _is_signed(block: dict[str, Any]) -> bool:
    """A signature or an encrypted text, which the SDK keeps under the name of the provider that made it."""
    options = [block.get(key) for key in ("providerOptions", "providerMetadata")]
    told = [said for by_name in options if isinstance(by_name, dict) for said in by_name.values()]
    return any(said.get(key) for said in (block, *told) if isinstance(said, dict) for key in _SIGNATURE_KEYS)


def _input_key(block: dict[str, Any]) -> str:
    """Version 4 said `args`."""
    return "args" if "args" in block and "input" not in block else "input"


_SIGNATURE_KEYS = ("signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature")


# --- results: `output` since version 5, `result` before, `result.llmContent` in Neovate


def _inside(block: dict[str, Any], at: Path) -> tuple[Text | Media | Opaque, ...]:
    path = _words_path(block)
    value, inside = value_at(block, path[:-1]).get(path[-1]), (*at, *path)
    if isinstance(value, str):
        return (Text(value, inside),)
    if isinstance(value, list) and (path[-1] in ("llmContent", "experimental_content") or _output_type(block) == "content"):
        return tuple([_read_nested(item, (*inside, position)) for position, item in enumerate(value)])
    return () if value is None else (Text(payloads.encode(value).decode(), inside),)


def _words_path(block: dict[str, Any]) -> tuple[str, ...]:
    """Where the words stand in a result."""
    output_type = _output_type(block)
    if output_type is not None:
        return ("output", "reason" if output_type == "execution-denied" else "value")
    if "output" in block:
        return ("output",)
    if isinstance(block.get("experimental_content"), list):
        return ("experimental_content",)
    result = block.get("result")
    return ("result", "llmContent") if isinstance(result, dict) and "llmContent" in result else ("result",)


def _output_type(block: dict[str, Any]) -> str | None:
    output = block.get("output")
    return string_at(output, "type") if isinstance(output, dict) else None


def _is_failure(block: dict[str, Any]) -> bool:
    """Said by the kind of output, or flagged beside it, or in what an MCP server or Neovate's tool returned."""
    output = block.get("output")
    kind, value = (output.get("type"), output.get("value")) if isinstance(output, dict) else (None, None)
    if kind in ("error-text", "error-json", "execution-denied") or _is_flagged(value):
        return True
    return _is_flagged(block) or _is_flagged(block.get("result"))


def _is_flagged(held: object) -> bool:
    return isinstance(held, dict) and held.get("isError") is True


def _read_nested(block: Any, at: Path) -> Text | Media | Opaque:
    part = read_block(block, at, _READERS)
    return part if isinstance(part, Text | Media | Opaque) else Opaque(str(block["type"]), block, at)


def _reworded_result(block: dict[str, Any], result: ToolResult, words: str) -> tuple[Path, object]:
    if "output" in block:
        before = block["output"] if isinstance(block["output"], dict) else {}
        kept = {key: value for key, value in before.items() if key not in ("type", "value", "reason")}
        return (*result.at, "output"), {**kept, "type": "error-text" if result.is_error else "text", "value": words}
    if "experimental_content" in block:
        kept = {key: value for key, value in block.items() if key != "experimental_content"}
        return result.at, {**kept, "result": words}
    return (*result.at, *_words_path(block)), words


def _words_instead(block: Any, words: str) -> dict[str, Any]:
    """A text block in the place of another; what the caller told the provider about it (a cache breakpoint) stays."""
    said = {"type": "text", "text": words}
    has_options = isinstance(block, dict) and "providerOptions" in block
    return {**said, "providerOptions": block["providerOptions"]} if has_options else said


# --- media


def _read_media(block: dict[str, Any], at: Path) -> Part | None:
    """Its source is a string, or since version 7 an object that holds it under the name of its type."""
    held = next((block[key] for key in ("data", "image", "url", "fileId") if block.get(key) is not None), None)
    tag = string_at(held, "type") if isinstance(held, dict) else None
    source = held.get(tag) if isinstance(held, dict) and tag in ("data", "url", "text") else held
    if not isinstance(source, str):
        return None
    kind = "image/*" if str(block["type"]).startswith("image") else "application/*"
    media_type = string_at(block, "mediaType") or string_at(block, "mimeType") or kind
    if tag == "text" or "fileId" in block:
        return Media(media_type, source, "text" if tag == "text" else "file", at)
    return _located(media_type, source, at)


def _located(media_type: str, source: str, at: Path) -> Media:
    if inline := split_data_url(source):
        return Media(inline[0] or media_type, inline[1], "base64", at)
    source_type: MediaSource = "url" if source.startswith(("http://", "https://", "data:")) else "base64"
    return Media(media_type, source, source_type, at)


_READERS: dict[str, Reader[Part]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "redacted-reasoning": _read_hidden_reasoning,
    "reasoning-file": _read_reasoning_file,
    "tool-call": _read_call,
    "tool-result": _read_result,
    "tool_use": _read_neovate_call,
    "tool_result": _read_neovate_result,
    **dict.fromkeys(("file", "image", "media", "file-data", "image-data", "file-url", "image-url"), _read_media),
    **dict.fromkeys(("file-id", "image-file-id"), _read_media),
}


# --- recognising


def _evidence_of_blocks(blocks: list[Any]) -> Evidence:
    found: Evidence = 1
    for block in blocks:
        kind = kind_of(block)
        if kind == "unknown":
            continue
        if kind in _FOREIGN_BLOCKS or "tool_use_id" in block or (kind == "image" and "source" in block):
            return 0
        if kind == "tool-call" or "toolCallId" in block or _is_result(block):
            found = 2
    return found


# --- composing


def _composed_system(parts: Sequence[Part]) -> Composed:
    """The system speaks in one string."""
    words = "\n".join(part.text for part in parts if isinstance(part, Text))
    lost = tuple(what_is_lost(part, "ai_sdk") for part in parts if not isinstance(part, Text))
    return Composed(({"role": "system", "content": words},) if words else (), lost)


def _composed(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text else []
        case Reasoning(text, is_bound=False):
            return [{"type": "reasoning", "text": text}]
        case ToolCall(is_hosted=False):
            call = {"type": "tool-call", "toolCallId": part.id, "toolName": part.name}
            return [{**call, "input": part.arguments}]
        case Media(source_type="base64" | "url"):
            return [{"type": "file", "data": part.source, "mediaType": part.media_type}]
        case Media(source_type="text"):
            return [{"type": "file", "data": base64_text(part.source), "mediaType": "text/plain"}]
        case _:
            lost.append(what_is_lost(part, "ai_sdk"))
            return []


def _composed_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    if result.name is None:
        lost.append(f"the name of the tool that answered call {result.call_id!r}: ai_sdk wants it, the result lacks it")
    answer = {"type": "tool-result", "toolCallId": result.call_id, "toolName": result.name or ""}
    return {**answer, "output": _composed_output(result, lost)}


def _composed_output(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """Beside media there is no place for the failure but in words."""
    media = [medium for part in result.parts if not isinstance(part, Text) for medium in _composed_inside(part, lost)]
    if media:
        words = [{"type": "text", "text": result_words(result)}] if result.text or result.is_error else []
        return {"type": "content", "value": [*words, *media]}
    return {"type": "error-text" if result.is_error else "text", "value": result.text}


def _composed_inside(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    """Media as the SDK names it inside a result; `media` is what versions 5 and 6 both take."""
    if not isinstance(part, Media):
        lost.append(what_is_lost(part, "ai_sdk"))
        return []
    kind = "image" if part.media_type.startswith("image/") else "file"
    match part.source_type:
        case "base64":
            return [{"type": "media", "data": part.source, "mediaType": part.media_type}]
        case "text":
            return [{"type": "text", "text": part.source}]
        case "url":
            return [{"type": f"{kind}-url", "url": part.source}]
        case "file":
            return [{"type": "image-file-id" if kind == "image" else "file-id", "fileId": part.source}]
