"""When a conversation is compacted by itself, how much of it stays, and a summary that a model writes in the background."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from redline.engine.state import State
from redline.outlines.outline import DEFAULT_BUDGET, LEAST_BUDGET
from redline.record.log import Stored
from redline.record.records import Destination, MessageAdded, RolledBack, ViewChanged
from redline.schedules import Eager, Schedule, WhenFree
from redline.schedules.history import RequestHistory, what_changed
from redline.tokens import Counter, count_message

_UNAVOIDABLE_SHARE = 0.9
"""Of the window: the rest is for the answer and for what an estimate misses."""
_TAIL_SHARE, _BUDGET_SHARE, _LEAST_GAIN = 0.2, 0.1, 0.1
"""Of the window: what stays as it is, the outline at most, and what must give way for a compaction to be worth it."""
_AS_GOOD_AS_COLD = 0.1


def moment_to_compact(
    used: float, window: float, schedule: Schedule, history: RequestHistory, now: float, sent_to: Destination | None
) -> str:
    """Why now is a moment at which a compaction costs no cache, or cannot wait; empty if it is neither."""
    if used > window * _UNAVOIDABLE_SHARE:
        return "the window is nearly full"
    if isinstance(schedule, Eager) or history.last_now is None:
        return "nothing is known of a cache"
    if changed := what_changed(history.last_sent_to, sent_to):
        return changed
    lifetime_ms = schedule.lifetime_ms if isinstance(schedule, WhenFree) else WhenFree().lifetime_ms
    alive = history.survival.alive(max(0.0, now - history.last_now), lifetime_ms=lifetime_ms) if lifetime_ms else 0.0
    return "the cache is cold" if alive <= _AS_GOOD_AS_COLD else ""


def is_unavoidable(used: float, window: float) -> bool:
    """Whether what is sent comes so near the end of the window that it cannot wait."""
    return used > window * _UNAVOIDABLE_SHARE


def kept_messages(state: State, window: float, counter: Counter) -> int:
    """How many of the latest messages stay: those that have room in a fifth of the window, at least one."""
    tokens, kept = 0.0, 0
    for index in reversed(state.view.indices):
        tokens += count_message(state.current(index), counter).total
        if tokens > window * _TAIL_SHARE:
            break
        kept += 1
    return max(kept, 1)


def outline_budget(window: float) -> int:
    """The tokens of the outline: a tenth of a small window."""
    return max(min(DEFAULT_BUDGET, int(window * _BUDGET_SHARE)), LEAST_BUDGET)


def least_gain(window: float) -> float:
    """So many tokens must give way."""
    return window * _LEAST_GAIN


def messages_since_undone(path: Sequence[Stored]) -> list[bytes] | None:
    """What was said since a compaction was rolled back; None if the last compaction is in force, or there was none."""
    since: list[bytes] | None = None
    has_compacted = False
    for record in (one.record for one in path):
        match record:
            case ViewChanged(is_compaction=True):
                has_compacted, since = True, None
            case RolledBack() if has_compacted:
                since = []
            case MessageAdded(payload) if since is not None:
                since.append(payload)
    return since


class BackgroundSummary:
    """Asks a function for a summary in a thread of its own; nobody waits for the answer."""

    def __init__(
        self, summarize: Callable[[list[Any]], Any], messages: list[Any], loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self.text: str | None = None
        """The summary, as soon as it is there."""
        self.problem: Exception | None = None
        """Why there is none."""
        self._summarize, self._messages, self._loop = summarize, messages, loop
        self._thread = threading.Thread(target=self._ask, name="redline-summary", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether the function has answered, or failed."""
        return not self._thread.is_alive()

    def join(self, timeout_s: float) -> bool:
        """Wait for the answer, at most so long; whether it is there."""
        self._thread.join(timeout_s)
        return self.is_done

    def _ask(self) -> None:
        try:
            answer = self._summarize(self._messages)
            if inspect.isawaitable(answer):
                answer = self._awaited(_as_coroutine(answer))
            if not isinstance(answer, str):
                raise TypeError(f"a summary must be a text, not {type(answer).__name__}")
            self.text = answer
        except Exception as problem:  # the caller's own function: whatever it raises
            self.problem = problem

    def _awaited(self, coroutine: Any) -> Any:
        if self._loop is not None and self._loop.is_running():
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        return asyncio.run(coroutine)


async def _as_coroutine(answer: Any) -> Any:
    return await answer
