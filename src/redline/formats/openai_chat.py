"""The OpenAI Chat Completions format: calls beside the content, and each result a message of its own."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from redline.errors import ValidationError
from redline.formats.base import Composed, Evidence, Format, result_words
from redline.formats.flaws import Flaw
from redline.formats.openai_chat_flaws import find_flaws
from redline.formats.openai_parts import (
    Content,
    arguments_text,
    data_url,
    file_name,
    has_known_type,
    identified,
    input_as_held,
    is_failure,
    lost_words,
    media_from_url,
    read_audio,
    read_content,
    read_file,
    read_words,
    text_key,
)
from redline.formats.reading import Reader, kind_of, known_role, string_at
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

__all__ = ["OpenAIChat"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING_KEYS = ("reasoning_content", "reasoning")
"""Not OpenAI's own: servers that speak this format put the model's thoughts under one of these."""
_LONGEST_ID = 40
"""`Invalid 'messages[2].tool_calls[0].id': string too long` (vercel/ai#5171)."""
_SIGNATURE_IN_ID = "__thought__"
"""LiteLLM keeps Gemini's signature in the id of a call, of any length, and wants it back."""
_OWN_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_SPEAKING_KEYS = _OWN_KEYS.union(("content", "refusal", "audio"), _REASONING_KEYS)
_RARE_KEYS = _SPEAKING_KEYS - {"content", "tool_calls", "tool_call_id"}
_FOREIGN_KEYS = frozenset({"parts", "call_id", "toolCallId"})
_OWN_PARTS = frozenset({"image_url", "video_url", "audio_url", "input_audio", "file"})
_FOREIGN_PARTS = frozenset(
    {
        *("tool_use", "tool_result", "server_tool_use", "thinking", "redacted_thinking", "document", "image"),
        *("tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "reasoning"),
        *("input_text", "output_text", "input_image", "input_file"),
    }
)


class OpenAIChat(Format):
    """Reads and writes the messages of the OpenAI Chat Completions API and of the many servers that speak it."""

    name: ClassVar[str] = "openai_chat"
    messages_field: ClassVar[str] = "messages"
    system_field: ClassVar[str | None] = None

    def reword(self, payload: Payload, part: Part, replacement: str | dict[str, Any]) -> Payload:
        """As for every format; a result that says something else also loses the pictures stored beside its words."""
        after = super().reword(payload, part, replacement)
        has_pictures = isinstance(part, ToolResult) and "images" in payloads.decode(after)
        return payloads.remove(after, [("images",)]) if has_pictures else after

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """As for every format; content that was there and is gone leaves the key, which many servers ask for."""
        after = super().remove(message, parts)
        if after is None or "content" not in payloads.decode(message.native):
            return after
        native = payloads.decode(after.native)
        return after if "content" in native else self.read(_with_no_content(after.native, native))

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by the keys and parts only chat has, impossible by another's; roles and strings prove nothing."""
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        found = _evidence_of_content(native.get("content"))
        if not _OWN_KEYS.isdisjoint(native):
            return 2 if found else 0
        return 0 if _SPEAKING_KEYS.isdisjoint(native) else found

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """What is said and called in one message, then a `tool` message for each result.

        A `tool` message takes text only: a picture in a result is noted in its text and follows in a user message,
        behind all results, because nothing may stand between them. A call or result without an id is given one made
        from its tool's name, the same for both.
        """
        lost: list[str] = []
        known = tuple(identified(parts))
        results = [part for part in known if isinstance(part, ToolResult) and not part.is_hosted]
        others = [part for part in known if not isinstance(part, ToolResult) or part.is_hosted]
        shown: list[dict[str, Any]] = []
        answers = [_composed_result(result, shown, lost) for result in results]
        if role in ("user", "tool"):
            shown += [block for part in others for block in _composed_block(part, lost)]
            return Composed((*answers, *_user_message(shown)), tuple(lost))
        said = _assistant_message(others, lost) if role == "assistant" else _system_message(others, lost)
        return Composed((*said, *answers, *_user_message(shown)), tuple(lost))

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        return find_flaws(native)

    def _role(self, native: dict[str, Any]) -> Role:
        return known_role(native, _ROLES) or "user"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:
        content = read_content(native, "content", _READERS)
        if role == "tool":
            return (_result(native, content),)
        if not _RARE_KEYS.isdisjoint(native):
            return (*_thoughts(native), *content, *_said_beside(native), *_calls(native))
        return (*content, *_calls(native)) if "tool_calls" in native else content

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        match part:
            case ToolCall():
                path = _input_path(value_at(native, part.at), part.at)
                return path, input_as_held(value_at(native, path[:-1]).get(path[-1]), replacement)
            case Reasoning():
                return part.at, replacement
        if part.at[0] not in ("content", "refusal"):
            raise ValidationError(f"{self.name}: {part.at[0]!r} has no place for words; remove the part instead")
        if isinstance(part, Text) and not isinstance(value_at(native, part.at), str):
            return (*part.at, text_key(value_at(native, part.at))), replacement
        return part.at, replacement if len(part.at) == 1 else {"type": "text", "text": replacement}

    def _pruned(self, payload: Payload) -> Payload:
        native = payloads.decode(payload)
        if native.get("tool_calls") == []:
            payload = payloads.remove(payload, [("tool_calls",)])
        needs_words = native.get("content", "") is None and not _may_lack_content(native)
        return _with_no_content(payload, native) if native.get("content") == [] or needs_words else payload

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:
        """There must be one, of 40 characters at most, but for a `function_call` and the message that answers it by name."""
        own = part.id if isinstance(part, ToolCall) else part.call_id
        if own:
            return len(own) <= _LONGEST_ID or _SIGNATURE_IN_ID in own
        if part.at == ("function_call",):
            return True
        return isinstance(part, ToolResult) and payloads.decode(message.native).get("role") == "function"

    def answer(self, message: Message, call: ToolCall, words: str) -> Message | None:
        """As for every format; a `function_call` is answered by name."""
        if call.at == ("function_call",):
            return self.read({"role": "function", "name": call.name, "content": f"Error: {words}"})
        return super().answer(message, call, words)

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - the same in every message
        return (*part.at, "id") if isinstance(part, ToolCall) else ("tool_call_id",)


# --- reading


def _linked_media(block: dict[str, Any], at: Path) -> Content | None:
    kind = kind_of(block)
    link = block.get(kind)
    url = link.get("url") if isinstance(link, dict) else link
    return media_from_url(url, f"{kind.removesuffix('_url')}/*", at) if isinstance(url, str) else None


def _file(block: dict[str, Any], at: Path) -> Content | None:
    held = block.get("file")
    return read_file(held, at) if isinstance(held, dict) else None


_READERS: dict[str, Reader[Content]] = {
    "text": read_words,
    "refusal": read_words,
    "image_url": _linked_media,
    "video_url": _linked_media,
    "audio_url": _linked_media,
    "input_audio": read_audio,
    "file": _file,
}


def _thoughts(native: dict[str, Any]) -> Iterator[Part]:
    for key in _REASONING_KEYS:
        if isinstance(thought := native.get(key), str) and thought:
            yield Reasoning(thought, at=(key,))


def _said_beside(native: dict[str, Any]) -> Iterator[Part]:
    """A refusal, and an earlier spoken answer, which the provider knows by its id."""
    if isinstance(refusal := native.get("refusal"), str) and refusal:
        yield Text(refusal, ("refusal",))
    match native.get("audio"):
        case {"id": str(spoken_id)}:
            yield Media("audio/*", spoken_id, "file", ("audio",))
        case dict(audio):
            yield Opaque("audio", audio, ("audio",))


def _result(native: dict[str, Any], parts: tuple[Content, ...]) -> ToolResult:
    if "images" in native:
        parts += tuple(_pictures_beside(native))
    call_id, name = native.get("tool_call_id"), native.get("name")
    return ToolResult(
        call_id if isinstance(call_id, str) else None,
        parts,
        name if isinstance(name, str) else None,
        is_failure(native, parts),
        at=("content",),
    )


def _pictures_beside(native: dict[str, Any]) -> Iterator[Content]:
    """Pictures that an agent stores next to a result, which can hold none, to show them in its own way."""
    images = native.get("images")
    for position, image in enumerate(images if isinstance(images, list) else ()):
        match image:
            case {"data": str(data), "mimeType": str(media_type)}:
                yield Media(media_type, data, "base64", ("images", position))
            case _:
                yield Opaque(kind_of(image), image, ("images", position))


def _calls(native: dict[str, Any]) -> list[Part]:
    calls = native.get("tool_calls")
    found: list[Part] = []
    if isinstance(calls, list):
        for at, call in enumerate(calls):
            found.append(_call(call, ("tool_calls", at)))
    if "function_call" in native and isinstance(function_call := native["function_call"], dict):
        found.append(_called(None, function_call, "arguments", ("function_call",)))
    return found


def _call(call: Any, at: Path) -> Part:
    if isinstance(call, dict):
        if isinstance(custom := call.get("custom"), dict):
            return _called(string_at(call, "id"), custom, "input", at)
        if isinstance(function := call.get("function"), dict):
            return _called(string_at(call, "id"), function, "arguments", at)
    return Opaque(kind_of(call), call, at)


def _called(call_id: str | None, called: dict[str, Any], input_key: str, at: Path) -> ToolCall:
    return ToolCall(call_id, str(called.get("name", "")), called.get(input_key), at=at)


# --- rewriting


def _input_path(call: dict[str, Any], at: Path) -> Path:
    if at == ("function_call",):
        return (*at, "arguments")
    return (*at, "custom", "input") if isinstance(call.get("custom"), dict) else (*at, "function", "arguments")


def _may_lack_content(native: dict[str, Any]) -> bool:
    """OpenAI takes null for content only beside something else that the assistant did, and an empty list never."""
    return any(native.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))


def _with_no_content(payload: Payload, native: dict[str, Any]) -> Payload:
    return payloads.replace(payload, ("content",), None if _may_lack_content(native) else "")


# --- recognising


def _evidence_of_content(content: Any) -> Evidence:
    if content is None or isinstance(content, str):
        return 1
    if not isinstance(content, list):
        return 0
    found: Evidence = 1
    for block in content:
        kind = _recognised_kind(block)
        if kind in _FOREIGN_PARTS or kind == "unknown":
            return 0
        if kind in _OWN_PARTS:
            found = 2
    return found


def _recognised_kind(block: Any) -> str:
    """The type of a part; a `file` of another format is none of this one."""
    kind = kind_of(block)
    return "unknown" if kind == "file" and not isinstance(block.get("file"), dict) else kind


# --- composing


def _assistant_message(parts: Iterable[Part], lost: list[str]) -> Iterator[dict[str, Any]]:
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text(text):
                texts.append(text)
            case ToolCall(is_hosted=False):
                function = {"name": part.name, "arguments": arguments_text(part)}
                calls.append({"id": part.id, "type": "function", "function": function})
            case _:
                lost.append(lost_words(part, OpenAIChat.name))
    content = _content([_text_block(text) for text in texts if text])
    if content or calls:
        yield {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _system_message(parts: Iterable[Part], lost: list[str]) -> Iterator[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text):
            blocks += _composed_block(part, lost)
        else:
            lost.append(lost_words(part, OpenAIChat.name))
    if blocks:
        yield {"role": "system", "content": _content(blocks)}


def _user_message(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if blocks:
        yield {"role": "user", "content": _content(blocks)}


def _content(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]] | None:
    """One text as a plain string, which every server takes."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return str(blocks[0]["text"])
    return blocks or None


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _composed_result(result: ToolResult, shown: list[dict[str, Any]], lost: list[str]) -> dict[str, Any]:
    said = [result_words(result)]
    for part in result.parts:
        if isinstance(part, Text):
            continue
        for block in _composed_block(part, lost):
            if block["type"] == "text":
                said.append(block["text"])
            elif isinstance(part, Media):
                said.append(f"[{part.media_type} attached below]")
                shown += [_text_block(f"[{part.media_type} from the result of {result.call_id}]"), block]
    return {"role": "tool", "tool_call_id": result.call_id, "content": "\n".join(words for words in said if words)}


def _composed_block(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    """The content part that says this in a user message: one, or none where there is nothing to say or no way to."""
    if isinstance(part, Text):
        return [_text_block(part.text)] if part.text else []
    block = _composed_media(part) if isinstance(part, Media) else None
    if block is None:
        lost.append(lost_words(part, OpenAIChat.name))
        return []
    return [block]


def _composed_media(media: Media) -> dict[str, Any] | None:
    kind = media.media_type.partition("/")[0]
    if media.source_type == "text":
        return _text_block(media.source)
    if media.source_type == "file":
        return {"type": "file", "file": {"file_id": media.source}}
    if media.source_type == "url":
        return {"type": "image_url", "image_url": {"url": media.source}} if kind == "image" else None
    return _composed_base64(media, kind) if has_known_type(media) else None


def _composed_base64(media: Media, kind: str) -> dict[str, Any] | None:
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if kind == "audio":
        encoding = _AUDIO_ENCODINGS.get(media.media_type)
        return {"type": "input_audio", "input_audio": {"data": media.source, "format": encoding}} if encoding else None
    if kind == "video":
        return None
    return {"type": "file", "file": {"file_data": data_url(media), "filename": file_name(media)}}


_AUDIO_ENCODINGS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
