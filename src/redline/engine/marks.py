"""The marks that rules have made on what is sent and that are not applied yet; grows with the view."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from redline.engine.pointers import Pointers, PointersMemory
from redline.engine.repaired import RepairedView
from redline.engine.sent import RepairedMessage, SentItem
from redline.engine.shrinking import Shrinking
from redline.engine.state import State
from redline.errors import ValidationError
from redline.record.records import Strike
from redline.rules.facts import Facts, FactsSnapshot, Seen
from redline.rules.observations import NO_OBSERVATIONS, Observations
from redline.rules.offload_results import moved_content
from redline.rules.protection import Protection
from redline.rules.rule import Fold, Mark, Rule
from redline.rules.way_back import NO_WAY_BACK, WayBack
from redline.schedules.ledger import Target
from redline.tokens import PER_MESSAGE, Counter, count_part, count_parts
from redline.tools import Reads, ToolBook
from redline.tools.failures import KNOWN_SIGNS, FailureSigns
from redline.values.messages import Message, Text, ToolResult
from redline.values.payloads import Path, encoded, try_encode

_LONGEST_REMEMBERED = 1_000
_MOST_REPLACEMENTS = 10_000
"""Texts whose tokens are remembered: each is asked for with its mark, with the strike that comes of it, and in between."""


class Sizes:
    """Counts the messages of a state."""

    def __init__(self, state: State, counter: Counter) -> None:
        self._state, self._counter = state, counter
        self._known: dict[tuple[int, int], int] = {}
        self._parts: dict[tuple[int, int, Path], int] = {}
        self._replacements: dict[str, int] = {}
        self.moved_share: Callable[[int, Path], float] = lambda index, at: 0.0  # noqa: ARG005 - nothing is referred to
        """The share of a part to which other parts refer."""

    def of_piece(self, piece: SentItem) -> int:
        """What is sent of a message, without strikes."""
        if isinstance(piece, int):
            return self.of_message(piece)
        return PER_MESSAGE + count_parts(piece.message.parts, self._counter)

    def of_message(self, index: int) -> int:
        """One message, without strikes."""
        return self.of_messages((index,))

    def of_messages(self, indices: Iterable[int]) -> int:
        """These messages together."""
        versions, known = self._state.view.versions, self._known
        keys = [(index, versions.get(index, 0)) for index in indices]
        for key in keys:
            if key not in known:
                parts = self._state.message(*key).parts
                # what is marked was counted for its mark
                tokens = self._parts.get((*key, parts[0].at)) if len(parts) == 1 else None
                known[key] = PER_MESSAGE + (count_parts(parts, self._counter) if tokens is None else tokens)
        return sum([known[key] for key in keys])

    def share(self, other: "Sizes") -> None:
        """Share what is counted with other sizes of the same messages by the same counter."""
        self._known, self._parts, self._replacements = other._known, other._parts, other._replacements

    def learn(self, known: Iterable[tuple[int, int]]) -> None:
        """Take over what was counted before: index and tokens of messages in the version that counts."""
        view = self._state.view
        self._known.update({(index, view.version_of(index)): tokens for index, tokens in known})

    def part_of(self, mark: Mark) -> int:
        """The part that a mark means, as the folds in force have left it."""
        tokens = self._said(mark)
        if mark.index in self._state.struck:
            folds = (one for one in self._state.strikes_on(mark.index) if one.is_fold)
            tokens -= sum(one.tokens_saved for one in folds if one.at[: len(mark.at)] == mark.at)
        return tokens

    def _said(self, mark: Mark) -> int:
        key = mark.index, self._state.view.versions.get(mark.index, 0), mark.at
        known = self._parts.get(key)
        if known is None:
            part = next((part for part in self._state.current(mark.index).walk() if part.at == mark.at), None)
            known = self._parts[key] = count_part(part, self._counter) if part is not None else 0
        return known

    def replacement_of(self, mark: Mark) -> int:
        """What a mark puts in the place of its part."""
        words = mark.replacement if isinstance(mark.replacement, str) else str(mark.replacement or "")
        if len(words) > _LONGEST_REMEMBERED:
            return self._counter.count(words)
        known = self._replacements.get(words)
        if known is None:
            if len(self._replacements) >= _MOST_REPLACEMENTS:
                self._replacements.clear()
            known = self._replacements[words] = self._counter.count(words)
        return known

    def saving(self, mark: Mark) -> int:
        """What goes with a mark. Words to which other parts refer do not go: they would move there."""
        left = 1.0 if mark.is_fold else 1.0 - self.moved_share(mark.index, mark.at)
        return max(0, round(left * self.part_of(mark)) - self.replacement_of(mark))


_logger = logging.getLogger("redline.rules")


class MarksSnapshot(msgspec.Struct, frozen=True):
    """What the rules know and have marked, as plain values."""

    shown: int
    """How many messages they have been shown, of those that are sent."""
    facts: FactsSnapshot
    """What the facts go on from."""
    memories: tuple[msgspec.Raw, ...]
    """What each rule's fold knows, in the order of the rules."""
    pending: tuple[Mark, ...]
    """Without what they would move to the blobs; that is in the message."""
    moving: frozenset[int]
    """Which of them, by number, move their part's words to the blobs."""
    not_final: tuple[int | bytes, ...]
    """The last messages that were shown and were not final: an index, or what the repair made."""
    untimed: int = 0
    """How many results have no time."""
    pointers: PointersMemory = msgspec.field(default_factory=PointersMemory)
    """What is known of pointers."""
    withheld: tuple[Mark, ...] = ()
    """The marks that may not be applied for now; `moving` counts them after the pending ones."""


class Marks:
    """Shows each part that is sent to each rule once, and keeps the marks until they are applied or fall away.

    Rules see what the repair leaves, before strikes: a result that is not sent is none.
    """

    def __init__(
        self,
        state: State,
        view: RepairedView,
        sizes: Sizes,
        rules: Sequence[Rule],
        *,
        protection: Protection,
        tools: ToolBook,
        failures: FailureSigns = KNOWN_SIGNS,
        observations: Observations = NO_OBSERVATIONS,
        way_back: WayBack = NO_WAY_BACK,
        root: str = "",
    ) -> None:
        self._state, self._view, self._sizes = state, view, sizes
        self._folds: list[Fold] = [rule.fold() for rule in rules]
        self._protection, self._tools = protection, tools
        self._make_facts = partial(Facts, tools, failures, observations, way_back)
        self._facts = self._make_facts()
        self.pointers = Pointers(state, root, self._make_facts)
        """Which results must stay, because something that is sent points to them."""
        self._withheld: dict[Target, Mark] = {}
        """The marks on such results."""
        self._blocked: dict[Target, Mark] = {}
        """The marks whose placeholders would point to a result that is struck."""
        self.shrinking = Shrinking(state, self._folds, self._may_shrink)
        """The parts that can be sent smaller than they were said."""
        sizes.moved_share = self.shrinking.moved_share
        self._is_shrinking = self.shrinking.is_needed
        """Whether it was shown all that was shown to the rules."""
        self.untimed = 0
        """How many results have no time: rules that go by age or order leave them alone."""
        self._shown = 0
        self._not_final: list[int | bytes] = []
        """The last of them that were not final when they were shown: an index, or what the repair made."""
        self._seen: dict[Target, Seen] = {}
        self.pending: dict[Target, Mark] = {}
        """In the order in which they were made; of several on one part the first counts."""
        self.changed: dict[Target, None] = {}
        """The parts whose marks came or went since someone last looked; the ledger does."""

    def catch_up(self) -> bool:
        """Show what is sent by now. False if something else was shown before: then one must begin again."""
        if [_name(piece) for piece in self._shown_pieces(self._shown - len(self._not_final), self._shown)] != self._not_final:
            return False
        if self.shrinking.is_needed and not self._is_shrinking:
            self._begin_shrinking()
        self.shrinking.catch_up()
        tail = self._view.complete_tail
        for piece in self._shown_pieces(self._shown):
            for seen in self._look_at(piece):
                self._show(seen)
            if self._is_shrinking and isinstance(piece, RepairedMessage):
                self.shrinking.see_answers(piece)
        self._shown, self._not_final = len(self._view.pieces) + len(tail), [_name(piece) for piece in tail]
        return True

    def pending_at(self, now: float) -> dict[Target, Mark]:
        """The marks that wait, with those that the passing of time has made due. Asking changes nothing."""
        due: dict[Target, Mark] = {}
        for fold in self._folds:
            for mark in fold.due(now) or ():
                if self._is_new(mark) and not self.pointers.keeps(mark.index, mark.at):
                    due.setdefault((mark.index, mark.at), mark)
        return {**self.pending, **due} if due else self.pending

    def cold(self, pending: dict[Target, Mark]) -> list[Mark]:
        """More marks than these, which pay only if the whole request is written to the cache anew. Asking changes nothing."""
        found = [mark for fold in self._folds if hasattr(fold, "cold") for mark in fold.cold()]
        return [
            mark
            for mark in found
            if (mark.index, mark.at) not in pending and self._is_new(mark) and not self.pointers.keeps(mark.index, mark.at)
        ]

    def settle(self, pending: dict[Target, Mark], now: float) -> None:
        """A request was made at this time: marks that became due wait or were applied."""
        if pending is not self.pending:
            self.changed.update(dict.fromkeys(target for target in pending if target not in self.pending))
            self.pending = pending
        for fold in self._folds:
            for mark in (fold.due(now) or ()) if self.pointers.keeps_some else ():
                if self._is_new(mark) and self.pointers.keeps(mark.index, mark.at):
                    self._withheld[mark.index, mark.at] = mark
            fold.forget(now)

    def book(self, strikes: Sequence[Strike]) -> None:
        """Strikes are in force from now on: no mark waits on their parts any more, nor inside. The mark on a folded part saves
        less than before."""
        if self._is_shrinking:
            self.shrinking.book(strikes)
        for strike in strikes:
            if strike.is_fold:
                self.changed.update(dict.fromkeys(one for one in self._inside(strike.index, strike.at) if one in self.pending))
            else:
                self.drop(strike.index, strike.at)
        self._hold_again()

    def drop(self, index: int, at: Path) -> None:
        """The mark on a part was applied: it is not pending any more, nor is one on what is inside."""
        for target in self._inside(index, at):
            if self.pending.pop(target, None) is not None:
                self.changed[target] = None

    def _inside(self, index: int, at: Path) -> list[Target]:
        return [(index, part.at) for part in self._state.current(index).walk() if part.at[: len(at)] == at]

    def seen(self, mark: Mark) -> Seen | None:
        """What is known of the part that a mark means; of the result, for a part inside one."""
        known = self._seen.get((mark.index, mark.at)) or self._seen.get((mark.index, mark.at[:-2]))
        return known or self._seen_again(mark)

    def snapshot(self) -> MarksSnapshot | None:
        """What is known, to go on from later; None if a rule cannot say what it holds."""
        memories = [_encoded(getattr(fold, "memory", None)) for fold in self._folds]
        if None in memories:
            return None
        pending, kept_back = list(self.pending.values()), [*self._withheld.values(), *self._blocked.values()]
        return MarksSnapshot(
            shown=self._shown,
            facts=self._facts.snapshot(),
            memories=tuple(memory for memory in memories if memory is not None),
            pending=tuple(msgspec.structs.replace(mark, blob=None) for mark in pending),
            moving=frozenset(number for number, mark in enumerate((*pending, *kept_back)) if mark.blob is not None),
            not_final=tuple(self._not_final),
            untimed=self.untimed,
            pointers=self.pointers.memory,
            withheld=tuple(msgspec.structs.replace(mark, blob=None) for mark in kept_back),
        )

    def restore(self, snapshot: MarksSnapshot) -> bool:
        """Go on from what was known. False, and nothing is changed, if a fold remembers something else by now."""
        folds: list[Any] = list(self._folds)
        try:
            pairs = [
                (fold, msgspec.json.decode(raw, type=type(fold.memory)))
                for fold, raw in zip(folds, snapshot.memories, strict=True)
            ]
        except (msgspec.DecodeError, AttributeError, ValueError):
            return False
        for fold, memory in pairs:
            fold.memory = memory
        self._facts = self._make_facts()
        self._facts.restore(snapshot.facts)
        self._is_shrinking = False
        for piece in self._shown_pieces(snapshot.facts.messages, snapshot.shown):
            self._look_at(piece)
        self._shown, self._not_final, self.untimed = snapshot.shown, list(snapshot.not_final), snapshot.untimed
        self.pointers.restore(snapshot.pointers)
        for number, mark in enumerate((*snapshot.pending, *snapshot.withheld)):
            if not _is_struck(self._state, mark):
                parts = (part for part in self._state.current(mark.index).walk() if part.at == mark.at)
                texts = (part for part in parts if number in snapshot.moving and isinstance(part, Text | ToolResult))
                self._hold(msgspec.structs.replace(mark, blob=next(map(moved_content, texts), None)))
        return True

    # --- the pieces

    def _shown_pieces(self, start: int, end: int | None = None) -> list[SentItem]:
        """What is sent, from a place on."""
        pieces, tail = self._view.pieces, self._view.complete_tail
        count = len(pieces)
        return [*pieces[start:end], *tail[max(start - count, 0) : None if end is None else max(end - count, 0)]]

    def _look_at(self, piece: SentItem) -> list[Seen]:
        found = self._facts.add_parts(*_parts_of(piece, self._state))
        for seen in found:
            self._seen[seen.index, seen.part.at] = seen
        return found

    def _begin_shrinking(self) -> None:
        """Show what was shown before, here or in another process, for the words that are in sight."""
        facts, self._is_shrinking = self._make_facts(), True
        for piece in self._shown_pieces(0, self._shown):
            for seen in facts.add_parts(*_parts_of(piece, self._state)):
                self.shrinking.see(seen)
            if isinstance(piece, RepairedMessage):
                self.shrinking.see_answers(piece)
        self._hold_again()

    def _show(self, seen: Seen) -> None:
        if seen.result is not None:
            self.untimed += seen.timestamp_ms is None
            tool = self._tools.tools.get(seen.tool or "") if _logger.isEnabledFor(logging.DEBUG) else None
            if tool is not None and tool.is_read and not any(isinstance(action, Reads) for action in seen.actions):
                _logger.debug("message %d: no path could be found in the call of %s", seen.index, seen.tool)
        self.pointers.see(seen)
        if self._is_shrinking:
            self.shrinking.see(seen)
        blocked, self._blocked = self._blocked, {}
        for mark in blocked.values():
            self._hold(mark)
        for fold in self._folds:
            for mark in fold.see(seen) or ():
                if self._is_new(mark):
                    self._hold(mark)
        self._hold_again()

    def _hold_again(self) -> None:
        """Marks on results that must stay from now on, or need not any more, change places, and some save more or less."""
        for changed_at in (self.pointers.changed_at, self.shrinking.changed_at):
            while changed_at:
                index = changed_at.pop()
                for target in self._inside(index, ()):
                    moved = self.pending.pop(target, None) or self._withheld.pop(target, None)
                    if moved is not None:
                        self.changed[target] = None
                        self._hold(moved)

    def _is_new(self, mark: Mark) -> bool:
        """Whether the mark is one more that waits; what would save nothing is no mark."""
        _check_mark(mark, len(self._state))
        target = mark.index, mark.at
        if target in self.pending or target in self._withheld or target in self._blocked:
            return False
        return self._may_strike(mark, self.seen(mark)) and self._sizes.saving(mark) > 0

    def _may_strike(self, mark: Mark, seen: Seen | None) -> bool:
        state = self._state
        if mark.index in state.pins or (mark.rule, mark.index, mark.at) in state.undone:
            return False
        return not (seen is not None and self._protection.covers(seen)) and not _is_struck(state, mark)

    def _may_shrink(self, mark: Mark, seen: Seen) -> bool:
        """Whether a part that was never sent may be sent in this smaller form."""
        _check_mark(mark, len(self._state))
        return self._may_strike(mark, seen) and self._sizes.saving(mark) > 0

    def _hold(self, mark: Mark) -> None:
        """The mark waits from now on, unless its result must stay, or its placeholder would point to nothing."""
        target = mark.index, mark.at
        if self.pointers.keeps(*target) or self._sizes.saving(mark) <= 0:
            self._withheld[target] = mark
        elif not self.pointers.allow(mark, self.seen):
            self._blocked[target] = mark
        else:
            self.pending[target] = mark
            self.changed[target] = None

    def _seen_again(self, mark: Mark) -> Seen | None:
        """What is known of a part that was shown before this began: its message is looked at again, from its turn on."""
        end = start = self._view.place_of(mark.index)
        if end is None or start is None:
            return None
        pieces, state = self._view.pieces, self._state
        while start > 0 and not (_role(pieces[start], state) == "assistant" != _role(pieces[start - 1], state)):
            start -= 1
        facts, found = self._make_facts(), list[Seen]()
        facts.restore(FactsSnapshot(is_asked=any(_role(piece, state) == "user" for piece in pieces[:start])))
        for piece in pieces[start : end + 1]:
            found = facts.add_parts(*_parts_of(piece, state))
        return next((seen for seen in found if seen.index == mark.index and seen.part.at in (mark.at, mark.at[:-2])), None)


def marked_parts(
    state: State,
    view: RepairedView,
    rules: Iterable[Rule],
    now: float,
    tools: ToolBook,
    failures: FailureSigns = KNOWN_SIGNS,
    observations: Observations = NO_OBSERVATIONS,
) -> set[tuple[str, int, Path]]:
    """Rule, index and place of every part that rules mark in what is sent, struck already or not."""
    facts, folds = Facts(tools, failures, observations), [rule.fold() for rule in rules]
    marked: set[tuple[str, int, Path]] = set()
    for piece in (*view.pieces, *view.complete_tail):
        for seen in facts.add_parts(*_parts_of(piece, state)):
            marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.see(seen) or ())
    marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.due(now) or ())
    marked.update((mark.rule, mark.index, mark.at) for fold in folds if hasattr(fold, "cold") for mark in fold.cold())
    return marked


def _parts_of(piece: SentItem, state: State) -> tuple[str, Iterator[tuple[int, int, Message]]]:
    """Who speaks, and for each part its message in the record: the index, the part's number, the message."""
    if not isinstance(piece, RepairedMessage):
        message = state.current(piece)
        return message.role, ((piece, number, message) for number in range(len(message.parts)))
    originals = [(origin, state.current(origin.index)) for origin in piece.origins]
    return piece.message.role, (
        (origin.index, number, message)
        for origin, message in originals
        for number in [number for number, part in enumerate(message.parts) if part.at == origin.original][:1]
    )


def _check_mark(mark: Mark, stored: int) -> None:
    """A rule of somebody's own may say anything; what is recorded must be readable again."""
    match mark:
        case Mark(str(), int(index), tuple(), str() | dict() | None as words, str(), _, bytes() | None) if 0 <= index < stored:
            if not isinstance(words, dict) or try_encode(words):
                return
    raise ValidationError(
        f"A rule made a mark that cannot be recorded: {mark!r}. A Mark needs the rule's name, the index and `at` of the part, "
        "a replacement (a text, a JSON object or None), a text that says why (because), and bytes for the blobs if any."
    )


def _encoded(memory: object) -> msgspec.Raw | None:
    """The memory as JSON; None without memory, or with text that JSON cannot hold."""
    try:
        return None if memory is None else msgspec.Raw(msgspec.json.encode(memory))
    except (UnicodeEncodeError, TypeError):
        return None


def _name(piece: SentItem) -> int | bytes:
    return piece if isinstance(piece, int) else encoded(piece.message.native)


def _role(piece: SentItem, state: State) -> str:
    return piece.message.role if isinstance(piece, RepairedMessage) else state.current(piece).role


def _is_struck(state: State, mark: Mark) -> bool:
    """Whether a strike is there already, on the part itself or on what it is in. A mark may be made on a fold of the part."""
    if mark.index not in state.struck:
        return False
    strikes = (one for one in state.strikes_on(mark.index) if mark.at[: len(one.at)] == one.at)
    return any(not one.is_fold or one.at != mark.at for one in strikes)
