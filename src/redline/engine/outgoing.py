"""The messages as they are sent: visible, struck, legal; kept up to date as the view grows."""

from collections.abc import Mapping

import msgspec

from redline.engine.state import State
from redline.engine.vector import Vector
from redline.log.records import Strike
from redline.messages import Message
from redline.rules.rule import Mark
from redline.rules.strike import strike as carry_out
from redline.view.repair import Change, Item, Legalizer, Strategy

__all__ = ["Outgoing"]


class Outgoing:
    """Feeds each visible message to the repair once.

    A strike later exchanges one message in its place. Only where the repair itself had changed that message, or has to move
    something that is settled, does everything start again.
    """

    def __init__(self, state: State, strategy: Strategy, extra: Mapping[int, tuple[Strike, ...]] | None = None) -> None:
        self._state, self._strategy, self._extra = state, strategy, extra or {}
        self._settled: Vector[Message | None]
        self._place_of: dict[int, int]
        self._tail_places: dict[int, int]
        self._forms: dict[int, tuple[tuple[Strike, ...], Message | None]] = {}
        """By index, strikes on a message and the message with them carried out."""
        self._start()

    def catch_up(self) -> None:
        """Take in what has become visible since."""
        for index in self._state.view.indices[self._taken :]:
            self._take(index)

    def messages(self) -> Vector[Message | None]:
        """What is sent as things stand; None where nothing is left of a message."""
        sent = self._settled
        self._tail_places = {}
        for item in self._legalizer.tail():
            index = self._index_of(item)
            if index is not None:
                self._tail_places[index] = len(sent)
            sent = sent.appended(item.message if index is None else self.struck(index))
        return sent

    def changes(self) -> tuple[Change, ...]:
        """What the repair did, by index of the message."""
        return tuple(msgspec.structs.replace(one, index=self._fed[one.index]) for one in self._legalizer.all_changes())

    def place_of(self, index: int) -> int | None:
        """Where a message stands in what is sent; None if the repair left it out or changed it."""
        return self._place_of.get(index, self._tail_places.get(index))

    def refresh(self, index: int) -> None:
        """The strikes on a message have changed."""
        if index in self._place_of:
            self._settled = self._settled.changed(self._place_of[index], self.struck(index))
        elif index not in self._tail_places:
            self._start()
            self.catch_up()

    def anew(self, extra: Mapping[int, tuple[Strike, ...]]) -> Vector[Message | None]:
        """What would be sent with more strikes, worked out from the beginning."""
        other = Outgoing(self._state, self._strategy, extra)
        other.catch_up()
        return other.messages()

    def struck(self, index: int, more: tuple[Strike, ...] = ()) -> Message | None:
        """A message with its strikes carried out, and with more of them; None if nothing is left of it."""
        strikes = (*self._state.strikes_on(index), *self._extra.get(index, ()), *more)
        if not strikes:
            return self._state.current(index)
        known = self._forms.get(index)
        if known is None or known[0] != strikes:
            known = self._forms[index] = strikes, _carried_out(self._state, index, strikes)
        return known[1]

    # --- the pieces

    def _start(self) -> None:
        self._legalizer = Legalizer(self._state.format, self._strategy)
        self._taken = 0
        self._fed: list[int] = []
        """By number of feeding, the index."""
        self._given: dict[int, Message] = {}
        """By index, the form of the message that the repair was given."""
        self._settled = Vector()
        self._place_of = {}
        self._tail_places = {}

    def _take(self, index: int) -> None:
        self._taken += 1
        message = self.struck(index)
        if message is None:
            return
        self._given[index] = message
        self._fed.append(index)
        if not self._legalizer.feed(message):
            given = [self._given[one] for one in self._fed]
            self._legalizer = Legalizer.over(given, self._state.format, self._strategy)
            self._settled, self._place_of = Vector(), {}
        self._settle()

    def _settle(self) -> None:
        for item in self._legalizer.settled[len(self._settled) :]:
            index = self._index_of(item)
            if index is not None:
                self._place_of[index] = len(self._settled)
            self._settled = self._settled.appended(item.message if index is None else self.struck(index))

    def _index_of(self, item: Item) -> int | None:
        """The index of a message that the repair left as it was given."""
        if item.source is None:
            return None
        index = self._fed[item.source]
        return index if item.message is self._given[index] else None


def _carried_out(state: State, index: int, strikes: tuple[Strike, ...]) -> Message | None:
    marks = [Mark(one.rule, one.index, one.at, one.replacement, one.because) for one in strikes]
    return carry_out(state.current(index), marks, state.format)
