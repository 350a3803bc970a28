"""The messages as they are sent: visible, struck, legal; kept up to date as the view grows."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count, groupby

import msgspec

from redline.engine.form import Form, Forms
from redline.engine.state import State, runs_of
from redline.log.records import Strike
from redline.messages import Message
from redline.view.repair import Change, Item, Legalizer, Standing, Strategy

__all__ = ["Outgoing", "Settled"]


class Settled(msgspec.Struct, frozen=True):
    """What is final of the messages that are sent, as plain values."""

    visible: int
    """How many visible messages it comes from."""
    messages: tuple[tuple[int, int] | bytes, ...]
    """What is sent: of messages that stand so in the record, strikes apart, runs of indices (from, to); the bytes of one that
    the repair made."""
    changes: tuple[Change, ...]
    """What the repair did, by index."""
    standing: Standing
    next_strike: int
    """Strikes with lower numbers were there."""


class Outgoing:
    """Feeds each visible message to the repair once.

    A strike later exchanges one message in its place. Only where the repair itself had changed that message, or has to move
    something that is settled, does everything start again.
    """

    def __init__(
        self,
        state: State,
        strategy: Strategy,
        extra: Mapping[int, tuple[Strike, ...]] | None = None,
        *,
        settled: Settled | None = None,
    ) -> None:
        self._state, self._strategy, self._extra = state, strategy, extra or {}
        self._settled: Forms
        self._place_of: dict[int, int]
        self._tail_places: dict[int, int]
        self._forms: dict[int, Form] = {}
        self._start()
        if settled is not None:
            self._start_behind(settled)

    def catch_up(self) -> None:
        """Take in what has become visible since."""
        for index in self._state.view.indices[self._taken :]:
            self._take(index)

    def messages(self) -> Forms:
        """What is sent as things stand."""
        sent = self._settled
        self._tail_places = {}
        for item in self._legalizer.tail():
            index = self._index_of(item)
            if index is not None:
                self._tail_places[index] = len(sent)
            sent = sent.appended(self._form_of(item, index))
        return sent

    def changes(self) -> tuple[Change, ...]:
        """What the repair did, by index of the message."""
        return (*self._earlier_changes, *map(self._by_index, self._legalizer.all_changes()))

    def settled(self) -> Settled | None:
        """What is final, to go on from later; None where nothing is."""
        standing = self._legalizer.standing
        if standing is None:
            return None
        return Settled(
            visible=self._visible_at(standing.count),
            messages=tuple(self._in_runs()),
            changes=(*self._earlier_changes, *map(self._by_index, self._legalizer.changes)),
            standing=standing,
            next_strike=self._state.next_strike,
        )

    def place_of(self, index: int) -> int | None:
        """Where a message stands in what is sent; None if the repair left it out or changed it."""
        return self._place_of.get(index, self._tail_places.get(index))

    def places(self) -> Callable[[int], int | None]:
        """The same for what is sent as things stand, also when more has been said since."""
        settled, tail = self._place_of, self._tail_places
        return lambda index: settled.get(index, tail.get(index))

    def refresh(self, index: int) -> None:
        """The strikes on a message have changed."""
        if index in self._place_of:
            self._settled = self._settled.changed(self._place_of[index], self.struck(index))
        elif index not in self._tail_places:
            self._start()
            self.catch_up()

    def anew(self, extra: Mapping[int, tuple[Strike, ...]]) -> Forms:
        """What would be sent with more strikes, worked out from the beginning."""
        other = Outgoing(self._state, self._strategy, extra)
        other.catch_up()
        return other.messages()

    def struck(self, index: int, more: tuple[Strike, ...] = ()) -> Form:
        """A message with its strikes carried out, and with more of them."""
        strikes = (*self._state.strikes_on(index), *self._extra.get(index, ()), *more)
        known = self._forms.get(index)
        if known is None or known.strikes != strikes:
            known = self._forms[index] = Form(self._state, index, strikes, self._state.view.version_of(index))
        return known

    # --- the pieces

    def _start(self) -> None:
        self._legalizer = Legalizer(self._state.format, self._strategy)
        self._taken = self._fed_before = 0
        self._fed: list[int] = []
        """By number of feeding, the position among the visible messages."""
        self._given: dict[int, Message] = {}
        """By index, the form of the message that the repair was given."""
        self._settled = Forms(self._state)
        self._settled_before = 0
        self._earlier_changes: tuple[Change, ...] = ()
        self._place_of = {}
        self._tail_places = {}

    def _start_behind(self, settled: Settled) -> None:
        """Take over what was final before; the record says what is struck since, and messages are read when needed."""
        if not self._holds(settled):
            return
        self._legalizer = Legalizer(self._state.format, self._strategy, behind=settled.standing)
        self._taken, self._fed_before = settled.visible, settled.standing.count
        self._earlier_changes = settled.changes
        items: list[Form | int] = []
        for run in settled.messages:
            if isinstance(run, bytes):
                items.append(Form.of(self._state, self._state.format.read(run)))
                continue
            self._place_of.update(zip(range(*run), count(len(items)), strict=False))
            items += range(*run)
        for index in self._place_of.keys() & self._state.view.versions.keys():
            items[self._place_of[index]] = self.struck(index)
        self._settled, self._settled_before = Forms(self._state, items), len(items)

    def _holds(self, settled: Settled) -> bool:
        """Not so if a message was struck since that the repair had changed: it must be repaired again."""
        since = {one.index for one in self._state.strikes.values() if one.number >= settled.next_strike}
        runs = [range(*run) for run in settled.messages if not isinstance(run, bytes)]
        old = since.intersection(self._state.view.indices[: settled.visible]) if since else ()
        return all(any(index in run for run in runs) for index in old)

    def _in_runs(self) -> Iterator[tuple[int, int] | bytes]:
        index_at = {place: index for index, place in self._place_of.items()}
        for is_unchanged, places in groupby(range(len(self._settled)), key=index_at.__contains__):
            if is_unchanged:
                yield from runs_of(index_at[place] for place in places)
            else:
                yield from (self._settled[place].native for place in places)

    def _take(self, index: int) -> None:
        position, self._taken = self._taken, self._taken + 1
        message = self.struck(index).message
        if message is None:
            return
        self._given[index] = message
        self._fed.append(position)
        if self._legalizer.feed(message):
            self._settle()
        else:
            self._go_over_again()

    def _go_over_again(self) -> None:
        """The message changes what is settled."""
        taken = self._taken
        self._start()
        self._taken = taken
        for position, index in enumerate(self._state.view.indices[:taken]):
            message = self.struck(index).message
            if message is not None:
                self._given[index] = message
                self._fed.append(position)
        self._legalizer = Legalizer.over(list(self._given.values()), self._state.format, self._strategy)
        self._settle()

    def _settle(self) -> None:
        for item in self._legalizer.settled[len(self._settled) - self._settled_before :]:
            index = self._index_of(item)
            if index is not None:
                self._place_of[index] = len(self._settled)
            self._settled = self._settled.appended(self._form_of(item, index))

    def _form_of(self, item: Item, index: int | None) -> Form:
        return Form.of(self._state, item.message) if index is None else self.struck(index)

    def _index_of(self, item: Item) -> int | None:
        """The index of a message that the repair left as it was given."""
        if item.source is None:
            return None
        index = self._fed_index(item.source)
        return index if item.message is self._given[index] else None

    def _by_index(self, change: Change) -> Change:
        return msgspec.structs.replace(change, index=self._fed_index(change.index))

    def _fed_index(self, number: int) -> int:
        return self._state.view.indices[self._fed[number - self._fed_before]]

    def _visible_at(self, number: int) -> int:
        """How many messages are visible before the one that was fed with this number."""
        place = number - self._fed_before
        return self._fed[place] if place < len(self._fed) else self._taken
