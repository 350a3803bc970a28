"""Whom the lines of a tree must name once some are gone and others have come between."""

from collections.abc import Iterable
from typing import cast

from redline.mending.family import Family
from redline.mending.fixes import Fix
from redline.mending.line_edits import LineEdits
from redline.transcripts.base import Position
from redline.values import payloads

__all__ = ["Links"]


class Links:
    """Gathers what happens to the lines, then writes every link that must change for it, and no other."""

    def __init__(self, family: Family, leaf: Position) -> None:
        self._family = family
        self._way = set(family.way_up(family.uuid_of(leaf)))
        self._gone: set[str] = set()
        self._behind: dict[str, str] = {}
        self._before: dict[Position, str] = {}
        self._bound: set[str] = set()

    def drop(self, position: Position) -> None:
        """A line goes from its place."""
        self._gone.add(self._family.uuid_of(position))

    def bind(self, positions: Iterable[Position]) -> None:
        """These lines go on naming whom they name, whatever comes behind it: they are of one message, or answer it."""
        self._bound.update(map(self._family.uuid_of, positions))

    def put_behind(self, uuid: str, added: str) -> None:
        """A line comes behind another: what followed that one on the way to the end follows the new one."""
        self._behind[uuid] = added

    def put_before(self, position: Position, added: str) -> None:
        """A line comes between another and its parent."""
        self._before[position] = added

    def nearest(self, uuid: str | None) -> str | None:
        """The line of this id, or the first above it that is left."""
        return None if uuid is None else self._family.nearest(uuid, self._gone)

    def write(self, edits: LineEdits) -> None:
        """Note every line that must name another than it does."""
        for position, added in self._before.items():
            self._relink(edits, position, "parentUuid", added)
        for position, field, named in self._family.links():
            if edits.stays(position) and not (field == "parentUuid" and position in self._before):
                now = self._whom(self._family.uuid_of(position), field, named)
                if now != named:
                    self._relink(edits, position, field, now)

    def _relink(self, edits: LineEdits, position: Position, field: str, now: str | None) -> None:
        line = payloads.replace(edits.read(position), (field,), now)
        edits.replace(position, cast("bytes", line), Fix("change", f"{field} names {self._called(now)}", position.line))

    def _called(self, uuid: str | None) -> str:
        """A line as a reader can find it."""
        if uuid is None:
            return "no line any more"
        known = self._family.line_of(uuid)
        return "the line that is added" if known is None or uuid in self._gone else f"line {known}"

    def _whom(self, uuid: str, field: str, named: str) -> str | None:
        now = self.nearest(named)
        is_follower = field == "leafUuid" or (uuid in self._way and uuid not in self._bound)
        while is_follower and now in self._behind:
            now = self._behind[now]
        return now
