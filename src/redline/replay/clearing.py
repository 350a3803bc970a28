"""How others clear old tool results, each with the settings its makers ship: what it strikes of a recorded session."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from redline.replay.course import ReplayStrike
from redline.replay.marks import DueMark
from redline.replay.session import RecordedRequest, Session

__all__ = [
    "Clearing",
    "clear_tool_uses",
    "keep_last_messages",
    "poll_observations",
    "prune_like_opencode",
    "reclear_every_time",
]

Clearing = Callable[[Session, Sequence[DueMark]], list[ReplayStrike]]
"""From a session and all its tool results to what is struck of them."""


def clear_tool_uses(
    session: Session, results: Sequence[DueMark], *, trigger: float = 100_000, keep: int = 3, min_gain: float = 0
) -> list[ReplayStrike]:
    """Anthropic's `clear_tool_uses`: when the request exceeds the trigger, all results but the latest go.

    With a minimum gain (`clear_at_least`) only if that frees so many tokens.
    """
    cleared = _Cleared()
    for number, request, sent in _windows(session, results):
        if _size(session, request) - cleared.saved_since(request.start) <= trigger:
            continue
        clearable = cleared.rest_of(sent[:-keep])
        if sum(result.saving for result in clearable) >= min_gain:
            cleared.clear(clearable, number)
    return cleared.strikes


def reclear_every_time(
    session: Session, results: Sequence[DueMark], *, trigger: float = 100_000, keep: int = 3
) -> list[ReplayStrike]:
    """LangChain's `ClearToolUsesEdit`: past the trigger all results but the latest go, decided anew in each request.

    What it cleared before counts towards the trigger again, so that it never stops: each request clears one more.
    """
    cleared = _Cleared()
    for number, request, sent in _windows(session, results):
        if _size(session, request) > trigger:
            cleared.clear(cleared.rest_of(sent[:-keep]), number)
    return cleared.strikes


def prune_like_opencode(
    session: Session, results: Sequence[DueMark], *, protect: float = 40_000, min_gain: float = 20_000, turns: int = 2
) -> list[ReplayStrike]:
    """The prune of opencode, when the user speaks: results before the last turns go, but for the newest tokens of them."""
    cleared = _Cleared()
    for number, request, sent in _windows(session, results):
        sent_messages = enumerate(session.messages[request.start : request.end], request.start)
        spoken = [place for place, one in sent_messages if one.role == "user" and not one.results]
        if len(spoken) <= turns or spoken[-1] != request.end - 1:
            continue
        old = [result for result in reversed(sent) if result.position < spoken[-turns]]
        newer = accumulate((result.saving for result in old), initial=0.0)
        clearable = cleared.rest_of(result for result, tokens in zip(old, newer, strict=False) if tokens > protect)
        if sum(result.saving for result in clearable) > min_gain:
            cleared.clear(clearable, number)
    return cleared.strikes


def poll_observations(session: Session, results: Sequence[DueMark], *, keep: int = 5, polling: int = 5) -> list[ReplayStrike]:
    """SWE-agent's last observations with polling: the older ones go several at a time."""
    cleared = _Cleared()
    for number, _, sent in _windows(session, results):
        elided = max(len(sent) - keep, 0) // polling * polling
        cleared.clear(cleared.rest_of(sent[:elided]), number)
    return cleared.strikes


def keep_last_messages(session: Session, results: Sequence[DueMark], *, keep: int = 40) -> list[ReplayStrike]:  # noqa: ARG001
    """A sliding window: the first message and the last ones are sent, whatever lies between is left out."""
    strikes, dropped, start = list[ReplayStrike](), 0, -1
    for number, request in enumerate(session.requests):
        if request.start != start:
            start, dropped = request.start, request.start + 1
        end = max(request.end - keep, dropped)
        strikes += [ReplayStrike(number, place, session.tokens[place]) for place in range(dropped, end)]
        dropped = end
    return strikes


class _Cleared:
    """What was cleared so far; it stays so."""

    def __init__(self) -> None:
        self.strikes: list[ReplayStrike] = []
        self._parts: set[tuple[int, object]] = set()

    def rest_of(self, results: Iterable[DueMark]) -> list[DueMark]:
        return [result for result in results if (result.position, result.at) not in self._parts]

    def clear(self, results: Iterable[DueMark], number: int) -> None:
        for result in results:
            self._parts.add((result.position, result.at))
            self.strikes.append(ReplayStrike(number, result.position, result.saving, result.at))

    def saved_since(self, start: int) -> float:
        return sum(strike.saving for strike in self.strikes if strike.position >= start)


def _windows(session: Session, results: Sequence[DueMark]) -> Iterator[tuple[int, RecordedRequest, Sequence[DueMark]]]:
    """Each request with the results that it sends, the oldest first."""
    first = last = 0
    for number, request in enumerate(session.requests):
        while last < len(results) and results[last].position < request.end:
            last += 1
        while first < last and results[first].position < request.start:
            first += 1
        yield number, request, results[first:last]


def _size(session: Session, request: RecordedRequest) -> float:
    return session.prefix_tokens + sum(session.tokens[request.start : request.end])
