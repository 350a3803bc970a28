"""The OpenAI Chat Completions format: calls beside the content, and each result a message of its own."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from redline import payloads
from redline.errors import ValidationError
from redline.formats.base import Composed, Evidence, Format, result_words, what_is_lost
from redline.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.payloads import Path, Payload, value_at

__all__ = [
    "Content",
    "OpenAIChat",
    "arguments_text",
    "data_url",
    "file_name",
    "has_known_type",
    "identified",
    "input_as_held",
    "is_failure",
    "kind_of",
    "lost_words",
    "media_from_url",
    "read_audio",
    "read_content",
    "read_file",
    "read_words",
    "string_or_none",
    "text_key",
]

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
_OWN_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_SPEAKING_KEYS = _OWN_KEYS.union(("content", "refusal", "audio"), _REASONING_KEYS)
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

    def rewrite(self, message: Message, part: Part, replacement: str | dict[str, Any]) -> Message:
        """As for every format; a result that says something else also loses the pictures stored beside its words."""
        after = super().rewrite(message, part, replacement)
        if isinstance(part, ToolResult) and "images" in payloads.decode(after.native):
            return self.read(payloads.remove(after.native, [("images",)]))
        return after

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """As for every format; content that was there and is gone leaves the key, which many servers ask for."""
        after = super().remove(message, parts)
        if after is None or "content" not in payloads.decode(message.native):
            return after
        native = payloads.decode(after.native)
        return after if "content" in native else self.read(_with_no_content(after.native, native))

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by the keys and parts only chat has, impossible by another's; roles and strings prove nothing."""
        role = native.get("role")
        if not isinstance(role, str) or role not in _ROLES or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        if _SPEAKING_KEYS.isdisjoint(native):
            return 0
        found = _evidence_of_content(native.get("content"))
        return 2 if found and not _OWN_KEYS.isdisjoint(native) else found

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

    def _role(self, native: dict[str, Any]) -> Role:
        role = native.get("role")
        return _ROLES.get(role, "user") if isinstance(role, str) else "user"

    def _parts(self, native: dict[str, Any]) -> Iterator[Part]:
        if self._role(native) == "tool":
            yield _result(native)
            return
        for key in _REASONING_KEYS:
            if isinstance(thought := native.get(key), str) and thought:
                yield Reasoning(thought, at=(key,))
        yield from read_content(native, "content", _read_part)
        if isinstance(refusal := native.get("refusal"), str) and refusal:
            yield Text(refusal, ("refusal",))
        if isinstance(audio := native.get("audio"), dict):
            yield _spoken_before(audio)
        yield from _calls(native)

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
        """There must be one, but for a `function_call` and the `function` message that answers it by name."""
        if super().accepts_id(message, part) or part.at == ("function_call",):
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

Content = Text | Media | Opaque
"""What may stand in a message's content, and inside a result."""


def read_content(native: dict[str, Any], key: str, read: Callable[[Any, Path], Content]) -> Iterator[Content]:
    """The parts under a key that holds a string, a list of parts, or nothing."""
    content = native.get(key)
    if isinstance(content, str):
        yield Text(content, (key,))
    elif isinstance(content, list):
        for position, block in enumerate(content):
            yield read(block, (key, position))
    elif content is not None:
        yield Opaque("unknown", content, (key,))


def _read_part(block: Any, at: Path) -> Content:
    """One content part; unknown ones are carried as they are."""
    kind = kind_of(block)
    reader = _READERS.get(kind)
    return (reader and reader(block, at)) or Opaque(kind, block, at)


def kind_of(block: Any) -> str:
    """The type a content part or item names, `unknown` where it names none."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else "unknown"


def text_key(block: dict[str, Any]) -> str:
    """The key under which a content part holds its words."""
    return {"refusal": "refusal", "logs": "logs"}.get(kind_of(block), "text")


def read_words(block: dict[str, Any], at: Path) -> Content | None:
    """A content part that says something."""
    words = block.get(text_key(block))
    return Text(words, at) if isinstance(words, str) else None


def media_from_url(url: str, media_type: str, at: Path) -> Media:
    """What stands at a URL. A base64 data URL is taken apart; the type given is for a URL that names none."""
    match = _DATA_URL.fullmatch(url)
    return Media(match[1] or media_type, match[2], "base64", at) if match else Media(media_type, url, "url", at)


_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)


def read_file(held: dict[str, Any], at: Path) -> Media | None:
    """A document by its content, its URL or its id, whichever is there."""
    match held:
        case {"file_data": str(content)}:
            media = media_from_url(content, "application/*", at)
            return media if media.source_type == "base64" else Media("application/*", content, "base64", at)
        case {"file_url": str(url)}:
            return media_from_url(url, "application/*", at)
        case {"file_id": str(file_id)}:
            return Media("application/*", file_id, "file", at)
    return None


def read_audio(block: dict[str, Any], at: Path) -> Content | None:
    """Recorded speech in an `input_audio` part."""
    match block.get("input_audio"):
        case {"data": str(sound), "format": str(encoding)}:
            return Media(f"audio/{encoding}", sound, "base64", at)
    return None


def is_failure(native: dict[str, Any], parts: Iterable[Part]) -> bool:
    """Whether a result reports a failure. The wire has no field for it: a stored status or the first word tells."""
    said = "\n".join(part.text for part in parts if isinstance(part, Text))
    return native.get("messageStatus") == "error" or said.lstrip().startswith("Error:")


def string_or_none(value: Any) -> str | None:
    """An id or name, where it is one."""
    return value if isinstance(value, str) else None


def _linked_media(block: dict[str, Any], at: Path) -> Content | None:
    kind = kind_of(block)
    link = block.get(kind)
    url = link.get("url") if isinstance(link, dict) else link
    return media_from_url(url, f"{kind.removesuffix('_url')}/*", at) if isinstance(url, str) else None


def _file(block: dict[str, Any], at: Path) -> Content | None:
    held = block.get("file")
    return read_file(held, at) if isinstance(held, dict) else None


_READERS: dict[str, Callable[[dict[str, Any], Path], Content | None]] = {
    "text": read_words,
    "refusal": read_words,
    "image_url": _linked_media,
    "video_url": _linked_media,
    "audio_url": _linked_media,
    "input_audio": read_audio,
    "file": _file,
}


def _spoken_before(audio: dict[str, Any]) -> Part:
    """An earlier spoken answer, which the provider knows by its id."""
    match audio:
        case {"id": str(spoken_id)}:
            return Media("audio/*", spoken_id, "file", ("audio",))
    return Opaque("audio", audio, ("audio",))


def _result(native: dict[str, Any]) -> ToolResult:
    parts = (*read_content(native, "content", _read_part), *_pictures_beside(native))
    call_id, name = string_or_none(native.get("tool_call_id")), string_or_none(native.get("name"))
    return ToolResult(call_id, parts, name, is_failure(native, parts), at=("content",))


def _pictures_beside(native: dict[str, Any]) -> Iterator[Content]:
    """Pictures that an agent stores next to a result, which can hold none, to show them in its own way."""
    images = native.get("images")
    for position, image in enumerate(images if isinstance(images, list) else ()):
        match image:
            case {"data": str(data), "mimeType": str(media_type)}:
                yield Media(media_type, data, "base64", ("images", position))
            case _:
                yield Opaque(kind_of(image), image, ("images", position))


def _calls(native: dict[str, Any]) -> Iterator[Part]:
    calls = native.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        yield _call(call, ("tool_calls", position))
    if isinstance(native.get("function_call"), dict):
        yield _called(None, native["function_call"], "arguments", ("function_call",))


def _call(call: Any, at: Path) -> Part:
    match call:
        case {"custom": dict(custom)}:
            return _called(call.get("id"), custom, "input", at)
        case {"function": dict(function)}:
            return _called(call.get("id"), function, "arguments", at)
    return Opaque(kind_of(call), call, at)


def _called(call_id: Any, called: dict[str, Any], input_key: str, at: Path) -> ToolCall:
    return ToolCall(string_or_none(call_id), str(called.get("name", "")), called.get(input_key), at=at)


# --- rewriting


def input_as_held(held: Any, replacement: Any) -> Any:
    """A call's new input the way the wire holds the old one: an object, or its JSON text."""
    if isinstance(replacement, str) or isinstance(held, dict | list):
        return replacement
    return payloads.encode(replacement).decode()


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
    kinds = {_recognised_kind(block) for block in content}
    if kinds & _FOREIGN_PARTS or "unknown" in kinds:
        return 0
    return 2 if kinds & _OWN_PARTS else 1


def _recognised_kind(block: Any) -> str:
    """The type of a part; a `file` of another format is none of this one."""
    kind = kind_of(block)
    return "unknown" if kind == "file" and not isinstance(block.get("file"), dict) else kind


# --- composing


def identified(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, each call and result without an id given one from its tool's name and how often that came before.

    The nth unnamed call of a tool and its nth unnamed result get the same id, though they are composed apart.
    """
    seen: Counter[tuple[type, str]] = Counter()
    for part in parts:
        match part:
            case ToolCall(id=None, name=name):
                yield msgspec.structs.replace(part, id=_made_up_id(seen, ToolCall, name))
            case ToolResult(call_id=None, name=name):
                yield msgspec.structs.replace(part, call_id=_made_up_id(seen, ToolResult, name or ""))
            case _:
                yield part


def _made_up_id(seen: Counter[tuple[type, str]], kind: type, name: str) -> str:
    seen[kind, name] += 1
    count = seen[kind, name]
    return f"call_{name or 'tool'}" + (f"_{count}" if count > 1 else "")


def arguments_text(call: ToolCall) -> str:
    """A call's input as the JSON text of an object, in its own spelling where it has one."""
    if not isinstance(call.input, str):
        return payloads.encode(call.arguments).decode()
    if not call.input.strip():
        return "{}"
    arguments = call.arguments
    return payloads.encode(arguments).decode() if arguments == {"input": call.input} else call.input


def lost_words(part: Part, format_name: str) -> str:
    """In words, a part that has no place here; a client's call is out of place only where another speaks."""
    if isinstance(part, ToolCall) and not part.is_hosted:
        return f"call of {part.name!r}: in {format_name} only the assistant calls tools"
    return what_is_lost(part, format_name)


def data_url(media: Media) -> str:
    """Base64 content as the URL that carries it."""
    return f"data:{media.media_type};base64,{media.source}"


def has_known_type(media: Media) -> bool:
    """Whether a data URL can name its type: `image/*` only says the kind."""
    return "*" not in media.media_type


def file_name(media: Media) -> str:
    """A name for a document that has none; the provider asks for one beside the content."""
    return f"file.{media.media_type.rpartition('/')[2]}"


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
