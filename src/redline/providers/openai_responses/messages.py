"""The OpenAI Responses format: a flat list of items, in which each call, result and thought is an item of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from redline.errors import ValidationError
from redline.providers import openai_parts
from redline.providers.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, fields_in, null_fields_in
from redline.providers.format import (
    Composed,
    Evidence,
    Format,
    blocks_of,
    kind_of,
    known_role,
    result_words,
    string_at,
    what_is_lost,
)
from redline.providers.openai_parts import Content
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at


class _CallItem(NamedTuple):
    """How an item asks for a tool."""

    input_key: str
    tool: str | None = None
    """The name of the one tool it is for; None where the item names it."""
    output_key: str | None = None
    """Where the provider that ran it put what came out."""


_CLIENT_CALLS = {
    "function_call": _CallItem("arguments"),
    "custom_tool_call": _CallItem("input"),
    "computer_call": _CallItem("action", "computer"),
    "local_shell_call": _CallItem("action", "local_shell"),
    # Also run in the provider's own container, but call and output are two items there too, and pair in the same way.
    "shell_call": _CallItem("action", "shell"),
    "apply_patch_call": _CallItem("operation", "apply_patch"),
}
_HOSTED_CALLS = {
    "web_search_call": _CallItem("action", "web_search"),
    "file_search_call": _CallItem("queries", "file_search", "results"),
    "code_interpreter_call": _CallItem("code", "code_interpreter", "outputs"),
    "image_generation_call": _CallItem("revised_prompt", "image_generation", "result"),
    "mcp_call": _CallItem("arguments", None, "output"),
    "program": _CallItem("code", "program"),
    "tool_search_call": _CallItem("arguments", "tool_search"),
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
"""Items in which a text may take the place of any other part."""
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
_FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call", "parts", "toolCallId"})


class OpenAIResponses(Format):
    """Reads and writes the input items of the OpenAI Responses API."""

    name = "openai_responses"
    messages_field = "input"
    volatile_fields = frozenset({"id", "status", "internal_chat_message_metadata_passthrough", "logprobs"})
    told_fields = frozenset({"role", "content", "output"})
    told_block_fields = frozenset({"text", "refusal"})
    system_field = "instructions"
    items_are_messages = True
    accepted_id = re.compile(r"(?s:.{1,64})")
    """`Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64` (openclaw/openclaw#875)."""

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its item and part types; a plain message could be another's, and so could an unknown item."""
        kind = _item_kind(native)
        if kind in _OWN_ITEMS:
            return 2
        if kind != "message":
            return 1 if kind.endswith(("_call", "_output")) and "role" not in native else 0
        if known_role(native, _ROLES) is None or not _FOREIGN_KEYS.isdisjoint(native):
            return 0
        content = native.get("content")
        if not isinstance(content, list):
            return 1 if isinstance(content, str) else 0
        kinds = {kind_of(block) for block in content}
        return 2 if kinds & _OWN_PARTS else 1 if kinds <= _SHARED_PARTS else 0

    def _role(self, native: dict[str, Any]) -> Role:
        kind = _item_kind(native)
        if kind in _CARRIED:
            return _CARRIED[kind]
        if kind in _OUTPUTS:
            return "assistant" if _is_hosted_output(native, kind) else "tool"
        if kind in _MESSAGES or ("role" in native and kind not in _OWN_ITEMS):
            return known_role(native, _ROLES) or "user"
        return "tool" if kind.endswith("_output") else "assistant"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:  # noqa: ARG002 - items say what they are
        kind = _item_kind(native)
        if kind in _MESSAGES:
            return openai_parts.read_content(native, "content", _read_part)
        if kind == "reasoning":  # the summary and the thoughts themselves; a sealed item without words is one thought too
            is_bound = bool(native.get("encrypted_content") or native.get("id"))
            thoughts: list[Reasoning] = []
            for key in ("summary", "content"):
                if isinstance(blocks := native.get(key), list) and blocks:
                    texts = [string_at(block, "text") for block in blocks if isinstance(block, dict)]
                    thoughts.append(Reasoning("\n".join(text for text in texts if text is not None), is_bound, (key,)))
            return tuple(thoughts) or (Reasoning("", is_bound, ("summary",)),)
        if kind in _CALLS:
            return _read_call(native, kind)
        if kind in _OUTPUTS:
            return (_read_output(native, kind),)
        return (Opaque(kind, native, ("type",), is_reference=kind == "item_reference"),)

    def _listed(self, held: Any) -> list[Any]:
        return [{"role": "user", "content": held}] if isinstance(held, str) else super()._listed(held)

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        match part:
            case ToolCall():
                return part.at, openai_parts.input_as_held(native.get(str(part.at[0])), replacement)
            case Reasoning():
                kind = "summary_text" if part.at == ("summary",) else "reasoning_text"
                return part.at, [{"type": kind, "text": replacement}]
            case ToolResult():
                return part.at, _result_saying(replacement, native)
            case Text():
                held = value_at(native, part.at)
                return part.at if isinstance(held, str) else (*part.at, openai_parts.text_key(held)), replacement
        return part.at, _part_saying(replacement, native, part.at)

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """As for every format; a call, a result or an unknown item goes whole, being nothing without its fields."""
        removed = tuple(parts)
        places = {part.at for part in removed}
        is_divisible = _item_kind(payloads.decode(message.native)) in (*_MESSAGES, "reasoning")
        if not is_divisible and any(part.at in places for part in message.parts):
            return None
        return super().remove(message, removed)

    def _pruned(self, payload: Payload) -> Payload:
        """Fields that must be there, and that the removal took or left empty in a way the provider refuses."""
        native = payloads.decode(payload)
        match _item_kind(native):
            case "reasoning" if "summary" not in native:
                return payloads.replace(payload, ("summary",), [])
            case "shell_call_output":
                for position, run in _shell_runs(native):
                    for stream in _STREAMS:
                        if stream not in run:
                            payload = payloads.replace(payload, ("output", position, stream), "")
            case kind if kind in _OUTPUTS and native.get("output") == []:
                return payloads.replace(payload, ("output",), "")
        return payload

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:  # noqa: ARG002 - an item holds one of them
        is_by_own_id = native.get("type") == "local_shell_call_output" and not native.get("call_id")
        return ("id",) if is_by_own_id else ("call_id",)

    def answer(self, message: Message, call: ToolCall, words: str) -> Message | None:
        """As for every format, in the item that fits the call; a computer's can only show a picture."""
        kind = _item_kind(payloads.decode(message.native))
        item: dict[str, Any] = {"type": f"{kind}_output", "call_id": call.id}
        match kind:
            case "computer_call":
                return None
            case "custom_tool_call":
                item["output"] = f"Error: {words}"
            case "local_shell_call":
                item = {"type": item["type"], "id": call.id, "output": f"Error: {words}"}
            case "shell_call":
                item["output"] = [{"stdout": "", "stderr": words, "outcome": {"type": "exit", "exit_code": 1}}]
            case "apply_patch_call":
                item |= {"status": "failed", "output": words}
            case "tool_search_call":  # answered with tools, here none; there is no place for words
                item |= {"type": "tool_search_output", "execution": "client", "status": "incomplete", "tools": []}
            case _:
                return super().answer(message, call, words)
        return self.read(item)

    def untied(self, message: Message) -> Message:
        """By its id the provider knows an item, and asks for the reasoning that led to it (0xPlaygrounds/rig#751)."""
        native = payloads.decode(message.native)
        if message.role != "assistant" or "id" not in native or _item_kind(native) not in _TIED_ITEMS:
            return message
        return msgspec.structs.replace(message, native=payloads.remove(message.native, [("id",)]))

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """An item for each thing the assistant says, each call and result, all with ids; others say one message after."""
        lost: list[str] = []
        items: list[dict[str, Any]] = []
        said: list[dict[str, Any]] = []
        for part in openai_parts.with_ids(parts):
            match part:
                case ToolResult(is_hosted=False):
                    words = result_words(part)
                    output: str | list[dict[str, Any]] = words
                    if any(not isinstance(inner, Text) for inner in part.parts):
                        failed = [{"type": "input_text", "text": "Error:"}] if words != part.text else []
                        output = [*failed, *blocks_of(part.parts, _compose_part, self.name, lost)]
                    items.append({"type": "function_call_output", "call_id": part.call_id, "output": output or ""})
                case _ if role != "assistant":
                    said += blocks_of((part,), _compose_part, self.name, lost)
                case ToolCall(is_hosted=False):
                    call = {"call_id": part.id, "name": part.name, "arguments": openai_parts.arguments_text(part)}
                    items.append({"type": "function_call", **call})
                case Text(text):
                    # A plain string, because a list of output_text carries an id that only the provider can give.
                    items += [{"type": "message", "role": role, "content": text}] if text else []
                case _:
                    lost.append(what_is_lost(part, self.name))
        if said:
            content = said[0]["text"] if len(said) == 1 and said[0]["type"] == "input_text" else said
            items.append({"type": "message", "role": "system" if role == "system" else "user", "content": content})
        return Composed(tuple(items), tuple(lost))

    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema is meant strictly unless the tool says otherwise."""
        return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        kind = _item_kind(native)
        yield from fields_in(native, _NOT_IN_ITEMS)
        own, prefix = native.get("id"), _ID_PREFIXES.get(kind, "")
        if "id" in native and prefix and not (isinstance(own, str) and own.startswith(prefix)):
            yield Flaw(KNOWN_FIELDS, ("id",), f"the id {str(own)[:40]!r} does not begin with {prefix!r}")
        match kind:
            case "message" | "agent_message":
                yield from _message_flaws(native, kind)
            case "function_call":
                yield from openai_parts.call_flaws(native, "arguments", longest_name=_LONGEST_NAME)
            case "custom_tool_call":
                yield from openai_parts.call_flaws(native, "input", longest_name=_LONGEST_NAME)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                output = native.get("output")
                if isinstance(output, list):
                    yield from openai_parts.parts_flaws(output, "output", "input_text", _TEXT_KINDS)
                elif not isinstance(output, str):
                    found = f"the output is {type(output).__name__}"
                    yield Flaw("block_shapes", ("output",), found, "" if output is None else openai_parts.input_as_text(output))
            case "reasoning":
                yield from null_fields_in(native, ("content", "status"))
                if not isinstance(native.get("summary"), list):
                    yield Flaw("block_shapes", ("summary",), "reasoning without a list of summaries", [])


def _item_kind(native: dict[str, Any]) -> str:
    """The type of an item. It may be left out of a message, and of a reference, which has an id and nothing else."""
    if native.get("type") is not None:
        return kind_of(native)
    return "item_reference" if native.keys() <= {"id", "type"} and "id" in native else "message"


def _read_part(block: Any, at: Path) -> Content:
    """A part of a content or an output; of an unknown type, or malformed, it is carried as it is."""
    kind = kind_of(block)
    part: Content | None = None
    match kind:
        case "input_text" | "output_text" | "text" | "refusal" | "logs":
            part = openai_parts.read_words(block, at)
        case "input_image" | "computer_screenshot" | "image":
            match block:
                case {"image_url": str(url)} | {"type": "image", "url": str(url)}:
                    part = openai_parts.media_from_url(url, "image/*", at)
                case {"file_id": str(file_id)}:
                    part = Media("image/*", file_id, "file", at)
        case "input_file":
            part = openai_parts.read_file(block, at)
        case "input_audio":
            part = openai_parts.read_audio(block, at)
    return Opaque(kind, block, at) if part is None else part


def _read_call(native: dict[str, Any], kind: str) -> tuple[Part, ...]:
    """A call, and what came out of it where the provider ran it and says so in the same item."""
    item = _CALLS[kind]
    is_hosted = kind in _HOSTED_CALLS and native.get("execution") != "client"
    call_id = string_at(native, "call_id") or (string_at(native, "id") if is_hosted else None)
    name = item.tool or str(native.get("name", ""))
    input_key = "actions" if item.input_key not in native and "actions" in native else item.input_key
    call = ToolCall(call_id, name, native.get(input_key), is_hosted, (input_key,))
    if (key := item.output_key) is None:
        return (call,)
    held, error = native.get(key), native.get("error")
    parts: list[Content] = []
    if kind == "image_generation_call":
        media_type = f"image/{string_at(native, 'output_format') or '*'}"
        parts += [Media(media_type, held, "base64", (key,))] if isinstance(held, str) else []
    elif kind == "file_search_call" and isinstance(held, list):
        for position, passage in enumerate(held):  # a passage names no type
            words = openai_parts.read_words(passage, (key, position)) if isinstance(passage, dict) else None
            parts.append(words or Opaque("unknown", passage, (key, position)))
    else:
        parts += openai_parts.read_content(native, key, _read_part)
    if error is not None:
        parts.append(Text(error, ("error",)) if isinstance(error, str) else Opaque(kind_of(error), error, ("error",)))
    failed = native.get("status") == "failed" or error is not None
    return (call, ToolResult(call_id, tuple(parts), name, failed, is_hosted=True, at=(key,))) if parts else (call,)


def _read_output(native: dict[str, Any], kind: str) -> ToolResult:
    """A result. That of a local shell gives the call's id as its own."""
    key = _OUTPUTS[kind]
    held = native.get(key)
    has_failed_run = False
    if kind == "shell_call_output" and isinstance(held, list):
        parts, has_failed_run = _read_shell_output(held)
    elif kind == "computer_call_output" and isinstance(held, dict):
        parts = (_read_part(held, (key,)),)
    elif kind == "tool_search_output":
        parts = (Opaque("tools", held, (key,)),)
    else:
        parts = openai_parts.read_content(native, key, _read_part)
    is_error = openai_parts.is_failure(parts) or has_failed_run
    call_id = string_at(native, "call_id") or (string_at(native, "id") if kind == "local_shell_call_output" else None)
    return ToolResult(call_id, parts, string_at(native, "name"), is_error, _is_hosted_output(native, kind), (key,))


def _read_shell_output(runs: list[Any]) -> tuple[tuple[Content, ...], bool]:
    """What the runs of a shell wrote, and whether one of them timed out or ended with another code than 0."""
    parts: list[Content] = []
    has_failed = False
    for position, run in enumerate(runs):
        at: Path = ("output", position)
        if not isinstance(run, dict):
            parts.append(Opaque("unknown", run, at))
            continue
        parts += [Text(run[stream], (*at, stream)) for stream in _STREAMS if string_at(run, stream)]
        if isinstance(outcome := run.get("outcome"), dict):
            has_failed |= outcome.get("type") == "timeout"
            has_failed |= outcome.get("type") == "exit" and outcome.get("exit_code", 0) != 0
    return tuple(parts), has_failed


_STREAMS = ("stdout", "stderr")


def _shell_runs(native: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The runs in a `shell_call_output`, each with its position."""
    held = native.get("output")
    return [(position, run) for position, run in enumerate(held) if isinstance(run, dict)] if isinstance(held, list) else []


def _is_hosted_output(native: dict[str, Any], kind: str) -> bool:
    return kind == "program_output" or (kind == "tool_search_output" and native.get("execution") != "client")


def _result_saying(words: Any, native: dict[str, Any]) -> object:
    """What a result holds when it says nothing but these words."""
    match native["type"]:
        case "shell_call_output":
            outcomes = [run["outcome"] for _, run in _shell_runs(native) if "outcome" in run]
            outcome = outcomes[-1] if outcomes else {"type": "exit", "exit_code": 0}
            return [{"stdout": words, "stderr": "", "outcome": outcome}]
        case "code_interpreter_call":
            return [{"type": "logs", "logs": words}]
        case "file_search_call":
            return [{"text": words}]
        case "computer_call_output" | "tool_search_output" | "image_generation_call" as kind:
            raise _no_place_in(kind)
    return words


def _part_saying(words: Any, native: dict[str, Any], at: Path) -> object:
    """A text in place of a picture or an unknown part."""
    kind = _item_kind(native)
    if kind == "code_interpreter_call" and len(at) == 2:
        return {"type": "logs", "logs": words}
    if kind not in _WORDED_ITEMS:
        raise _no_place_in(kind)
    if len(at) == 1:
        return words
    is_model = native.get("role") == "assistant"
    return {"type": "output_text", "text": words, "annotations": []} if is_model else {"type": "input_text", "text": words}


def _no_place_in(kind: str) -> ValidationError:
    return ValidationError(
        f"{OpenAIResponses.name}: an item of type {kind!r} has no place for words there; remove the item instead"
    )


def _compose_part(media: Part, lost: list[str]) -> dict[str, Any] | None:  # noqa: ARG001 - nothing is inside of these parts
    if isinstance(media, Text):
        return {"type": "input_text", "text": media.text}
    if not isinstance(media, Media):
        return None
    kind, is_base64 = media.media_type.partition("/")[0], media.source_type == "base64"
    if media.source_type == "text":
        return {"type": "input_text", "text": media.source}
    if kind in ("audio", "video") or (is_base64 and "*" in media.media_type):
        return None
    if kind != "image":
        if is_base64:
            return {"type": "input_file", **openai_parts.file_fields(media)}
        return {"type": "input_file", "file_id" if media.source_type == "file" else "file_url": media.source}
    if media.source_type == "file":
        return {"type": "input_image", "detail": "auto", "file_id": media.source}
    return {"type": "input_image", "detail": "auto", "image_url": openai_parts.data_url(media) if is_base64 else media.source}


# --- what the API refuses, wherever the item is


_NOT_IN_ITEMS = STORED_FIELDS | {"created_by"}
_ID_PREFIXES = {
    "message": "msg_",
    "function_call": "fc_",
    "function_call_output": "fc",
    "custom_tool_call": "ctc_",
}
"""The id of an item is the provider's own; one made by anybody else is left out.

`Invalid 'input[1].id': … Expected an ID that begins with 'fc'` (Wei-Shaw/sub2api#3785, openai/codex#33176).
"""
_LONGEST_NAME = 128
_TEXT_KINDS = frozenset({"input_text", "output_text", "text"})
"""`Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'` (jeremychone/rust-genai#119)."""


def _message_flaws(native: dict[str, Any], kind: str) -> Iterator[Flaw]:
    role, content = native.get("role"), native.get("content")
    if kind == "message" and "role" in native and role not in ("user", "assistant", "system", "developer"):
        yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
    parts = content if isinstance(content, list) else []
    kinds = {kind_of(part) for part in parts}
    if role == "assistant" and kinds & {"input_text", "text"} and kinds <= _TEXT_KINDS:
        words = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        yield Flaw("block_shapes", ("content",), "the model's words typed as another's", words)
        return
    # Words have one type from the model and another from everybody else.
    yield from openai_parts.parts_flaws(content, "content", "output_text" if role == "assistant" else "input_text", _TEXT_KINDS)
