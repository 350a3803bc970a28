"""How well the cache model foretells what providers report: tokens read from the cache, by the gap between requests.

python -m bench.cache_model
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from bench.corpus import recorded_files
from redline import read_transcript
from redline.prices import Survival
from redline.sessions.replay.history import SessionHistory, histories_in
from redline.sessions.replay.paid import own_prices
from redline.sessions.replay.simulated_run import SimulatedRun
from redline.sessions.replay.under_policy import SessionSizes

_MINUTE_MS = 60_000.0
_AGENTS = ("claude-code", "codex")
_CLOSE = 0.05
"""Within this share of the prompt a prediction counts as right."""


@dataclass(frozen=True)
class Observation:
    """A request whose usage was reported, after one before it."""

    session: str
    gap_ms: float
    prompt: float
    read: float
    expected: float
    """What was in the cache, had it not expired: the request before, as reported."""
    estimated: float
    """What was in the cache, from the sizes of the messages and of what comes before them, by the first report alone."""


def main() -> None:
    """Print what was observed, and how far each way of foretelling is off."""
    for agent in _AGENTS:
        histories = (one for path in recorded_files((agent,)) for one in histories_in(read_transcript(path)))
        seen = [one for history in histories for one in observed(history)]
        print(f"\n{agent}: {len(seen):,} requests with reported usage, after another in the same window\n")
        _print_by_gap(seen)
        _print_errors(seen)


def observed(history: SessionHistory) -> Iterator[Observation]:
    """The requests of a session that can be compared."""
    run = SimulatedRun(SessionSizes(history), own_prices(history)[0])
    for (before, _), (request, sent) in pairwise(zip(history.requests, run.requests, strict=True)):
        if request.usage is not None and before.usage is not None and not request.is_new_view:
            usage, gap_ms = request.usage, request.time_ms - before.time_ms
            read, there = usage.cache_read_tokens, before.usage.input_tokens
            yield Observation(history.id, gap_ms, usage.input_tokens, read, there, sent.kept)


def _print_by_gap(seen: list[Observation]) -> None:
    print(f"{'gap up to':>12} {'requests':>9} {'read of prompt':>15} {'read of the request before':>27}")
    lower = -1.0
    for upper in Survival.BOUNDS_MS:
        group = [one for one in seen if lower < one.gap_ms <= upper]
        lower = upper
        if group:
            of_prompt = sum(one.read for one in group) / sum(one.prompt for one in group)
            of_expected = mean(min(one.read / one.expected, 1.0) for one in group)
            print(f"{upper / _MINUTE_MS:8.0f} min {len(group):9,} {of_prompt:15.3f} {of_expected:27.3f}")


def _print_errors(seen: list[Observation]) -> None:
    print(f"\n{'way':>22} {'read, foretold / reported':>26} {'median off':>11} {'mean off':>9} {'within 5 %':>11}")
    reported = sum(one.read for one in seen)
    for name, foretell in _ways().items():
        foretold = [foretell(one) for one in seen]
        off = [abs(said - one.read) / one.prompt for said, one in zip(foretold, seen, strict=True)]
        close = mean(error <= _CLOSE for error in off)
        print(f"{name:>22} {sum(foretold) / reported:26.3f} {median(off):11.3f} {mean(off):9.3f} {close:11.1%}")


def _ways() -> dict[str, Callable[[Observation], float]]:
    return {
        "never expires": lambda one: one.expected,
        "lives 5 minutes": lambda one: one.expected * (one.gap_ms <= 5 * _MINUTE_MS),
        "lives an hour": lambda one: one.expected * (one.gap_ms <= 60 * _MINUTE_MS),
        "learned in the session": _learning(5 * _MINUTE_MS),
        "5 minutes, estimated": lambda one: one.estimated * (one.gap_ms <= 5 * _MINUTE_MS),
    }


def _learning(lifetime_ms: float) -> Callable[[Observation], float]:
    """Each session begins with the promised lifetime and learns from what was reported before."""
    learned: dict[str, Survival] = {}

    def foretell(one: Observation) -> float:
        survival = learned.get(one.session, Survival())
        learned[one.session] = survival.learned(one.gap_ms, read=one.read, expected=one.expected)
        return one.expected * survival.alive(one.gap_ms, lifetime_ms=lifetime_ms)

    return foretell


if __name__ == "__main__":
    main()
