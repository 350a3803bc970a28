"""The account of a conversation's requests: what marks cost by waiting, kept up to date as it grows and is sent."""

from collections.abc import Callable

from redline.engine.balance import Balance, Choice, Moment, Rates
from redline.engine.marking import Marking, Target
from redline.engine.state import State
from redline.rules.rule import Mark

__all__ = ["Account"]


class Account:
    """Books each visible message and each pending mark once. All of it follows from the record."""

    def __init__(
        self, state: State, marking: Marking, rates: Rates, *, sizes: Callable[[int], int], saving: Callable[[Mark], int]
    ) -> None:
        self._state, self._sizes, self._saving = state, sizes, saving
        self.marking = marking
        """Where the marks come from."""
        self._balance: Balance[Target] = Balance(rates)
        self._position_of: dict[int, int] = {}
        self._held: set[Target] = set()
        self._sent_at: float | None = None

    def catch_up(self, *, visible: int | None = None) -> None:
        """Take in what has become visible, all or the first so many, and the marks that were made or fell away."""
        for index in self._state.view.indices[len(self._position_of) : visible]:
            self._position_of[index] = len(self._position_of)
            self._balance.grow(self._sizes(index))
        pending = self.marking.pending
        for target in [target for target in self._held if target not in pending]:
            self._forget(target)
        for target in pending:
            if target not in self._held:
                self._held.add(target)
                self._balance.hold(target, self._position_of[target[0]], self._saving(pending[target]))

    def idle_ms(self, now: float) -> float | None:
        """How long ago the last request was; None before the first."""
        return None if self._sent_at is None else max(0.0, now - self._sent_at)

    def decide(self, moment: Moment) -> Choice:
        """From which position on it pays to apply what is pending."""
        return self._balance.decide(moment)

    def is_behind(self, target: Target, cut: int) -> bool:
        """Whether a mark stands at a position or behind it."""
        return self._position_of[target[0]] >= cut

    def sent(self, choice: Choice, moment: Moment, now: float) -> None:
        """A request went out with this choice. What the laws refused is not booked as struck."""
        for target in [target for target in self._held if self._is_refused(target, choice.cut)]:
            self._forget(target)
        for target in self._balance.record(choice, moment):
            self._held.discard(target)
        self._sent_at = now

    def _is_refused(self, target: Target, cut: int | None) -> bool:
        """Still pending though the choice was to apply it."""
        return cut is not None and target in self.marking.pending and self.is_behind(target, cut)

    def _forget(self, target: Target) -> None:
        self._held.discard(target)
        self._balance.release(target)
