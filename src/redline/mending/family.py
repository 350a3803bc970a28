"""The lines of a file that name each other by id: whose child each is, and who stands above it."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import msgspec

from redline.mending.fresh_uuid import fresh_uuid
from redline.transcripts.base import Position
from redline.transcripts.heads import head_decoder
from redline.transcripts.source import Source, index_lines

__all__ = ["Family"]


class _Head(msgspec.Struct, rename="camel", gc=False):
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    leaf_uuid: str | None = None


_decode_head = head_decoder(_Head)
_LINKS = {"parentUuid": "parent_uuid", "logicalParentUuid": "logical_parent_uuid", "leafUuid": "leaf_uuid"}
"""The fields by which a line names another, and where the head has them."""


class Family:
    """Every line of a file with its id and those it names."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._heads: dict[Position, _Head] = dict(index_lines(source, _decode_head).records)
        self._parents: dict[str, str | None] = {}
        self._given: set[str] = set()
        for head in self._heads.values():
            if head.uuid:
                self._parents.setdefault(head.uuid, head.parent_uuid)

    def uuid_of(self, position: Position) -> str:
        """The id of a line; an empty one, that nobody names, where it has none."""
        return self._heads[position].uuid or ""

    def own_uuid(self, position: Position) -> str:
        """The id of a line if it alone has it, else one for it to have."""
        uuid = self.uuid_of(position)
        return uuid if self._bearers[uuid] == 1 else self.fresh_uuid(uuid, str(position.line), str(position.offset))

    def line_of(self, uuid: str) -> int | None:
        """The number of the line with this id; None where there is none."""
        return next((position.line for position, head in self._heads.items() if head.uuid == uuid), None)

    def parent_of(self, position: Position) -> str | None:
        """The line that a line names as its parent."""
        return self._heads[position].parent_uuid

    def way_up(self, uuid: str) -> Iterator[str]:
        """A line and those above it; a circle ends the way."""
        seen: set[str] = set()
        at: str | None = uuid
        while at in self._parents and at not in seen:
            seen.add(at)
            yield at
            at = self._parents[at]

    def nearest(self, uuid: str, gone: set[str]) -> str | None:
        """The line itself, or the first above it that is not gone. One that was never there is named as before."""
        if uuid not in self._parents:
            return uuid
        return next((above for above in self.way_up(uuid) if above not in gone), None)

    def links(self) -> Iterator[tuple[Position, str, str]]:
        """Of every line, twins aside, each field by which it names another, and whom it names."""
        for position, head in self._heads.items():
            for field, attribute in _LINKS.items():
                named = getattr(head, attribute)
                if named is not None and position not in self._twins:
                    yield position, field, named

    def twins(self, position: Position) -> list[Position]:
        """Lines that repeat a line byte for byte: an agent that wrote it twice means one."""
        return [twin for twin, first in self._twins.items() if first == position]

    def fresh_uuid(self, *seeds: str | None) -> str:
        """An id for a new line, made from what it is about: the same whenever the same file is repaired."""
        fresh = fresh_uuid(seeds, lambda uuid: uuid in self._parents or uuid in self._given)
        self._given.add(fresh)
        return fresh

    @cached_property
    def _bearers(self) -> Counter[str]:
        """How many lines have an id; none, for this count, have the empty one."""
        return Counter(head.uuid for head in self._heads.values() if head.uuid)

    @cached_property
    def _twins(self) -> dict[Position, Position]:
        """By each line that repeats the first with its id, that one."""
        first: dict[str, Position] = {}
        same = ((position, first.setdefault(head.uuid, position)) for position, head in self._heads.items() if head.uuid)
        repeated = [(position, before) for position, before in same if position != before]
        return {position: before for position, before in repeated if self._source.read(position) == self._source.read(before)}
