"""The OpenAI Chat Completions format: calls beside the content, and each result a message of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from redline.errors import ValidationError
from redline.providers import openai_parts
from redline.providers.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, fields_in, names, null_fields_in
from redline.providers.format import (
    Composed,
    Evidence,
    Format,
    blocks_of,
    kind_of,
    known_role,
    pairing_id,
    result_words,
    string_at,
    what_is_lost,
)
from redline.providers.openai_parts import Content
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_INPUT_KEYS = {"function": "arguments", "custom": "input"}
"""By the type of a call, where it holds its input."""
_REASONING_KEYS = ("reasoning_content", "reasoning")
"""Not OpenAI's own: servers that speak this format put the model's thoughts under one of these."""
_THOUGHT_KEYS = frozenset({*_REASONING_KEYS, "reasoning_details", "thinking_blocks", "reasoning_signature"})
_OWN_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_SPEAKING_KEYS = _OWN_KEYS.union(("content", "refusal", "audio"), _REASONING_KEYS)
_RARE_KEYS = _SPEAKING_KEYS - {"content", "tool_calls", "tool_call_id"}
_FOREIGN_KEYS = frozenset({"parts", "call_id", "toolCallId"})
_OWN_PARTS = frozenset({"image_url", "video_url", "audio_url", "input_audio", "file"})
_FOREIGN_PARTS = names(
    "tool_use tool_result server_tool_use thinking redacted_thinking document image tool-call tool-result "
    "tool-approval-request tool-approval-response reasoning input_text output_text input_image input_file"
)
_LONGEST_ID = 40
"""`Invalid 'messages[2].tool_calls[0].id': string too long` (vercel/ai#5171)."""
_SIGNATURE_IN_ID = "__thought__"
"""LiteLLM keeps Gemini's signature in the id of a call, of any length, and wants it back."""


class OpenAIChat(Format):
    """Reads and writes the messages of the OpenAI Chat Completions API and of the many servers that speak it."""

    name = "openai_chat"
    messages_field = "messages"
    roles = _ROLES
    volatile_fields = names("cache_control index provider_specific_fields extra_content logprobs") | _THOUGHT_KEYS
    told_fields = names("role content id model tool_calls function_call tool_call_id refusal audio images")
    told_block_fields = names(
        "text refusal image_url.url video_url.url audio_url.url input_audio file.file_data file.file_id id name arguments "
        "function.name function.arguments custom.name custom.input"
    )
    system_field = None
    results_are_text = True

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by the keys and parts only chat has, impossible by another's; roles and strings prove nothing."""
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        content = native.get("content")
        if not (content is None or isinstance(content, str | list)):
            return 0
        is_own = not _OWN_KEYS.isdisjoint(native)
        for block in content if isinstance(content, list) else ():
            kind = kind_of(block)
            is_file = kind == "file"
            if kind in _FOREIGN_PARTS or kind == "unknown" or (is_file and not isinstance(block.get("file"), dict)):
                return 0  # a file may be one of another format
            is_own |= kind in _OWN_PARTS
        if _SPEAKING_KEYS.isdisjoint(native):  # own keys are among these
            return 0
        return 2 if is_own else 1

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:
        content = openai_parts.read_content(native, "content", _read_part)
        if role == "tool":
            return (_read_result(native, content),)
        if not _RARE_KEYS.isdisjoint(native):
            parts: list[Part] = [Reasoning(native[key], at=(key,)) for key in _REASONING_KEYS if string_at(native, key)]
            parts += content
            if refusal := string_at(native, "refusal"):
                parts.append(Text(refusal, ("refusal",)))
            match native.get("audio"):
                case {"id": str(spoken_id)}:  # an earlier spoken answer, which the provider knows by its id
                    parts.append(Media("audio/*", spoken_id, "file", ("audio",)))
                case dict(audio):
                    parts.append(Opaque("audio", audio, ("audio",)))
            return (*parts, *_read_calls(native))
        return (*content, *_read_calls(native)) if "tool_calls" in native else content

    def reword(self, payload: Payload, part: Part, replacement: str | dict[str, Any]) -> Payload:
        """As for every format; a result that says something else also loses the pictures stored beside its words."""
        after = super().reword(payload, part, replacement)
        has_pictures = isinstance(part, ToolResult) and "images" in payloads.decode(after)
        return payloads.remove(after, [("images",)]) if has_pictures else after

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        if isinstance(part, ToolCall):
            kind = None if part.at == ("function_call",) else _call_kind(value_at(native, part.at))
            path = (*part.at, "arguments") if kind is None else (*part.at, kind, _INPUT_KEYS[kind])
            return path, openai_parts.input_as_held(value_at(native, path[:-1]).get(path[-1]), replacement)
        if isinstance(part, Reasoning):
            return part.at, replacement
        if part.at[0] not in ("content", "refusal"):
            raise ValidationError(f"{self.name}: {part.at[0]!r} has no place for words; remove the part instead")
        if isinstance(part, Text) and not isinstance(held := value_at(native, part.at), str):
            return (*part.at, openai_parts.text_key(held)), replacement
        return part.at, replacement if len(part.at) == 1 else _text_part(replacement)

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """As for every format; content that was there and is gone leaves the key, which many servers ask for."""
        after = super().remove(message, parts)
        if after is None or "content" not in payloads.decode(message.native):
            return after
        native = payloads.decode(after.native)
        return after if "content" in native else self.read(_with_no_content(after.native, native))

    def _pruned(self, payload: Payload) -> Payload:
        native = payloads.decode(payload)
        if native.get("tool_calls") == []:
            payload = payloads.remove(payload, [("tool_calls",)])
        needs_words = native.get("content", "") is None and not _may_lack_content(native)
        return _with_no_content(payload, native) if native.get("content") == [] or needs_words else payload

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:
        """There must be one, of 40 characters at most, but for a `function_call` and the message that answers it by name."""
        if own := pairing_id(part):
            return len(own) <= _LONGEST_ID or _SIGNATURE_IN_ID in own
        if part.at == ("function_call",):
            return True
        return isinstance(part, ToolResult) and payloads.decode(message.native).get("role") == "function"

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - the same in every message
        return (*part.at, "id") if isinstance(part, ToolCall) else ("tool_call_id",)

    def answering_by_name(self, message: Message, name: str) -> Message:
        """A `function_call` is answered by a message of the function, in plain words."""
        native = payloads.decode(message.native)
        if native.get("role") == "function" or not message.results:
            return message
        return replace(
            self.read({"role": "function", "name": name, "content": message.results[0].text}), timestamp_ms=message.timestamp_ms
        )

    def answer(self, message: Message, call: ToolCall, words: str) -> Message | None:
        """As for every format; a `function_call` is answered by name."""
        if call.at == ("function_call",):
            return self.read({"role": "function", "name": call.name, "content": f"Error: {words}"})
        return super().answer(message, call, words)

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """What is said and called in one message, then a `tool` message for each result.

        A `tool` message takes text only: a picture in a result is noted in its text and follows in a user message,
        after all results, because nothing may come between them. A call or result without an id is given one made
        from its tool's name, the same for both.
        """
        lost: list[str] = []
        pictures: list[dict[str, Any]] = []
        known = tuple(openai_parts.with_ids(parts))
        results = [part for part in known if isinstance(part, ToolResult) and not part.is_hosted]
        answers = [_compose_result(result, pictures, lost) for result in results]
        said: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for part in known:
            if isinstance(part, ToolResult) and not part.is_hosted:
                continue
            if role == "assistant" and isinstance(part, ToolCall) and not part.is_hosted:
                function = {"name": part.name, "arguments": openai_parts.arguments_text(part)}
                calls.append({"id": part.id, "type": "function", "function": function})
            elif role in ("user", "tool") or isinstance(part, Text):
                said += blocks_of((part,), _compose_part, self.name, lost)
            else:
                lost.append(what_is_lost(part, self.name))
        if role in ("user", "tool"):
            return Composed((*answers, *_compose_message("user", [*pictures, *said])), tuple(lost))
        spoken = _compose_message(role, said, calls)
        return Composed((*spoken, *answers, *_compose_message("user", pictures)), tuple(lost))

    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The function is an object of its own in the tool."""
        return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        role, speaker = native.get("role"), native.get("name")
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
        yield from fields_in(native, _NOT_IN_MESSAGES)
        yield from null_fields_in(native, ("name", "tool_calls", "tool_call_id"))
        yield from _content_flaws(native)
        if isinstance(speaker, str) and _REFUSED_IN_SPEAKERS.search(speaker):
            yield Flaw("tool_names", ("name",), f"the name {speaker[:40]!r}", _REFUSED_IN_SPEAKERS.sub("_", speaker))
        if "tool_calls" in native:
            yield from _tool_calls_flaws(native["tool_calls"])
        called, calls = native.get("function_call"), native.get("tool_calls")
        if isinstance(called, dict) and isinstance(calls, list) and any(map(_call_kind, calls)):
            yield Flaw("block_shapes", ("function_call",), "a function_call beside tool_calls, which took its place")
        elif isinstance(called, dict):
            yield from _called_flaws(called, "arguments", ("function_call",))


def _read_part(block: Any, at: Path) -> Content:
    """A part of the content; of an unknown type, or malformed, it is carried as it is."""
    kind = kind_of(block)
    part: Content | None = None
    match kind:
        case "text" | "refusal":
            part = openai_parts.read_words(block, at)
        case "image_url" | "video_url" | "audio_url":
            link = block.get(kind)
            url = link.get("url") if isinstance(link, dict) else link
            part = openai_parts.media_from_url(url, f"{kind.removesuffix('_url')}/*", at) if isinstance(url, str) else None
        case "input_audio":
            part = openai_parts.read_audio(block, at)
        case "file" if isinstance(block.get("file"), dict):
            part = openai_parts.read_file(block["file"], at)
    return Opaque(kind, block, at) if part is None else part


def _read_result(native: dict[str, Any], content: tuple[Content, ...]) -> ToolResult:
    """A result; agents store pictures next to it, which it cannot hold, to show them in their own way."""
    images = native.get("images")
    for position, image in enumerate(images if isinstance(images, list) else ()):
        match image:
            case {"data": str(data), "mimeType": str(media_type)}:
                content += (Media(media_type, data, "base64", ("images", position)),)
            case _:
                content += (Opaque(kind_of(image), image, ("images", position)),)
    call_id = None if native.get("role") == "function" else string_at(native, "tool_call_id")  # a function answers by name
    name = string_at(native, "name")
    return ToolResult(call_id, content, name, openai_parts.is_failure(content), at=("content",))


def _read_calls(native: dict[str, Any]) -> list[Part]:
    calls = native.get("tool_calls")
    found: list[Part] = []
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        at: Path = ("tool_calls", position)
        if (kind := _call_kind(call)) is None:
            found.append(Opaque(kind_of(call), call, at))
            continue
        called = call[kind]
        found.append(ToolCall(string_at(call, "id"), str(called.get("name", "")), called.get(_INPUT_KEYS[kind]), at=at))
    if isinstance(called := native.get("function_call"), dict):
        found.append(ToolCall(None, str(called.get("name", "")), called.get("arguments"), at=("function_call",)))
    return found


def _call_kind(call: Any) -> str | None:
    """Whether one of the `tool_calls` is of a `function` or `custom`; None if it is no call."""
    if not isinstance(call, dict):
        return None
    if isinstance(call.get("custom"), dict):
        return "custom"
    return "function" if isinstance(call.get("function"), dict) else None


def _may_lack_content(native: dict[str, Any]) -> bool:
    """OpenAI takes null for content only beside something else that the assistant did, and an empty list never."""
    return any(native.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))


def _with_no_content(payload: Payload, native: dict[str, Any]) -> Payload:
    return payloads.replace(payload, ("content",), None if _may_lack_content(native) else "")


def _compose_message(role: str, said: list[dict[str, Any]], calls: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """The message, or none if it would be empty. One text is a plain string, which every server takes."""
    if not said and not calls:
        return []
    content: object = said or None
    if len(said) == 1 and said[0]["type"] == "text":
        content = said[0]["text"]
    return [{"role": role, "content": content, **({"tool_calls": list(calls)} if calls else {})}]


def _compose_result(result: ToolResult, pictures: list[dict[str, Any]], lost: list[str]) -> dict[str, Any]:
    said = [result_words(result)]
    for part in result.parts:
        if isinstance(part, Text):
            continue
        for block in blocks_of((part,), _compose_part, OpenAIChat.name, lost):
            if block["type"] == "text":
                said.append(block["text"])
            elif isinstance(part, Media):
                said.append(f"[{part.media_type} attached below]")
                pictures += [_text_part(f"[{part.media_type} from the result of {result.call_id}]"), block]
    return {"role": "tool", "tool_call_id": result.call_id, "content": "\n".join(words for words in said if words)}


def _compose_part(media: Part, lost: list[str]) -> dict[str, Any] | None:  # noqa: ARG001 - nothing is inside of these parts
    """The content part that says this in a user message."""
    if isinstance(media, Text):
        return _text_part(media.text)
    if not isinstance(media, Media):
        return None
    kind = media.media_type.partition("/")[0]
    match media.source_type:
        case "text":
            return _text_part(media.source)
        case "file":
            return {"type": "file", "file": {"file_id": media.source}}
        case "url":
            return {"type": "image_url", "image_url": {"url": media.source}} if kind == "image" else None
    if "*" in media.media_type or kind == "video":
        return None
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": openai_parts.data_url(media)}}
    if kind == "audio":
        encoding = _AUDIO_ENCODINGS.get(media.media_type)
        return {"type": "input_audio", "input_audio": {"data": media.source, "format": encoding}} if encoding else None
    return {"type": "file", "file": openai_parts.file_fields(media)}


_AUDIO_ENCODINGS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


# --- what the API refuses, wherever the message is
#
# Many servers speak this format and take fields of their own (`reasoning_content`, `cache_control`, …), some of which they want
# back; so only what none of them takes counts as refused. Null is refused where the SDK's types are optional but not nullable:
# `None is not of type 'array' - 'messages.1.tool_calls'`.

_NOT_IN_MESSAGES = STORED_FIELDS | {"id"}
_LONGEST_NAME = 64
"""`Invalid 'messages[1].tool_calls[0].function.name'` (continuedev/continue#11645, openai/openai-openapi)."""
_REFUSED_IN_SPEAKERS = re.compile(r"[\s<|\\/>]+")
"""`Invalid 'messages[0].name': … Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'`."""


def _content_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """A result's content may be empty but not null; parts must be objects of a type."""
    content, role = native.get("content"), native.get("role")
    has_no_part = isinstance(content, list) and not any(isinstance(part, str | dict) for part in content)
    if role == "tool" and (content is None or has_no_part):
        yield Flaw("block_shapes", ("content",), "a result whose content is null or no part", "")
    elif has_no_part and role == "assistant" and (native.get("tool_calls") or isinstance(native.get("function_call"), dict)):
        yield Flaw("block_shapes", ("content",), "the content is an empty list", None)
    else:
        yield from openai_parts.parts_flaws(content, "content", "text", {"text"})
        for position, part in enumerate(content if isinstance(content, list) else ()):
            if kind_of(part) == "image_url" and isinstance(url := part.get("image_url"), str):
                at: Path = ("content", position, "image_url")
                yield Flaw("block_shapes", at, "the picture's address as a string", {"url": url})


def _tool_calls_flaws(calls: Any) -> Iterator[Flaw]:
    """There is at least one call (openai/openai-node#1341), each an object with type, name and text for arguments."""
    if calls is None:  # told as a null field
        return
    if calls == [] or not isinstance(calls, list):
        yield Flaw(KNOWN_FIELDS, ("tool_calls",), "the field 'tool_calls' holds no call")
        return
    kinds = [_call_kind(call) for call in calls]
    if not any(kinds):
        yield Flaw("block_shapes", ("tool_calls",), "calls that name no function")
        return
    for position, (call, kind) in enumerate(zip(calls, kinds, strict=True)):
        at: Path = ("tool_calls", position)
        if kind is None:
            yield Flaw("block_shapes", at, "a call that names no function")
            continue
        if not isinstance(call.get("type"), str):
            yield Flaw("block_shapes", (*at, "type"), "a call without a type", kind)
        yield from fields_in(call, STORED_FIELDS, at)
        yield from _called_flaws(call[kind], _INPUT_KEYS[kind], (*at, kind))


def _called_flaws(called: dict[str, Any], input_key: str, at: Path) -> Iterator[Flaw]:
    yield from fields_in(called, STORED_FIELDS, at)
    yield from openai_parts.call_flaws(called, input_key, at, longest_name=_LONGEST_NAME)
