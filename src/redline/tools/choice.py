"""Which tools a rule means: all of a book, or those that are named, known to the book or not."""

from collections.abc import Collection
from typing import Literal

import msgspec

from redline.tools.book import DEFAULT, ToolBook
from redline.tools.paths import PATH_NAMES
from redline.tools.tool import Tool

__all__ = ["ToolChoice", "choose_tools"]


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
