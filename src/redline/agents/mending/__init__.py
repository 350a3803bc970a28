"""Changes to the records of a session file, each with its reason; what is not named stays as it is, byte for byte."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import ClassVar, Literal, NamedTuple

import msgspec

from redline.agents.transcripts import Position, RecordedConversation
from redline.agents.transcripts.detect import Reader
from redline.agents.transcripts.source import Source
from redline.repair import Strategy
from redline.values.messages import Message

Action = Literal["remove", "change", "add", "move"]

_SIGNS: dict[Action, str] = {"remove": "-", "change": "~", "add": "+", "move": "^"}
_EXCERPT_CHARACTERS = 60


class Fix(msgspec.Struct, frozen=True):
    """A change to a record of the file: which change, where and why."""

    action: Action
    why: str
    line: int | None = None
    """In the file as it was, counted from 1; of a record that is added, the line that it comes after."""
    message: int | None = None
    """Its number in a file that is a list of messages, from 0; of one that is added, the number of the one before, or -1."""
    tool: str | None = None
    call_id: str | None = None
    text: str = ""
    """The beginning of what the message says."""

    @classmethod
    def for_message(cls, action: Action, why: str, message: Message, *, line: int | None, number: int | None = None) -> "Fix":
        """What happens to the record of this message. A crash leaves the last call open, so that is the call it names."""
        tool = call_id = None
        if message.calls:
            tool, call_id = message.calls[-1].name, message.calls[-1].id
        elif message.results:
            tool, call_id = message.results[0].name, message.results[0].call_id
        return cls(action, why, line, number, tool, call_id, excerpt(message.text))

    @property
    def place(self) -> str:
        """Where, in words."""
        places = (("line", self.line), ("message", self.message))
        named = ", ".join(f"{what} {number}" for what, number in places if number is not None)
        return f"after {named}" if self.action == "add" else named

    def __str__(self) -> str:
        quoted = f' "{self.text}"' if self.text else ""
        return _printable(f"{_SIGNS[self.action]} {self.place}: {self.why}{quoted}")


class LostRecord(msgspec.Struct, frozen=True):
    """Something that a person may miss in the conversation that goes on. No repair can give it back."""

    why: str
    line: int | None = None

    def __str__(self) -> str:
        return _printable(f"! {self.why}")


def excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    words = _printable(" ".join(text[: _EXCERPT_CHARACTERS * 4].split()))
    return words if len(words) <= _EXCERPT_CHARACTERS else words[: _EXCERPT_CHARACTERS - 1] + "…"


def _printable(text: str) -> str:
    """Without escape sequences, which could change what the reader's terminal shows."""
    return "".join(character for character in text if character.isprintable())


_COMMA = re.compile(rb"\s*,(\s*)")
_LAST_COMMA = re.compile(rb"\s*,\s*\Z")


class Splice(NamedTuple):
    """New content for the bytes from start to end."""

    start: int
    end: int
    content: bytes


def apply_splices(splices: Iterable[Splice], content: bytes) -> bytes:
    """The content with the splices in it. What is inserted at a place comes before what is removed there."""
    pieces: list[bytes] = []
    done = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        pieces += (content[done : splice.start], splice.content)
        done = splice.end
    return b"".join((*pieces, content[done:]))


class Edits(ABC):
    """Changes to records, each with its reason. How records are separated depends on the kind of file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.fixes: list[Fix] = []
        self.changed: dict[Position, bytes | None] = {}
        """The new content of records; None for those that are removed."""
        self._before: dict[Position, list[bytes]] = {}
        self._after: dict[Position, list[bytes]] = {}

    def read(self, position: Position) -> bytes:
        """A record with the changes so far; as it was, if it is removed."""
        return self.changed.get(position) or self._source.read(position)

    def stays(self, position: Position) -> bool:
        """Whether a record is not removed."""
        return position not in self.changed or self.changed[position] is not None

    def replace(self, position: Position, content: bytes, fix: Fix) -> None:
        """Give a record new content."""
        self.changed[position] = content
        self.fixes.append(fix)

    def remove(self, position: Position, fix: Fix) -> None:
        """Remove a record."""
        self.changed[position] = None
        self.fixes.append(fix)

    def add_before(self, position: Position, content: bytes, fix: Fix) -> None:
        """Add a record before a neighbour that stays; records added earlier come first."""
        self._before.setdefault(position, []).append(content)
        self.fixes.append(fix)

    def add_after(self, position: Position, content: bytes, fix: Fix) -> None:
        """Add a record after a neighbour that stays; records added earlier come first."""
        self._after.setdefault(position, []).append(content)
        self.fixes.append(fix)

    @abstractmethod
    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""


class LineEdits(Edits):
    """Changes to a file of lines: a record goes with its line break, and a new one gets a line of its own.

    Of two records that a crash glued to one line, each can be changed; they stay on it if neither is removed.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._last: list[bytes] = []

    def add_last(self, content: bytes, fix: Fix) -> None:
        """Add a line at the end of the file."""
        self._last.append(content)
        self.fixes.append(fix)

    def move_last(self, position: Position, fix: Fix) -> None:
        """Move a line to the end of the file, with those that were added after it."""
        self._last += [self.read(position), *self._after.pop(position, [])]
        self.remove(position, fix)

    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""
        for position, content in self.changed.items():
            start, end = position.offset, position.end
            is_whole_line = self._byte_at(start - 1) in (b"\n", b"") and self._byte_at(end) == b"\n"
            yield Splice(start, end + (content is None and is_whole_line), content or b"")
        for position, added in self._before.items():
            yield Splice(position.offset, position.offset, _lines(added, self._line_break(position)))
        for position, added in self._after.items():
            end, lines = position.end, _lines(added, self._line_break(position))
            is_line_end = self._byte_at(end) == b"\n"  # otherwise another record follows on the line, or the file ends
            yield Splice(end + is_line_end, end + is_line_end, lines if is_line_end else b"\n" + lines)
        if self._last:
            end = self._source.path.stat().st_size
            missing_break = b"" if self._byte_at(end - 1) in (b"\n", b"") else b"\n"
            yield Splice(end, end, missing_break + _lines(self._last, b"\n"))

    def _byte_at(self, offset: int) -> bytes:
        return self._source.read(Position(offset, 1)) if offset >= 0 else b""

    def _line_break(self, position: Position) -> bytes:
        return b"\r\n" if self._source.read(position).endswith(b"\r") else b"\n"


def _lines(contents: list[bytes], line_break: bytes) -> bytes:
    return b"".join(content.rstrip(b"\r\n") + line_break for content in contents)


class ListEdits(Edits):
    """Changes to the items of one JSON list, of which all are given: commas go and come with the items."""

    def __init__(self, source: Source, items: Sequence[Position]) -> None:
        super().__init__(source)
        self._items = items

    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""
        for position, content in self.changed.items():
            if content is not None:
                yield Splice(position.offset, position.end, content)
        for stays, numbers in groupby(range(len(self._items)), lambda number: self.stays(self._items[number])):
            run = [] if stays else list(numbers)
            if run and run[-1] == len(self._items) - 1:  # with the comma before the first
                comma = _LAST_COMMA.search(self._gap_after(run[0] - 1)) if run[0] else None
                start = self._items[run[0]].offset - (len(comma[0]) if comma else 0)
                yield Splice(start, self._items[-1].end, b"")
                continue
            for number in run:  # each with the comma after it
                comma = _COMMA.match(self._gap_after(number))
                yield Splice(self._items[number].offset, self._items[number].end + (comma.end() if comma else 0), b"")
        for position, added in self._before.items():
            text = b"".join(content + b"," + self._space() for content in added)
            yield Splice(position.offset, position.offset, text)
        for position, added in self._after.items():
            text = b"".join(b"," + self._space() + content for content in added)
            yield Splice(position.end, position.end, text)

    def _gap_after(self, number: int) -> bytes:
        end = self._items[number].end
        return self._source.read(Position(end, self._items[number + 1].offset - end))

    def _space(self) -> bytes:
        """What this list has between a comma and the next item."""
        comma = _COMMA.match(self._gap_after(0)) if len(self._items) > 1 else None
        return comma[1] if comma else b" "


class MendedConversation(NamedTuple):
    """The changes to the file for one conversation, and the messages that it must hold after them."""

    edits: Edits
    messages: Sequence[Message]
    """What its last window says when the file is read again."""


class Mender(ABC):
    """Repairs the session files of one agent, in the agent's own format."""

    formats: ClassVar[tuple[str, ...]]
    name: ClassVar[str]
    """Whose files these are, in words."""
    looks_at: ClassVar[str] = ""
    """Where the agent looks for a session; capitals stand for what differs from session to session."""
    resumes_by: ClassVar[str] = ""
    """The command that goes on with a session."""
    reader: ClassVar[Reader]
    is_tree: ClassVar[bool] = False
    """Whether lines name their parents: what was abandoned hangs on the conversation."""

    @abstractmethod
    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """What must change in the file so that the conversation can go on. Nothing is written."""
