"""More tools than the provider takes: those that were never called go, the latest first, and only as many as needed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from redline.providers.format import Format
from redline.values.messages import Message
from redline.values.payloads import Payload

_DECLARED_UNDER = ("functionDeclarations", "function_declarations")


def tool_name(tool: object) -> str:
    """The name of a function, in whichever provider's shape; empty for what is no function of the caller's."""
    held = tool.get("function", tool) if isinstance(tool, dict) else {}
    name = held.get("name") if isinstance(held, dict) else None
    return name if isinstance(name, str) else ""


def tool_count(tools: Iterable[object]) -> int:
    """How many functions are declared; Gemini declares several in one tool."""
    return sum(len(_declared(tool)[1]) if _declared(tool)[0] else 1 for tool in tools)


def called_tools(messages: Iterable[Message | Payload], format: Format) -> frozenset[str]:
    """The tools that a history calls: without their description the provider may not take the calls back."""
    read = (one if isinstance(one, Message) else format.read(one) for one in messages)
    return frozenset(call.name for message in read for call in message.calls)


def without_surplus_tools(tools: Sequence[Any], most: int, needed: Collection[str]) -> tuple[list[Any], tuple[str, ...]]:
    """As many tools as may be declared, and the names of those that are left out; a tool that is needed stays in any case."""
    surplus, dropped = tool_count(tools) - most, list[str]()
    names = [name for tool in tools for name in map(tool_name, _declared(tool)[1] if _declared(tool)[0] else [tool])]
    for name in reversed(names):
        if len(dropped) < surplus and name and name not in needed:
            dropped.append(name)
    gone, kept = set(dropped), list[Any]()
    for tool in tools:
        field, functions = _declared(tool)
        if not field:
            kept += [tool] if tool_name(tool) not in gone else []
        elif left := [one for one in functions if tool_name(one) not in gone]:
            kept.append({**tool, field: left} if len(left) < len(functions) else tool)
    return kept, tuple(reversed(dropped))


def _declared(tool: object) -> tuple[str, list[Any]]:
    """The field in which a tool declares several functions, and these; an empty name where it is a function itself."""
    if isinstance(tool, dict):
        for field in _DECLARED_UNDER:
            if isinstance(held := tool.get(field), list):
                return field, held
    return "", []
