"""What a session file holds: conversations as indexes into the file, whose content is decoded when it is asked for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import msgspec

from redline.agents.transcripts.heads import AnthropicTokens as AnthropicTokens
from redline.agents.transcripts.heads import CacheCreation as CacheCreation
from redline.agents.transcripts.heads import TokenCount as TokenCount
from redline.agents.transcripts.heads import known_fields as known_fields
from redline.agents.transcripts.heads import known_time_ms as known_time_ms
from redline.agents.transcripts.heads import parse_time_ms as parse_time_ms
from redline.providers.usage import Usage as Usage
from redline.values.messages import Message, ToolCall, ToolResult

Item = TypeVar("Item")


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where a record is in its file."""

    offset: int
    """In bytes from the start of the file (of the member, in an archive)."""
    length: int
    line: int | None = None
    """Counted from 1, where the file is one of lines."""
    member: str | None = None
    """The name inside an archive."""

    @property
    def end(self) -> int:
        """The offset of the first byte after the record."""
        return self.offset + self.length


class BadRecord(msgspec.Struct, frozen=True):
    """A record that could not be read, or has lost the record before it; the rest of the file was read."""

    path: str
    line: int
    column: int
    reason: str
    is_left_out: bool = True
    """Whether the record is not part of the transcript."""

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}, column {self.column}: {self.reason}"


class RecordedCompaction(msgspec.Struct, frozen=True):
    """A place where the agent replaced its history by a summary."""

    before: int
    """The number of the entry that the new window starts with."""
    position: Position | None = None
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None


class Attachment(msgspec.Struct, frozen=True):
    """Something the agent showed its model besides the messages, in a form the file does not spell out."""

    kind: str
    position: Position


class RecordedGap(msgspec.Struct, frozen=True):
    """A place in a tree of lines where at least one line is missing: a line names a parent that the file does not hold."""

    line: Position
    parent_id: str
    joined_to: Position | None = None
    """The line that is taken for its parent, by the order of the file; None where no line comes before it."""

    def __str__(self) -> str:
        words = f"at least one line is missing before line {self.line.line}: its parent {self.parent_id!r} is not in the file"
        return f"{words}. It follows line {self.joined_to.line} now" if self.joined_to else words

    def as_problem(self, path: Path) -> BadRecord:
        """The gap as a problem of the file."""
        return BadRecord(str(path), self.line.line or 0, 1, str(self), is_left_out=False)


class Entry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An API message of a recording: its place, time and cost, and its content, decoded on demand."""

    load: Callable[[], Message]
    positions: tuple[Position, ...]
    """The records it was written in; several where the agent splits a message over lines."""
    timestamp_ms: float | None = None
    id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    text_calls: tuple[ToolCall, ...] = ()
    """Calls of an agent that writes them as text; the provider sees words only."""
    text_results: tuple[ToolResult, ...] = ()
    """Results shown to such an agent as text."""

    @property
    def message(self) -> Message:
        """The message, decoded from the file now; it is not kept."""
        return self.load()


class LazyEntries(Sequence[Entry]):
    """Entries made when they are looked at, from something smaller: a file of a million lines is counted without them."""

    def __init__(self, items: Sequence[Item], make_entry: Callable[[Item], Entry]) -> None:
        self._items, self._make_entry = items, make_entry

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> "LazyEntries": ...
    def __getitem__(self, place: int | slice) -> "Entry | LazyEntries":
        if isinstance(place, slice):
            return LazyEntries(self._items[place], self._make_entry)
        return self._make_entry(self._items[place])


class OnDemand(Sequence[Item], Generic[Item]):
    """The items that `make` gives, asked for once, when they are first looked at: listing sessions does not read them."""

    def __init__(self, make: Callable[[], Sequence[Item]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[Item]:
        return self._make()

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        return self._items[place]


@dataclass(frozen=True, slots=True)
class RecordedBranch:
    """What was said off the active path."""

    after: int | None
    """The number of the last entry it shares with the active path; None if it shares none."""
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """One conversation of a session file."""

    id: str
    format: str
    """The format of its messages, a name in `redline.providers`."""
    entries: Sequence[Entry]
    """The active path from its very beginning, earlier windows included."""
    branches: Sequence[RecordedBranch] = ()
    subagents: tuple["RecordedConversation", ...] = ()
    compactions: Sequence[RecordedCompaction] = ()
    attachments: tuple[Attachment, ...] = ()
    gaps: tuple[RecordedGap, ...] = ()
    """Where lines of the active path are missing, in the order of the file."""
    system: str | None = None
    """The system prompt, where the file holds it apart from the messages."""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the active path, decoded."""
        return tuple(entry.message for entry in self.entries)

    @property
    def windows(self) -> tuple[Sequence[Entry], ...]:
        """The entries between compactions: what was sent together. The last window is the one that goes on."""
        cuts = [0, *(compaction.before for compaction in self.compactions), len(self.entries)]
        spans = (self.entries[start:end] for start, end in pairwise(cuts))
        return tuple(span for span in spans if span)

    def walk(self) -> Iterator[Entry]:
        """Every entry: the active path, then its branches, then its sub-agents."""
        yield from self.entries
        for branch in self.branches:
            yield from branch.entries
        for subagent in self.subagents:
            yield from subagent.walk()


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session file as read: its conversations, and what in it could not be read."""

    path: Path
    format: str
    """The agent that wrote the file: `claude-code`, `codex`, …"""
    conversations: tuple[RecordedConversation, ...]
    problems: Sequence[BadRecord] = ()

    def __iter__(self) -> Iterator[RecordedConversation]:
        return iter(self.conversations)

    def __len__(self) -> int:
        return len(self.conversations)
