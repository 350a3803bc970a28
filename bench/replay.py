"""What each policy would have cost on the recorded sessions, as the tables of docs/results.md.

python -m bench.replay
"""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.corpus import TIMED_AGENTS, recorded_files
from redline import read_transcript
from redline.prices import PRICE_RULES
from redline.replay.comparison import Comparison, SessionOutcome, compare
from redline.replay.marks import MARK_SETS
from redline.replay.policies import POLICIES
from redline.replay.session import sessions_in

_DETAILED = next(iter(PRICE_RULES))
_TIMINGS = ("eager", "when_free", "clairvoyant")


def main() -> None:
    """Print the tables."""
    summary = _compared().as_json()
    prices = summary["prices"]
    print(f"{summary['requests']:,} requests in {summary['sessions']:,} sessions of {', '.join(TIMED_AGENTS)}.\n")
    for mark_set in MARK_SETS:
        _print_mark_set(mark_set, prices)
    _print_details(prices[_DETAILED])


def _compared() -> Comparison:
    comparison = Comparison()
    with ProcessPoolExecutor() as pool:
        for outcomes in pool.map(_outcomes, recorded_files()):
            for outcome in outcomes:
                comparison.add(outcome)
    return comparison


def _outcomes(path: Path) -> list[SessionOutcome]:
    return [compare(session, PRICE_RULES) for session in sessions_in(read_transcript(path))]


def _print_mark_set(mark_set: str, prices: dict[str, Any]) -> None:
    print(f"| `{mark_set}` | at once | `when_free` | clairvoyant | bound | to clairvoyant | dearer sessions | worst session |")
    print("|---|---|---|---|---|---|---|---|")
    for rule, found in prices.items():
        eager, free, known = (found["policies"][f"{mark_set}_{timing}"] for timing in _TIMINGS)
        ratios = " | ".join(
            f"{ratio:.3f}" for ratio in (eager["ratio"], free["ratio"], known["ratio"], found["bounds"][mark_set])
        )
        to_known = free["ratio"] / known["ratio"] - 1
        print(f"| {rule} | {ratios} | {to_known:+.1%} | {free['sessions_dearer']:.1%} | {free['worst_session']:.3f} |")
    print()


def _print_details(found: dict[str, Any]) -> None:
    print(f"At {_DETAILED}:\n")
    print("| policy | cost | tokens | from cache | rewrites | strikes | used later | requests that miss it | worst session |")
    print("|---|---|---|---|---|---|---|---|---|")
    for policy in POLICIES:
        numbers = found["policies"][policy]
        print(
            f"| `{policy}` | {numbers['ratio']:.3f} | {numbers['tokens_ratio']:.3f} | {numbers['read_share']:.1%} "
            f"| {numbers['rewrites']:,} | {numbers['strikes']:,} | {numbers['risk']:.1%} | {numbers['risk_requests']:.1%} "
            f"| {numbers['worst_session']:.3f} |"
        )


if __name__ == "__main__":
    main()
