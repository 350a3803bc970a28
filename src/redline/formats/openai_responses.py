"""The OpenAI Responses format: a flat list of items, in which each call, result and thought stands alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from redline.errors import ValidationError
from redline.formats.base import Composed, Evidence, Format, result_words
from redline.formats.flaws import Flaw
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
from redline.formats.openai_responses_flaws import find_flaws
from redline.formats.reading import Reader, kind_of, known_role, read_block, string_at
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

__all__ = ["OpenAIResponses"]


class _Call(NamedTuple):
    """How an item asks for a tool."""

    input_key: str
    tool: str | None = None
    """The name of the one tool it is for; None where the item names it."""
    output_key: str | None = None
    """Where the provider that ran it put what came out."""


_CLIENT_CALLS = {
    "function_call": _Call("arguments"),
    "custom_tool_call": _Call("input"),
    "computer_call": _Call("action", "computer"),
    "local_shell_call": _Call("action", "local_shell"),
    # Also run in the provider's own container, but call and output are two items there too, and pair in the same way.
    "shell_call": _Call("action", "shell"),
    "apply_patch_call": _Call("operation", "apply_patch"),
}
_HOSTED_CALLS = {
    "web_search_call": _Call("action", "web_search"),
    "file_search_call": _Call("queries", "file_search", "results"),
    "code_interpreter_call": _Call("code", "code_interpreter", "outputs"),
    "image_generation_call": _Call("revised_prompt", "image_generation", "result"),
    "mcp_call": _Call("arguments", None, "output"),
    "program": _Call("code", "program"),
    "tool_search_call": _Call("arguments", "tool_search"),
}
"""`tool_search_call` is the client's where the item says so."""
_CALLS = _CLIENT_CALLS | _HOSTED_CALLS
_OUTPUTS = {
    **dict.fromkeys((f"{kind}_output" for kind in _CLIENT_CALLS), "output"),
    "program_output": "result",
    "tool_search_output": "tools",
}
"""Items that answer a call, and where each holds what came out."""
_MESSAGES = frozenset({"message", "agent_message"})
"""Codex hands messages between agents as `agent_message`."""
_WORDED_ITEMS = _MESSAGES | {
    *("function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output"),
}
"""Items in which a text may stand for any other part."""
_CARRIED: dict[str, Role] = {
    "item_reference": "assistant",
    "compaction": "assistant",
    "mcp_list_tools": "assistant",
    "mcp_approval_request": "assistant",
    "mcp_approval_response": "user",
    "compaction_trigger": "user",
    "additional_tools": "system",
    "configuration_update": "system",
}
"""Items that are known but hold nothing to interpret, and who says them."""
_OWN_ITEMS = frozenset({*_CALLS, *_OUTPUTS, *_CARRIED, "reasoning", "agent_message"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_OWN_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_SHARED_PARTS = frozenset({"refusal", "input_audio"})
_TIED_ITEMS = frozenset({"message", "function_call", "custom_tool_call"})
_LONGEST_ID = 64
"""`Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64` (openclaw/openclaw#875)."""
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call", "parts", "toolCallId"})


class OpenAIResponses(Format):
    """Reads and writes the input items of the OpenAI Responses API."""

    name: ClassVar[str] = "openai_responses"
    messages_field: ClassVar[str] = "input"
    system_field: ClassVar[str | None] = "instructions"
    items_are_messages: ClassVar[bool] = True

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """As for every format; a call, a result or an unknown item goes whole, being nothing without its fields."""
        gone = tuple(parts)
        places = {part.at for part in gone}
        is_divisible = _item_kind(payloads.decode(message.native)) in (*_MESSAGES, "reasoning")
        if not is_divisible and any(part.at in places for part in message.parts):
            return None
        return super().remove(message, gone)

    def write_request(self, body: dict[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
        """As for every format; an input that is a plain string stays one while its message is unchanged."""
        held = body.get(self.messages_field)
        if isinstance(held, str) and [message.native for message in messages] == self._listed(held):
            return body
        return super().write_request(body, messages)

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its item and part types; a plain message could be another's, and so could an unknown item."""
        kind = _item_kind(native)
        if kind in _OWN_ITEMS:
            return 2
        if kind != "message":
            return 1 if kind.endswith(("_call", "_output")) and "role" not in native else 0
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        return _evidence_of_content(native.get("content"))

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """An item for each thing the assistant says or calls, and each result; what others say is one message after.

        Every call becomes a `function_call`. A call or result without an id is given one made from its tool's name, the
        same for both.
        """
        lost: list[str] = []
        known = tuple(identified(parts))
        if role == "assistant":
            return Composed(tuple(item for part in known for item in _assistant_item(part, lost)), tuple(lost))
        results = [part for part in known if isinstance(part, ToolResult) and not part.is_hosted]
        others = [part for part in known if not isinstance(part, ToolResult) or part.is_hosted]
        outputs = [_output_item(result, lost) for result in results]
        blocks = [block for part in others for block in _input_blocks(part, lost)]
        wire_role = "system" if role == "system" else "user"
        return Composed((*outputs, *_message_item(wire_role, blocks)), tuple(lost))

    def untied(self, message: Message) -> Message:
        """By its id the provider knows an item, and asks for the reasoning that led to it (0xPlaygrounds/rig#751)."""
        native = payloads.decode(message.native)
        if message.role != "assistant" or "id" not in native or _item_kind(native) not in _TIED_ITEMS:
            return message
        return msgspec.structs.replace(message, native=payloads.remove(message.native, [("id",)]))

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        return find_flaws(native)

    def _role(self, native: dict[str, Any]) -> Role:
        kind = _item_kind(native)
        if kind in _CARRIED:
            return _CARRIED[kind]
        if kind in _OUTPUTS:
            return "assistant" if _is_hosted_output(native, kind) else "tool"
        if kind in _MESSAGES or "role" in native:
            return known_role(native, _ROLES) or "user"
        return "tool" if kind.endswith("_output") else "assistant"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:  # noqa: ARG002 - items say what they are
        kind = _item_kind(native)
        if kind in _MESSAGES:
            return read_content(native, "content", _READERS)
        if kind == "reasoning":
            return tuple(_thoughts(native))
        if kind in _CALLS:
            return _call(native, _CALLS[kind], kind)
        return (
            _output(native, kind)
            if kind in _OUTPUTS
            else Opaque(kind, native, ("type",), is_reference=kind == "item_reference"),
        )

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        match part:
            case ToolCall():
                return part.at, input_as_held(native.get(str(part.at[0])), replacement)
            case Reasoning():
                kind = "summary_text" if part.at == ("summary",) else "reasoning_text"
                return part.at, [{"type": kind, "text": replacement}]
            case ToolResult():
                return part.at, _result_saying(replacement, native)
            case Text():
                held = value_at(native, part.at)
                return part.at if isinstance(held, str) else (*part.at, text_key(held)), replacement
        return part.at, _block_saying(replacement, native, part.at)

    def _pruned(self, payload: Payload) -> Payload:
        """Fields that must be there, and that the removal took or left empty in a way the provider refuses."""
        native = payloads.decode(payload)
        match _item_kind(native):
            case "reasoning" if "summary" not in native:
                return payloads.replace(payload, ("summary",), [])
            case "shell_call_output":
                for path in _missing_streams(native):
                    payload = payloads.replace(payload, path, "")
            case kind if kind in _OUTPUTS and native.get("output") == []:
                return payloads.replace(payload, ("output",), "")
        return payload

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:
        """There must be one, of 64 characters at most."""
        own = part.id if isinstance(part, ToolCall) else part.call_id
        return super().accepts_id(message, part) and len(own or "") <= _LONGEST_ID

    def _listed(self, held: Any) -> list[Any]:
        return [{"role": "user", "content": held}] if isinstance(held, str) else super()._listed(held)

    def answer(self, message: Message, call: ToolCall, words: str) -> Message | None:
        """As for every format, in the item that fits the call; a computer's can only show a picture."""
        kind = _item_kind(payloads.decode(message.native))
        if kind == "computer_call":
            return None
        if kind not in _FAILURES:
            return super().answer(message, call, words)
        id_key = "id" if kind == "local_shell_call" else "call_id"
        failure = {"type": _output_kind(kind), id_key: call.id, **_FAILURES[kind](words)}
        return self.read(failure)

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - an item holds one of them
        is_by_own_id = native.get("type") == "local_shell_call_output" and not native.get("call_id")
        return ("id",) if is_by_own_id else ("call_id",)


# --- reading


def _item_kind(native: dict[str, Any]) -> str:
    """The type of an item. It may be left out of a message, and of a reference, which has an id and nothing else."""
    if native.get("type") is not None:
        return kind_of(native)
    return "item_reference" if native.keys() <= {"id", "type"} and "id" in native else "message"


def _image(block: dict[str, Any], at: Path) -> Content | None:
    match block:
        case {"image_url": str(url)} | {"type": "image", "url": str(url)}:
            return media_from_url(url, "image/*", at)
        case {"file_id": str(file_id)}:
            return Media("image/*", file_id, "file", at)
    return None


_READERS: dict[str, Reader[Content]] = {
    "input_text": read_words,
    "output_text": read_words,
    "text": read_words,
    "refusal": read_words,
    "logs": read_words,
    "input_image": _image,
    "computer_screenshot": _image,
    "image": _image,
    "input_file": read_file,
    "input_audio": read_audio,
}


def _thoughts(native: dict[str, Any]) -> Iterator[Reasoning]:
    """The summary and the thoughts themselves, whichever are there; a sealed item without words is one thought too."""
    is_bound = bool(native.get("encrypted_content") or native.get("id"))
    worded = [key for key in ("summary", "content") if isinstance(native.get(key), list) and native[key]]
    for key in worded or ("summary",):
        blocks = native[key] if worded else ()
        texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
        yield Reasoning("\n".join(texts), is_bound, (key,))


def _call(native: dict[str, Any], call: _Call, kind: str) -> tuple[Part, ...]:
    is_hosted = kind in _HOSTED_CALLS and not _is_left_to_client(native)
    call_id = string_at(native, "call_id") or (string_at(native, "id") if is_hosted else None)
    name = call.tool or str(native.get("name", ""))
    input_key = "actions" if call.input_key not in native and "actions" in native else call.input_key
    asked = ToolCall(call_id, name, native.get(input_key), is_hosted, (input_key,))
    came_out = tuple(_came_out(native, call.output_key)) if call.output_key else ()
    if not call.output_key or not came_out:
        return (asked,)
    return (asked, ToolResult(call_id, came_out, name, _has_failed(native), is_hosted=True, at=(call.output_key,)))


def _came_out(native: dict[str, Any], key: str) -> Iterator[Content]:
    """What the provider's own run of a tool gave, and its complaint."""
    if native.get("type") == "image_generation_call":
        encoding = native.get("output_format")
        if isinstance(image := native.get(key), str):
            yield Media(f"image/{encoding}" if isinstance(encoding, str) else "image/*", image, "base64", (key,))
    elif key == "results" and isinstance(native.get(key), list):
        yield from (_found(result, (key, position)) for position, result in enumerate(native[key]))
    else:
        yield from read_content(native, key, _READERS)
    if isinstance(error := native.get("error"), str):
        yield Text(error, ("error",))
    elif error is not None:
        yield Opaque(kind_of(error), error, ("error",))


def _found(result: Any, at: Path) -> Content:
    """A passage that a file search found; it names no type."""
    return (isinstance(result, dict) and read_words(result, at)) or Opaque("unknown", result, at)


def _has_failed(native: dict[str, Any]) -> bool:
    return native.get("status") == "failed" or native.get("error") is not None


def _is_left_to_client(native: dict[str, Any]) -> bool:
    return native.get("execution") == "client"


def _is_hosted_output(native: dict[str, Any], kind: str) -> bool:
    return kind == "program_output" or (kind == "tool_search_output" and not _is_left_to_client(native))


def _output(native: dict[str, Any], kind: str) -> ToolResult:
    """A result. That of a local shell gives the call's id as its own."""
    key = _OUTPUTS[kind]
    parts = _said_by(native, kind, key)
    is_error = native.get("status") == "failed" or is_failure(native, parts) or any(_failed_runs(native))
    call_id = string_at(native, "call_id") or (string_at(native, "id") if kind == "local_shell_call_output" else None)
    return ToolResult(call_id, parts, string_at(native, "name"), is_error, _is_hosted_output(native, kind), (key,))


def _said_by(native: dict[str, Any], kind: str, key: str) -> tuple[Content, ...]:
    held = native.get(key)
    if kind == "shell_call_output" and isinstance(held, list):
        return tuple([said for position, run in enumerate(held) for said in _streams(run, (key, position))])
    if kind == "computer_call_output" and isinstance(held, dict):
        return (read_block(held, (key,), _READERS),)
    return (Opaque("tools", held, (key,)),) if kind == "tool_search_output" else read_content(native, key, _READERS)


def _streams(run: Any, at: Path) -> Iterator[Content]:
    if not isinstance(run, dict):
        yield Opaque("unknown", run, at)
        return
    for stream in ("stdout", "stderr"):
        if isinstance(words := run.get(stream), str) and words:
            yield Text(words, (*at, stream))


def _failed_runs(native: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs of a shell that timed out or ended with another code than 0."""
    for run in _runs(native):
        match run.get("outcome"):
            case {"type": "timeout"}:
                yield run
            case {"type": "exit", "exit_code": code} if code != 0:
                yield run


def _runs(native: dict[str, Any]) -> list[dict[str, Any]]:
    held = native.get("output")
    if native.get("type") != "shell_call_output" or not isinstance(held, list):
        return []
    return [run for run in held if isinstance(run, dict)]


# --- rewriting


def _result_saying(words: Any, native: dict[str, Any]) -> object:
    match native["type"]:
        case "shell_call_output":
            outcomes = [run["outcome"] for run in _runs(native) if "outcome" in run]
            outcome = outcomes[-1] if outcomes else {"type": "exit", "exit_code": 0}
            return [{"stdout": words, "stderr": "", "outcome": outcome}]
        case "code_interpreter_call":
            return [{"type": "logs", "logs": words}]
        case "file_search_call":
            return [{"text": words}]
        case "computer_call_output" | "tool_search_output" | "image_generation_call" as kind:
            raise ValidationError(_no_place_in(kind))
        case _:
            return words


def _block_saying(words: Any, native: dict[str, Any], at: Path) -> object:
    """A text in place of a picture or an unknown part."""
    kind = _item_kind(native)
    if kind == "code_interpreter_call" and len(at) == 2:
        return {"type": "logs", "logs": words}
    if kind not in _WORDED_ITEMS:
        raise ValidationError(_no_place_in(kind))
    if len(at) == 1:
        return words
    if native.get("role") == "assistant":
        return {"type": "output_text", "text": words, "annotations": []}
    return {"type": "input_text", "text": words}


def _no_place_in(kind: str) -> str:
    return f"{OpenAIResponses.name}: an item of type {kind!r} has no place for words there; remove the item instead"


def _missing_streams(native: dict[str, Any]) -> Iterator[Path]:
    held = native.get("output")
    for position, run in enumerate(held if isinstance(held, list) else ()):
        if isinstance(run, dict):
            yield from (("output", position, stream) for stream in ("stdout", "stderr") if stream not in run)


# --- answering


def _output_kind(call_kind: str) -> str:
    return "tool_search_output" if call_kind == "tool_search_call" else f"{call_kind}_output"


_FAILURES: dict[str, Callable[[str], dict[str, Any]]] = {
    "custom_tool_call": lambda words: {"output": f"Error: {words}"},
    "local_shell_call": lambda words: {"output": f"Error: {words}"},
    "shell_call": lambda words: {"output": [{"stdout": "", "stderr": words, "outcome": {"type": "exit", "exit_code": 1}}]},
    "apply_patch_call": lambda words: {"status": "failed", "output": words},
    # A search for tools is answered with tools, here none; there is no place for words.
    "tool_search_call": lambda _words: {"execution": "client", "status": "incomplete", "tools": []},
}
"""What a failure looks like in the items that have a shape of their own for it."""


# --- recognising


def _evidence_of_content(content: Any) -> Evidence:
    if isinstance(content, str):
        return 1
    if not isinstance(content, list):
        return 0
    kinds = {kind_of(block) for block in content}
    if kinds & _OWN_PARTS:
        return 2
    return 1 if kinds <= _SHARED_PARTS else 0


# --- composing


def _assistant_item(part: Part, lost: list[str]) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text):
            # A plain string, because a list of output_text carries an id that only the provider can give.
            if text:
                yield {"type": "message", "role": "assistant", "content": text}
        case ToolCall(is_hosted=False):
            call = {"call_id": part.id, "name": part.name, "arguments": arguments_text(part)}
            yield {"type": "function_call", **call}
        case ToolResult(is_hosted=False):
            yield _output_item(part, lost)
        case _:
            lost.append(lost_words(part, OpenAIResponses.name))


def _message_item(role: str, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if len(blocks) == 1 and blocks[0]["type"] == "input_text":
        yield {"type": "message", "role": role, "content": blocks[0]["text"]}
    elif blocks:
        yield {"type": "message", "role": role, "content": blocks}


def _output_item(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    words = result_words(result)
    output: str | list[dict[str, Any]] = words
    if any(not isinstance(part, Text) for part in result.parts):
        output = [block for part in result.parts for block in _input_blocks(part, lost)]
        if words != result.text:
            output.insert(0, {"type": "input_text", "text": "Error:"})
    return {"type": "function_call_output", "call_id": result.call_id, "output": output or ""}


def _input_blocks(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    """The content part that says this: one, or none where there is nothing to say or no way to."""
    if isinstance(part, Text):
        return [{"type": "input_text", "text": part.text}] if part.text else []
    block = _composed_media(part) if isinstance(part, Media) else None
    if block is None:
        lost.append(lost_words(part, OpenAIResponses.name))
        return []
    return [block]


def _composed_media(media: Media) -> dict[str, Any] | None:
    kind = media.media_type.partition("/")[0]
    if media.source_type == "text":
        return {"type": "input_text", "text": media.source}
    if kind in ("audio", "video") or (media.source_type == "base64" and not has_known_type(media)):
        return None
    if kind == "image":
        link = {"file_id": media.source} if media.source_type == "file" else {"image_url": _link(media)}
        return {"type": "input_image", "detail": "auto", **link}
    if media.source_type == "base64":
        return {"type": "input_file", "file_data": data_url(media), "filename": file_name(media)}
    return {"type": "input_file", "file_id" if media.source_type == "file" else "file_url": media.source}


def _link(media: Media) -> str:
    return data_url(media) if media.source_type == "base64" else media.source
