"""Compaction: older history gives way to a summary, cut only where no call is parted from its result."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from redline.engine.state import State
from redline.errors import ExecutionError, ValidationError
from redline.tokens import Counter, count_message
from redline.values import payloads
from redline.values.messages import Text

LEAD = "Summary of the earlier conversation:\n\n"
"""What is put before a summary."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """A compaction before its summary: the messages it replaces, and those it keeps."""

    replaced: tuple[int, ...]
    """The indices that the summary is to replace."""
    head: tuple[int, ...]
    """System messages, which stay in front."""
    tail: tuple[int, ...]
    """The latest messages, which stay as they are."""
    messages: list[Any]
    """What is to be summarised, in the provider's shape."""
    tokens: int
    """An estimate of it."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan carried out in thought: the summary as a message."""

    plan: CompactionPlan
    summary: bytes
    tokens_after: int
    """Of the summary."""


def plan_compaction(state: State, keep_last: int, counter: Counter) -> CompactionPlan:
    """Where to cut so that at least the last messages stay; an ExecutionError if nothing lies before that."""
    if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 0:
        raise ValidationError(f"keep_last must be a whole number of at least 0, not {keep_last!r}")
    visible = list(state.view.indices)
    # The last place up to the one wanted where no exchange is parted.
    places = range(min(len(visible) - keep_last, len(visible)), 0, -1)
    cut = next((place for place in places if place == len(visible) or _begins_anew(state, visible, place)), 0)
    head = tuple(index for index in visible[:cut] if state.current(index).role == "system")
    replaced = tuple(index for index in visible[:cut] if index not in set(head))
    if not replaced:
        raise ExecutionError(f"There is nothing to compact: keep_last={keep_last} leaves no whole exchange before it.")
    told = [payloads.decode(state.payload(index)) for index in replaced]
    tokens = sum(count_message(state.current(index), counter).total for index in replaced)
    return CompactionPlan(replaced, head, tuple(visible[cut:]), told, tokens)


def summary_steps(
    state: State, plan: CompactionPlan, counter: Counter, *, lead: str = LEAD
) -> Generator[list[Any], str, Compaction]:
    """Hands out what is to be summarised, is sent the summary, and gives the compaction; it serves sync and async callers.

    `lead` is put before the summary.
    """
    text = yield plan.messages
    if not isinstance(text, str) or not text.strip():
        raise ExecutionError("The summary is empty, so nothing was compacted.")
    (payload,) = state.format.compose("user", (Text(lead + text.strip()),)).payloads
    summary = payloads.encode(payload)
    tokens = count_message(state.format.read(summary), counter).total
    if tokens >= plan.tokens:
        raise ExecutionError(
            f"The summary has about {tokens:,} tokens, no fewer than the {plan.tokens:,} it would replace: nothing was done."
        )
    return Compaction(plan, summary, tokens)


def _begins_anew(state: State, visible: list[int], cut: int) -> bool:
    before, message = state.current(visible[cut - 1]), state.current(visible[cut])
    if message.results:
        return False
    return not (state.format.items_are_messages and before.role == message.role == "assistant")


class Breaker:
    """Stops compaction that does not help: after so many failures in a row it is not tried again until something changes."""

    def __init__(self, most_failures: int = 3) -> None:
        self._most = most_failures
        self._failures = 0
        self.why: str | None = None
        """The last failure, once compaction is stopped."""

    @property
    def is_open(self) -> bool:
        """Whether compaction is stopped."""
        return self.why is not None

    def succeeded(self) -> None:
        """It helped."""
        self._failures, self.why = 0, None

    def failed(self, why: str) -> None:
        """It did not."""
        self._failures += 1
        if self._failures >= self._most:
            self.why = why


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
