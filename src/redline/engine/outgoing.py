"""The messages as they are sent: visible, made legal, struck; kept up to date as the view grows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, groupby

import msgspec

from redline.engine.form import Form, Forms, Origin, Repaired
from redline.engine.lazy_tuple import LazyTuple
from redline.engine.state import State, runs_of
from redline.log.records import Strike
from redline.repair import Change, Item, Legalizer, RepairSnapshot, Strategy
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path, encoded

__all__ = ["FindPart", "Outgoing", "OutgoingSnapshot", "Piece", "RepairedSnapshot"]

Piece = int | Repaired
"""What is sent, strikes apart: the message of an index as it is in the record, or one that the repair made or changed."""

FindPart = Callable[[int, Path], tuple[int, Path] | None]
"""From a part, by its message's index and its place in it, to its place in what is sent; None if it is not sent."""


class RepairedSnapshot(msgspec.Struct, frozen=True):
    """A message that the repair made or changed, as plain values."""

    native: bytes
    origins: tuple[Origin, ...]


class OutgoingSnapshot(msgspec.Struct, frozen=True):
    """What is final of the messages that are sent, as plain values."""

    visible: int
    """How many visible messages it comes from."""
    pieces: tuple[tuple[int, int] | RepairedSnapshot, ...]
    """Messages that are sent as they are in the record, as runs of indices (from, to), and those that the repair changed."""
    system: tuple[tuple[int, int] | RepairedSnapshot, ...]
    """What the system says and the provider takes beside the messages, likewise."""
    settled: int
    """How many messages the repair has given, these among them."""
    corrections: tuple[Change, ...]
    """What was wrong with single messages and was put right, by index."""
    changes: tuple[Change, ...]
    """What else the repair did, by index."""
    repair: RepairSnapshot


class Outgoing:
    """Feeds each visible message to the repair once, as it was said. Strikes are carried out on what the repair gives."""

    def __init__(
        self,
        state: State,
        strategy: Strategy,
        *,
        lifts_all_system: bool = False,
        snapshot: OutgoingSnapshot | None = None,
    ) -> None:
        self._state, self._strategy, self._lifts_all_system = state, strategy, lifts_all_system
        self._start()
        if snapshot is not None:
            self._restore(snapshot)

    def _start(self) -> None:
        self._legalizer = Legalizer(self._state.format, self._strategy, lifts_system=True)
        self._taken = self._given_from = self._settled = self._settled_before = self._open_from = 0
        self._given: list[Message] = []
        """What the repair was given, from a number on: visible messages have numbers by their order."""
        self.pieces: list[Piece] = []
        """What is final of what is sent, strikes apart."""
        self.tail: list[Piece] = []
        """What else is sent; it may be repaired in another way when more is said."""
        self._system: list[Piece] = []
        self._system_tail: list[Piece] = []
        """What the system says and the provider takes beside the messages: final, and not."""
        self._sent = Forms(self._state)
        self._places = _Places()
        self._earlier_corrections: tuple[Change, ...] = ()
        self._earlier_changes: tuple[Change, ...] = ()
        """What the repair did before the snapshot that this goes on from."""
        self._last_changes: Sequence[Change] = ()
        """What the repair did to what is not final."""

    def catch_up(self) -> None:
        """Take in what has become visible since."""
        for index in self._state.view.indices[self._taken :]:
            self._taken += 1
            self._given.append(self._state.current(index))
            if self._legalizer.feed(self._given[-1]):
                self._settle()
            else:
                self._go_over_again()
        self._sent = self._sent.extended([self.form_of(piece) for piece in self.pieces[len(self._sent) :]])
        sources, end = _Sources(self._unsettled), self._legalizer.end()
        self.tail, self._system_tail, self._last_changes = [], [], end.changes
        for item in (*end.said, *end.heard):
            is_apart = self._is_apart(item, has_begun=bool(self.pieces or self.tail))
            (self._system_tail if is_apart else self.tail).append(self._piece(item, sources))

    @property
    def complete_tail(self) -> list[Piece]:
        """What is not final yet, if no call in it waits for a result: it will then be sent just so."""
        return [] if self._legalizer.has_open_calls else self.tail

    def messages(self) -> tuple[Forms, FindPart]:
        """What is sent as things are, and where its parts are."""
        sent, settled, tail = self._sent, self._places, _Places()
        for place, piece in enumerate(self.tail, len(sent)):
            tail.add(place, piece)
        whole = sent.extended([self.form_of(piece) for piece in self.tail])
        return whole, lambda index, at: tail.find(index, at) or settled.find(index, at)

    def system(self) -> list[Form]:
        """What the system says that the provider takes beside the messages."""
        return [self.form_of(piece) for piece in (*self._system, *self._system_tail)]

    def changes(self) -> Sequence[Change]:
        """What the repair did until now, by index of the message."""
        corrections, settled, last = self._legalizer.corrections, self._legalizer.changes, self._last_changes
        earlier_corrections, earlier = self._earlier_corrections, self._earlier_changes
        corrected, count, by_index = len(corrections), len(settled), self._by_index()
        return LazyTuple(
            len(earlier_corrections) + corrected + len(earlier) + count + len(last),
            lambda: (
                *earlier_corrections,
                *map(by_index, corrections[:corrected]),
                *earlier,
                *map(by_index, chain(settled[:count], last)),
            ),
        )

    def place_of(self, index: int) -> int | None:
        """Where a message is in what is final; where its first part is, if the repair changed it."""
        return min(self._places.of_index(index), default=None)

    def refresh(self, indices: Iterable[int]) -> None:
        """The strikes on messages have changed."""
        for place in {place for index in indices for place in self._places.of_index(index)}:
            self._sent = self._sent.changed(place, self.form_of(self.pieces[place]))

    def form_of(self, piece: Piece, more: Sequence[Strike] = ()) -> Form:
        """A message with the strikes on it that are in force, and with more of them."""
        state = self._state
        if isinstance(piece, int):
            return Form(state, piece, (*state.strikes_on(piece), *more), state.view.version_of(piece))
        indices = dict.fromkeys(origin.index for origin in piece.origins)
        return Form.of(state, piece, (*(strike for index in indices for strike in state.strikes_on(index)), *more))

    def snapshot(self) -> OutgoingSnapshot | None:
        """What is final, to go on from later; None where that depends on what comes."""
        repair = self._legalizer.snapshot()
        if repair is None:
            return None
        by_index = self._by_index()
        final = (by_index(one) for one in self._legalizer.corrections if one.index < repair.count)
        return OutgoingSnapshot(
            visible=repair.count,
            pieces=tuple(_in_runs(self.pieces)),
            system=tuple(_in_runs(self._system)),
            settled=self._settled,
            corrections=(*self._earlier_corrections, *final),
            changes=(*self._earlier_changes, *map(by_index, self._legalizer.changes)),
            repair=repair,
        )

    # --- growing

    def _restore(self, snapshot: OutgoingSnapshot) -> None:
        """Messages that were final are read when they are needed."""
        state = self._state
        self._legalizer = Legalizer(state.format, self._strategy, lifts_system=True)
        self._legalizer.restore(snapshot.repair)
        self._taken = self._given_from = self._open_from = snapshot.visible
        self._settled = self._settled_before = snapshot.settled
        self._earlier_corrections, self._earlier_changes = snapshot.corrections, snapshot.changes
        self._system = [piece for run in snapshot.system for piece in self._of_run(run)]
        for run in snapshot.pieces:
            if isinstance(run, RepairedSnapshot):
                self._add(*self._of_run(run))
                continue
            self._places.whole.update(zip(range(*run), count(len(self.pieces)), strict=False))
            self.pieces += range(*run)
        later = state.view.versions
        forms = [one if isinstance(one, int) and one not in later else self.form_of(one) for one in self.pieces]
        self._sent = Forms(state, forms)

    def _of_run(self, run: tuple[int, int] | RepairedSnapshot) -> Sequence[Piece]:
        if isinstance(run, RepairedSnapshot):
            return (Repaired(self._state.format.read(run.native), run.origins),)
        return range(*run)

    def _go_over_again(self) -> None:
        """The message changes what was final: a result came late, or something is not where it belongs."""
        visible = self._state.view.indices[: self._taken]
        self._start()
        self._taken = len(visible)
        self._given = [self._state.current(index) for index in visible]
        self._legalizer = Legalizer.over(self._given, self._state.format, self._strategy, lifts_system=True)
        self._settle()

    def _settle(self) -> None:
        sources = _Sources(self._unsettled)
        for item in self._legalizer.settled[self._settled - self._settled_before :]:
            self._settled += 1
            piece = self._piece(item, sources)
            if self._is_apart(item, has_begun=bool(self.pieces)):
                self._system.append(piece)
                continue
            self._add(piece)
        open_from = self._legalizer.open_from
        self._open_from = self._open_from if open_from is None else open_from

    def _is_apart(self, item: Item, *, has_begun: bool) -> bool:
        """Whether the provider takes it beside the messages. What has no words, only settings, stays where it is."""
        if item.message.role != "system":
            return False
        is_lifted = self._lifts_all_system and bool(item.message.text)
        return is_lifted or self._state.format.is_apart(item.message, has_begun=has_begun)

    def _add(self, piece: Piece) -> None:
        self._places.add(len(self.pieces), piece)
        self.pieces.append(piece)

    def _piece(self, item: Item, sources: "_Sources") -> Piece:
        """What the repair left as it was given is known by its index alone."""
        if item.source is not None and item.message is self._given[item.source - self._given_from]:
            return self._state.view.indices[item.source]
        return Repaired(item.message, sources.origins_of(item.message))

    def _unsettled(self) -> list[tuple[int, Message]]:
        """Index and message of what the repair was given and has not made final."""
        indices = self._state.view.indices[self._open_from : self._taken]
        return list(zip(indices, self._given[self._open_from - self._given_from :], strict=True))

    def _by_index(self) -> Callable[[Change], Change]:
        """From a change that names its message by number to one that names it by index, in the view as it is now."""
        indices, replace = self._state.view.indices, msgspec.structs.replace
        return lambda one: replace(one, index=indices[one.index]) if one.index >= 0 else one


def _in_runs(pieces: Sequence[Piece]) -> Iterator[tuple[int, int] | RepairedSnapshot]:
    for _, group in groupby(pieces, key=type):
        alike = list(group)
        yield from runs_of(piece for piece in alike if isinstance(piece, int))
        for piece in alike:
            if isinstance(piece, Repaired):
                yield RepairedSnapshot(encoded(piece.message.native), piece.origins)


class _Places:
    """Where the parts of the record are in what is sent."""

    def __init__(self) -> None:
        self.whole: dict[int, int] = {}
        """By index, of messages that are sent as they are."""
        self._moved: dict[int, dict[Path, tuple[int, Path]]] = {}
        """By index and place, of parts in messages that the repair changed."""

    def add(self, place: int, piece: Piece) -> None:
        if isinstance(piece, int):
            self.whole[piece] = place
            return
        for origin in piece.origins:
            self._moved.setdefault(origin.index, {})[origin.original] = place, origin.at

    def find(self, index: int, at: Path) -> tuple[int, Path] | None:
        place = self.whole.get(index)
        return self._moved.get(index, {}).get(at) if place is None else (place, at)

    def of_index(self, index: int) -> set[int]:
        place = self.whole.get(index)
        return {place for place, _ in self._moved.get(index, {}).values()} if place is None else {place}


class _Sources:
    """Says where the parts of a changed message come from. They are looked for only where a message was changed."""

    def __init__(self, give: Callable[[], list[tuple[int, Message]]]) -> None:
        self._give = give
        self._known: dict[tuple[str, ...], list[tuple[int, Part]]] | None = None
        self._used: set[tuple[int, Path]] = set()

    def origins_of(self, message: Message) -> tuple[Origin, ...]:
        """For each part that was said by somebody, where; each is found once."""
        found: list[Origin] = []
        for part in message.parts:
            source = self._source_of(part)
            if source is not None:
                index, original = source
                self._used.add((index, original.at))
                found.append(Origin(part.at, index, original.at))
                if isinstance(part, ToolResult) and isinstance(original, ToolResult):
                    inner = zip(part.parts, original.parts, strict=False)
                    found += [Origin(own.at, index, other.at) for own, other in inner if own.at != part.at]
        return tuple(found)

    def _source_of(self, part: Part) -> tuple[int, Part] | None:
        if self._known is None:
            self._known = {}
            for index, message in self._give():
                for original in message.parts:
                    for key in _keys(original):
                        self._known.setdefault(key, []).append((index, original))
        candidates = (one for key in _keys(part) for one in self._known.get(key, ()))
        return next((one for one in candidates if (one[0], one[1].at) not in self._used), None)


def _keys(part: Part) -> tuple[tuple[str, ...], ...]:
    """What a part is recognised by, the surest first: the repair may have given a call and its result another id."""
    match part:
        case ToolCall(id, name, input):
            return ("call", str(id), name), ("call", name, str(input))
        case ToolResult(call_id):
            return ("result", str(call_id), part.text), ("result", str(call_id)), ("result of any", part.text)
        case Text(text):
            return (("text", text),)
        case Reasoning(text):
            return (("reasoning", text),)
        case Media(_, source):
            return (("media", source),)
        case Opaque(kind, native):
            return (("opaque", kind, str(native)),)
