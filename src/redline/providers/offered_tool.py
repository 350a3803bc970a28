"""A tool of Redline's own in a client's request: where it can be offered, and the client's list of tools with it."""

import re
from typing import Any, Literal

import msgspec

from redline.errors import ValidationError
from redline.providers import find_format
from redline.providers.api import Body
from redline.values import payloads

RECALL_TOOL = "redline_recall"
_MOST_TOOLS = 120
"""OpenAI takes 128."""
_ABSENT = msgspec.Raw(b"")
_DESCRIPTION = (
    "Reads back what was left out of this conversation to save space. A note in its place names the reference. "
    "Or finds words in all that this conversation said, called and got back, with their references. "
    "Ask for some lines or for a pattern rather than for all of it."
)
_ARGUMENTS = {
    "reference": "The reference, exactly as the note gives it, such as #12.0.",
    "lines": "With reference: which lines, counted from 1: 10-40, 10- or -20 for the last twenty.",
    "grep": "A regular expression; only lines in which it is found are shown.",
    "search": "In the place of a reference: words to find, whatever their case.",
}


class _ToolFields(msgspec.Struct):
    """What of a request decides whether another tool can be offered."""

    tools: msgspec.Raw = _ABSENT
    tool_choice: msgspec.Raw = _ABSENT
    tool_config: msgspec.Raw = msgspec.field(default=_ABSENT, name="toolConfig")
    spelled_config: msgspec.Raw = msgspec.field(default=_ABSENT, name="tool_config")
    config: msgspec.Raw = msgspec.field(default=_ABSENT, name="generationConfig")
    n: msgspec.Raw = _ABSENT
    store: msgspec.Raw = _ABSENT
    background: msgspec.Raw = _ABSENT
    functions: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_ToolFields).decode
Offer = Literal["may begin", "may go on", ""]
"""A history may begin with the tool; one that has it may keep it; the request takes no tool at all."""


def recall_tool_of(format: str) -> dict[str, Any]:
    """The tool as a provider takes it."""
    properties = {name: {"type": "string", "description": text} for name, text in _ARGUMENTS.items()}
    schema = {"type": "object", "properties": properties, "required": []}
    return find_format(format).declare_tool(RECALL_TOOL, _DESCRIPTION, schema)


def offer_in(body: Body, query: str = "") -> Offer:
    """Whether a request can offer the tool. A client that forces calls, names the tools that may be called, wants several
    answers, or has the service keep them would notice; where there are no tools, there is no agent."""
    try:
        fields = _decode(body.raw.removeprefix(b"\xef\xbb\xbf"))
        tools, choice = _value(fields.tools), _value(fields.tool_choice)
        mode = _value(fields.tool_config) or _value(fields.spelled_config)
        counted = _value(fields.config) or {}
        store, many, background = _value(fields.store), _value(fields.n), _value(fields.background)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    if not isinstance(tools, list) or not tools or len(tools) > _MOST_TOOLS or RECALL_TOOL in payloads.encode(tools).decode():
        return ""
    if many not in (None, 1) or background or (isinstance(counted, dict) and counted.get("candidateCount", 1) != 1):
        return ""
    if body.format == "openai_responses" and store is not False:
        return ""
    if body.format == "gemini" and not _declared(tools):
        return ""
    if body.format == "gemini" and body.is_streamed and "alt=sse" not in query:
        return ""
    return "may begin" if _is_free(choice, mode) else "may go on"


def with_recall_tool(raw: bytes, format: str) -> bytes:
    """A body whose list of tools ends with the tool; every byte outside of the list stays."""
    bom = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    written = bytes(_decode(raw[len(bom) :]).tools)
    found = [one.end() for one in re.finditer(rb'"tools"\s*:\s*', raw) if raw.startswith(written, one.end())]
    if len(found) != 1:
        found = [_place_of_tools(raw)]
    tool = recall_tool_of(format)
    if format == "gemini":
        tools = payloads.decode(written)
        (declared, *_) = _declared(tools)
        name = next(name for name in _DECLARATIONS if name in declared)
        declared[name] = [*declared[name], *tool["functionDeclarations"]]
        listed = payloads.encode(tools)
    else:
        listed = written.rstrip()[:-1].rstrip() + b"," + payloads.encode(tool) + b"]"
    return raw[: found[0]] + listed + raw[found[0] + len(written) :]


_DECLARATIONS = ("functionDeclarations", "function_declarations")


def _declared(tools: list[Any]) -> list[dict[str, Any]]:
    """Gemini's tools with function declarations; Vertex takes a single such tool."""
    return [one for one in tools if isinstance(one, dict) and any(isinstance(one.get(name), list) for name in _DECLARATIONS)]


def _is_free(choice: Any, mode: Any) -> bool:
    """Whether the model chooses what it calls, out of all tools."""
    named = [
        mode[name] for name in ("functionCallingConfig", "function_calling_config") if isinstance(mode, dict) and name in mode
    ]
    calling: dict[str, Any] = named[0] if named and isinstance(named[0], dict) else {}
    kind = choice.get("type") if isinstance(choice, dict) else choice
    return kind in (None, "auto") and str(calling.get("mode") or "AUTO").upper() in ("AUTO", "MODE_UNSPECIFIED")


def _value(written: msgspec.Raw) -> Any:
    return payloads.decode(bytes(written)) if bytes(written) else None


def _place_of_tools(raw: bytes) -> int:
    """Where the last list under its key begins: the whole body is read."""
    text = raw.decode("utf-8", "surrogateescape")
    top = payloads.skip_space(text, 1 if text.startswith("\ufeff") else 0)
    starts = [start for key, _, start, _ in payloads.members_of(text, top) if key == "tools"]
    if not starts:
        raise ValidationError("The list of tools was not found in the body again.")
    return len(text[: starts[-1]].encode("utf-8", "surrogateescape"))
