"""Which blocks each line of a Claude Code file holds, as one API message may be several lines, and which it will hold."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, cast

from redline.formats.reading import kind_of
from redline.mending.repaired_window import BlockOrigins, MendedMessage, RepairedWindow
from redline.transcripts import Position
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["ClaudeCodeLine", "ClaudeCodeLines"]

_CONTENT = ("message", "content")


@dataclass
class ClaudeCodeLine:
    """A line as it will be."""

    origin: Position | None
    """The line that it is made from; None for a new one."""
    blocks: list[Any]
    repaired: MendedMessage
    """The message that it is a piece of."""
    stays: bool
    """Whether it is written where its origin is; one that moves up is moved there, or copied if a piece of it stays."""


class _BlockPlace(NamedTuple):
    line: Position
    number: int
    """Of the block in its line."""


class ClaudeCodeLines:
    """The lines of a window with their blocks, and the lines of its repaired messages made from them."""

    def __init__(self, source: Source, window: RepairedWindow) -> None:
        self._source, self._window = source, window
        self._origins: BlockOrigins[_BlockPlace] = BlockOrigins()
        self._blocks: dict[Position, list[Any]] = {}
        self._roles: dict[Position, str] = {}
        self.message_of: dict[Position, int] = {}
        """By a line the number of its message in the window."""
        for message_number, (positions, message) in enumerate(zip(window.positions, window.messages, strict=True)):
            rest = iter(_blocks_of(message))
            for line in positions:
                blocks = list(rest if len(positions) == 1 else islice(rest, self._block_count(line)))
                self._blocks[line], self._roles[line], self.message_of[line] = blocks, _role_of(message), message_number
                for number, block in enumerate(blocks):
                    self._origins.add(block, _BlockPlace(line, number))

    def blocks_of(self, line: Position) -> list[Any]:
        """The blocks of a line as it was; none for one that holds plain words."""
        return self._blocks[line]

    def holds(self, line: Position, blocks: list[Any]) -> bool:
        """Whether a line has just these blocks already."""
        before = self._blocks[line]
        return len(before) == len(blocks) and all(old is new for old, new in zip(before, blocks, strict=True))

    def lines_of(self, repaired: MendedMessage) -> list[ClaudeCodeLine]:
        """The lines of one message, in their order."""
        message, source = repaired.message, repaired.source
        own = () if source is None else self._window.positions[source]
        if repaired.is_unchanged:
            return [self._line(line, self._blocks[line], repaired) for line in own]
        blocks, role = _blocks_of(message), _role_of(message)
        origins: list[Position | None] = []
        for block in blocks:
            place = self._origins.find(block)
            origin = place.line if place and self._roles[place.line] == role else None  # a line cannot change sides
            if origin is None and own and self._roles[own[0]] == role and kind_of(block) != "tool_result":
                # The repair corrected a block: it belongs to the line of the one before it. A result that it made has no line.
                origin = next((known for known in reversed(origins) if known in own), own[0])
            origins.append(origin)
        lines: list[ClaudeCodeLine] = []
        for number, (block, origin) in enumerate(zip(blocks, origins, strict=True)):
            begun = {line.origin for line in lines if line.origin}
            # What must come before something of a line that has begun cannot have a line after it.
            if origin in begun or (origin is None and not begun.isdisjoint(origins[number + 1 :])):
                lines[-1].blocks.append(block)
            else:
                lines.append(self._line(origin, [block], repaired))
        return lines

    def write(self, line: Position, blocks: list[Any]) -> bytes:
        """A line with these blocks; nothing else in it changes, and of blocks that it had only the fields that are new."""
        content = self._source.read(line)
        if self.holds(line, blocks):
            return content
        places = [self._origins.find(block) for block in blocks]
        numbers = [place.number if place and place.line == line else -1 for place in places]
        if -1 in numbers or numbers != sorted(numbers):
            return cast("bytes", payloads.replace(content, _CONTENT, blocks))
        before, payload = self._blocks[line], cast("payloads.Payload", content)
        for number, block in dict(zip(numbers, blocks, strict=True)).items():
            for key in block if block is not before[number] else ():
                if block[key] is not before[number].get(key):
                    payload = payloads.replace(payload, (*_CONTENT, number, key), block[key])
        gone = [(*_CONTENT, number) for number in range(len(before)) if number not in numbers]
        return cast("bytes", payloads.remove(payload, gone))

    def _line(self, origin: Position | None, blocks: list[Any], repaired: MendedMessage) -> ClaudeCodeLine:
        stays = repaired.stays and origin is not None and self.message_of[origin] == repaired.source
        return ClaudeCodeLine(origin, blocks, repaired, stays)

    def _block_count(self, line: Position) -> int:
        """How many blocks of its message a line holds; plain words become one where they are put together with others."""
        content = self._source.decode(line)["message"].get("content")
        if isinstance(content, str):
            return 1
        return len(content) if isinstance(content, list) else 0


def _blocks_of(message: Message) -> list[Any]:
    """The blocks of a message; none if it is plain words."""
    content = payloads.decode(message.native)["content"]
    return content if isinstance(content, list) else []


def _role_of(message: Message) -> str:
    return str(payloads.decode(message.native)["role"])
