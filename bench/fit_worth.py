"""The model of the rule `faded`, fitted on the recorded sessions, and what the rule saves and risks out of fold.

python -m bench.fit_worth                 fit, print the calibration and the frontier, write src/redline/rules/worth.json
python -m bench.fit_worth --plot FILE     draw the calibration besides (needs matplotlib; it is printed anyway)
"""

import datetime
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec

from bench.corpus import TIMED_AGENTS, recorded_files
from bench.worth_model import calibration_of, fit, folds_of, is_calibrated
from bench.worth_rows import projects, recorded_results
from redline import Policy, read_transcript
from redline.prices import PRICE_RULES
from redline.replay.session import sessions_in
from redline.replay.what_if import WhatIf
from redline.rules import OldReasoning, Rule
from redline.rules.faded import Faded, FadedFold
from redline.rules.presets import PRESET_RULES
from redline.rules.rule import Fold
from redline.rules.worth import WorthModel, chance
from redline.rules.worth_facts import FEATURES

__all__ = ["ModelledFaded", "frontier_of"]

MODEL_FILE = Path(__file__).resolve().parents[1] / "src" / "redline" / "rules" / "worth.json"
PENALTIES = (0, 4_000, 8_000, 12_000, 17_000, 25_000, 40_000, 70_000, 120_000, 300_000)
_FOLDS = 8
_RULE = PRICE_RULES["0.1/1.25/5m"]


@dataclass(frozen=True)
class ModelledFaded:
    """The rule `faded` with a model of one's own, such as one that was fitted without the project that it is tried on."""

    name: ClassVar[str] = Faded.name

    faded: Faded
    weights: tuple[float, ...]

    def fold(self) -> Fold:
        """A fresh fold."""
        return FadedFold(self.faded, make_model(self.weights))


def main(arguments: Sequence[str]) -> None:
    """Fit, print, write."""
    results = recorded_results()
    folds = folds_of(results, _FOLDS)
    training = [[one for one in results if folds[one.project] != fold] for fold in range(_FOLDS)]
    with ProcessPoolExecutor() as pool:
        *by_fold, whole = pool.map(fit, [*training, results])
    predicted = [(chance(by_fold[folds[one.project]], one.features), one.is_used) for one in results]
    calibration = calibration_of(predicted)
    print(f"{len(results):,} judgements, {len(folds)} projects in {_FOLDS} folds\n")
    _print_coefficients(whole, by_fold)
    _print_calibration(calibration)
    model = msgspec.structs.replace(
        make_model(whole),
        source=f"{len(results):,} judgements of recorded sessions of {', '.join(TIMED_AGENTS)}, {len(folds)} projects",
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command="python -m bench.fit_worth",
        calibration=tuple((round(mean, 4), round(share, 4), count) for mean, share, count in calibration),
    )
    MODEL_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n")
    if "--plot" in arguments:
        _plot(calibration, Path(arguments[arguments.index("--plot") + 1]))
    known = projects()
    by_project = {project: by_fold[fold] for project, fold in folds.items()}
    weights = {path: by_project.get(known[path], whole) for path in recorded_files()}
    _print_frontier(frontier_of(weights, tried_rules()))


def make_model(weights: Iterable[float]) -> WorthModel:
    """A model of these coefficients, in the order of the features."""
    return WorthModel("", "", "", {name: round(weight, 4) for name, weight in zip(FEATURES, weights, strict=True)})


def tried_rules() -> dict[str, tuple[Rule, ...]]:
    """By name: the presets, and `faded` alone or with what goes besides results, at many penalties."""
    reasoning = OldReasoning(keep_recent=3, bound_too=True)
    tried = {
        f"{name} {penalty:,}": rules
        for penalty in PENALTIES
        for name, rules in (
            ("results", (Faded(penalty),)),
            ("results, reasoning", (Faded(penalty), reasoning)),
            ("results, reasoning, inputs", (Faded(penalty, inputs=True), reasoning)),
        )
    }
    return {**PRESET_RULES, **dict(sorted(tried.items(), key=lambda item: item[0].rpartition(" ")[0]))}


def modelled(rules: Iterable[Rule], weights: tuple[float, ...], project_root: str) -> tuple[Rule, ...]:
    """The rules, with a model of one's own for `faded`."""
    return tuple(
        ModelledFaded(replace(rule, project_root=project_root), weights) if isinstance(rule, Faded) else rule for rule in rules
    )


def frontier_of(weights: dict[Path, tuple[float, ...]], tried: dict[str, tuple[Rule, ...]]) -> dict[str, Counter[str]]:
    """By name of the rules, the sums over session files, each tried with a model of its own."""
    sums = {name: Counter[str]() for name in tried}
    with ProcessPoolExecutor() as pool:
        for found in pool.map(partial(_tried, tried=tried), weights.keys(), weights.values()):
            for name, numbers in found:
                sums[name].update(numbers)
    return sums


def _tried(path: Path, weights: tuple[float, ...], tried: dict[str, tuple[Rule, ...]]) -> list[tuple[str, dict[str, float]]]:
    found = list[tuple[str, dict[str, float]]]()
    for session in sessions_in(read_transcript(path)):
        what_if = WhatIf(session)
        whole = what_if.try_policy(Policy(rules=()), _RULE).cost
        for name, rules in tried.items():
            outcome = what_if.try_policy(Policy(rules=modelled(rules, weights, session.project_root)), _RULE)
            numbers = {
                "whole": whole,
                "requests": len(session.requests),
                "cost": outcome.cost,
                "with_rereads": outcome.cost_with_rereads,
                "strikes": len(outcome.strikes),
                "quoted_strikes": outcome.quoted.strikes,
                "quoted_requests": outcome.quoted.requests,
                "strict_strikes": outcome.strict.strikes,
                "strict_requests": outcome.strict.requests,
            }
            found.append((name, numbers))
    return found


def _print_coefficients(whole: Sequence[float], by_fold: Sequence[Sequence[float]]) -> None:
    print("| feature | coefficient | least and most of the folds |\n|---|---|---|")
    for place, name in enumerate(FEATURES):
        values = [weights[place] for weights in by_fold]
        print(f"| {name} | {whole[place]:+.3f} | {min(values):+.2f} {max(values):+.2f} |")
    print()


def _print_calibration(bins: Iterable[tuple[float, float, int]]) -> None:
    print("| predicted | used again | results | within 3 points or a third |\n|---|---|---|---|")
    for predicted, observed, count in bins:
        verdict = "yes" if is_calibrated(predicted, observed) else "no"
        print(f"| {predicted:.1%} | {observed:.1%} | {count:,} | {verdict} | `{'#' * round(50 * observed)}`")
    print()


def _plot(bins: Sequence[tuple[float, float, int]], path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5))
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axes.plot([one[0] for one in bins], [one[1] for one in bins], marker="o")
    axes.set(xlabel="predicted chance", ylabel="share that was used again", xlim=(0, 1), ylim=(0, 1))
    figure.savefig(path)


def _print_frontier(sums: dict[str, Counter[str]]) -> None:
    columns = ("bill", "with re-reads", "strikes", "quoted: strikes", "requests", "strict: strikes", "requests")
    print(f"| what may go, penalty | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, found in sums.items():
        strikes, requests = max(found["strikes"], 1), found["requests"]
        bills = [f"{found[name] / found['whole']:.3f}" for name in ("cost", "with_rereads")]
        risks = [
            f"{found[f'{kind}_{what}'] / of:.1%}"
            for kind in ("quoted", "strict")
            for what, of in (("strikes", strikes), ("requests", requests))
        ]
        print(f"| {name} | {' | '.join([*bills, f'{strikes:,}', *risks])} |")


if __name__ == "__main__":
    main(sys.argv[1:])
