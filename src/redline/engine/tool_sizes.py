"""How many tokens the definition of each tool takes that is sent ahead of the messages."""

from collections.abc import Iterator, Mapping
from typing import Any

from redline.tokens import Counter
from redline.values import payloads

_MOST_TOOLS = 500
_LONGEST_NAME = 200
_HELD_TOGETHER = ("functionDeclarations", "function_declarations")
"""Where Gemini keeps several definitions in one entry."""


def tool_sizes(preamble: object, counter: Counter) -> tuple[tuple[str, int], ...]:
    """Name and tokens of each definition, in order; of two of one name the sum. None of them is kept."""
    sizes: dict[str, int] = {}
    for name, definition in _definitions(preamble):
        if len(sizes) < _MOST_TOOLS:
            sizes[name] = sizes.get(name, 0) + counter.count(
                (payloads.try_encode(definition) or b"").decode("utf-8", "replace")
            )
    return tuple(sizes.items())


def _definitions(preamble: object) -> Iterator[tuple[str, object]]:
    """What a request offers: a table with `tools`, alone or in a list with messages of the system."""
    tables = preamble if isinstance(preamble, list) else [preamble]
    listed = (table.get("tools") for table in tables if isinstance(table, Mapping))
    for tool in (tool for tools in listed if isinstance(tools, list | tuple) for tool in tools):
        if not isinstance(tool, Mapping):
            continue
        together = next((tool[name] for name in _HELD_TOGETHER if isinstance(tool.get(name), list)), None)
        for one in [tool] if together is None else together:
            if isinstance(one, Mapping) and (name := _name_of(one)):
                yield name[:_LONGEST_NAME], one


def _name_of(tool: Mapping[str, Any]) -> str:
    """Its own, that of the function in it, or what kind of hosted tool it is: `web_search`, `googleSearch`."""
    function = tool.get("function")
    told = tool.get("name") or (function.get("name") if isinstance(function, Mapping) else None) or tool.get("type")
    return told if isinstance(told, str) else next(iter(tool), "")
