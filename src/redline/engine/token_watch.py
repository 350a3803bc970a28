"""How many tokens a conversation uses, as reported and estimated, and the word given when that passes a limit."""

from collections.abc import Callable

from redline.engine.state import State
from redline.tokens import Counter, count_message

__all__ = ["TokenWatch"]


class TokenWatch:
    """Counts the visible messages: as the provider reported them, with an estimate of what was added since."""

    def __init__(self, limit: int | None, counter: Counter) -> None:
        self.limit, self._counter = limit, counter
        self._callbacks: list[Callable[[int, int], object]] = []
        self._is_over = False
        self._summed_up: tuple[State | None, int] = None, 0
        self._summed, self._sum = 0, 0

    def on_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with what is used and the limit, once for each time that the limit is passed."""
        self._callbacks.append(callback)

    def check(self, state: State) -> int:
        """What is used now. More than the limit: the callbacks are told, unless they were when it was passed."""
        used = self.used(state)
        if self.limit is None:
            return used
        has_passed = used > self.limit and not self._is_over
        self._is_over = used > self.limit
        if has_passed:
            for callback in self._callbacks:
                callback(used, self.limit)
        return used

    def used(self, state: State) -> int:
        """Reported plus estimated; an estimate alone where nothing was reported for this view."""
        usage = state.usage
        if usage is None:
            return self._estimate(state)
        added = sum(self._tokens(state, index) for index in state.uncovered)
        return usage.input_tokens + usage.output_tokens + added

    def restart(self) -> None:
        """The history was compressed: a limit that is passed again counts as passed anew."""
        self._is_over = False

    def _estimate(self, state: State) -> int:
        """The sum over the visible messages; only those that are new are counted."""
        indices = state.view.indices
        if self._summed_up != (state, state.generation):
            self._summed_up, self._summed, self._sum = (state, state.generation), 0, 0
        self._sum += sum(self._tokens(state, index) for index in indices[self._summed :])
        self._summed = len(indices)
        return self._sum

    def _tokens(self, state: State, index: int) -> int:
        return count_message(state.current(index), self._counter).total
