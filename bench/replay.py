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
from bench.due_marks import MARK_SETS, clairvoyant_strikes, due_marks
from bench.hindsight import hindsight_cost
from bench.peer_policies import PEER_POLICIES
from redline import read_transcript
from redline.policy.policy import as_replayed, find_policy
from redline.policy.presets import PRESETS
from redline.prices import PRICE_RULES, PriceRule
from redline.sessions.replay.comparison import BASELINE, Comparison, SessionOutcome, outcome_of
from redline.sessions.replay.history import PastStrike, histories_in
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun

_DETAILED = next(iter(PRICE_RULES))
_AT_ONCE, _CLAIRVOYANT = "{}, at once", "{}, clairvoyant"
_YARDSTICKS = [way.format(mark_set) for way in (_AT_ONCE, _CLAIRVOYANT) for mark_set in MARK_SETS]
_SHOWN = (BASELINE, *PRESETS, *_YARDSTICKS, *PEER_POLICIES)


@dataclass(frozen=True)
class ReplayedSession:
    """A session under all policies; and by price rule and mark set, what it need have cost, and what is least thinkable."""

    outcome: SessionOutcome
    hindsight: dict[tuple[str, str], float]
    bounds: dict[tuple[str, str], float]


def main() -> None:
    """Print the tables."""
    with ProcessPoolExecutor() as pool:
        found = [one for many in pool.map(_of_file, recorded_files()) for one in many]
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


def _of_file(path: Path) -> list[ReplayedSession]:
    return [_replayed(SessionReplay(history)) for history in histories_in(read_transcript(path))]


def _replayed(session: SessionReplay) -> ReplayedSession:
    history = session.history
    marks = due_marks(session.sizes)
    cleared = {name: strikes(session.sizes) for name, strikes in PEER_POLICIES.items()}
    outcomes, bounds, hindsight = {}, {}, {}
    for name, rule in PRICE_RULES.items():
        found = _under_every_policy(session, rule, marks, cleared)
        outcomes[name] = {policy: outcome_of(session, one) for policy, one in found.items()}
        for mark_set, due in marks.items():
            free = found[_AT_ONCE.format(mark_set)].charges_without_rewrites()
            bounds[name, mark_set] = sum(charge.cost for charge in free)
            hindsight[name, mark_set] = hindsight_cost(session.sizes, due, rule)
    outcome = SessionOutcome(history.id, history.agent, len(history.requests), outcomes, own={})
    return ReplayedSession(outcome, hindsight, bounds)


def _under_every_policy(
    session: SessionReplay,
    rule: PriceRule,
    marks: dict[str, tuple[PastStrike, ...]],
    cleared: dict[str, tuple[PastStrike, ...]],
) -> dict[str, SimulatedRun]:
    """Presets by the engine; marks at once and with foreknowledge; what others do."""
    found = {BASELINE: session.unstruck(rule)}
    found |= dict(zip(PRESETS, session.under_each([as_replayed(find_policy(name)) for name in PRESETS], rule), strict=True))
    for mark_set, due in marks.items():
        found[_AT_ONCE.format(mark_set)] = session.with_strikes(due, rule)
        known = clairvoyant_strikes(session.sizes, due, rule)
        found[_CLAIRVOYANT.format(mark_set)] = session.with_strikes(known, rule)
    return found | {name: session.with_strikes(strikes, rule) for name, strikes in cleared.items()}


def _summed(found: Iterable[ReplayedSession]) -> dict[str, Any]:
    """By price rule, as `redline replay --json` has it, with the yardsticks besides."""
    comparison, hindsight, bounds = Comparison(), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in found:
        comparison.add(one.outcome)
        hindsight.update(one.hindsight)
        bounds.update(one.bounds)
    prices: dict[str, Any] = comparison.as_json()["prices"]
    for rule, price in prices.items():
        whole = price["policies"][BASELINE]["cost"]
        price["hindsight"] = {mark_set: hindsight[rule, mark_set] / whole for mark_set in MARK_SETS}
        price["bounds"] = {mark_set: bounds[rule, mark_set] / whole for mark_set in MARK_SETS}
    return prices


def _print_heading(what: str) -> None:
    columns = ("at once", "`when_free`", "clairvoyant", "hindsight", "bound", "to clairvoyant", "to hindsight")
    print(f"| {what} | {' | '.join(columns)} | dearer sessions | worst session |\n|{'---|' * (len(columns) + 3)}")


def _print_row(name: str, mark_set: str, found: dict[str, Any]) -> None:
    policies, seen = found["policies"], found["hindsight"][mark_set]
    eager, free, known = (policies[way.format(mark_set)] for way in (_AT_ONCE, "{}", _CLAIRVOYANT))
    ratios = (eager["ratio"], free["ratio"], known["ratio"], seen, found["bounds"][mark_set])
    distances = (free["ratio"] / known["ratio"] - 1, free["ratio"] / seen - 1)
    cells = [*(f"{ratio:.3f}" for ratio in ratios), *(f"{distance:+.1%}" for distance in distances)]
    print(f"| {name} | {' | '.join(cells)} | {free['sessions_dearer']:.1%} | {free['worst_session']:.3f} |")


def _print_details(found: dict[str, Any]) -> None:
    risks = ("quoted: strikes", "requests", "strict: strikes", "requests")
    columns = ("cost", "with rereads", "tokens", "from cache", "rewrites", "strikes", *risks)
    print(f"At {_DETAILED}:\n\n| policy | {' | '.join(columns)} | worst session |\n|{'---|' * (len(columns) + 2)}")
    for policy in _SHOWN:
        numbers = found["policies"][policy]
        print(
            f"| {f'`{policy}`' if policy not in _YARDSTICKS else policy} | {numbers['ratio']:.3f} "
            f"| {numbers['ratio_with_rereads']:.3f} | {numbers['tokens_ratio']:.3f} "
            f"| {numbers['read_share']:.1%} | {numbers['rewrites']:,} | {numbers['strikes']:,} | {numbers['risk']:.1%} "
            f"| {numbers['risk_requests']:.1%} | {numbers['strict']:.1%} | {numbers['strict_requests']:.1%} "
            f"| {numbers['worst_session']:.3f} |"
        )


if __name__ == "__main__":
    main()
