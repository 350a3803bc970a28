"""What a request sends: messages of the record, or what the repair made of them, with their strikes carried out."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Self, overload

import msgspec

from redline.engine.state import State
from redline.engine.strike import struck_message, struck_payload
from redline.formats.base import Format
from redline.formats.cache_control import MOST_BREAKPOINTS, most_marks_in
from redline.log.records import Strike
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Path

__all__ = ["FindPart", "Origin", "Piece", "RepairedMessage", "Sent", "SentMessage", "SentSoFar"]


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where a part of a repaired message comes from."""

    at: Path
    """Its place in the repaired message."""
    index: int
    original: Path
    """Its place in the message of the record."""


class RepairedMessage(msgspec.Struct, frozen=True, eq=False):
    """A message that the repair made or changed, and where its parts come from."""

    message: Message
    origins: tuple[Origin, ...]


Piece = int | RepairedMessage
"""What is sent, strikes apart: the message of an index as it is in the record, or one that the repair made or changed."""

FindPart = Callable[[int, Path], tuple[int, Path] | None]
"""From a part, by its message's index and its place in it, to its place in what is sent; None if it is not sent."""


class SentMessage:
    """One message with its strikes carried out, worked out when someone looks at it. Never changes once made."""

    __slots__ = ("_copy", "_message", "_native", "_state", "_stored", "breakpoints", "piece", "strikes", "version")

    def __init__(self, state: State, piece: Piece, strikes: tuple[Strike, ...], version: int = 0) -> None:
        self._state, self.piece, self.strikes, self.version = state, piece, strikes, version
        self._message: tuple[Message | None] | None = None
        self._stored: bytes | None = None
        self._native: bytes | None = None
        self._copy: bytes | None = None
        """JSON of what is to be sent, where an object was asked for before the bytes."""
        self.breakpoints = 0
        """At most so many cache breakpoints are in it; counted when it is asked what is to be sent."""

    @property
    def message(self) -> Message | None:
        """The message; None if nothing is left of it. ValidationError if the format has no way to say a strike."""
        if self._message is None:
            unstruck, marks = self._unstruck()
            self._message = (struck_message(unstruck, marks, self._state.format) if marks else unstruck,)
        return self._message[0]

    @property
    def stored(self) -> bytes:
        """The bytes with every field that was given, empty if nothing is left of it. What was not struck is as it was given."""
        if self._stored is None:
            if isinstance(self.piece, int) and not self.strikes:
                return self._state.payload_of(self.piece, self.version)
            if self._message is not None:
                payload = self._message[0].native if self._message[0] is not None else None
            else:
                payload = struck_payload(*self._unstruck(), self._state.format)
            self._stored = b"" if payload is None else payloads.encoded(payload)
        return self._stored

    @property
    def native(self) -> bytes:
        """The bytes to send, empty if nothing is left of it. Fields that the provider does not take are not sent."""
        if self._native is None:
            stored = self.stored
            self._native = payloads.encoded(self._state.format.sendable(stored)) if stored else stored
            self._copy, self.breakpoints = None, most_marks_in(self._native)
        return self._native

    @property
    def readable(self) -> bytes:
        """JSON of what is to be sent, to read an object from, empty if nothing is left of it.

        Strikes are carried out on an object, unless that was done on the bytes before, which takes longer.
        """
        if self._native is not None:
            return self._native
        if self._copy is None:
            native = self._struck_object()
            sendable = native if native is None else self._state.format.sendable(native)
            if sendable is native and not self.strikes and isinstance(self.piece, int):
                return self.native
            self._copy = b"" if sendable is None else payloads.encode(sendable)
            self.breakpoints = most_marks_in(self._copy)
        return self._copy

    def _struck_object(self) -> Any:
        if self._stored is not None or self._message is not None or not self.strikes or not isinstance(self.piece, int):
            return payloads.decode(self.stored) if self.stored else None
        native = payloads.decode(self._state.payload_of(self.piece, self.version))
        return struck_payload(self._state.format.read(native), self._own_marks(), self._state.format)

    def _own_marks(self) -> list[Mark]:
        return [Mark(one.rule, one.index, one.at, one.replacement, one.because) for one in self.strikes]

    def _unstruck(self) -> tuple[Message, list[Mark]]:
        """The message without strikes, and what is to be carried out on it."""
        if isinstance(self.piece, int):
            return self._state.message(self.piece, self.version), self._own_marks()
        place_of = {(origin.index, origin.original): origin.at for origin in self.piece.origins}
        found = [(one, place_of.get((one.index, one.at))) for one in self.strikes]
        marks = [Mark(one.rule, one.index, at, one.replacement, one.because) for one, at in found if at is not None]
        return self.piece.message, marks


class SentSoFar:
    """The messages of the request that was last looked at, since the next one is the same but for a little. For any thread."""

    def __init__(self, state: State, place_of: Callable[[int, Path], int | None] = lambda index, at: None) -> None:  # noqa: ARG005
        self.made: dict[Piece, SentMessage] = {}
        """Messages that were looked at, each as it was then."""
        self._strikes, self._struck, self._place_of = state.strikes, state.struck, place_of
        self._messages: list[SentMessage] = []
        self._next_strike = self._counted = 0
        """The strikes before this number are carried out in them, which are so many."""
        self._natives: list[bytes] = []
        self._breakpoints = 0
        """The bytes of the first of them, as far as somebody asked for bytes, and at most how many breakpoints these have."""
        self._lock = threading.Lock()

    def up_to(
        self, count: int, struck: object, next_strike: int, make: Callable[[int], SentMessage]
    ) -> list[SentMessage] | None:
        """The first messages of what is final, with the strikes before a number; None for a request before the last."""
        with self._lock:
            is_next = self._go_on(count, struck, next_strike, make)
            return self._messages.copy() if is_next else None

    def natives_up_to(
        self, count: int, struck: object, next_strike: int, make: Callable[[int], SentMessage]
    ) -> tuple[list[bytes], int] | None:
        """The bytes of these messages, and at most how many breakpoints are in them; None as for them."""
        with self._lock:
            if not self._go_on(count, struck, next_strike, make):
                return None
            new = self._messages[len(self._natives) :]
            self._natives += [one.native for one in new]
            self._breakpoints += sum(one.breakpoints for one in new)
            return self._natives.copy(), self._breakpoints

    def _go_on(self, count: int, struck: object, next_strike: int, make: Callable[[int], SentMessage]) -> bool:
        """What is done twice, because it was broken off in between, gives the same."""
        messages, natives = self._messages, self._natives
        if struck is not self._struck or next_strike < self._next_strike or count < len(messages):
            return False
        self._next_strike = next_strike
        for strike in islice(self._strikes.values(), self._counted, None):
            if strike.number >= next_strike:
                break
            place = self._place_of(strike.index, strike.at)
            if place is not None and place < len(messages):
                made = make(place)
                if place < len(natives):
                    natives[place] = made.native
                    self._breakpoints += made.breakpoints - messages[place].breakpoints
                messages[place] = made
            self._counted += 1
        messages += [make(place) for place in range(len(messages), count)]
        return True


class Sent(Sequence[SentMessage]):
    """The messages of a request in order; never changes once made, and is made in the same time however many there are.

    It shares the list of what is final with the conversation, which only ever appends to it, and looks at as much of it as was
    there; of the strikes it takes those that counted, by their numbers, and those of the request itself.
    """

    __slots__ = (
        "_count",
        "_next_strike",
        "_own",
        "_pieces",
        "_so_far",
        "_state",
        "_struck",
        "_tail",
        "_versions",
        "is_unrepaired",
        "new_places",
        "new_strikes",
    )

    def __init__(
        self,
        state: State,
        pieces: Sequence[Piece],
        tail: Sequence[Piece],
        so_far: SentSoFar,
        *,
        is_unrepaired: bool = False,
    ) -> None:
        self.is_unrepaired = is_unrepaired
        """Whether it is known that every message of the record is sent, in order, and nothing else."""
        self._state, self._pieces, self._count, self._tail = state, pieces, len(pieces), tuple(tail)
        self._struck, self._next_strike, self._versions = state.struck, state.next_strike, state.view.versions
        self.new_strikes: dict[int, tuple[Strike, ...]] = {}
        """By index, the strikes of the request itself, which may never be recorded."""
        self.new_places: set[int] = set()
        """Where these are in what is sent."""
        self._so_far = so_far
        """Shared with other requests."""
        self._own: dict[Piece, SentMessage] = {}
        """Those with strikes of the request itself."""

    @classmethod
    def of_nothing(cls, format: Format) -> Self:
        """No message at all."""
        state = State(format)
        return cls(state, (), (), SentSoFar(state))

    def __len__(self) -> int:
        return self._count + len(self._tail)

    @overload
    def __getitem__(self, place: int) -> SentMessage: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SentMessage, ...]: ...
    def __getitem__(self, place: int | slice) -> SentMessage | tuple[SentMessage, ...]:
        if isinstance(place, slice):
            return tuple(map(self._message_at, range(*place.indices(len(self)))))
        return self._message_at(range(len(self))[place])

    def __iter__(self) -> Iterator[SentMessage]:
        return iter(self._messages())

    def body(self, format: Format) -> bytes:
        """The messages as one JSON list."""
        known = self._so_far.natives_up_to(self._count, self._struck, self._next_strike, self._recorded_at)
        natives, breakpoints = ([], 0) if known is None else known
        places = (*range(len(natives), len(self)), *self.new_places)
        natives += [b""] * (len(self) - len(natives))
        for place in places:
            message = self._message_at(place)
            natives[place] = message.native
            breakpoints += message.breakpoints
        if breakpoints > MOST_BREAKPOINTS:
            natives = [payloads.encoded(payload) for payload in format.within_limits(list(filter(None, natives)))]
        return payloads.join_list(filter(None, natives))

    def objects(self, format: Format) -> list[Any]:
        """The messages as fresh objects."""
        messages = self._messages()
        objects = payloads.decode_all(list(filter(None, [one.readable for one in messages])))
        return format.within_limits(objects) if sum(map(_breakpoints, messages)) > MOST_BREAKPOINTS else objects

    def outline(self) -> Iterator[tuple[Piece, tuple[Strike, ...]]]:
        """What each message is made of: a message of the record or one that the repair made, and its strikes."""
        for place, piece in enumerate((*self._pieces[: self._count], *self._tail)):
            if isinstance(piece, int) and not (piece in self._struck or piece in self.new_strikes):
                yield piece, ()
            else:
                yield piece, self._message_at(place).strikes

    def share(self) -> None:
        """The request was recorded: what was made with its strikes is of use for those that follow."""
        self._so_far.made.update(self._own)

    def _messages(self) -> list[SentMessage]:
        final = self._so_far.up_to(self._count, self._struck, self._next_strike, self._recorded_at)
        if final is None:
            return [self._message_at(place) for place in range(len(self))]
        final += [self._message_at(place) for place in range(self._count, len(self))]
        for place in self.new_places:
            final[place] = self._message_at(place)
        return final

    def _message_at(self, place: int) -> SentMessage:
        return self._made_at(place, self.new_strikes)

    def _recorded_at(self, place: int) -> SentMessage:
        """Without the strikes of the request itself."""
        return self._made_at(place, {})

    def _made_at(self, place: int, new: Mapping[int, tuple[Strike, ...]]) -> SentMessage:
        piece, versions = self._pieces[place] if place < self._count else self._tail[place - self._count], self._versions
        version = versions.get(piece, 0) if isinstance(piece, int) else 0
        indices = (piece,) if isinstance(piece, int) else dict.fromkeys(origin.index for origin in piece.origins)
        strikes = tuple(one for index in indices for one in self._strikes_on(index, versions.get(index, 0), new))
        made = self._so_far.made if new.keys().isdisjoint(indices) else self._own
        known = made.get(piece)
        if known is None or known.strikes != strikes or known.version != version:
            known = made[piece] = SentMessage(self._state, piece, strikes, version)
        return known

    def _strikes_on(self, index: int, version: int, new: Mapping[int, tuple[Strike, ...]]) -> tuple[Strike, ...]:
        held = [one for one in self._struck.get(index, ()) if one.number < self._next_strike and one.version == version]
        return (*held, *new.get(index, ()))


_breakpoints = attrgetter("breakpoints")
"""Of a message of which it was asked what is to be sent."""
