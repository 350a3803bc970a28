"""The calls that were left open, so that a result which comes late can be brought back to the one it answers."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from redline.repair.exchange import Exchange
from redline.values.messages import ToolResult
from redline.values.pairs import Spot

__all__ = ["Home", "OpenCalls", "OpenKeys"]


class Home(NamedTuple):
    """Where a late result belongs."""

    exchange: Exchange
    call: Spot


class OpenKeys(msgspec.Struct, frozen=True):
    """Under which ids and names calls are open: how many, and whether the latest is among them. Enough to know that a late
    result has a home, not where."""

    by_id: dict[str, tuple[int, bool]] = {}
    by_name: dict[str, tuple[int, bool]] = {}
    without_id: dict[str, tuple[int, bool]] = {}


class OpenCalls:
    """Knows every call of the closed exchanges. Each is noted once and found in constant time."""

    def __init__(self, keys: OpenKeys = OpenKeys()) -> None:  # noqa: B008 - frozen
        self._by_id = _Uses(keys.by_id)
        self._by_name = _Uses(keys.by_name)
        self._without_id = _Uses(keys.without_id)
        """Calls without an id, by name."""

    @property
    def keys(self) -> OpenKeys:
        """What is open, in short."""
        return OpenKeys(self._by_id.keys(), self._by_name.keys(), self._without_id.keys())

    def note(self, exchange: Exchange) -> None:
        """An exchange was closed; its calls are answered or stay open."""
        answers = exchange.step.answers
        for spot, call in exchange.step.calls.items():
            home = None if spot in answers else Home(exchange, spot)
            self._by_name.note(call.name, home)
            if call.id is not None:
                self._by_id.note(call.id, home)
            else:
                self._without_id.note(call.name, home)

    def home_of(self, result: ToolResult) -> Home | None:
        """The call it answers, where that is certain: one call with this id is open, and the id was not used since.

        By id where both sides have one, else by name, as everywhere in matching.
        """
        if result.call_id is None:
            return self._by_name.only(result.name)
        return self._by_id.only(result.call_id) or self._without_id.only(result.name)

    def answer(self, home: Home) -> None:
        """The call is open no longer."""
        call = home.exchange.step.calls[home.call]
        self._by_name.answer(call.name, home)
        if call.id is not None:
            self._by_id.answer(call.id, home)
        else:
            self._without_id.answer(call.name, home)


_ELSEWHERE = Home(Exchange(), Spot(0, 0))
"""The home of a result whose call is in a part of the history that is not at hand."""


class _Uses:
    """The latest call under each key, None if it was answered, and how many under it are open."""

    def __init__(self, keys: Mapping[str, tuple[int, bool]]) -> None:
        self._latest: dict[str, Home | None] = {key: _ELSEWHERE if is_open else None for key, (_, is_open) in keys.items()}
        self._open: dict[str, int] = {key: count for key, (count, _) in keys.items()}

    def keys(self) -> dict[str, tuple[int, bool]]:
        return {key: (count, self._latest[key] is not None) for key, count in self._open.items() if count}

    def note(self, key: str, home: Home | None) -> None:
        self._latest[key] = home
        if home is not None:
            self._open[key] = self._open.get(key, 0) + 1

    def only(self, key: str | None) -> Home | None:
        return self._latest[key] if key is not None and self._open.get(key) == 1 else None

    def answer(self, key: str, home: Home) -> None:
        self._open[key] -= 1
        latest = self._latest[key]
        if latest is not None and latest.exchange is home.exchange and latest.call == home.call:
            self._latest[key] = None
