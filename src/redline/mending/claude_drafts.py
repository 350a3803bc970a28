"""The blocks of a repaired API message, dealt out again to the lines of Claude Code that an API message is written in."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, cast

from redline.formats.reading import kind_of
from redline.mending.origins import Origins
from redline.mending.window import Step, Window
from redline.transcripts.base import Position
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["Draft", "Drafts"]

_CONTENT = ("message", "content")


@dataclass
class Draft:
    """A line as it will be."""

    line: Position | None
    """The line it is made from; None for one that is made anew."""
    blocks: list[Any]


class _Place(NamedTuple):
    line: Position
    number: int
    """Of the block in its line."""


class Drafts:
    """Knows which block stood in which line, and makes the lines of messages from that."""

    def __init__(self, source: Source, window: Window) -> None:
        self._source, self._window = source, window
        self._origins: Origins[_Place] = Origins()
        self._held: dict[Position, list[Any]] = {}
        self._roles: dict[Position, str] = {}
        for positions, message in zip(window.positions, window.messages, strict=True):
            self._note_blocks(positions, message)

    def of(self, step: Step) -> list[Draft]:
        """The lines of one message, in their order."""
        item = step.item
        if item.source is not None and self._window.is_unchanged(item):
            return [Draft(line, self._held[line]) for line in self._window.positions[item.source]]
        drafts: list[Draft] = []
        blocks = _blocks(item.message)
        lines = [self._line_of(block, item.message) for block in blocks]
        if item.source is not None and self._roles[self._window.positions[item.source][0]] == _role(item.message):
            lines = _with_corrected(blocks, lines, self._window.positions[item.source])
        for number, (block, line) in enumerate(zip(blocks, lines, strict=True)):
            begun = {draft.line for draft in drafts if draft.line}
            # What must stand before something of a line that has begun cannot have a line behind it.
            if line in begun or (line is None and not begun.isdisjoint(lines[number + 1 :])):
                drafts[-1].blocks.append(block)
            else:
                drafts.append(Draft(line, [block]))
        return drafts

    def says_the_same(self, position: Position, draft: Draft) -> bool:
        """Whether a line already has the blocks of a draft."""
        held = self._held[position]
        return len(held) == len(draft.blocks) and all(old is new for old, new in zip(held, draft.blocks, strict=True))

    def held_by(self, line: Position) -> list[Any]:
        """The blocks of a line as it was; none for one that holds plain words."""
        return self._held[line]

    def written(self, position: Position, draft: Draft) -> bytes:
        """A line with the blocks of a draft; nothing else of it changes."""
        line = self._source.read(position)
        if self.says_the_same(position, draft):
            return line
        places = [self._origins.find(block) for block in draft.blocks]
        numbers = [place.number if place and place.line == position else -1 for place in places]
        if -1 in numbers or numbers != sorted(numbers):
            return cast("bytes", payloads.replace(line, _CONTENT, draft.blocks))
        return _trimmed(line, self._held[position], dict(zip(numbers, draft.blocks, strict=True)))

    def _line_of(self, block: Any, message: Message) -> Position | None:
        """The line that a block stood in; none that another side said, because a line cannot change sides."""
        place = self._origins.find(block)
        return place.line if place and self._roles[place.line] == _role(message) else None

    def _note_blocks(self, positions: tuple[Position, ...], message: Message) -> None:
        blocks = iter(_blocks(message))
        for line in positions:
            held = list(blocks if len(positions) == 1 else islice(blocks, self._count(line)))
            self._held[line], self._roles[line] = held, _role(message)
            for number, block in enumerate(held):
                self._origins.note(block, _Place(line, number))

    def _count(self, line: Position) -> int:
        """How many blocks of its message a line holds; plain words become one where they are put together with others."""
        content = self._source.decode(line)["message"].get("content")
        if isinstance(content, str):
            return 1
        return len(content) if isinstance(content, list) else 0


def _with_corrected(blocks: list[Any], lines: list[Position | None], own: tuple[Position, ...]) -> list[Position | None]:
    """A block that the repair corrected is in the line of the one before it; a result that it made has none."""
    found: list[Position | None] = []
    for block, line in zip(blocks, lines, strict=True):
        is_made = line is None and kind_of(block) == "tool_result"
        before = next((known for known in reversed(found) if known in own), own[0])
        found.append(line if line is not None or is_made else before)
    return found


def _blocks(message: Message) -> list[Any]:
    """The blocks of a message; none if it is plain words."""
    content = payloads.decode(message.native)["content"]
    return content if isinstance(content, list) else []


def _role(message: Message) -> str:
    return str(payloads.decode(message.native)["role"])


def _trimmed(line: bytes, held: list[Any], kept: dict[int, Any]) -> bytes:
    """The line without some of its blocks, and with other ids in others."""
    payload: payloads.Payload = line
    for number, block in kept.items():
        for key in block if block is not held[number] else ():
            if block[key] is not held[number].get(key):
                payload = payloads.replace(payload, (*_CONTENT, number, key), block[key])
    gone = [(*_CONTENT, number) for number in range(len(held)) if number not in kept]
    return cast("bytes", payloads.remove(payload, gone))
