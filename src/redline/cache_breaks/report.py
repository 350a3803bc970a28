"""Lost caches added up by their place and cause, the most expensive first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redline.cache_breaks.causes import CAUSES, advice_for, words_of
from redline.record.records import CacheBroke

_AT_MANY_PLACES = frozenset(
    {"message", "compaction", "rewind", "strike", "unstruck", "expired", "too_short", "breakpoints_moved", "provider", "model"}
)
"""Causes whose place is another one each time: they are added up whatever the place."""
_MOST_ROWS = 200
"""Beyond so many places the smallest goes; clients can name any number of tools."""


@dataclass(slots=True)
class BreakRow:
    """A cause and its place, with count and cost."""

    latest: CacheBroke
    """The last time, with the words at the place."""
    count: int = 0
    lost_tokens: int = 0
    lost_usd: float = 0.0
    unpriced: int = 0
    """How many of them have no known price."""

    @property
    def by(self) -> str:
        """Whose doing it was: `client`, `redline`, `provider` or `time`."""
        cause = CAUSES.get(self.latest.kind)
        return cause.by if cause is not None else "client"

    @property
    def says(self) -> str:
        """What happened, in words."""
        return words_of(self.latest.kind, self.latest.place, self.latest.what)

    @property
    def advice(self) -> str:
        """What to set against it."""
        return advice_for(self.latest.kind, self.latest.what, self.latest.agent)

    def to_json(self) -> dict[str, Any]:
        """The row as plain values."""
        told = {name: getattr(self.latest, name) for name in ("kind", "place", "what", "before", "after", "agent", "model")}
        usd = round(self.lost_usd, 6) if self.unpriced < self.count else None
        sums = {"count": self.count, "lost_tokens": self.lost_tokens, "lost_usd": usd, "unpriced": self.unpriced}
        return {**told, **sums, "by": self.by, "says": self.says, "advice": self.advice}


class BreakSums:
    """Rows, filled in as lost caches are met."""

    def __init__(self, broke: Iterable[CacheBroke] = ()) -> None:
        self._rows: dict[tuple[str, str, str], BreakRow] = {}
        for one in broke:
            self.add(one)

    def add(self, one: CacheBroke) -> None:
        """Count one."""
        key = one.kind, "" if one.kind in _AT_MANY_PLACES else one.place, one.what
        row = self._rows.setdefault(key, BreakRow(one))
        row.latest = one
        row.count += 1
        row.lost_tokens += one.lost_tokens
        row.lost_usd += one.lost_usd or 0.0
        row.unpriced += one.lost_usd is None
        if len(self._rows) > _MOST_ROWS:
            del self._rows[min(self._rows, key=lambda name: self._rows[name].lost_tokens)]

    @property
    def rows(self) -> list[BreakRow]:
        """All of them, the most expensive first."""
        return sorted(self._rows.values(), key=lambda row: (-row.lost_usd, -row.lost_tokens))
