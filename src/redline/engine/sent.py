"""What a request sends: messages of the record, or what the repair made of them, with their strikes carried out."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, overload

import msgspec

from redline.engine.state import State
from redline.errors import ExecutionError, ValidationError
from redline.providers.anthropic.cache_control import MOST_BREAKPOINTS, most_marks_in
from redline.providers.format import Format
from redline.record.records import Strike
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.messages import Message, Part, ToolResult
from redline.values.payloads import Path, Payload


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


SentItem = int | RepairedMessage
"""What is sent, strikes apart: the message of an index as it is in the record, or one that the repair made or changed."""

FindPart = Callable[[int, Path], tuple[int, Path] | None]
"""From a part, by its message's index and its place in it, to its place in what is sent; None if it is not sent."""


class SentMessage:
    """One message with its strikes carried out, worked out when someone looks at it. Never changes once made."""

    __slots__ = ("_copy", "_message", "_native", "_state", "_stored", "breakpoints", "piece", "strikes", "version")

    def __init__(self, state: State, piece: SentItem, strikes: tuple[Strike, ...], version: int = 0) -> None:
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
        if not self.strikes:
            return self._state.message(self.piece, self.version) if isinstance(self.piece, int) else self.piece.message
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
            format, is_worked_out = self._state.format, self._stored is not None or self._message is not None
            if is_worked_out or not self.strikes or not isinstance(self.piece, int):
                native: Any = payloads.decode(self.stored) if self.stored else None
            else:
                given = format.read(payloads.decode(self._state.payload_of(self.piece, self.version)))
                native = struck_payload(given, _marks_of((one, one.at) for one in self.strikes), format)
            sendable = native if native is None else format.sendable(native)
            if sendable is native and not self.strikes and isinstance(self.piece, int):
                return self.native
            self._copy = b"" if sendable is None else payloads.encode(sendable)
            self.breakpoints = most_marks_in(self._copy)
        return self._copy

    def _unstruck(self) -> tuple[Message, list[Mark]]:
        """The message without strikes, and what is to be carried out on it."""
        if isinstance(self.piece, int):
            return self._state.message(self.piece, self.version), _marks_of((one, one.at) for one in self.strikes)
        place_of = {(origin.index, origin.original): origin.at for origin in self.piece.origins}
        return self.piece.message, _marks_of((one, place_of.get((one.index, one.at))) for one in self.strikes)


def _marks_of(strikes: Iterable[tuple[Strike, Path | None]]) -> list[Mark]:
    """The strikes as marks at these places; without those that have none."""
    return [Mark(one.rule, one.index, at, one.replacement, one.because) for one, at in strikes if at is not None]


class SentPrefixCache:
    """The messages of the request that was last looked at, since the next one is the same but for a little. For any thread."""

    def __init__(self, state: State, place_of: Callable[[int, Path], int | None] = lambda index, at: None) -> None:  # noqa: ARG005
        self.made: dict[tuple[SentItem, int, tuple[int, ...]], SentMessage] = {}
        """Messages that were looked at, each by its version and the numbers of its strikes."""
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
        "_cache",
        "_count",
        "_next_strike",
        "_pieces",
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
        pieces: Sequence[SentItem],
        tail: Sequence[SentItem],
        cache: SentPrefixCache,
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
        self._cache = cache
        """Shared with other requests."""

    @staticmethod
    @cache
    def of_nothing(format: Format) -> "Sent":
        """No message at all."""
        state = State(format)
        return Sent(state, (), (), SentPrefixCache(state))

    def __len__(self) -> int:
        return self._count + len(self._tail)

    @overload
    def __getitem__(self, place: int) -> SentMessage: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SentMessage, ...]: ...
    def __getitem__(self, place: int | slice) -> SentMessage | tuple[SentMessage, ...]:
        if isinstance(place, slice):
            return tuple(map(self.message_at, range(*place.indices(len(self)))))
        return self.message_at(range(len(self))[place])

    def __iter__(self) -> Iterator[SentMessage]:
        return iter(self._messages())

    def body(self, format: Format) -> bytes:
        """The messages as one JSON list."""
        known = self._cache.natives_up_to(self._count, self._struck, self._next_strike, self._recorded_at)
        natives, breakpoints = ([], 0) if known is None else known
        places = (*range(len(natives), len(self)), *self.new_places)
        natives += [b""] * (len(self) - len(natives))
        for place in places:
            message = self.message_at(place)
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

    def outline(self) -> Iterator[tuple[SentItem, tuple[Strike, ...]]]:
        """What each message is made of: a message of the record or one that the repair made, and its strikes."""
        for place, piece in enumerate((*self._pieces[: self._count], *self._tail)):
            if isinstance(piece, int) and not (piece in self._struck or piece in self.new_strikes):
                yield piece, ()
            else:
                yield piece, self.message_at(place).strikes

    def _messages(self) -> list[SentMessage]:
        final = self._cache.up_to(self._count, self._struck, self._next_strike, self._recorded_at)
        if final is None:
            return [self.message_at(place) for place in range(len(self))]
        final += [self.message_at(place) for place in range(self._count, len(self))]
        for place in self.new_places:
            final[place] = self.message_at(place)
        return final

    def message_at(self, place: int, *, with_new: bool = True) -> SentMessage:
        """The message at a place; with the strikes of the request itself, unless it is for those that come after it."""
        piece = self._pieces[place] if place < self._count else self._tail[place - self._count]
        versions, strikes = self._versions, tuple[Strike, ...]()
        for index in (piece,) if isinstance(piece, int) else dict.fromkeys(origin.index for origin in piece.origins):
            if recorded := self._struck.get(index):
                version = versions.get(index, 0)
                strikes += tuple([one for one in recorded if one.number < self._next_strike and one.version == version])
            if with_new and index in self.new_strikes:
                strikes += self.new_strikes[index]
        version, made = versions.get(piece, 0) if isinstance(piece, int) else 0, self._cache.made
        key = piece, version, tuple([one.number for one in strikes]) if strikes else ()
        known = made.get(key)
        if known is None or known.strikes != strikes:  # those of a preview were never recorded: others have their numbers
            known = made[key] = SentMessage(self._state, piece, strikes, version)
        return known

    def _recorded_at(self, place: int) -> SentMessage:
        return self.message_at(place, with_new=False)


_breakpoints = attrgetter("breakpoints")
"""Of a message of which it was asked what is to be sent."""


def struck_message(message: Message, marks: Iterable[Mark], format: Format) -> Message | None:
    """The message with its marks carried out; None when nothing is left of it."""
    payload = struck_payload(message, marks, format)
    if payload is message.native:
        return message
    return format.read(payload) if payload is not None else None


def struck_payload(message: Message, marks: Iterable[Mark], format: Format) -> Payload | None:
    """The payload of the message with its marks carried out; None when nothing is left of it.

    A mark on a result covers those on what is inside; where a result and its words share a place, the result is meant. Where
    a format cannot say words beside a result's own, as for pictures that are stored next to it, the part goes.
    """
    mark_at = {mark.at: mark for mark in marks}
    targets: list[tuple[Mark, Part, ToolResult | None]] = []
    for part in message.parts:
        if part.at in mark_at:
            targets.append((mark_at[part.at], part, None))
        elif isinstance(part, ToolResult):
            targets += [(mark_at[inner.at], inner, part) for inner in part.parts if inner.at in mark_at]
    if len(targets) < len(mark_at) and (unknown := mark_at.keys() - {part.at for part in message.walk()}):
        raise ExecutionError(f"The message has no part at {sorted(map(str, unknown))[0]}; it is not the one that was marked")
    payload, gone = message.native, list[Part]()
    for mark, part, result in targets:
        if mark.replacement is None:
            gone.append(part)
            continue
        try:
            payload = format.reword(payload, part, mark.replacement)
        except ValidationError:
            if result is None or len(result.parts) == 1:
                raise
            gone.append(part)
    if not gone:
        return payload
    rest = format.remove(format.read(payload), gone)
    return rest.native if rest is not None else None
