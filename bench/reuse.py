"""How often tool results are used again by kind and age, and what policies risk by both measures, on the recorded sessions.

python -m bench.reuse            the table of src/redline/replay/reuse.py
python -m bench.reuse --risks    what was struck and then used, quoted and strict, by policy
"""

import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.corpus import TIMED_AGENTS, recorded_files
from redline import read_transcript
from redline.prices import PRICE_RULES
from redline.replay.course import charges_of, course_of
from redline.replay.policies import MarkedSession, strikes_of
from redline.replay.reuse import AGES, KINDS, ResultKind, kind_of
from redline.replay.risk import reread_cost, risk_of, uses_in
from redline.replay.session import Session, sessions_in
from redline.replay.strict import strict_uses_in
from redline.tokens import Estimate, Remembered, count_part

__all__ = ["ResultUse", "measured_uses", "shares_by_age"]

_COMPARED = (
    "none",
    "spec_when_free",
    "superseded_when_free",
    "masking_when_free",
    "clear_tool_uses",
    "clear_tool_uses_min_gain",
    "langchain_clear",
    "swe_agent_polling",
    "opencode_prune",
)
T = TypeVar("T")

_RULE = PRICE_RULES["0.1/1.25/5m"]


@dataclass(frozen=True)
class ResultUse:
    """A tool result of a recorded session."""

    kind: ResultKind
    tokens: int
    last_age: int
    """How old it was when it was last used, in requests; -1 if it never was."""
    end_age: int
    """How old it was in the last request that sent it."""


def main(arguments: list[str]) -> None:
    """Print a table."""
    if "--risks" in arguments:
        _print_risks()
        return
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
    for kind, chances in shares_by_age(found, of_aged=True).items():
        print(f'    "{kind}": ({", ".join(f"{chance:.3f}" for chance in chances)}),')


def measured_uses(path: Path) -> list[ResultUse]:
    """The results in a session file."""
    return [one for session in sessions_in(read_transcript(path)) for one in _results_of(session)]


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


def _results_of(session: Session) -> Iterator[ResultUse]:
    counter, seen = Remembered(Estimate()), MarkedSession(session).seen
    last_use = {holder: use.request for use in uses_in(session, seen) for holder in use.holders}
    ends = [request.end for request in session.requests]
    last_of_window = {request.start: number for number, request in enumerate(session.requests)}
    for place, parts in enumerate(seen):
        first = bisect_right(ends, place)
        if first == len(ends) or session.requests[first].start > place:
            continue  # never sent
        for one in parts:
            if one.result is not None:
                yield ResultUse(
                    kind_of(one.call) if one.call is not None else "other",
                    count_part(one.part, counter),
                    max(last_use.get((place, one.part.at), -1) - first, -1),
                    last_of_window[session.requests[first].start] - first,
                )


def _print_risks() -> None:
    sums = defaultdict[str, Counter[str]](Counter)
    for name, numbers in _over_files(_risks_of):
        sums[name].update(numbers)
    whole = sums["none"]["cost"]
    print(f"{sums['none']['requests']:,} requests in {sums['none']['sessions']:,} sessions of {', '.join(TIMED_AGENTS)}\n")
    columns = ("bill", "with re-reads", "strikes", "quoted: strikes", "requests", "strict: strikes", "requests")
    print(f"| policy | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, found in sums.items():
        strikes, requests = max(found["strikes"], 1), found["requests"]
        risks = [
            f"{found[f'{kind}_{what}'] / of:.1%}"
            for kind in ("quoted", "strict")
            for what, of in (("strikes", strikes), ("requests", requests))
        ]
        bills = [f"{found['cost'] / whole:.3f}", f"{(found['cost'] + found['reread_cost']) / whole:.3f}"]
        cells = [*bills, f"{found['strikes']:,}", *risks]
        print(f"| {name} | {' | '.join(cells)} |")


def _risks_of(path: Path) -> list[tuple[str, dict[str, float]]]:
    return [one for session in sessions_in(read_transcript(path)) for one in _risks_in(session)]


def _risks_in(session: Session) -> Iterator[tuple[str, dict[str, float]]]:
    marked = MarkedSession(session)
    quoted_uses, strict_uses = uses_in(session, marked.seen), strict_uses_in(session)
    for name in _COMPARED:
        strikes = strikes_of(name, marked, _RULE)
        course = course_of(session, strikes)
        quoted, strict = risk_of(quoted_uses, strikes), risk_of(strict_uses, strikes)
        yield (
            name,
            {
                "sessions": 1,
                "requests": len(session.requests),
                "strikes": len(strikes),
                "cost": sum(charge.cost for charge in charges_of(course, _RULE)),
                "reread_cost": reread_cost(session, course, quoted.rereads, _RULE),
                "quoted_strikes": quoted.strikes,
                "quoted_requests": quoted.requests,
                "strict_strikes": strict.strikes,
                "strict_requests": strict.requests,
            },
        )


def _over_files(measure: Callable[[Path], list[T]]) -> list[T]:
    with ProcessPoolExecutor() as pool:
        return [one for many in pool.map(measure, recorded_files()) for one in many]


if __name__ == "__main__":
    main(sys.argv[1:])
