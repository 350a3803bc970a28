"""What OpenAI's Chat Completions refuse in one message, wherever it is: each rule with where it is written down.

Many servers speak this format and take fields of their own (`reasoning_content`, `cache_control`, …), some of which they want
back; so only what none of them takes counts as refused.
"""

import re
from collections.abc import Iterator
from typing import Any

from redline.formats.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, fields_in, null_fields_in, stored_fields_in
from redline.formats.reading import kind_of
from redline.formats.tool_input import as_json_text
from redline.values.payloads import Path

__all__ = ["find_flaws"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MESSAGE_FIELDS = STORED_FIELDS | {"id"}
_NULLS = ("name", "tool_calls", "tool_call_id")
"""Optional but not nullable in the SDK's types; `None is not of type 'array' - 'messages.1.tool_calls'`."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""`Invalid 'messages[1].tool_calls[0].function.name'` (continuedev/continue#11645, openai/openai-openapi)."""
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_REFUSED_IN_SPEAKERS = re.compile(r"[\s<|\\/>]+")
"""`Invalid 'messages[0].name': … Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'`."""


def find_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """Every flaw of a message."""
    role = native.get("role")
    if role not in _ROLES:
        yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
    yield from fields_in(native, _MESSAGE_FIELDS)
    yield from null_fields_in(native, _NULLS)
    yield from _in_content(native)
    speaker = native.get("name")
    if isinstance(speaker, str) and _REFUSED_IN_SPEAKERS.search(speaker):
        yield Flaw("tool_names", ("name",), f"the name {speaker[:40]!r}", _REFUSED_IN_SPEAKERS.sub("_", speaker))
    if "tool_calls" in native or "function_call" in native:
        yield from _in_calls(native)


def _in_content(native: dict[str, Any]) -> Iterator[Flaw]:
    """A result's content may be empty but not null; parts must be objects of a type."""
    content, role = native.get("content"), native.get("role")
    has_no_part = isinstance(content, list) and not any(isinstance(part, str | dict) for part in content)
    if role == "tool" and (content is None or has_no_part):
        yield Flaw("block_shapes", ("content",), "a result whose content is null or no part", "")
        return
    if has_no_part and role == "assistant" and (native.get("tool_calls") or native.get("function_call")):
        yield Flaw("block_shapes", ("content",), "the content is an empty list", None)
        return
    if isinstance(content, dict | int | float):
        yield Flaw("block_shapes", ("content",), f"the content is {type(content).__name__}", as_json_text(content))
    if not isinstance(content, list):
        return
    yield from stored_fields_in(content, ("content",))
    for position, part in enumerate(content):
        at: Path = ("content", position)
        if isinstance(part, str):
            yield Flaw("block_shapes", at, "a string among the parts", {"type": "text", "text": part})
        elif not isinstance(part, dict):
            yield Flaw("block_shapes", at, f"a {type(part).__name__} among the parts")
        elif kind_of(part) == "image_url" and isinstance(part.get("image_url"), str):
            yield Flaw("block_shapes", (*at, "image_url"), "the picture's address as a string", {"url": part["image_url"]})
        elif kind_of(part) == "text" and not isinstance(part.get("text"), str):
            yield Flaw("block_shapes", (*at, "text"), "a text part without text", "")


def _in_calls(native: dict[str, Any]) -> Iterator[Flaw]:
    """`tool_calls` has at least one (openai/openai-node#1341), each an object with type, name and text for arguments."""
    calls = native.get("tool_calls")
    if calls == [] or (calls is not None and not isinstance(calls, list)):
        yield Flaw(KNOWN_FIELDS, ("tool_calls",), "the field 'tool_calls' holds no call")
    elif calls and not any(map(_kind_of_call, calls)):
        yield Flaw("block_shapes", ("tool_calls",), "calls that name no function")
    else:
        for position, call in enumerate(calls or ()):
            yield from _in_call(call, ("tool_calls", position))
    if isinstance(called := native.get("function_call"), dict):
        yield from _in_called(called, "arguments", ("function_call",))


def _kind_of_call(call: Any) -> str | None:
    kinds = ("custom", "function") if isinstance(call, dict) else ()
    return next((kind for kind in kinds if isinstance(call.get(kind), dict)), None)


def _in_call(call: Any, at: Path) -> Iterator[Flaw]:
    kind = _kind_of_call(call)
    if kind is None:
        yield Flaw("block_shapes", at, "a call that names no function")
        return
    if not isinstance(call.get("type"), str):
        yield Flaw("block_shapes", (*at, "type"), "a call without a type", kind)
    yield from fields_in(call, STORED_FIELDS, at)
    yield from _in_called(call[kind], "input" if kind == "custom" else "arguments", (*at, kind))


def _in_called(called: dict[str, Any], key: str, at: Path) -> Iterator[Flaw]:
    yield from fields_in(called, STORED_FIELDS, at)
    held, name = called.get(key), called.get("name")
    if not isinstance(held, str):
        found = f"the {key} are {type(held).__name__}, not text"
        yield Flaw("call_inputs", (*at, key), found, as_json_text(held))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        named = _REFUSED_IN_NAMES.sub("_", name)[:64] if isinstance(name, str) and name else "tool"
        yield Flaw("tool_names", (*at, "name"), f"the name {str(name)[:40]!r}", named)
