"""A book of tools: the known ones, and those a user adds; looked up by the name of a call."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.tools.known import KNOWN
from redline.tools.tool import Tool, merged

__all__ = ["DEFAULT", "ToolBook"]


class ToolBook(msgspec.Struct, frozen=True):
    """Tools by name. A book is never changed; `with_tool` gives a new one."""

    tools: Mapping[str, Tool]

    def __post_init__(self) -> None:
        if not isinstance(self.tools, Mapping):
            raise ValidationError(f"A book of tools is made of names and tools, not of {type(self.tools).__name__}")
        for name, tool in self.tools.items():
            if not isinstance(name, str) or not isinstance(tool, Tool):
                raise ValidationError(f"A book of tools has a Tool for each name; {name!r} has {tool!r}")
        msgspec.structs.force_setattr(self, "tools", MappingProxyType(dict(self.tools)))

    def __hash__(self) -> int:
        return hash(frozenset(self.tools))

    def __repr__(self) -> str:
        return f"<ToolBook of {len(self.tools)} tools>"

    def __reduce__(self) -> tuple[type["ToolBook"], tuple[dict[str, Tool]]]:
        return ToolBook, (dict(self.tools),)

    def with_tool(
        self,
        name: str,
        *,
        reads: str = "",
        writes: str = "",
        edits: str = "",
        lists: str = "",
        searches: str = "",
        runs: str = "",
        fetches: str = "",
        asks: str = "",
    ) -> "ToolBook":
        """The book with one more tool, whose arguments are named as in `Tool`: `with_tool("my_read", reads="path")`."""
        tool = Tool(reads, writes, edits, lists=lists, searches=searches, runs=runs, fetches=fetches, asks=asks)
        return self.with_tools({name: tool})

    def with_tools(self, tools: Mapping[str, Tool]) -> "ToolBook":
        """The book with these tools, each in the place of one of the same name."""
        return ToolBook({**self.tools, **tools})

    def find(self, name: str, arguments: Mapping[str, Any]) -> Tool | None:
        """The tool of a call; None if it is not in the book."""
        if _is_typed(name, arguments):
            return _TYPED
        if tool := self.tools.get(name):
            return tool
        command = arguments.get("command")
        if isinstance(command, str) and (tool := self.tools.get(f"{name} {command}")):
            return tool
        return self.tools.get(_without_server(name))

    def terminal_tools(self) -> frozenset[str]:
        """The names of the tools that run commands."""
        return frozenset(name for name, tool in self.tools.items() if tool.is_terminal)

    def read_tools(self) -> frozenset[str]:
        """The names of the tools that show files, and not those that do so at times (`str_replace_editor view`)."""
        return frozenset(name for name, tool in self.tools.items() if tool.is_read and " " not in name)


_TYPED = Tool(runs="command")


def _is_typed(name: str, arguments: Mapping[str, Any]) -> bool:
    """An agent that writes commands as text calls `ls` with the command `ls -a`, whatever a tool `ls` takes."""
    command = arguments.get("command")
    if not isinstance(command, str) or not command.lstrip().startswith(name):
        return False
    return command.split(maxsplit=1)[:1] == [name]


def _without_server(name: str) -> str:
    """The name in `mcp__server__name`. A single word (`find`) may mean anything there, so it is not looked up."""
    plain = name.split("__", 2)[-1] if name.startswith("mcp__") else ""
    return plain if "_" in plain or "-" in plain else ""


def _known_tools() -> dict[str, Tool]:
    """All agents' tools; where two agents share a name, the tool takes the arguments of both."""
    tools: dict[str, Tool] = {}
    for table in KNOWN.values():
        for name, tool in table.items():
            tools[name] = merged(tools.get(name, Tool()), tool)
    return tools


DEFAULT = ToolBook(_known_tools())
"""Every tool of every known agent."""
