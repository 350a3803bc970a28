"""The marks that rules have made on a view and that are not applied yet; grows with the view."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from redline.engine.protection import Protection
from redline.engine.state import State
from redline.messages import Message, Text, ToolResult
from redline.pairs import Pairing
from redline.payloads import Path
from redline.rules.offload import moved_content
from redline.rules.rule import Fold, Mark, Rule
from redline.view.facts import Facts, Seen, Turn

__all__ = ["Marked", "Marking", "Target"]

Target = tuple[int, Path]
"""A part: the message's index, the place in its payload."""


class Marked(msgspec.Struct, frozen=True):
    """What the rules know and have marked, as plain values."""

    visible: int
    """How many visible messages they have been shown."""
    turn: Turn
    """Where the latest turn of the assistant began."""
    memories: tuple[msgspec.Raw, ...]
    """What each rule's fold knows, in the order of the rules."""
    pending: tuple[Mark, ...]
    """Without what they would move to the blobs; that is in the message."""
    moving: frozenset[int]
    """Which of them, by number, move their part's words to the blobs."""


class Marking:
    """Shows each visible part to each rule once, and keeps the marks until they are applied or fall away."""

    def __init__(self, state: State, rules: Sequence[Rule], protection: Protection, *, marked: Marked | None = None) -> None:
        self._state, self._protection = state, protection
        self._folds: list[Fold] = [rule.fold() for rule in rules]
        self._taken = 0
        self._seen: dict[Target, Seen] = {}
        self.pending: dict[Target, Mark] = {}
        """In the order in which they were made; of several on one part the first counts."""
        self._marked_at: dict[int, set[Path]] = {}
        self.touched: list[Target] = []
        """Every part whose mark was made or fell away, in order, for those who keep account of them."""
        self._place_among_visible: dict[int, int] = {}
        self._facts = Facts()
        self._pairing = Pairing(items_are_messages=state.format.items_are_messages)
        if marked is not None:
            self._start_behind(marked)

    def catch_up(self, now: float, *, visible: int | None = None) -> None:
        """Take in what has become visible since, all or the first so many, and the time."""
        indices = self._state.view.indices[self._taken : visible]
        for index in indices:
            self._take(index)
        self._taken += len(indices)
        for fold in self._folds:
            for mark in fold.due(now):
                self._keep(mark)
            fold.forget(now)

    def seen(self, mark: Mark) -> Seen | None:
        """What is known of the part that a mark means; of the result, for a part inside one."""
        known = self._seen.get((mark.index, mark.at)) or self._seen.get((mark.index, mark.at[:-2]))
        return known or self._seen_again(mark)

    def marked(self) -> Marked | None:
        """What is known, to go on from later; None if a rule cannot say what it holds."""
        memories = [getattr(fold, "memory", None) for fold in self._folds]
        if None in memories:
            return None
        return Marked(
            visible=self._taken,
            turn=self._facts.turn,
            memories=tuple(msgspec.Raw(msgspec.json.encode(memory)) for memory in memories),
            pending=tuple(msgspec.structs.replace(mark, blob=None) for mark in self.pending.values()),
            moving=frozenset(number for number, mark in enumerate(self.pending.values()) if mark.blob is not None),
        )

    def drop(self, index: int, at: Path) -> None:
        """The mark on a part was applied: it is not pending any more, nor is one on what lies inside."""
        for inner in [path for path in self._marked_at.get(index, ()) if path[: len(at)] == at]:
            self._marked_at[index].discard(inner)
            del self.pending[index, inner]
            self.touched.append((index, inner))

    def _start_behind(self, marked: Marked) -> None:
        """Only the latest turn is looked at again, for the calls that wait for their results."""
        if not self._resume_folds(marked.memories):
            return
        self._facts = Facts(start=marked.turn)
        for index in self._state.view.indices[marked.turn.messages : marked.visible]:
            for _ in self._countable(index):
                pass
        self._taken = marked.visible
        for number, mark in enumerate(marked.pending):
            if not _is_struck(self._state, mark):
                self._hold(self._with_blob(mark) if number in marked.moving else mark)

    def _resume_folds(self, stored: Sequence[msgspec.Raw]) -> bool:
        """False, and nothing is changed, if a fold remembers something else by now."""
        folds: list[Any] = list(self._folds)
        try:
            memories = [msgspec.json.decode(raw, type=type(fold.memory)) for fold, raw in zip(folds, stored, strict=True)]
        except msgspec.DecodeError:
            return False
        for fold, memory in zip(folds, memories, strict=True):
            fold.memory = memory
        return True

    def _with_blob(self, mark: Mark) -> Mark:
        parts = (part for part in self._state.current(mark.index).walk() if part.at == mark.at)
        content = next((moved_content(part) for part in parts if isinstance(part, Text | ToolResult)), None)
        return msgspec.structs.replace(mark, blob=content)

    def _take(self, index: int) -> None:
        for seen in self._countable(index):
            for mark in self._shown(seen):
                self._keep(mark)

    def _countable(self, index: int) -> Iterator[Seen]:
        """The parts of the next message. A result that nobody asked for is none: the repair takes it out."""
        message = self._state.current(index)
        orphans = {spot.part for spot in self._pairing.add(message)}
        for seen in self._facts.add(index, message):
            if seen.place not in orphans:
                self._seen[index, seen.part.at] = seen
                yield seen

    def _shown(self, seen: Seen) -> Iterator[Mark]:
        for fold in self._folds:
            yield from fold.see(seen)

    def _keep(self, mark: Mark) -> None:
        state = self._state
        if mark.index in state.pins or (mark.rule, mark.index, mark.at) in state.shunned:
            return
        seen = self.seen(mark)
        if (seen is not None and self._protection.covers(seen)) or _is_struck(state, mark):
            return
        if (mark.index, mark.at) not in self.pending:
            self._hold(mark)

    def _hold(self, mark: Mark) -> None:
        self.pending[mark.index, mark.at] = mark
        self._marked_at.setdefault(mark.index, set()).add(mark.at)
        self.touched.append((mark.index, mark.at))

    def _seen_again(self, mark: Mark) -> Seen | None:
        """What is known of a part that was shown before this began: its message is looked at again, from its turn on."""
        state, indices = self._state, self._state.view.indices
        if mark.index not in self._place_among_visible:
            self._place_among_visible = {index: place for place, index in enumerate(indices)}
        end = start = self._place_among_visible[mark.index]
        while start > 0 and not _begins_turn(state.current(indices[start]), state.current(indices[start - 1])):
            start -= 1
        facts = Facts()
        for index in indices[start : end + 1]:
            parts = facts.add(index, state.current(index))
        return next((seen for seen in parts if seen.part.at in (mark.at, mark.at[:-2])), None)


def _begins_turn(message: Message, before: Message) -> bool:
    return message.role == "assistant" and before.role != "assistant"


def _is_struck(state: State, mark: Mark) -> bool:
    """Whether a strike stands there already, on the part itself or on what it lies in."""
    return any(mark.at[: len(strike.at)] == strike.at for strike in state.strikes_on(mark.index))
