"""Public runs with outcomes: what masking, summaries and proxies did to solve rates, and what Redline's presets put at risk.

python -m bench.outcomes                every figure of docs/does-it-hurt.md
"""

import csv
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.corpus import recorded_files
from redline import read_transcript
from redline.policy.policy import as_replayed, find_policy
from redline.prices import PriceRule
from redline.sessions.proof.intervals import Interval, mean_interval
from redline.sessions.replay.comparison import ADVISED
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.rereads import Rereads
from redline.sessions.replay.simulated_run import SessionReplay

__all__ = ["OUTCOMES", "PublicRun", "paired_difference", "public_runs", "three_proxies"]

OUTCOMES = Path(__file__).resolve().parents[2] / "shared" / "outcomes"
_RULE = PriceRule(0.1, 1.25, 300_000)
_MODELS = (
    ("gemini_2.5_flash_thinking", "Gemini 2.5 Flash, thinking"),
    ("gemini", "Gemini 2.5 Flash"),
    ("local-Qwen3-Coder_480B", "Qwen3-Coder 480B"),
    ("local-Qwen3-32B_thinking", "Qwen3 32B, thinking"),
    ("local-qwen3-32b", "Qwen3 32B"),
)
_SCAFFOLDS = {"sweagent": "SWE-agent", "openhands": "OpenHands"}
_WINDOW = re.compile(r"[-_]N_(\d+)_M_(\d+)|[-_]M_(\d+)")
_USUAL_WINDOW = 10
"""The latest results that stay, where the name of an experiment does not say how many."""


@dataclass(frozen=True)
class PublicRun:
    """One task by an agent under a strategy."""

    solved: int
    turns: float
    cost_usd: float
    prompt_tokens: float


Runs = dict[str, PublicRun]
"""By task."""


@dataclass(frozen=True)
class Strategy:
    """An experiment: which agent and model, and what kept the context short."""

    scaffold: str
    model: str
    name: str
    is_small: bool
    """Whether it was tried on 50 tasks rather than 500."""


def main() -> None:
    """Print the tables."""
    if not (OUTCOMES / "masking_and_summaries.csv").exists():
        sys.stderr.write(
            "This measurement needs the public outcomes, which are not part of the repository: there is no "
            "masking_and_summaries.csv in ../shared/outcomes beside the checkout.\n"
        )
        sys.exit(2)
    _print_strategies(public_runs(OUTCOMES / "masking_and_summaries.csv"))
    _print_proxies(three_proxies(OUTCOMES / "three_proxies.csv"))
    _print_replayed()


def public_runs(path: Path) -> dict[Strategy, Runs]:
    """The runs of each experiment."""
    found: dict[Strategy, Runs] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cost = float(row["cost"]) + float(row["summary_cost"] or 0)
            run = PublicRun(int(row["outcome"]), float(row["turn_count"]), cost, float(row["mean_prompt_tokens"]))
            found[_strategy_of(row)][row["instance_id"]] = run
    return dict(found)


def _strategy_of(row: dict[str, str]) -> Strategy:
    experiment, kind = row["experiment"], row["strategy"]
    model = next(name for start, name in _MODELS if experiment.startswith(start))
    is_small = bool(re.search(r"verified[-_]50(?!0)", experiment))
    numbers = [number for match in _WINDOW.finditer(experiment) for number in match.groups() if number]
    match kind:
        case "Raw Agent":
            name = "everything"
        case "Observation Masking":
            name = f"masking, last {numbers[-1] if numbers else _USUAL_WINDOW}"
        case _:
            both = " and masking" if "combined" in experiment else ""
            name = f"summaries of {numbers[0]}{both}"
    return Strategy(_SCAFFOLDS[row["scaffold"]], model, name, is_small)


def paired_difference(runs: Runs, raw: Runs, field: str) -> Interval:
    """What a field differs by on the tasks that both have."""
    pairs = [(getattr(run, field), getattr(raw[task], field)) for task, run in runs.items() if task in raw]
    return mean_interval([float(one - other) for one, other in pairs])


def _print_strategies(found: dict[Strategy, Runs]) -> None:
    """Every strategy beside everything sent, by the same agent and model on the same tasks."""
    runs = sum(map(len, found.values()))
    print(f"## Masking and summaries: {runs:,} runs in {len(found)} experiments\n")
    print("| agent, model | kept short by | tasks | solved without | solved with | difference, points | turns | dollars |")
    print("|---|---|---|---|---|---|---|---|")
    differences = list[tuple[Strategy, Interval]]()
    for strategy, own in sorted(found.items(), key=lambda one: (one[0].is_small, one[0].scaffold, one[0].model, one[0].name)):
        raw = _everything_of(found, strategy)
        if strategy.name == "everything" or raw is None:
            continue
        tasks = [task for task in own if task in raw]
        solved, turns = paired_difference(own, raw, "solved"), paired_difference(own, raw, "turns")
        if not strategy.is_small:
            differences.append((strategy, solved))
        cells = [
            f"{strategy.scaffold}, {strategy.model}",
            strategy.name,
            f"{len(tasks)}",
            *(f"{_mean(of[task].solved for task in tasks):.1%}" for of in (raw, own)),
            _points(solved),
            f"{_mean(raw[task].turns for task in tasks):.0f} → {_mean(own[task].turns for task in tasks):.0f} {_turns(turns)}",
            f"{_mean(raw[task].cost_usd for task in tasks):.2f} → {_mean(own[task].cost_usd for task in tasks):.2f}",
        ]
        print(f"| {' | '.join(cells)} |")
    print()
    masked = [one for of, one in differences if of.scaffold == "SWE-agent" and of.name.startswith("masking")]
    summed = [one for of, one in differences if of.name.startswith("summaries")]
    for what, these in (("masking the last 10 on SWE-agent", masked), ("summaries", summed)):
        values = [100 * one.value for one in these]
        print(f"{what}: {min(values):+.1f} to {max(values):+.1f} points, mean {_mean(values):+.1f}, {len(values)} experiments")
    print()


def _everything_of(found: dict[Strategy, Runs], strategy: Strategy) -> Runs | None:
    """The runs without any shortening: on the 50 tasks, or where those were not run without, on the 500."""
    own = Strategy(strategy.scaffold, strategy.model, "everything", strategy.is_small)
    return found.get(own) or found.get(Strategy(strategy.scaffold, strategy.model, "everything", is_small=False))


def three_proxies(path: Path) -> dict[tuple[str, str], Runs]:
    """The runs of each benchmark and arm; in the place of a mean prompt the tokens read from the cache, over all requests."""
    found: dict[tuple[str, str], Runs] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            numbers = [float(row[name] or 0) for name in ("steps", "billed_usd", "cache_read_tokens")]
            found[row["benchmark"], row["arm"]][row["task"]] = PublicRun(int(row["solved"]), *numbers)
    return dict(found)


def _print_proxies(found: dict[tuple[str, str], Runs]) -> None:
    """Each proxy beside none, on the same tasks."""
    print(f"## Proxies before Claude Code: {sum(map(len, found.values())):,} runs, one trial for each task\n")
    print("| benchmark | proxy | tasks | solved without | solved with | difference, points | steps | dollars | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (benchmark, arm), own in found.items():
        if arm == "baseline":
            continue
        raw = found[benchmark, "baseline"]
        solved, cost = (paired_difference(own, raw, field) for field in ("solved", "cost_usd"))
        share = Interval(*(bound / _mean(one.cost_usd for one in raw.values()) for bound in (cost.value, cost.low, cost.high)))
        cells = [
            benchmark,
            arm,
            f"{len(own)}",
            *(f"{_mean(one.solved for one in of.values()):.1%}" for of in (raw, own)),
            _points(solved),
            f"{_mean(one.turns for one in raw.values()):.0f} → {_mean(one.turns for one in own.values()):.0f}",
            f"{_mean(one.cost_usd for one in raw.values()):.2f} → {_mean(one.cost_usd for one in own.values()):.2f}",
            f"{share.value:+.0%} [{share.low:+.0%}, {share.high:+.0%}]",
        ]
        print(f"| {' | '.join(cells)} |")
    print()


def _print_replayed() -> None:
    """The presets and masking led through recorded runs of SWE-bench: no outcome, but what was struck and then needed."""
    paths = list(recorded_files(("mini-swe-agent",)))
    sessions = [SessionReplay(history) for path in paths for history in histories_in(read_transcript(path))]
    requests, whole = sum(len(one.history.requests) for one in sessions), sum(one.unstruck(_RULE).cost for one in sessions)
    print(f"## Replayed: {len(sessions)} recorded runs of SWE-bench by mini-swe-agent, {requests:,} requests\n")
    print("| policy | bill | parts struck | requests at risk, quoted | strict | asked again | struck again |")
    print("|---|---|---|---|---|---|---|")
    policies = {name: find_policy(name) for name in (*ADVISED, "masking")}
    policies["masking, at once"] = replace(policies["masking"], schedule="eager")
    for name, policy in policies.items():
        runs = [one.under(as_replayed(policy), _RULE) for one in sessions]
        shares = (sum(run.risks[measure].requests for run in runs) / requests for measure in ("quoted", "strict"))
        struck = sum(one.may_be_missed for run in runs for one in run.strikes)
        loops = sum((run.rereads for run in runs), Rereads())
        cells = [f"{sum(run.cost for run in runs) / whole:.3f}", f"{struck:,}", *(f"{share:.1%}" for share in shares)]
        print(f"| {name} | {' | '.join(cells)} | {loops.asked_again} | {loops.struck_again} |")


def _mean(values: Iterable[float]) -> float:
    found: Sequence[float] = list(values)
    return sum(found) / len(found)


def _points(one: Interval) -> str:
    return f"{100 * one.value:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"


def _turns(one: Interval) -> str:
    return f"({one.value:+.0f} [{one.low:+.0f}, {one.high:+.0f}])"


if __name__ == "__main__":
    main()
