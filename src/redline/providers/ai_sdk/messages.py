"""The AI SDK format: its model messages since version 4, and the session lines of Neovate, which resemble them."""

from collections.abc import Iterator, Sequence
from typing import Any

from redline.providers.flaws import Flaw, names
from redline.providers.format import (
    Composed,
    Evidence,
    Format,
    base64_text,
    blocks_of,
    inner_part,
    is_flagged_failed,
    kind_of,
    known_role,
    result_words,
    split_data_url,
    string_at,
    what_is_lost,
)
from redline.values import payloads
from redline.values.messages import Media, MediaSource, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, value_at

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "parts", "call_id"})
_FOREIGN_BLOCKS = names("thinking redacted_thinking server_tool_use document image_url input_text output_text refusal")
_MEDIA_BLOCKS = names("file image media file-data image-data file-url image-url file-id image-file-id")
_SIGNATURE_KEYS = ("signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature")


class AiSdk(Format):
    """Reads and writes the AI SDK's model messages; its UI messages (with `parts`) are another thing."""

    name = "ai_sdk"
    messages_field = "messages"
    volatile_fields = names(
        "providerMetadata callProviderMetadata cacheControl cache_control cachePoint signature thoughtSignature itemId "
        "reasoningEncryptedContent"
    )
    told_fields = frozenset({"role", "content", "id"})
    told_block_fields = names(
        "text toolCallId toolName id name input args output result content isError experimental_content image data mediaType "
        "mimeType url"
    )
    system_field = "system"
    blocks_field = "content"

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its tool parts, impossible by another format's keys, blocks or roles."""
        role, content = known_role(native, _ROLES), native.get("content")
        if role is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        if not isinstance(content, list):
            return 1 if isinstance(content, str) and role != "tool" else 0
        found: Evidence = 1
        for block in content:
            kind = kind_of(block)
            if kind == "unknown":
                continue
            if kind in _FOREIGN_BLOCKS or "tool_use_id" in block or (kind == "image" and "source" in block):
                return 0
            if kind == "tool-call" or "toolCallId" in block or _is_result(block):
                found = 2
        return found

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
        # A result beside the call it answers: the provider ran the tool.
        is_hosted = role == "assistant"
        return tuple([_read_block(block, ("content", place), is_hosted=is_hosted) for place, block in enumerate(content)])

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        held = value_at(native, part.at)
        match part:
            case Text() if isinstance(part.at[-1], str):  # plain words or JSON under a key, not a block in a list
                return part.at, replacement
            case Text() | Reasoning() if "text" in held:
                return (*part.at, "text"), replacement
            case ToolCall():
                return (*part.at, _input_key(held)), replacement
            case ToolResult() if "output" in held:
                before = held["output"] if isinstance(held["output"], dict) else {}
                kept = {key: value for key, value in before.items() if key not in ("type", "value", "reason")}
                output = {**kept, "type": "error-text" if part.is_error else "text", "value": replacement}
                return (*part.at, "output"), output
            case ToolResult() if "experimental_content" in held:
                kept = {key: value for key, value in held.items() if key != "experimental_content"}
                return part.at, {**kept, "result": replacement}
            case ToolResult():
                return (*part.at, *_words_path(held)), replacement
        # What the caller told the provider about a block (a cache breakpoint) stays with the words in its place.
        has_options = isinstance(held, dict) and "providerOptions" in held
        options = {"providerOptions": held["providerOptions"]} if has_options else {}
        return part.at, {"type": "text", "text": replacement, **options}

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:
        is_neovate = str(value_at(native, part.at)["type"]).startswith("tool_")
        return (*part.at, "id" if is_neovate else "toolCallId")

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One message, and before it one of role `tool` with all the results. The system speaks in one string."""
        if role == "system":
            words = "\n".join(part.text for part in parts if isinstance(part, Text))
            unsaid = tuple(what_is_lost(part, self.name) for part in parts if not isinstance(part, Text))
            return Composed(({"role": "system", "content": words},) if words else (), unsaid)
        lost: list[str] = []
        blocks = blocks_of(parts, _compose_block, self.name, lost)
        results = [block for block in blocks if block["type"] == "tool-result"]
        others = [block for block in blocks if block["type"] != "tool-result"]
        turns = (("tool", results), ("assistant" if role == "assistant" else "user", others))
        said = tuple({"role": turn, "content": content} for turn, content in turns if content)
        return Composed(said, tuple(lost))

    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema is under the SDK's own name for it."""
        return {"type": "function", "name": name, "description": description, "inputSchema": schema}

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        # Fields that it does not know the SDK leaves out: https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message.
        role, content = native.get("role"), native.get("content")
        if role not in ("system", "user", "assistant", "tool"):
            yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
        if role == "tool" and isinstance(content, str):
            yield Flaw("known_roles", ("role",), "words of a tool that answer no call", "user")
        if not isinstance(content, list):
            return
        if role == "system":
            words = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
            yield Flaw("block_shapes", ("content",), "the system's content is a list, not text", "\n".join(words))
            return
        for position, block in enumerate(content):
            at, kind = ("content", position), kind_of(block)
            if isinstance(block, str):
                yield Flaw("block_shapes", at, "a string among the parts", {"type": "text", "text": block})
            elif kind == "unknown":
                yield Flaw("block_shapes", at, "a part without a type")
            elif kind in ("tool-call", "tool-result") and not isinstance(block.get("toolName"), str):
                found = f"a {kind.removeprefix('tool-')} without the name of its tool"
                yield Flaw("tool_names", (*at, "toolName"), found, "tool")


def _read_block(block: Any, at: Path, *, is_hosted: bool = False) -> Part:
    """A part; of an unknown type, or malformed, it is carried as it is. `is_hosted`: a result in it is the provider's own."""
    kind = kind_of(block)
    match kind:
        case "text" if isinstance(block.get("text"), str):
            return Text(block["text"], at)
        case "tool-call":
            call_id, name = string_at(block, "toolCallId"), string_at(block, "toolName")
            return ToolCall(call_id, name or "", block.get(_input_key(block)), block.get("providerExecuted") is True, at)
        case "tool-result":
            call_id, name = string_at(block, "toolCallId"), string_at(block, "toolName")
            is_hosted = is_hosted or block.get("providerExecuted") is True
            return ToolResult(call_id, _result_parts(block, at), name, _is_failure(block), is_hosted, at)
        case "tool_use":  # of Neovate
            return ToolCall(string_at(block, "id"), string_at(block, "name") or "", block.get("input"), at=at)
        case "tool_result" if _is_result(block):  # of Neovate
            call_id, name = string_at(block, "id"), string_at(block, "name")
            return ToolResult(call_id, _result_parts(block, at), name, _is_failure(block), is_hosted, at)
        case "reasoning" if isinstance(block.get("text"), str):
            return Reasoning(block["text"], _is_signed(block), at)
        case "redacted-reasoning":
            return Reasoning("", is_bound=True, at=at)
        case "reasoning-file":
            return Reasoning("", _is_signed(block), at)
        case _ if kind in _MEDIA_BLOCKS:
            return _read_media(block, at) or Opaque(kind, block, at)
    return Opaque(kind, block, at)


def _is_result(block: Any) -> bool:
    """Also an older Neovate result, which has its own key for the id; one with Anthropic's is not of this format."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind == "tool-result" or (kind == "tool_result" and "id" in block and "tool_use_id" not in block)


def _is_signed(block: dict[str, Any]) -> bool:
    """A signature or an encrypted text, which the SDK keeps under the name of the provider that made it."""
    options = [block.get(key) for key in ("providerOptions", "providerMetadata")]
    told = [said for by_name in options if isinstance(by_name, dict) for said in by_name.values()]
    return any(said.get(key) for said in (block, *told) if isinstance(said, dict) for key in _SIGNATURE_KEYS)


def _input_key(block: dict[str, Any]) -> str:
    """Version 4 said `args`."""
    return "args" if "args" in block and "input" not in block else "input"


def _read_media(block: dict[str, Any], at: Path) -> Media | None:
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
    if inline := split_data_url(source):
        return Media(inline[0] or media_type, inline[1], "base64", at)
    source_type: MediaSource = "url" if source.startswith(("http://", "https://", "data:")) else "base64"
    return Media(media_type, source, source_type, at)


# --- results: `output` since version 5, `result` before, `result.llmContent` in Neovate


def _result_parts(block: dict[str, Any], at: Path) -> tuple[Text | Media | Opaque, ...]:
    path = _words_path(block)
    value, inside = value_at(block, path[:-1]).get(path[-1]), (*at, *path)
    if value is None:
        return ()
    if isinstance(value, str):
        return (Text(value, inside),)
    holds_blocks = path[-1] in ("llmContent", "experimental_content") or _output_type(block) == "content"
    if not isinstance(value, list) or not holds_blocks:
        return (Text(payloads.encode(value).decode(), inside),)
    return tuple([inner_part(_read_block(inner, (*inside, place)), inner) for place, inner in enumerate(value)])


def _words_path(block: dict[str, Any]) -> tuple[str, ...]:
    """Where the words are in a result."""
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
    if isinstance(output, dict) and output.get("type") in ("error-text", "error-json", "execution-denied"):
        return True
    value = output.get("value") if isinstance(output, dict) else None
    return any(isinstance(held, dict) and is_flagged_failed(held) for held in (block, value, block.get("result")))


def _compose_block(part: Part, lost: list[str]) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text, is_bound=False):
            return {"type": "reasoning", "text": text}
        case ToolCall(is_hosted=False):
            return {"type": "tool-call", "toolCallId": part.id, "toolName": part.name, "input": part.arguments}
        case ToolResult(is_hosted=False):
            return _compose_result(part, lost)
        case Media(source_type="base64" | "url"):
            return {"type": "file", "data": part.source, "mediaType": part.media_type}
        case Media(source_type="text"):
            return {"type": "file", "data": base64_text(part.source), "mediaType": "text/plain"}
    return None


def _compose_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """Beside media there is no place for the failure but in words."""
    if result.name is None:
        lost.append(f"the name of the tool that answered call {result.call_id!r}: ai_sdk wants it, the result lacks it")
    media = [_compose_media_in_result(part) for part in result.parts if isinstance(part, Media)]
    lost += [what_is_lost(part, AiSdk.name) for part in result.parts if not isinstance(part, Media | Text)]
    output: dict[str, Any] = {"type": "error-text" if result.is_error else "text", "value": result.text}
    if media:
        words = [{"type": "text", "text": result_words(result)}] if result.text or result.is_error else []
        output = {"type": "content", "value": [*words, *media]}
    return {"type": "tool-result", "toolCallId": result.call_id, "toolName": result.name or "", "output": output}


def _compose_media_in_result(media: Media) -> dict[str, Any]:
    """Media as the SDK names it inside a result; `media` is what versions 5 and 6 both take."""
    kind = "image" if media.media_type.startswith("image/") else "file"
    match media.source_type:
        case "base64":
            return {"type": "media", "data": media.source, "mediaType": media.media_type}
        case "text":
            return {"type": "text", "text": media.source}
        case "url":
            return {"type": f"{kind}-url", "url": media.source}
        case "file":
            return {"type": "image-file-id" if kind == "image" else "file-id", "fileId": media.source}
