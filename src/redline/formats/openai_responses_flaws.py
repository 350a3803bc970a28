"""What OpenAI's Responses API refuses in one item, wherever it is: each rule with where it is written down."""

import re
from collections.abc import Iterator
from typing import Any

from redline.formats.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, fields_in, null_fields_in, stored_fields_in
from redline.formats.reading import kind_of
from redline.formats.tool_input import as_json_text

__all__ = ["find_flaws"]

_ROLES = ("user", "assistant", "system", "developer")
_ITEM_FIELDS = STORED_FIELDS | {"created_by"}
_ID_PREFIXES = {
    "message": "msg_",
    "function_call": "fc_",
    "function_call_output": "fc",
    "custom_tool_call": "ctc_",
}
"""`Invalid 'input[1].id': … Expected an ID that begins with 'fc'` (Wei-Shaw/sub2api#3785, openai/codex#33176)."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_TEXT_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}
_TEXT_KINDS = ("input_text", "output_text", "text")
"""`Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'` (jeremychone/rust-genai#119)."""
_WORDED_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def find_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """Every flaw of an item."""
    kind = kind_of(native) if native.get("type") is not None else "message"
    yield from fields_in(native, _ITEM_FIELDS)
    yield from _in_id(native, kind)
    if kind == "message" and "role" in native and native["role"] not in _ROLES:
        yield Flaw("known_roles", ("role",), f"the role {native['role']!r}", "user")
    if kind in ("message", "agent_message"):
        yield from _in_content(native)
    elif kind in _TEXT_FIELDS:
        yield from _in_call(native, _TEXT_FIELDS[kind])
    elif kind in _WORDED_OUTPUTS:
        yield from _in_output(native)
    elif kind == "reasoning":
        yield from null_fields_in(native, ("content", "status"))
        if not isinstance(native.get("summary"), list):
            yield Flaw("block_shapes", ("summary",), "reasoning without a list of summaries", [])


def _in_id(native: dict[str, Any], kind: str) -> Iterator[Flaw]:
    """The id of an item is the provider's own; one made by anybody else is left out."""
    prefix, own = _ID_PREFIXES.get(kind), native.get("id")
    if prefix is None or "id" not in native or _is_item_reference(native):
        return
    if not isinstance(own, str) or not own.startswith(prefix):
        yield Flaw(KNOWN_FIELDS, ("id",), f"the id {str(own)[:40]!r} does not begin with {prefix!r}")


def _is_item_reference(native: dict[str, Any]) -> bool:
    return native.keys() <= {"id", "type"} and native.get("type") is None


def _in_content(native: dict[str, Any]) -> Iterator[Flaw]:
    content = native.get("content")
    if isinstance(content, dict | int | float):
        yield Flaw("block_shapes", ("content",), f"the content is {type(content).__name__}", as_json_text(content))
    if not isinstance(content, list):
        return
    kinds = {kind_of(part) for part in content}
    if native.get("role") == "assistant" and kinds & {"input_text", "text"} and kinds <= {*_TEXT_KINDS}:
        words = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
        yield Flaw("block_shapes", ("content",), "the model's words typed as another's", words)
        return
    yield from _in_parts(content, "content", "output_text" if native.get("role") == "assistant" else "input_text")


def _in_output(native: dict[str, Any]) -> Iterator[Flaw]:
    held = native.get("output")
    if isinstance(held, list):
        yield from _in_parts(held, "output", "input_text")
    elif not isinstance(held, str):
        found = f"the output is {type(held).__name__}"
        yield Flaw("block_shapes", ("output",), found, "" if held is None else as_json_text(held))


def _in_parts(parts: list[Any], field: str, text_kind: str) -> Iterator[Flaw]:
    """Words have one type from the model and another from everybody else."""
    yield from stored_fields_in(parts, (field,))
    for position, part in enumerate(parts):
        at = (field, position)
        if isinstance(part, str):
            yield Flaw("block_shapes", at, "a string among the parts", {"type": text_kind, "text": part})
        elif not isinstance(part, dict):
            yield Flaw("block_shapes", at, f"a {type(part).__name__} among the parts")
        elif kind_of(part) in _TEXT_KINDS:
            if kind_of(part) != text_kind:
                yield Flaw("block_shapes", (*at, "type"), f"the type {kind_of(part)!r} where it is {text_kind!r}", text_kind)
            if not isinstance(part.get("text"), str):
                yield Flaw("block_shapes", (*at, "text"), "a text part without text", "")


def _in_call(native: dict[str, Any], key: str) -> Iterator[Flaw]:
    held, name = native.get(key), native.get("name")
    if not isinstance(held, str):
        yield Flaw("call_inputs", (key,), f"the {key} are {type(held).__name__}, not text", as_json_text(held))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        named = _REFUSED_IN_NAMES.sub("_", name)[:128] if isinstance(name, str) and name else "tool"
        yield Flaw("tool_names", ("name",), f"the name {str(name)[:40]!r}", named)
