"""The marks that rules have made on what is sent and that are not applied yet; grows with the view."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from redline.engine.pointers import Pointers, PointersMemory
from redline.engine.repaired import RepairedView
from redline.engine.sent import Piece, RepairedMessage
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.errors import ValidationError
from redline.rules.facts import Facts, FactsSnapshot, Seen
from redline.rules.failures import KNOWN_SIGNS, FailureSigns
from redline.rules.offload_results import moved_content
from redline.rules.protection import Protection
from redline.rules.rule import Fold, Mark, Rule
from redline.schedules.ledger import Target
from redline.tools import Reads, ToolBook
from redline.values.messages import Message, Text, ToolResult
from redline.values.payloads import Path, encoded, try_encode

__all__ = ["Marks", "MarksSnapshot", "marked_parts"]

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
        root: str = "",
    ) -> None:
        self._state, self._view, self._sizes = state, view, sizes
        self._folds: list[Fold] = [rule.fold() for rule in rules]
        self._protection, self._tools, self._failures = protection, tools, failures
        self._facts = Facts(tools, failures)
        self.pointers = Pointers(state, root, lambda: Facts(tools, failures))
        """Which results must stay, because something that is sent points to them."""
        self._withheld: dict[Target, Mark] = {}
        """The marks on such results."""
        self._blocked: dict[Target, Mark] = {}
        """The marks whose placeholders would point to a result that is struck."""
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
        tail = self._view.complete_tail
        for piece in self._shown_pieces(self._shown):
            for seen in self._look_at(piece):
                self._show(seen)
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

    def settle(self, pending: dict[Target, Mark], now: float) -> None:
        """A request was made at this time: marks that became due wait or were applied."""
        if pending is not self.pending:
            self.changed.update(dict.fromkeys(target for target in pending if target not in self.pending))
            self.pending = pending
        for fold in self._folds:
            for mark in fold.due(now) or ():
                if self._is_new(mark) and self.pointers.keeps(mark.index, mark.at):
                    self._withheld[mark.index, mark.at] = mark
            fold.forget(now)

    def drop(self, index: int, at: Path) -> None:
        """The mark on a part was applied: it is not pending any more, nor is one on what is inside."""
        for part in self._state.current(index).walk():
            if part.at[: len(at)] == at and self.pending.pop((index, part.at), None) is not None:
                self.changed[index, part.at] = None

    def seen(self, mark: Mark) -> Seen | None:
        """What is known of the part that a mark means; of the result, for a part inside one."""
        known = self._seen.get((mark.index, mark.at)) or self._seen.get((mark.index, mark.at[:-2]))
        return known or self._seen_again(mark)

    def snapshot(self) -> MarksSnapshot | None:
        """What is known, to go on from later; None if a rule cannot say what it holds."""
        memories = [_encoded(getattr(fold, "memory", None)) for fold in self._folds]
        if None in memories:
            return None
        return MarksSnapshot(
            shown=self._shown,
            facts=self._facts.snapshot(),
            memories=tuple(memory for memory in memories if memory is not None),
            pending=tuple(msgspec.structs.replace(mark, blob=None) for mark in self.pending.values()),
            moving=frozenset(number for number, mark in enumerate(self._marks()) if mark.blob is not None),
            not_final=tuple(self._not_final),
            untimed=self.untimed,
            pointers=self.pointers.memory,
            withheld=tuple(
                msgspec.structs.replace(mark, blob=None) for mark in chain(self._withheld.values(), self._blocked.values())
            ),
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
        self._facts = Facts(self._tools, self._failures)
        self._facts.restore(snapshot.facts)
        for piece in self._shown_pieces(snapshot.facts.messages, snapshot.shown):
            self._look_at(piece)
        self._shown, self._not_final, self.untimed = snapshot.shown, list(snapshot.not_final), snapshot.untimed
        self.pointers.restore(snapshot.pointers)
        for number, mark in enumerate((*snapshot.pending, *snapshot.withheld)):
            if not _is_struck(self._state, mark):
                self._hold(self._with_blob(mark) if number in snapshot.moving else mark)
        return True

    # --- the pieces

    def _shown_pieces(self, start: int, end: int | None = None) -> list[Piece]:
        """What is sent, from a place on."""
        pieces, tail = self._view.pieces, self._view.complete_tail
        count = len(pieces)
        return [*pieces[start:end], *tail[max(start - count, 0) : None if end is None else max(end - count, 0)]]

    def _look_at(self, piece: Piece) -> list[Seen]:
        found = self._facts.add_parts(*_parts_of(piece, self._state))
        for seen in found:
            self._seen[seen.index, seen.part.at] = seen
        return found

    def _show(self, seen: Seen) -> None:
        if seen.result is not None:
            self.untimed += seen.timestamp_ms is None
            tool = self._tools.tools.get(seen.tool or "") if _logger.isEnabledFor(logging.DEBUG) else None
            if tool is not None and tool.is_read and not any(isinstance(action, Reads) for action in seen.actions):
                _logger.debug("message %d: no path could be found in the call of %s", seen.index, seen.tool)
        self.pointers.see(seen)
        blocked, self._blocked = self._blocked, {}
        for mark in blocked.values():
            self._hold(mark)
        for fold in self._folds:
            for mark in fold.see(seen) or ():
                if self._is_new(mark):
                    self._hold(mark)
        self._sort_out()

    def _is_new(self, mark: Mark) -> bool:
        """Whether the mark is one more that waits; what would save nothing is no mark."""
        _check_mark(mark, len(self._state))
        state, target = self._state, (mark.index, mark.at)
        if mark.index in state.pins or (mark.rule, *target) in state.undone:
            return False
        if target in self.pending or target in self._withheld or target in self._blocked:
            return False
        seen = self.seen(mark)
        if (seen is not None and self._protection.covers(seen)) or _is_struck(state, mark):
            return False
        return self._sizes.saving(mark) > 0

    def _hold(self, mark: Mark) -> None:
        """The mark waits from now on, unless its result must stay, or its placeholder would point to nothing."""
        target = mark.index, mark.at
        if self.pointers.keeps(*target):
            self._withheld[target] = mark
        elif not self.pointers.allow(mark, self.seen):
            self._blocked[target] = mark
        else:
            self.pending[target] = mark
            self.changed[target] = None

    def _sort_out(self) -> None:
        """Marks on results that must stay from now on, and on those that need not any more, change places."""
        while self.pointers.changed_at:
            index = self.pointers.changed_at.pop()
            for part in self._state.current(index).walk():
                mark = self.pending.pop((index, part.at), None) or self._withheld.pop((index, part.at), None)
                if mark is not None:
                    self.changed[index, part.at] = None
                    self._hold(mark)

    def _marks(self) -> Iterator[Mark]:
        return chain(self.pending.values(), self._withheld.values(), self._blocked.values())

    def _with_blob(self, mark: Mark) -> Mark:
        parts = (part for part in self._state.current(mark.index).walk() if part.at == mark.at)
        content = next((moved_content(part) for part in parts if isinstance(part, Text | ToolResult)), None)
        return msgspec.structs.replace(mark, blob=content)

    def _seen_again(self, mark: Mark) -> Seen | None:
        """What is known of a part that was shown before this began: its message is looked at again, from its turn on."""
        end = start = self._view.place_of(mark.index)
        if end is None or start is None:
            return None
        pieces, state = self._view.pieces, self._state
        while start > 0 and not (_role(pieces[start], state) == "assistant" != _role(pieces[start - 1], state)):
            start -= 1
        facts, found = Facts(self._tools, self._failures), list[Seen]()
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
) -> set[tuple[str, int, Path]]:
    """Rule, index and place of every part that rules mark in what is sent, struck already or not."""
    facts, folds = Facts(tools, failures), [rule.fold() for rule in rules]
    marked: set[tuple[str, int, Path]] = set()
    for piece in (*view.pieces, *view.complete_tail):
        for seen in facts.add_parts(*_parts_of(piece, state)):
            marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.see(seen) or ())
    marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.due(now) or ())
    return marked


def _parts_of(piece: Piece, state: State) -> tuple[str, Iterator[tuple[int, int, Message]]]:
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
    """None where there is none, or it holds text that JSON cannot."""
    try:
        return None if memory is None else msgspec.Raw(msgspec.json.encode(memory))
    except (UnicodeEncodeError, TypeError):
        return None


def _name(piece: Piece) -> int | bytes:
    return piece if isinstance(piece, int) else encoded(piece.message.native)


def _role(piece: Piece, state: State) -> str:
    return piece.message.role if isinstance(piece, RepairedMessage) else state.current(piece).role


def _is_struck(state: State, mark: Mark) -> bool:
    """Whether a strike is there already, on the part itself or on what it is in."""
    return any(mark.at[: len(strike.at)] == strike.at for strike in state.strikes_on(mark.index))
