"""The model of the rule `faded`, fitted on the recorded sessions; `bench.frontier` prints what the rule saves and risks.

python -m bench.fit_worth                 fit, print the calibration, write src/redline/rules/worth.json
python -m bench.fit_worth --plot FILE     draw the calibration besides (needs matplotlib; it is printed anyway)
"""

import datetime
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import msgspec

from bench.corpus import TIMED_AGENTS, recorded_files
from bench.worth_model import calibration_of, fit, folds_of, is_calibrated
from bench.worth_rows import projects, recorded_results
from redline.policy.policy import Policy
from redline.rules.faded import Faded, FadedFold
from redline.rules.rule import Fold
from redline.rules.worth import FEATURES, WorthModel, chance

__all__ = ["FittedModels", "ModelledFaded", "fitted_models", "modelled"]

MODEL_FILE = Path(__file__).resolve().parents[1] / "src" / "redline" / "rules" / "worth.json"
_FOLDS = 8


@dataclass(frozen=True)
class ModelledFaded:
    """The rule `faded` with a model of one's own, such as one that was fitted without the project that it is tried on."""

    name: ClassVar[str] = Faded.name

    faded: Faded
    weights: tuple[float, ...]

    def fold(self) -> Fold:
        """A fresh fold."""
        return FadedFold(self.faded, make_model(self.weights))


@dataclass(frozen=True)
class FittedModels:
    """The coefficients fitted on all sessions, and those that each session file is tried with: fitted without its project."""

    judgements: int
    projects: int
    whole: tuple[float, ...]
    by_fold: tuple[tuple[float, ...], ...]
    by_file: dict[Path, tuple[float, ...]]
    predicted: tuple[tuple[float, bool], ...]
    """Of each judgement, the chance by the model that did not know its project, and whether the part was used."""


def fitted_models() -> FittedModels:
    """Fitted anew."""
    results = recorded_results()
    folds = folds_of(results, _FOLDS)
    training = [[one for one in results if folds[one.project] != fold] for fold in range(_FOLDS)]
    with ProcessPoolExecutor() as pool:
        *by_fold, whole = pool.map(fit, [*training, results])
    known = projects()
    by_project = {project: by_fold[fold] for project, fold in folds.items()}
    return FittedModels(
        judgements=len(results),
        projects=len(folds),
        whole=whole,
        by_fold=tuple(by_fold),
        by_file={path: by_project.get(known[path], whole) for path in recorded_files()},
        predicted=tuple((chance(by_project[one.project], one.features), one.is_used) for one in results),
    )


def main(arguments: Sequence[str]) -> None:
    """Fit, print, write."""
    found = fitted_models()
    calibration = calibration_of(found.predicted)
    print(f"{found.judgements:,} judgements, {found.projects} projects in {_FOLDS} folds\n")
    _print_coefficients(found.whole, found.by_fold)
    _print_calibration(calibration)
    agents = ", ".join(TIMED_AGENTS)
    model = msgspec.structs.replace(
        make_model(found.whole),
        source=f"{found.judgements:,} judgements of recorded sessions of {agents}, {found.projects} projects",
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command="python -m bench.fit_worth",
        calibration=tuple((round(mean, 4), round(share, 4), count) for mean, share, count in calibration),
    )
    MODEL_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n")
    if "--plot" in arguments:
        _plot(calibration, Path(arguments[arguments.index("--plot") + 1]))


def make_model(weights: Iterable[float]) -> WorthModel:
    """A model of these coefficients, in the order of the features."""
    return WorthModel("", "", "", {name: round(weight, 4) for name, weight in zip(FEATURES, weights, strict=True)})


def modelled(policy: Policy, weights: tuple[float, ...], project_root: str) -> Policy:
    """The policy, with a model of one's own for `faded`."""
    rules = [
        ModelledFaded(replace(rule, words=policy.words, project_root=project_root), weights)
        if isinstance(rule, Faded)
        else rule
        for rule in policy.rules
    ]
    return replace(policy, rules=rules)


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


if __name__ == "__main__":
    main(sys.argv[1:])
