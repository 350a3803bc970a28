"""The visible messages made legal, strikes apart; kept up to date as the view grows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, groupby

import msgspec

from redline.engine.sent import FindPart, Origin, RepairedMessage, Sent, SentItem, SentPrefixCache
from redline.engine.state import State, runs_of
from redline.providers.arguments import System
from redline.repair import Change, Item, Legalizer, RepairSnapshot, Strategy
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path, encoded


class RepairedMessageSnapshot(msgspec.Struct, frozen=True):
    """A message that the repair made or changed, as plain values."""

    native: bytes
    origins: tuple[Origin, ...]


class RepairedViewSnapshot(msgspec.Struct, frozen=True):
    """What is final of the messages that are sent, as plain values."""

    visible: int
    """How many visible messages it comes from."""
    pieces: tuple[tuple[int, int] | RepairedMessageSnapshot, ...]
    """Messages that are sent as they are in the record, as runs of indices (from, to), and those that the repair changed."""
    system: tuple[tuple[int, int] | RepairedMessageSnapshot, ...]
    """What the system says and the provider takes beside the messages, likewise."""
    settled: int
    """How many messages the repair has given, these among them."""
    corrections: tuple[Change, ...]
    """What was wrong with single messages and was put right, by index."""
    changes: tuple[Change, ...]
    """What else the repair did, by index."""
    repair: RepairSnapshot


class RepairedView:
    """Feeds each visible message to the repair once, as it was said. Strikes are carried out on what the repair gives."""

    def __init__(self, state: State, strategy: Strategy, *, lifts_all_system: bool = False) -> None:
        self._state, self._strategy, self._lifts_all_system = state, strategy, lifts_all_system
        self._start()

    def _start(self) -> None:
        self._repair = Legalizer(self._state.format, self._strategy, lifts_system=True)
        self._fed = 0
        """How many visible messages the repair was given."""
        self._fed_before = 0
        """How many of them by an earlier process, before the snapshot that this goes on from."""
        self._open_from = 0
        """How many of them are final."""
        self._given: list[tuple[int, Message]] = []
        """What the repair was given by this process, each with its index."""
        self._settled = 0
        """How many messages of the repair's are final."""
        self._settled_before = 0
        """How many of them were before the snapshot that this goes on from."""
        self.pieces: list[SentItem] = []
        """What is final of what is sent, strikes apart; it is only ever appended to."""
        self.tail: list[SentItem] = []
        """What else is sent; it may be repaired in another way when more is said."""
        self._system: list[SentItem] = []
        self._system_tail: list[SentItem] = []
        """What the system says and the provider takes beside the messages: final, and not."""
        self._whole: dict[int, int] = {}
        """By index, where a message is in what is final that is sent as it is."""
        self._moved: dict[int, dict[Path, tuple[int, Path]]] = {}
        """By index and place, where a part is in what is final whose message the repair changed."""
        self._repaired = 0
        """How many messages of what is final the repair made, changed or moved."""
        self._earlier_corrections: tuple[Change, ...] = ()
        self._earlier_changes: tuple[Change, ...] = ()
        """What the repair did before the snapshot that this goes on from."""
        self._last_changes: Sequence[Change] = ()
        """What the repair did to what is not final."""
        self.complete_tail: list[SentItem] = []
        """What is not final yet, if no call in it waits for a result: it will then be sent just so."""
        self._visible = -1
        """How many messages were visible when the tail was made legal."""
        self._so_far = SentPrefixCache(self._state, self._final_place)
        """Messages with their strikes carried out, so that they are worked out once."""

    def catch_up(self) -> None:
        """Take in what has become visible since."""
        if self._visible == len(self._state.view.indices):
            return
        for index in self._state.view.indices[self._fed :]:
            self._fed += 1
            self._given.append((index, self._state.current(index)))
            if self._repair.feed(self._given[-1][1]):
                self._settle()
            else:
                self._go_over_again()
        self._visible = self._fed
        find_origins, end = OriginFinder(self._list_open), self._repair.end()
        self.tail, self._system_tail, self._last_changes = [], [], end.changes
        for item in (*end.said, *end.heard):
            is_apart = item.message.role == "system" and self._is_apart(item, has_begun=bool(self.pieces or self.tail))
            (self._system_tail if is_apart else self.tail).append(self._piece(item, find_origins))
        self.complete_tail = [] if self._repair.has_open_calls else self.tail

    def sent(self) -> Sent:
        """What is sent as things are, with the strikes in force."""
        tail = self.tail
        is_whole = not self._repaired and len(self.pieces) + len(tail) == self._visible == len(self._state)
        is_unrepaired = is_whole and all(piece == place for place, piece in enumerate(tail, len(self.pieces)))
        return Sent(self._state, self.pieces, tail, self._so_far, is_unrepaired=is_unrepaired)

    def system(self) -> System:
        """What the system says and the provider takes beside the messages, in the provider's own shape; None if nothing."""
        if not (self._system or self._system_tail):
            return None
        said = Sent(self._state, self._system, self._system_tail, SentPrefixCache(self._state))
        system: System = self._state.format.split_system([one.stored for one in said if one.stored]).system
        return system

    def find_part(self) -> FindPart:
        """Says where a part of the record is in what is sent as things are, also if more is said meanwhile."""
        start, tail, whole, moved = len(self.pieces), self.tail, self._whole, self._moved

        def find(index: int, at: Path) -> tuple[int, Path] | None:
            for place, piece in enumerate(tail, start):
                if piece == index:
                    return place, at
                for origin in piece.origins if isinstance(piece, RepairedMessage) else ():
                    if origin.index == index and origin.original == at:
                        return place, origin.at
            return (whole[index], at) if index in whole else moved.get(index, {}).get(at)

        return find

    def _final_place(self, index: int, at: Path) -> int | None:
        """Where a part is in what is final."""
        whole = self._whole.get(index)
        return self._moved.get(index, {}).get(at, (None,))[0] if whole is None else whole

    def place_of(self, index: int) -> int | None:
        """Where a message is in what is final; where its first part is, if the repair changed it."""
        whole = self._whole.get(index)
        return min((place for place, _ in self._moved.get(index, {}).values()), default=None) if whole is None else whole

    def list_changes(self) -> Callable[[], tuple[Change, ...]]:
        """Says what the repair did until now, by index of the message, whenever it is asked."""
        corrections, settled, last = self._repair.corrections, self._repair.changes, self._last_changes
        earlier_corrections, earlier, indices = self._earlier_corrections, self._earlier_changes, self._state.view.indices
        corrected, changed = len(corrections), len(settled)
        return lambda: (
            *earlier_corrections,
            *_by_index(corrections[:corrected], indices),
            *earlier,
            *_by_index(chain(settled[:changed], last), indices),
        )

    def snapshot(self) -> RepairedViewSnapshot | None:
        """What is final, to go on from later; None where that depends on what comes."""
        repair = self._repair.snapshot()
        if repair is None:
            return None
        indices = self._state.view.indices
        final = _by_index((one for one in self._repair.corrections if one.index < repair.count), indices)
        return RepairedViewSnapshot(
            visible=repair.count,
            pieces=tuple(_in_runs(self.pieces)),
            system=tuple(_in_runs(self._system)),
            settled=self._settled,
            corrections=(*self._earlier_corrections, *final),
            changes=(*self._earlier_changes, *_by_index(self._repair.changes, indices)),
            repair=repair,
        )

    def restore(self, snapshot: RepairedViewSnapshot) -> None:
        """Go on from a snapshot. Messages that were final are read when they are needed."""
        self._start()
        self._repair.restore(snapshot.repair)
        self._fed = self._fed_before = self._open_from = snapshot.visible
        self._settled = self._settled_before = snapshot.settled
        self._earlier_corrections, self._earlier_changes = snapshot.corrections, snapshot.changes
        self._system = [piece for run in snapshot.system for piece in self._of_run(run)]
        for run in snapshot.pieces:
            if isinstance(run, RepairedMessageSnapshot):
                self._add_changed(RepairedMessage(self._state.format.read(run.native), run.origins))
                continue
            self._repaired += run[0] != len(self.pieces)
            self._whole.update(zip(range(*run), count(len(self.pieces)), strict=False))
            self.pieces += range(*run)

    # --- growing

    def _of_run(self, run: tuple[int, int] | RepairedMessageSnapshot) -> Sequence[SentItem]:
        if isinstance(run, RepairedMessageSnapshot):
            return (RepairedMessage(self._state.format.read(run.native), run.origins),)
        return range(*run)

    def _go_over_again(self) -> None:
        """The message changes what was final: a result came late, or something is not where it belongs."""
        visible = self._state.view.indices[: self._fed]
        self._start()
        self._fed = len(visible)
        self._given = [(index, self._state.current(index)) for index in visible]
        messages = [message for _, message in self._given]
        self._repair = Legalizer.over(messages, self._state.format, self._strategy, lifts_system=True)
        self._settle()

    def _settle(self) -> None:
        find_origins = OriginFinder(self._list_open)
        for item in self._repair.settled[self._settled - self._settled_before :]:
            self._settled += 1
            piece, place = self._piece(item, find_origins), len(self.pieces)
            if item.message.role == "system" and self._is_apart(item, has_begun=bool(self.pieces)):
                self._system.append(piece)
            elif isinstance(piece, int):
                self.pieces.append(piece)
                self._whole[piece] = place
                self._repaired += piece != place
            else:
                self._add_changed(piece)
        open_from = self._repair.open_from
        self._open_from = self._open_from if open_from is None else open_from

    def _is_apart(self, item: Item, *, has_begun: bool) -> bool:
        """Whether the provider takes a message of the system beside the others. One without words, only settings, stays."""
        is_lifted = self._lifts_all_system and bool(item.message.text)
        return is_lifted or self._state.format.is_apart(item.message, has_begun=has_begun)

    def _add_changed(self, piece: RepairedMessage) -> None:
        for origin in piece.origins:
            self._moved.setdefault(origin.index, {})[origin.original] = len(self.pieces), origin.at
        self._repaired += 1
        self.pieces.append(piece)

    def _piece(self, item: Item, find_origins: "OriginFinder") -> SentItem:
        """What the repair left as it was given is known by its index alone."""
        if item.source is not None:
            index, given = self._given[item.source - self._fed_before]
            if item.message is given:
                return index
        return RepairedMessage(item.message, find_origins(item.message))

    def _list_open(self) -> list[tuple[int, Message]]:
        """The messages that the repair was given and has not made final: those that changed ones come from."""
        return self._given[self._open_from - self._fed_before :]


def _by_index(changes: Iterable[Change], indices: Sequence[int]) -> Iterator[Change]:
    """Changes that name their messages by number, as changes that name them by index."""
    replace = msgspec.structs.replace
    return (replace(one, index=indices[one.index]) if one.index >= 0 else one for one in changes)


def _in_runs(pieces: Sequence[SentItem]) -> Iterator[tuple[int, int] | RepairedMessageSnapshot]:
    for _, group in groupby(pieces, key=type):
        alike = list(group)
        yield from runs_of(piece for piece in alike if isinstance(piece, int))
        for piece in alike:
            if isinstance(piece, RepairedMessage):
                yield RepairedMessageSnapshot(encoded(piece.message.native), piece.origins)


class OriginFinder:
    """Says where the parts of a changed message come from. Nothing is looked through until a message was changed."""

    def __init__(self, list_given: Callable[[], list[tuple[int, Message]]]) -> None:
        self._list_given = list_given
        self._known: dict[tuple[str, ...], list[tuple[int, Part]]] | None = None
        self._used: set[tuple[int, Path]] = set()

    def __call__(self, message: Message) -> tuple[Origin, ...]:
        """For each part that was said by somebody, where; each is found once."""
        if self._known is None:
            self._known = {}
            for index, given in self._list_given():
                pictures = [inner for result in given.results for inner in result.parts if isinstance(inner, Media)]
                for part in (*given.parts, *pictures):  # a picture may be moved out of its result
                    for key in _keys(part):
                        self._known.setdefault(key, []).append((index, part))
        found: list[Origin] = []
        for part in message.parts:
            candidates = (one for key in _keys(part) for one in self._known.get(key, ()))
            source = next((one for one in candidates if (one[0], one[1].at) not in self._used), None)
            if source is None:
                continue
            index, original = source
            self._used.add((index, original.at))
            found.append(Origin(part.at, index, original.at))
            if isinstance(part, ToolResult) and isinstance(original, ToolResult):
                inner = zip(part.parts, original.parts, strict=False)
                found += [Origin(own.at, index, other.at) for own, other in inner if own.at != part.at]
        return tuple(found)


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
