"""The chance that a word of a compacted history is said again, fitted on the recorded sessions.

python -m bench.fit_outline     fit, print, write src/redline/outlines/word_uses.json
"""

import datetime
import math
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from bench.compaction_cases import cases_in, over_cases
from bench.worth_model import calibration_of, fit, folds_of
from bench.worth_rows import JudgedResult
from redline.outlines.word_uses import WORD_FEATURES
from redline.rules.worth import WorthModel, chance

__all__ = ["FittedWords", "fitted_words"]

MODEL_FILE = Path(__file__).resolve().parents[1] / "src" / "redline" / "outlines" / "word_uses.json"
_FOLDS = 5
_ONE_IN = 6
"""Of the words that were not used, one in so many is looked at; the constant of the model is put right for it."""


class FittedWords(NamedTuple):
    """Coefficients fitted on all sessions, and those for each project, fitted without it."""

    whole: tuple[float, ...]
    by_project: dict[str, tuple[float, ...]]
    rows: int
    calibration: tuple[tuple[float, float, int], ...]


def rows_in(path: Path, project: str) -> list[JudgedResult]:
    """The words of all compactions and cuts of a session file; of those that were not used, a part."""
    found = list[JudgedResult]()
    for case in cases_in(path, project):
        reader = case.read()
        used, _ = case.used_later(set(reader.uses.uses))
        for word, _, features in reader.uses.features():
            if word in used or crc32(word) % _ONE_IN == 0:
                found.append(JudgedResult(project, features, word in used))
    return found


def fitted_words() -> FittedWords:
    """Fitted anew."""
    rows = over_cases(rows_in)
    folds = folds_of(rows, _FOLDS)
    training = [[one for one in rows if folds[one.project] != fold] for fold in range(_FOLDS)]
    with ProcessPoolExecutor(2) as pool:
        *by_fold, whole = map(_corrected, pool.map(fit, [*training, rows]))
    by_project = {project: by_fold[fold] for project, fold in folds.items()}
    predicted = [(chance(by_project[one.project], one.features), one.is_used) for one in rows for _ in range(_times(one))]
    return FittedWords(whole, by_project, len(rows), calibration_of(predicted))


def _times(row: JudgedResult) -> int:
    return 1 if row.is_used else _ONE_IN


def _corrected(weights: Iterable[float]) -> tuple[float, ...]:
    """With the constant that the words left aside ask for."""
    always, *others = weights
    return (always - math.log(_ONE_IN), *others)


def main() -> None:
    """Fit, print, write."""
    found = fitted_words()
    print(f"{found.rows:,} words, {len(found.by_project)} projects in {_FOLDS} folds\n")
    print("| feature | coefficient | least and most of the folds |\n|---|---|---|")
    for place, name in enumerate(WORD_FEATURES):
        values = [weights[place] for weights in found.by_project.values()]
        print(f"| {name} | {found.whole[place]:+.3f} | {min(values):+.2f} {max(values):+.2f} |")
    print("\n| predicted | said again | words |\n|---|---|---|")
    for predicted, observed, count in found.calibration:
        print(f"| {predicted:.1%} | {observed:.1%} | {count:,} |")
    model = WorthModel(
        source=f"{found.rows:,} words at compactions and cuts of recorded sessions, {len(found.by_project)} projects",
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command="python -m bench.fit_outline",
        coefficients={name: round(weight, 4) for name, weight in zip(WORD_FEATURES, found.whole, strict=True)},
        calibration=tuple((round(mean, 4), round(share, 4), count) for mean, share, count in found.calibration),
    )
    MODEL_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n")


if __name__ == "__main__":
    main()
