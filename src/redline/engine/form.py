"""The form in which a message is sent, worked out when someone looks at it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, overload

import msgspec

from redline.engine.state import State
from redline.engine.strike import strike as carry_out
from redline.engine.strike import struck_payload
from redline.engine.vector import Vector
from redline.log.records import Strike
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Path

__all__ = ["Form", "Forms", "Origin", "Repaired"]


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where a part of a repaired message comes from."""

    at: Path
    """Its place in the repaired message."""
    index: int
    original: Path
    """Its place in the message of the record."""


class Repaired(msgspec.Struct, frozen=True):
    """A message that the repair made or changed, and where its parts come from."""

    message: Message
    origins: tuple[Origin, ...]


class Form:
    """A message of the record, or one that the repair made, with its strikes carried out. Never changes once made."""

    __slots__ = ("_index", "_message", "_native", "_repaired", "_state", "_version", "strikes")

    def __init__(self, state: State, index: int, strikes: tuple[Strike, ...], version: int = 0) -> None:
        self._state, self._index, self._version = state, index, version
        self.strikes = strikes
        self._repaired: Repaired | None = None
        self._message: Message | _Unknown | None = _UNKNOWN
        self._native: bytes | None = None

    @classmethod
    def of(cls, state: State, repaired: Repaired, strikes: tuple[Strike, ...] = ()) -> "Form":
        """A message that the repair made."""
        form = cls(state, -1, strikes)
        form._repaired = repaired
        return form

    @property
    def source(self) -> int | Repaired:
        """What is sent, strikes apart: the message of an index, or what the repair made."""
        return self._index if self._repaired is None else self._repaired

    @property
    def message(self) -> Message | None:
        """The message; None if nothing is left of it. ValidationError if the format has no way to say a strike."""
        if isinstance(self._message, _Unknown):
            message, marks = self._marked()
            self._message = carry_out(message, marks, self._state.format) if marks else message
        return self._message

    @property
    def native(self) -> bytes:
        """The bytes to send; none if nothing is left of it. Fields that the provider does not take are not sent."""
        stored = self.stored
        return payloads.encoded(self._state.format.sendable(stored)) if stored else stored

    @property
    def stored(self) -> bytes:
        """The bytes with every field that was given. What was not struck is as it was given, unread."""
        if self._repaired is None and isinstance(self._message, _Unknown) and not self.strikes:
            return self._state.payload_of(self._index, self._version)
        if self._native is None:
            if isinstance(self._message, _Unknown):
                payload = struck_payload(*self._marked(), self._state.format)
            else:
                payload = None if self._message is None else self._message.native
            self._native = b"" if payload is None else payloads.encoded(payload)
        return self._native

    def _marked(self) -> tuple[Message, list[Mark]]:
        """The message without strikes, and what is to be carried out on it."""
        if self._repaired is None:
            message = self._state.message(self._index, self._version)
            marks = [Mark(one.rule, one.index, one.at, one.replacement, one.because) for one in self.strikes]
        else:
            message = self._repaired.message
            place_of = {(origin.index, origin.original): origin.at for origin in self._repaired.origins}
            found = [(one, place_of.get((one.index, one.at))) for one in self.strikes]
            marks = [Mark(one.rule, one.index, at, one.replacement, one.because) for one, at in found if at is not None]
        return message, marks


class Forms(Sequence[Form]):
    """The messages of a request in order; never changes once made.

    Of the many that were final before a conversation was opened only the index is held: a message as first said, with the
    strikes that counted then. It gets its form when someone looks at it.
    """

    __slots__ = ("_first_strike", "_items", "_state", "_strikes")

    def __init__(self, state: State, items: Iterable[Form | int] = ()) -> None:
        self._state, self._items = state, Vector(items)
        self._strikes, self._first_strike = state.struck, state.next_strike
        """The strikes as they were, those of this number and above apart."""

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Form: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Form, ...]: ...
    def __getitem__(self, place: int | slice) -> Form | tuple[Form, ...]:
        if isinstance(place, slice):
            return tuple(map(self._form, self._items[place]))
        return self._form(self._items[place])

    def __iter__(self) -> Iterator[Form]:
        return map(self._form, self._items)

    def extended(self, forms: Sequence[Form]) -> "Forms":
        """These and more."""
        return self._with(self._items.extended(forms))

    def changed(self, place: int, form: Form) -> "Forms":
        """These with another one at a place."""
        return self._with(self._items.changed(place, form))

    def joined(self) -> bytes:
        """Their bytes, with commas between them; what did not change since the last time is not joined again."""
        return self._items.joined(lambda item: self._form(item).native)

    def _form(self, item: Form | int) -> Form:
        if not isinstance(item, int):
            return item
        strikes = self._strikes.get(item, {}).values()
        return Form(self._state, item, tuple(one for one in strikes if one.version == 0 and one.number < self._first_strike))

    def _with(self, items: "Vector[Form | int]") -> "Forms":
        forms = Forms.__new__(Forms)
        forms._state, forms._items, forms._strikes, forms._first_strike = (
            self._state,
            items,
            self._strikes,
            self._first_strike,
        )
        return forms


class _Unknown:
    """Stands for a message that nobody has looked at."""


_UNKNOWN: Final = _Unknown()
