"""What is told of a whole history: its tools, what a provider would refuse of it, and where a text is in it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import msgspec

from redline.inspection.log_problems import problems_of_records
from redline.inspection.playback import Player
from redline.inspection.shown import part_text
from redline.laws import History, Problem, problems_of
from redline.replay.history import SessionHistory
from redline.values.messages import Part, ToolCall, ToolResult

__all__ = ["TextHit", "TextSearch", "UsedTool", "problems_in", "tools_in"]


class UsedTool(msgspec.Struct):
    """How often a tool was called, how often it failed, and what its calls and results weigh."""

    name: str
    calls: int = 0
    errors: int = 0
    tokens: int = 0


def tools_in(player: Player) -> list[UsedTool]:
    """Every tool that was used, the heaviest first."""
    found: dict[str, UsedTool] = {}
    parts = player.parts
    for index, sizes in enumerate(parts.all()):
        tokens = {part.at: part.tokens for part in sizes}
        for part in player.history.load(index).parts:
            name = parts.tool_of(index, part)
            if name is not None:
                row = found.setdefault(name, UsedTool(name))
                row.calls += isinstance(part, ToolCall)
                row.errors += isinstance(part, ToolResult) and part.is_error
                row.tokens += tokens.get(part.at, 0)
    return sorted(found.values(), key=lambda row: -row.tokens)


def problems_in(history: SessionHistory, most: int = 100) -> list[Problem]:
    """What a provider would refuse of what would be sent next, by index: of an agent's session as the file has it, of a log as
    Redline sends it."""
    if history.is_log:
        return problems_of_records(history.records, history.state.format)[:most]
    start = history.requests[-1].visible[0][0] if history.requests else 0
    messages = [history.load(index) for index in range(start, history.count)]
    found = problems_of(History.of(messages, history.state.format), is_stored=True) if messages else []
    return [replace(problem, index=start + problem.index) for problem in found[:most]]


class TextHit(msgspec.Struct, frozen=True):
    """Where a text stands."""

    index: int
    part: Part
    place: int
    """The first letter, in the text of the part."""


class TextSearch:
    """Finds text in what was said, whatever its case. All of it is kept in lower case from the first search on."""

    def __init__(self, history: SessionHistory) -> None:
        self._history = history

    @cached_property
    def _texts(self) -> list[list[str]]:
        messages = (self._history.load(index) for index in range(self._history.count))
        return [[part_text(part).lower() for part in message.parts] for message in messages]

    def find(self, text: str) -> Iterator[TextHit]:
        """Every part that holds it, with its first place there."""
        wanted = text.lower()
        for index, parts in enumerate(self._texts):
            for number, words in enumerate(parts):
                if (place := words.find(wanted)) >= 0:
                    yield TextHit(index, self._history.load(index).parts[number], place)
