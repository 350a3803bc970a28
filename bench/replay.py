"""What each policy would have cost on the recorded sessions, as the tables of docs/replay-and-results.md.

python -m bench.replay
"""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.corpus import TIMED_AGENTS, recorded_files
from bench.hindsight import hindsight_cost
from redline import read_transcript
from redline.prices import PRICE_RULES
from redline.replay.comparison import Comparison, SessionOutcome, compare
from redline.replay.marks import MARK_SETS
from redline.replay.policies import POLICIES, MarkedSession
from redline.replay.session import sessions_in

_DETAILED = next(iter(PRICE_RULES))
_TIMINGS = ("eager", "when_free", "clairvoyant")


@dataclass(frozen=True)
class Replayed:
    """A session under all policies, and what it need have cost by price rule and mark set."""

    outcome: SessionOutcome
    hindsight: dict[tuple[str, str], float]


def main() -> None:
    """Print the tables."""
    with ProcessPoolExecutor() as pool:
        found = [one for many in pool.map(_replayed, recorded_files()) for one in many]
    prices = _summed(found)
    requests = sum(one.outcome.requests for one in found)
    print(f"{requests:,} requests in {len(found):,} sessions of {', '.join(TIMED_AGENTS)}.\n")
    for mark_set in MARK_SETS:
        _print_heading(f"`{mark_set}`")
        for rule in prices:
            _print_row(rule, mark_set, prices[rule])
        print()
    for agent in TIMED_AGENTS:
        _print_heading(f"{agent}, {_DETAILED}")
        of_agent = _summed(one for one in found if one.outcome.agent == agent)
        for mark_set in MARK_SETS:
            _print_row(f"`{mark_set}`", mark_set, of_agent[_DETAILED])
        print()
    _print_details(prices[_DETAILED])


def _replayed(path: Path) -> list[Replayed]:
    return [
        Replayed(
            compare(session, PRICE_RULES),
            {
                (name, mark_set): hindsight_cost(session, MarkedSession(session).marks(mark_set), rule)
                for name, rule in PRICE_RULES.items()
                for mark_set in MARK_SETS
            },
        )
        for session in sessions_in(read_transcript(path))
    ]


def _summed(found: Iterable[Replayed]) -> dict[str, Any]:
    """By price rule, as `redline replay --json` has it, with the costs in hindsight besides."""
    comparison, costs = Comparison(), Counter[tuple[str, str]]()
    for one in found:
        comparison.add(one.outcome)
        costs.update(one.hindsight)
    prices: dict[str, Any] = comparison.as_json()["prices"]
    for rule, price in prices.items():
        whole = price["policies"]["none"]["cost"]
        price["hindsight"] = {mark_set: costs[rule, mark_set] / whole for mark_set in MARK_SETS}
    return prices


def _print_heading(what: str) -> None:
    columns = ("at once", "`when_free`", "clairvoyant", "hindsight", "bound", "to clairvoyant", "to hindsight")
    print(f"| {what} | {' | '.join(columns)} | dearer sessions | worst session |\n|{'---|' * (len(columns) + 3)}")


def _print_row(name: str, mark_set: str, found: dict[str, Any]) -> None:
    eager, free, known = (found["policies"][f"{mark_set}_{timing}"] for timing in _TIMINGS)
    seen = found["hindsight"][mark_set]
    ratios = (eager["ratio"], free["ratio"], known["ratio"], seen, found["bounds"][mark_set])
    distances = (free["ratio"] / known["ratio"] - 1, free["ratio"] / seen - 1)
    cells = [*(f"{ratio:.3f}" for ratio in ratios), *(f"{distance:+.1%}" for distance in distances)]
    print(f"| {name} | {' | '.join(cells)} | {free['sessions_dearer']:.1%} | {free['worst_session']:.3f} |")


def _print_details(found: dict[str, Any]) -> None:
    risks = ("quoted: strikes", "requests", "strict: strikes", "requests")
    columns = ("cost", "with rereads", "tokens", "from cache", "rewrites", "strikes", *risks)
    print(f"At {_DETAILED}:\n\n| policy | {' | '.join(columns)} | worst session |\n|{'---|' * (len(columns) + 2)}")
    for policy in POLICIES:
        numbers = found["policies"][policy]
        print(
            f"| `{policy}` | {numbers['ratio']:.3f} | {numbers['ratio_with_rereads']:.3f} | {numbers['tokens_ratio']:.3f} "
            f"| {numbers['read_share']:.1%} | {numbers['rewrites']:,} | {numbers['strikes']:,} | {numbers['risk']:.1%} "
            f"| {numbers['risk_requests']:.1%} | {numbers['strict']:.1%} | {numbers['strict_requests']:.1%} "
            f"| {numbers['worst_session']:.3f} |"
        )


if __name__ == "__main__":
    main()
