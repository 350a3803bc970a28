"""A book of tools: the known ones, and those a user adds; looked up by the name of a call, or chosen by a rule."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from redline.errors import ValidationError
from redline.tools.known import KNOWN
from redline.tools.paths import PATH_NAMES
from redline.tools.tool import Tool, merged


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
        command = arguments.get("command")
        if isinstance(command, str) and command.lstrip().startswith(name) and command.split(maxsplit=1)[:1] == [name]:
            return _TYPED_COMMAND
        if tool := self.tools.get(name):
            return tool
        if isinstance(command, str) and (tool := self.tools.get(f"{name} {command}")):
            return tool
        if not name.startswith("mcp__"):
            return None
        plain = name.split("__", 2)[-1]  # of `mcp__server__name`; a single word (`find`) may mean anything there
        return self.tools.get(plain) if "_" in plain or "-" in plain else None

    def terminal_tools(self) -> frozenset[str]:
        """The names of the tools that run commands."""
        return frozenset(name for name, tool in self.tools.items() if tool.is_terminal)

    def read_tools(self) -> frozenset[str]:
        """The names of the tools that show files, and not those that do so at times (`str_replace_editor view`)."""
        return frozenset(name for name, tool in self.tools.items() if tool.is_read and " " not in name)


_TYPED_COMMAND = Tool(runs="command")
"""An agent that writes commands as text calls `ls` with the command `ls -a`, whatever a tool `ls` takes."""


_known: dict[str, Tool] = {}
for _name, _tool in (row for table in KNOWN for row in table.items()):
    _known[_name] = merged(_known.get(_name, Tool()), _tool)
DEFAULT = ToolBook(_known)
"""Every tool of every known agent; where two agents share a name, the tool takes the arguments of both."""


class ToolChoice(msgspec.Struct, frozen=True):
    """The tools that count."""

    book: ToolBook | None
    """What is known of them; None for whatever is known where they are used."""
    names: frozenset[str] | None
    """None for all of them."""

    def has(self, name: str | None) -> bool:
        """Whether the tool of this name counts."""
        return self.names is None or name in self.names


def choose_tools(tools: Collection[str] | ToolBook | None, kind: Literal["reads", "runs"]) -> ToolChoice:
    """The tools of a book, or those of these names. A name that is not known to be of the kind is taken for one."""
    if tools is None or isinstance(tools, ToolBook):
        return ToolChoice(tools, None)
    names = frozenset(tools)
    own: dict[str, Tool] = {}
    for name in names:
        known = DEFAULT.tools.get(name, Tool())
        is_of_kind = known.is_read if kind == "reads" else known.is_terminal
        if is_of_kind or any(row.startswith(f"{name} ") for row in DEFAULT.tools):
            continue
        if kind == "runs":
            own[name] = Tool(runs="command cmd")
        elif known.is_terminal:  # what it runs is still a command
            own[name] = msgspec.structs.replace(known, reads=PATH_NAMES)
        else:
            own[name] = Tool(reads=PATH_NAMES)
    return ToolChoice(DEFAULT.with_tools(own), names)
