"""How often tool results are used again by kind and age on the recorded sessions.

python -m bench.reuse
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.corpus import TIMED_AGENTS, recorded_files
from bench.view_windows import requests_by_window
from redline import read_transcript
from redline.rules.results import KINDS, ResultKind, kind_of_actions
from redline.sessions.replay.history import SessionHistory, histories_in
from redline.sessions.replay.risk import seen_in, uses_in
from redline.tokens import Estimate, Remembered, count_part

__all__ = ["AGES", "ResultUse", "measured_uses", "shares_by_age"]

T = TypeVar("T")

AGES = (0, 1, 3, 5, 10, 20, 40)
"""In requests since the one that first sent the result."""


@dataclass(frozen=True)
class ResultUse:
    """A tool result of a recorded session."""

    kind: ResultKind
    tokens: int
    last_age: int
    """How old it was when it was last used, in requests; -1 if it never was."""
    end_age: int
    """How old it was in the last request that sent it."""


def main() -> None:
    """Print a table."""
    found = _over_files(measured_uses)
    print(f"{len(found):,} results of {', '.join(TIMED_AGENTS)}\n")
    columns = " | ".join(f"≥ {age}" for age in AGES)
    for title, of_aged in (("of all results", False), ("of the results that got so old", True)):
        print(f"| {title} | results | tokens | {columns} |\n|{'---|' * (len(AGES) + 3)}")
        shares = shares_by_age(found, of_aged=of_aged)
        for kind in KINDS:
            own = [one for one in found if one.kind == kind]
            tokens = sum(one.tokens for one in own) / sum(one.tokens for one in found)
            print(f"| {kind} | {len(own):,} | {tokens:.0%} | {' | '.join(f'{share:.1%}' for share in shares[kind])} |")
        print()


def measured_uses(path: Path) -> list[ResultUse]:
    """The results in a session file."""
    return [one for history in histories_in(read_transcript(path)) for one in _results_of(history)]


def shares_by_age(found: Iterable[ResultUse], *, of_aged: bool) -> dict[ResultKind, tuple[float, ...]]:
    """By kind and for each age: the share that was used then or later, of all or of those that got so old."""
    grouped = defaultdict[ResultKind, list[ResultUse]](list)
    for one in found:
        grouped[one.kind].append(one)
    return {
        kind: tuple(
            sum(one.last_age >= age for one in grouped[kind])
            / max(sum(one.end_age >= age or not of_aged for one in grouped[kind]), 1)
            for age in AGES
        )
        for kind in KINDS
    }


def _results_of(history: SessionHistory) -> Iterator[ResultUse]:
    counter, seen = Remembered(Estimate()), seen_in(history)
    last_use = {holder: use.request for use in uses_in(history, seen) for holder in use.holders}
    for window in requests_by_window(history):
        for request in window:
            for one in (one for index in history.new_in(request) for one in seen[index] if one.result is not None):
                yield ResultUse(
                    kind_of_actions(one.actions),
                    count_part(one.part, counter),
                    max(last_use.get((one.index, one.part.at), -1) - request.number, -1),
                    window[-1].number - request.number,
                )


def _over_files(measure: Callable[[Path], list[T]]) -> list[T]:
    with ProcessPoolExecutor() as pool:
        return [one for many in pool.map(measure, recorded_files()) for one in many]


if __name__ == "__main__":
    main()
