"""The word that is given when a conversation passes its limit of tokens."""

from collections.abc import Callable

__all__ = ["TokenWatch"]


class TokenWatch:
    """Tells callbacks when a limit is passed, once for each time."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._callbacks: list[Callable[[int, int], object]] = []
        self._is_over = False

    def on_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with what is used and the limit, once for each time that the limit is passed."""
        self._callbacks.append(callback)

    def check(self, used: int) -> int:
        """So many tokens are used now. More than the limit: the callbacks are told, unless they were when it was passed."""
        if self.limit is None:
            return used
        has_passed = used > self.limit and not self._is_over
        self._is_over = used > self.limit
        if has_passed:
            for callback in self._callbacks:
                callback(used, self.limit)
        return used

    def restart(self) -> None:
        """The history was compressed: a limit that is passed again counts as passed anew."""
        self._is_over = False
