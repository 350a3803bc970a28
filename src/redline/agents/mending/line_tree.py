"""Lines that name their parent by id, as in Claude Code and Neovate: whom each must name once lines go and others come."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import cast

import msgspec

from redline.agents.mending import Fix, LineEdits
from redline.agents.mending.window import make_uuid
from redline.agents.transcripts import Position, RecordedConversation, RecordedGap
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.source import Source, index_lines
from redline.values import payloads

_WHY_RELINKED = "its id and parent are set: the links of the file did not lead to it"
_WHY_JOINED = ": the line that it named is not in the file"
_WHY_MOVED = "moved to the end: the conversation goes on from here, not from what is written after it"


class _TreeLine(msgspec.Struct, rename="camel", gc=False):
    """The id of a line, and the lines it names."""

    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    leaf_uuid: str | None = None


_LINKS = {"parentUuid": "parent_uuid", "logicalParentUuid": "logical_parent_uuid", "leafUuid": "leaf_uuid"}
"""The fields by which a line names another, and where a `_TreeLine` has them."""


class LineTree:
    """Every line of a file by its id and its links. It is told what happens to lines, then writes the links that change."""

    def __init__(self, source: Source, *, end: Position, gaps: Sequence[RecordedGap] = (), relinks_all: bool = False) -> None:
        """`end` is the last line of the conversation, and `gaps` are where a line is joined to the line before it.

        `relinks_all` makes every line that stays the child of the one before. That is for files in which ids are missing, or
        not unique, or do not lead to all that is left.
        """
        self._source, self._relinks_all = source, relinks_all
        self._lines: dict[Position, _TreeLine] = dict(index_lines(source, head_decoder(_TreeLine)).records)
        self._gaps = {gap.line: gap for gap in gaps if gap.joined_to and self.uuid_of(gap.joined_to)}
        for gap in self._gaps.values():
            self._lines[gap.line].parent_uuid = self.uuid_of(cast("Position", gap.joined_to))
        self._by_uuid: dict[str, Position] = {}
        self._holders: Counter[str] = Counter()
        for position, line in self._lines.items():
            if line.uuid:
                self._by_uuid.setdefault(line.uuid, position)
                self._holders[line.uuid] += 1
        self._path = set(self._ancestors(self.uuid_of(end)))
        self._made_uuids: set[str] = set()
        self._removed: set[str] = set()
        self._parent_kept: set[str] = set()
        self._added_after: dict[str, str] = {}
        self._added_before: dict[Position, str] = {}
        self._relinked: list[tuple[Position, str, str | None]] = []
        self._previous: str | None = None
        """The id of the line that was kept or added last."""

    def uuid_of(self, position: Position) -> str:
        """The id of a line; an empty one, that no other line names, where it has none."""
        return self._lines[position].uuid or ""

    def parent_of(self, position: Position) -> str | None:
        """The parent that a line names, or the nearest line above that one that is not removed."""
        parent = self._lines[position].parent_uuid
        return None if parent is None else self._nearest(parent)

    def make_uuid(self, *seeds: str | None) -> str:
        """An id for a new line, that no line has."""
        uuid = make_uuid(seeds, lambda uuid: uuid in self._by_uuid or uuid in self._made_uuids)
        self._made_uuids.add(uuid)
        return uuid

    def remove(self, position: Position) -> None:
        """A line is removed from its place."""
        self._removed.add(self.uuid_of(position))

    def keep(self, position: Position, *, keeps_parent: bool = False) -> str:
        """A line stays; returns its id. It may keep its parent whatever is added after that: both are of one message, say."""
        uuid = self.uuid_of(position)
        if keeps_parent:
            self._parent_kept.add(uuid)
        if self._relinks_all:
            if self._holders[uuid] != 1:
                uuid = self.make_uuid(uuid, str(position.line), str(position.offset))
            self._relinked.append((position, uuid, self._previous))
            self._previous = uuid
        return uuid

    def add(self, uuid: str, *, after: str | None, before: Position) -> str | None:
        """A line is added after the line with an id, or before a line; what followed there follows it. Returns its parent."""
        previous, self._previous = self._previous, uuid
        if self._relinks_all and previous is not None:
            return previous
        if after is None:
            self._added_before[before] = uuid
            return self.parent_of(before)
        self._added_after[after] = uuid
        return after

    def write_links(self, edits: LineEdits) -> None:
        """Edit every line that must name another than it does, and no other."""
        for position, uuid in self._added_before.items():
            self._relink(edits, position, "parentUuid", uuid)
        for position, line in self._lines.items():
            if not edits.stays(position) or position in self.copies:
                continue
            for field, attribute in _LINKS.items():
                named = getattr(line, attribute)
                if named is None or (field == "parentUuid" and position in self._added_before):
                    continue
                now = self._nearest(named)
                is_follower = field == "leafUuid" or (line.uuid in self._path and line.uuid not in self._parent_kept)
                while is_follower and now in self._added_after:
                    now = self._added_after[now]
                is_joined = field == "parentUuid" and position in self._gaps
                if now != named or is_joined:
                    self._relink(edits, position, field, now, why=_WHY_JOINED if is_joined else "")
        self._write_relinked(edits)

    def _write_relinked(self, edits: LineEdits) -> None:
        """Edit the lines that were made the child of the line before."""
        for position, uuid, parent in self._relinked:
            before = content = edits.read(position)
            told = payloads.decode(content)
            if told.get("uuid") != uuid:
                content = cast("bytes", payloads.replace(content, ("uuid",), uuid))
            if parent is not None and told.get("parentUuid") != parent:
                content = cast("bytes", payloads.replace(content, ("parentUuid",), parent))
            if content != before:
                edits.replace(position, content, Fix("change", _WHY_RELINKED, position.line))

    def remove_copies(self, edits: LineEdits) -> None:
        """Remove the lines that repeat another: an agent that goes on from the last line would go back to the other."""
        for copy, first in self.copies.items():
            edits.remove(copy, Fix("remove", f"it repeats line {first.line}", copy.line))

    def edit_copies(self, edits: LineEdits) -> None:
        """Do to the copies of a line what is done to it: an agent that wrote a line twice reads it once while both agree."""
        for copy, first in self.copies.items():
            why = f"it repeats line {first.line}"
            if (content := edits.changed.get(first)) is not None:
                edits.replace(copy, content, Fix("change", why, copy.line))
            elif first in edits.changed:
                edits.remove(copy, Fix("remove", why, copy.line))

    def _relink(self, edits: LineEdits, position: Position, field: str, uuid: str | None, why: str = "") -> None:
        if uuid is None:
            target = "no line any more"
        elif uuid in self._by_uuid and uuid not in self._removed:
            target = f"line {self._by_uuid[uuid].line}"
        else:
            target = "the line that is added"
        content = cast("bytes", payloads.replace(edits.read(position), (field,), uuid))
        edits.replace(position, content, Fix("change", f"{field} names {target}{why}", position.line))

    def _nearest(self, uuid: str) -> str | None:
        """The line itself, or the first above it that is not removed. One that was never there is named as before."""
        if uuid not in self._by_uuid:
            return uuid
        return next((above for above in self._ancestors(uuid) if above not in self._removed), None)

    def _ancestors(self, uuid: str) -> Iterator[str]:
        """A line and those above it, each once: parents may form a circle."""
        seen: set[str] = set()
        at: str | None = uuid
        while at in self._by_uuid and at not in seen:
            seen.add(at)
            yield at
            at = self._lines[self._by_uuid[at]].parent_uuid

    @cached_property
    def copies(self) -> dict[Position, Position]:
        """By each line that repeats another byte for byte, the first of them."""
        return {
            position: first
            for position, line in self._lines.items()
            if line.uuid and (first := self._by_uuid[line.uuid]) != position
            if self._source.read(position) == self._source.read(first)
        }


def keep_at_end(
    last: Position, conversation: RecordedConversation, *, edits: LineEdits, among: Iterable[Position] = ()
) -> None:
    """Move the last line of a conversation to the end of the file, from which agents go on, if other lines come after it."""
    branches = (position for branch in conversation.branches for entry in branch.entries for position in entry.positions)
    if any(position.offset > last.offset for position in (*branches, *among)):
        edits.move_last(last, Fix("move", _WHY_MOVED, last.line))
