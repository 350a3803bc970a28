"""Neovate session files: a tree of message lines, of which the path to the last one is the conversation."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import (
    Entry,
    Position,
    RecordedBranch,
    RecordedConversation,
    RecordedGap,
    TokenCount,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source, index_lines, without_repeats

__all__ = ["ActivePath", "Neovate", "StoredLine", "active_path"]

_FORMAT = AiSdk()


class Neovate:
    """Reads Neovate's session files: JSON Lines whose messages name their parents."""

    name: ClassVar[str] = "neovate"

    def recognizes(self, sample: Sample) -> bool:
        """Lines of type `message` with an id of their own and a role."""
        return any(record.get("type") == "message" and {"uuid", "role"} <= record.keys() for record in sample.records)

    def read(self, source: Source) -> Transcript:
        """One conversation: the active path, and the abandoned branches beside it.

        A line whose parent is not in the file follows the message before it; the gap is one of the problems.
        """
        index = index_lines(source, _decode_line)
        stored = ((position, line) for position, line in index.records if line.type == "message")
        located = list(without_repeats(source, stored, lambda line: line.uuid))
        if not located:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        tree = _NeovateTree([line for _, line in located], joins_gaps=True)
        path = tree.active_path()
        gaps = tuple(
            RecordedGap(located[number][0], located[number][1].parent_uuid or "", located[number - 1][0] if number else None)
            for number in path.numbers
            if tree.is_parent_missing(number)
        )
        conversation = RecordedConversation(
            id=next((line.session_id for _, line in located if line.session_id), source.path.stem),
            format=_FORMAT.name,
            entries=tuple(_entry(source, *located[number]) for number in path.numbers),
            branches=tuple(
                RecordedBranch(after, tuple(_entry(source, *located[number]) for number in numbers))
                for after, numbers in tree.branches(path)
            ),
            gaps=gaps,
        )
        problems = (*index.problems, *(gap.as_problem(source.path) for gap in gaps if gap.joined_to))
        return Transcript(source.path, self.name, (conversation,), problems)


# --- the head of a line: its place in the tree and which calls it makes or answers


class _NeovateBlock(msgspec.Struct, rename={"tool_call_id": "toolCallId"}):
    type: str | None = None
    id: str | None = None
    tool_call_id: str | None = None
    tool_use_id: str | None = None


class _NeovateTokens(msgspec.Struct):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None


class StoredLine(msgspec.Struct, rename="camel"):
    """What the tree needs of a stored line."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    role: str | None = None
    content: list[_NeovateBlock] | str | None = None
    session_id: str | None = None
    timestamp: str | int | float | None = None
    model: str | None = None
    usage: _NeovateTokens | None = None

    @property
    def blocks(self) -> Sequence[_NeovateBlock]:
        """The blocks of its content."""
        return self.content if isinstance(self.content, list) else ()

    @property
    def asks(self) -> set[str]:
        """The ids of the calls it makes."""
        calls = (block for block in self.blocks if block.type in ("tool_use", "tool-call"))
        return {call_id for block in calls if (call_id := block.tool_call_id or block.id)}

    @property
    def answers(self) -> set[str]:
        """The ids of the calls it holds results for; older files name them `id`."""
        results = (block for block in self.blocks if block.type in ("tool_result", "tool-result"))
        return {call_id for block in results if (call_id := block.tool_call_id or block.tool_use_id or block.id)}


_decode_line = head_decoder(StoredLine)


# --- the active path


class ActivePath(msgspec.Struct, frozen=True):
    """Which lines of a file are the conversation, by their number, in file order."""

    numbers: tuple[int, ...]
    gap: int | None = None
    """The line whose parent is not in the file: what came before it is unknown."""


def active_path(lines: Sequence[StoredLine]) -> ActivePath:
    """The lines from the last one up to a root, and results beside them that are siblings because they ran in parallel.

    A missing parent, a circle or a line that is its own parent ends the way up.
    """
    return _NeovateTree(lines).active_path()


class _NeovateTree:
    """Lines by number. Of lines with the same id the first is the parent that others mean."""

    def __init__(self, lines: Sequence[StoredLine], *, joins_gaps: bool = False) -> None:
        """`joins_gaps` makes a line whose parent is missing the child of the line before it."""
        self.lines, self._joins_gaps = lines, joins_gaps
        self._number_of: dict[str, int] = {}
        self._children: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            if line.uuid:
                self._number_of.setdefault(line.uuid, number)
            if line.parent_uuid:
                self._children.setdefault(line.parent_uuid, []).append(number)

    def parent(self, number: int) -> int | None:
        """The number of the line that a line names as its parent."""
        if self._joins_gaps and number and self.is_parent_missing(number):
            return number - 1
        return self._number_of.get(self.lines[number].parent_uuid or "")

    def is_parent_missing(self, number: int) -> bool:
        """Whether a line names a parent that is not in the file."""
        parent = self.lines[number].parent_uuid
        return bool(parent) and parent not in self._number_of

    def active_path(self) -> ActivePath:
        """The way up from the last line, and the results beside it."""
        way: dict[int, None] = {}
        at: int | None = len(self.lines) - 1 if self.lines else None
        while at is not None and at not in way:
            way[at] = None
            at = self.parent(at)
        numbers = list(way)[::-1]
        has_gap = bool(numbers) and self.is_parent_missing(numbers[0])
        return ActivePath(tuple(sorted({*way, *self._parallel_results(numbers)})), numbers[0] if has_gap else None)

    def _parallel_results(self, way: list[int]) -> Iterator[int]:
        """For each message on the way whose results follow it: the siblings that answer its other calls."""
        answered = _AnsweredCalls([self.lines[number].answers for number in way])
        for step, number in enumerate(way):
            unanswered = answered.left_open(self.lines[number].asks, step)
            for child in self._children.get(self.lines[number].uuid or "", ()) if unanswered else ():
                answers = self.lines[child].answers & unanswered
                if answers:
                    unanswered -= answers
                    yield child

    def branches(self, path: ActivePath) -> Iterator[tuple[int | None, list[int]]]:
        """Each subtree off the path: the number of the entry it hangs off, and its lines."""
        entry_of = {number: entry for entry, number in enumerate(path.numbers)}
        members: dict[int, list[int]] = {}
        root_of: dict[int, int] = {}
        for number in range(len(self.lines)):
            if number not in entry_of:
                parent = self.parent(number)
                root_of[number] = root_of.get(parent, number) if parent is not None else number
                members.setdefault(root_of[number], []).append(number)
        for root, numbers in members.items():
            fork = self.parent(root)
            yield entry_of.get(fork) if fork is not None else None, numbers


class _AnsweredCalls:
    """Which calls are answered where on a way, found without walking it again for every call."""

    def __init__(self, answers: Sequence[set[str]]) -> None:
        self._steps: dict[str, list[int]] = {}
        for step, call_ids in enumerate(answers):
            for call_id in call_ids:
                self._steps.setdefault(call_id, []).append(step)
        self._run_ends = [len(answers)] * (len(answers) + 1)
        """For each step, where the run of results that begins there ends."""
        for step in range(len(answers) - 1, -1, -1):
            self._run_ends[step] = self._run_ends[step + 1] if answers[step] else step

    def left_open(self, asked: set[str], step: int) -> set[str]:
        """The calls of a message that the run of results after it leaves open; none where no results follow."""
        end = self._run_ends[step + 1]
        if end == step + 1:
            return set()
        left = set()
        for call_id in asked:
            steps = self._steps.get(call_id, [])
            following = bisect_right(steps, step)
            if following == len(steps) or steps[following] >= end:
                left.add(call_id)
        return left


# --- its messages


def _entry(source: Source, position: Position, line: StoredLine) -> Entry:
    usage: Usage | None = None
    if told := line.usage:
        fresh, output = told.input_tokens or 0, told.output_tokens or 0
        usage = Usage(fresh, output, told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0)
    return Entry(
        load=lambda: _FORMAT.read(source.decode(position)),
        positions=(position,),
        timestamp_ms=parse_time_ms(line.timestamp),
        id=line.uuid,
        model=line.model,
        usage=usage,
    )
