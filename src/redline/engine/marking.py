"""The marks that rules have made on a view and that are not applied yet; grows with the view."""

from collections.abc import Iterator, Sequence

from redline.engine.protection import Protection
from redline.engine.state import State
from redline.pairs import Pairing
from redline.payloads import Path
from redline.rules.rule import Fold, Mark, Rule
from redline.view.facts import Facts, Seen

__all__ = ["Marking", "Target"]

Target = tuple[int, Path]
"""A part: the message's index, the place in its payload."""


class Marking:
    """Shows each visible part to each rule once, and keeps the marks until they are applied or fall away."""

    def __init__(self, state: State, rules: Sequence[Rule], protection: Protection) -> None:
        self._state, self._protection = state, protection
        self._facts = Facts()
        self._pairing = Pairing(items_are_messages=state.format.items_are_messages)
        self._folds: list[Fold] = [rule.fold() for rule in rules]
        self._taken = 0
        self._seen: dict[Target, Seen] = {}
        self.pending: dict[Target, Mark] = {}
        """In the order in which they were made; of several on one part the first counts."""
        self._marked_at: dict[int, set[Path]] = {}
        self.touched: list[Target] = []
        """Every part whose mark was made or fell away, in order, for those who keep account of them."""

    def catch_up(self, now: float, *, visible: int | None = None) -> None:
        """Take in what has become visible since, all or the first so many, and the time."""
        indices = self._state.view.indices[self._taken : visible]
        for index in indices:
            self._take(index)
        self._taken += len(indices)
        for fold in self._folds:
            for mark in fold.due(now):
                self._keep(mark)

    def seen(self, mark: Mark) -> Seen | None:
        """What is known of the part that a mark means; of the result, for a part inside one."""
        return self._seen.get((mark.index, mark.at)) or self._seen.get((mark.index, mark.at[:-2]))

    def drop(self, index: int, at: Path) -> None:
        """The mark on a part was applied: it is not pending any more, nor is one on what lies inside."""
        for inner in [path for path in self._marked_at.get(index, ()) if path[: len(at)] == at]:
            self._marked_at[index].discard(inner)
            del self.pending[index, inner]
            self.touched.append((index, inner))

    def _take(self, index: int) -> None:
        message = self._state.current(index)
        orphans = {spot.part for spot in self._pairing.add(message)}
        for seen in self._facts.add(index, message):
            if seen.place in orphans:  # the repair takes it out, so it counts for nothing
                continue
            self._seen[index, seen.part.at] = seen
            for mark in self._shown(seen):
                self._keep(mark)

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
        if (mark.index, mark.at) in self.pending:
            return
        self.pending[mark.index, mark.at] = mark
        self._marked_at.setdefault(mark.index, set()).add(mark.at)
        self.touched.append((mark.index, mark.at))


def _is_struck(state: State, mark: Mark) -> bool:
    """Whether a strike stands there already, on the part itself or on what it lies in."""
    return any(mark.at[: len(strike.at)] == strike.at for strike in state.strikes_on(mark.index))
