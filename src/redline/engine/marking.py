"""The marks that rules have made on what is sent and that are not applied yet; grows with the view."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from redline.engine.form import Repaired
from redline.engine.lazy_tuple import LazyTuple
from redline.engine.outgoing import Outgoing, Piece
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.errors import ValidationError
from redline.rules.facts import Facts, FactsSnapshot, Seen
from redline.rules.offload_results import moved_content
from redline.rules.protection import Protection
from redline.rules.rule import Fold, Mark, Rule
from redline.tools import DEFAULT, Reads, ToolBook
from redline.values.messages import Message, Text, ToolResult
from redline.values.payloads import Path, encode, encoded

__all__ = ["Marking", "MarkingSnapshot", "Target", "marked_parts"]

_logger = logging.getLogger("redline.rules")

Target = tuple[int, Path]
"""A part: the message's index, the place in its payload."""


_LEAST_JOURNAL = 1_000
"""A shorter journal is not begun anew."""


class MarkingSnapshot(msgspec.Struct, frozen=True):
    """What the rules know and have marked, as plain values."""

    shown: int
    """How many messages they have been shown, of those that are sent."""
    turn: FactsSnapshot
    """Where the latest turn of the assistant began."""
    memories: tuple[msgspec.Raw, ...]
    """What each rule's fold knows, in the order of the rules."""
    pending: tuple[Mark, ...]
    """Without what they would move to the blobs; that is in the message."""
    moving: frozenset[int]
    """Which of them, by number, move their part's words to the blobs."""
    ahead: tuple[int | bytes, ...]
    """The last messages that were shown and were not final: an index, or what the repair made."""
    untimed: int = 0
    """How many results have no time."""


class Marking:
    """Shows each part that is sent to each rule once, and keeps the marks until they are applied or fall away.

    Rules see what the repair leaves, before strikes: a result that is not sent is none.
    """

    def __init__(
        self,
        state: State,
        outgoing: Outgoing,
        sizes: Sizes,
        rules: Sequence[Rule],
        *,
        protection: Protection,
        tools: ToolBook = DEFAULT,
    ) -> None:
        self._state, self._outgoing, self._sizes, self._protection = state, outgoing, sizes, protection
        self._folds: list[Fold] = [rule.fold() for rule in rules]
        self._tools = tools
        self._facts = Facts(tools)
        self.untimed = 0
        """How many results have no time: rules that go by age or order leave them alone."""
        self._shown = 0
        self._ahead: list[int | bytes] = []
        """The last of them that were not final when they were shown: an index, or what the repair made."""
        self._seen: dict[Target, Seen] = {}
        self.pending: dict[Target, Mark] = {}
        """In the order in which they were made; of several on one part the first counts."""
        self._marked_at: dict[int, set[Path]] = {}
        self._lent: list[Target] = []
        """Marks that are pending only for the request that is being made: time made them due."""
        self.journal: list[tuple[Target, Mark | None]] = []
        """Every mark that was made, and every part whose mark fell away, in order, for those who keep account of them. It is
        only ever appended to; where most of it is of no use any more, another begins with the marks that are pending."""

    def catch_up(self) -> bool:
        """Show what is sent by now. False if something else was shown before: then one must begin again."""
        pieces, tail = self._outgoing.pieces, self._outgoing.complete_tail
        start = self._shown - len(self._ahead)
        if [_name(piece) for piece in self._stream(start, self._shown)] != self._ahead:
            return False
        if len(self.journal) > 2 * len(self.pending) + _LEAST_JOURNAL:
            self.journal = list(self.pending.items())
        for piece in self._stream(self._shown):
            self._show(piece)
        self._shown, self._ahead = len(pieces) + len(tail), [_name(piece) for piece in tail]
        return True

    def list_pending(self) -> Sequence[Mark]:
        """The marks that are pending now, also if they are looked at later."""
        journal, count = self.journal, len(self.journal)

        def marks() -> Iterable[Mark]:
            is_now = self.journal is journal and len(journal) == count
            return self.pending.values() if is_now else _pending_after(journal[:count])

        return LazyTuple(len(self.pending), marks)

    def take_due(self, now: float) -> None:
        """Let the marks count that the passing of time has made due, until `give_back` or `keep_due`."""
        for fold in self._folds:
            for mark in fold.due(now) or ():
                if self._keep(mark):
                    self._lent.append((mark.index, mark.at))

    def give_back(self) -> None:
        """Nothing was sent: marks that only time made due are as if nobody had asked."""
        for index, at in self._lent:
            if (index, at) in self.pending:
                self._forget(index, at)
        self._lent = []

    def keep_due(self, now: float) -> None:
        """A request was made at this time."""
        self._lent = []
        for fold in self._folds:
            fold.forget(now)

    def seen(self, mark: Mark) -> Seen | None:
        """What is known of the part that a mark means; of the result, for a part inside one."""
        known = self._seen.get((mark.index, mark.at)) or self._seen.get((mark.index, mark.at[:-2]))
        return known or self._seen_again(mark)

    def drop(self, index: int, at: Path) -> None:
        """The mark on a part was applied: it is not pending any more, nor is one on what lies inside."""
        for inner in [path for path in self._marked_at.get(index, ()) if path[: len(at)] == at]:
            self._forget(index, inner)

    def snapshot(self) -> MarkingSnapshot | None:
        """What is known, to go on from later; None if a rule cannot say what it holds."""
        memories = [_encoded(getattr(fold, "memory", None)) for fold in self._folds]
        if None in memories:
            return None
        return MarkingSnapshot(
            shown=self._shown,
            turn=self._facts.snapshot(),
            memories=tuple(memory for memory in memories if memory is not None),
            pending=tuple(msgspec.structs.replace(mark, blob=None) for mark in self.pending.values()),
            moving=frozenset(number for number, mark in enumerate(self.pending.values()) if mark.blob is not None),
            ahead=tuple(self._ahead),
            untimed=self.untimed,
        )

    def restore(self, snapshot: MarkingSnapshot) -> bool:
        """Go on from what was known. False, and nothing is changed, if a fold remembers something else by now."""
        folds: list[Any] = list(self._folds)
        try:
            memories = [
                msgspec.json.decode(raw, type=type(fold.memory)) for fold, raw in zip(folds, snapshot.memories, strict=True)
            ]
        except (msgspec.DecodeError, AttributeError, ValueError):
            return False
        for fold, memory in zip(folds, memories, strict=True):
            fold.memory = memory
        self._facts = Facts(self._tools)
        self._facts.restore(snapshot.turn)
        for piece in self._stream(snapshot.turn.messages, snapshot.shown):
            self._look_at(piece)
        self._shown, self._ahead, self.untimed = snapshot.shown, list(snapshot.ahead), snapshot.untimed
        for number, mark in enumerate(snapshot.pending):
            if not _is_struck(self._state, mark):
                self._hold(self._with_blob(mark) if number in snapshot.moving else mark)
        return True

    # --- the pieces

    def _stream(self, start: int, end: int | None = None) -> list[Piece]:
        """What is sent, from a place on."""
        pieces, tail = self._outgoing.pieces, self._outgoing.complete_tail
        count = len(pieces)
        return [*pieces[start:end], *tail[max(start - count, 0) : None if end is None else max(end - count, 0)]]

    def _show(self, piece: Piece) -> None:
        for seen in self._look_at(piece):
            self.untimed += seen.result is not None and seen.timestamp_ms is None
            if seen.result is not None and _logger.isEnabledFor(logging.DEBUG):
                self._tell_if_unattributed(seen)
            for fold in self._folds:
                for mark in fold.see(seen) or ():
                    self._keep(mark)

    def _tell_if_unattributed(self, seen: Seen) -> None:
        """A read that names no file can never be struck as read again."""
        tool = self._tools.tools.get(seen.tool or "")
        if tool is not None and tool.is_read and not any(isinstance(action, Reads) for action in seen.actions):
            _logger.debug("message %d: no path could be found in the call of %s", seen.index, seen.tool)

    def _look_at(self, piece: Piece) -> list[Seen]:
        found = self._facts.add_parts(*_parts_of(piece, self._state))
        for seen in found:
            self._seen[seen.index, seen.part.at] = seen
        return found

    def _keep(self, mark: Mark) -> bool:
        """Whether the mark is one more that waits; what would save nothing is no mark."""
        _check_mark(mark, len(self._state))
        state, target = self._state, (mark.index, mark.at)
        if mark.index in state.pins or (mark.rule, *target) in state.shunned:
            return False
        seen = self.seen(mark)
        if (seen is not None and self._protection.covers(seen)) or _is_struck(state, mark) or target in self.pending:
            return False
        if self._sizes.saving(mark) <= 0:
            return False
        self._hold(mark)
        return True

    def _hold(self, mark: Mark) -> None:
        self.pending[mark.index, mark.at] = mark
        self._marked_at.setdefault(mark.index, set()).add(mark.at)
        self.journal.append(((mark.index, mark.at), mark))

    def _forget(self, index: int, at: Path) -> None:
        self._marked_at[index].discard(at)
        del self.pending[index, at]
        self.journal.append(((index, at), None))

    def _with_blob(self, mark: Mark) -> Mark:
        parts = (part for part in self._state.current(mark.index).walk() if part.at == mark.at)
        content = next((moved_content(part) for part in parts if isinstance(part, Text | ToolResult)), None)
        return msgspec.structs.replace(mark, blob=content)

    def _seen_again(self, mark: Mark) -> Seen | None:
        """What is known of a part that was shown before this began: its message is looked at again, from its turn on."""
        end = start = self._outgoing.place_of(mark.index)
        if end is None or start is None:
            return None
        pieces, state = self._outgoing.pieces, self._state
        while start > 0 and not _begins_turn(_message_of(pieces[start], state), _message_of(pieces[start - 1], state)):
            start -= 1
        facts = Facts(self._tools)
        for piece in pieces[start : end + 1]:
            parts = facts.add_parts(*_parts_of(piece, state))
        return next((seen for seen in parts if seen.index == mark.index and seen.part.at in (mark.at, mark.at[:-2])), None)


def _pending_after(journal: Iterable[tuple[Target, Mark | None]]) -> Iterable[Mark]:
    pending: dict[Target, Mark] = {}
    for target, mark in journal:
        if mark is None:
            del pending[target]
        else:
            pending[target] = mark
    return pending.values()


def marked_parts(
    state: State, outgoing: Outgoing, rules: Iterable[Rule], now: float, tools: ToolBook = DEFAULT
) -> set[tuple[str, int, Path]]:
    """Rule, index and place of every part that rules mark in what is sent, struck already or not."""
    facts, folds = Facts(tools), [rule.fold() for rule in rules]
    marked: set[tuple[str, int, Path]] = set()
    for piece in (*outgoing.pieces, *outgoing.complete_tail):
        for seen in facts.add_parts(*_parts_of(piece, state)):
            marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.see(seen) or ())
    marked.update((mark.rule, mark.index, mark.at) for fold in folds for mark in fold.due(now) or ())
    return marked


def _parts_of(piece: Piece, state: State) -> tuple[str, Iterator[tuple[int, int, Message]]]:
    """Who speaks, and for each part its message in the record: the index, the part's number, the message."""
    if not isinstance(piece, Repaired):
        message = state.current(piece)
        return message.role, ((piece, place, message) for place in range(len(message.parts)))
    return piece.message.role, _original_parts(piece, state)


def _original_parts(piece: Repaired, state: State) -> Iterator[tuple[int, int, Message]]:
    for origin in piece.origins:
        message = state.current(origin.index)
        place = next((place for place, part in enumerate(message.parts) if part.at == origin.original), None)
        if place is not None:
            yield origin.index, place, message


def _check_mark(mark: Mark, stored: int) -> None:
    """A rule of somebody's own may say anything; what is recorded must be readable again."""
    kinds = {"rule": str, "index": int, "at": tuple, "replacement": str | dict | None, "because": str, "blob": bytes | None}
    is_typed = isinstance(mark, Mark) and all(isinstance(getattr(mark, name), kind) for name, kind in kinds.items())
    if is_typed and 0 <= mark.index < stored and (not isinstance(mark.replacement, dict) or _is_json(mark.replacement)):
        return
    raise ValidationError(
        f"A rule made a mark that cannot be recorded: {mark!r}. A Mark needs the rule's name, the index and `at` of the part, "
        "a replacement (a text, a JSON object or None), a text that says why (because), and bytes for the blobs if any."
    )


def _is_json(value: object) -> bool:
    try:
        encode(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _encoded(memory: object) -> msgspec.Raw | None:
    """None where there is none, or it holds text that JSON cannot."""
    try:
        return None if memory is None else msgspec.Raw(msgspec.json.encode(memory))
    except (UnicodeEncodeError, TypeError):
        return None


def _name(piece: Piece) -> int | bytes:
    return piece if isinstance(piece, int) else encoded(piece.message.native)


def _message_of(piece: Piece, state: State) -> Message:
    return piece.message if isinstance(piece, Repaired) else state.current(piece)


def _begins_turn(message: Message, before: Message) -> bool:
    return message.role == "assistant" and before.role != "assistant"


def _is_struck(state: State, mark: Mark) -> bool:
    """Whether a strike is there already, on the part itself or on what it lies in."""
    return any(mark.at[: len(strike.at)] == strike.at for strike in state.strikes_on(mark.index))
