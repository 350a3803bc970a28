"""A logistic model fitted by Newton's method in plain Python, its folds by project, and how well it is calibrated."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import mul

from bench.worth_rows import JudgedResult

__all__ = ["calibration_of", "fit", "folds_of", "is_calibrated"]

_STEPS = 12
_RIDGE = 1.0
"""So much is added to the diagonal: coefficients stay small where little is known."""
_BINS = 10


def fit(results: Sequence[JudgedResult]) -> tuple[float, ...]:
    """The coefficients by which the chance that a result is used follows from its features."""
    columns = [list(column) for column in zip(*(one.features for one in results), strict=True)]
    used = [float(one.is_used) for one in results]
    weights = [0.0] * len(columns)
    for _ in range(_STEPS):
        chances = _chances(columns, weights)
        slopes = [chance * (1.0 - chance) for chance in chances]
        misses = [one - chance for one, chance in zip(used, chances, strict=True)]
        gradient = [_dot(column, misses) - _RIDGE * weight for column, weight in zip(columns, weights, strict=True)]
        change = _solve(_curvature(columns, slopes), gradient)
        weights = [weight + one for weight, one in zip(weights, change, strict=True)]
        if max(map(abs, change)) < 1e-6:
            break
    return tuple(weights)


def folds_of(results: Sequence[JudgedResult], count: int) -> dict[str, int]:
    """By project the fold that it is in; the folds are about equally large."""
    sizes = Counter(one.project for one in results)
    filled, folds = [0] * count, dict[str, int]()
    for project, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold = filled.index(min(filled))
        folds[project] = fold
        filled[fold] += size
    return folds


def calibration_of(predicted: Sequence[tuple[float, bool]]) -> tuple[tuple[float, float, int], ...]:
    """In bins of equally many, by predicted chance: its mean, the share that was used, how many there are."""
    ordered = sorted(predicted)
    bounds = [len(ordered) * number // _BINS for number in range(_BINS + 1)]
    bins = (ordered[start:end] for start, end in pairwise(bounds))
    return tuple(
        (sum(chance for chance, _ in one) / len(one), sum(is_used for _, is_used in one) / len(one), len(one))
        for one in bins
        if one
    )


def is_calibrated(predicted: float, observed: float) -> bool:
    """Whether a share is within three points or a third of the chance that was predicted."""
    return abs(predicted - observed) <= max(0.03, predicted / 3)


def _chances(columns: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    logits = [0.0] * len(columns[0])
    for column, weight in zip(columns, weights, strict=True):
        logits = [logit + weight * value for logit, value in zip(logits, column, strict=True)]
    return [1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit)))) for logit in logits]


def _curvature(columns: Sequence[Sequence[float]], slopes: Sequence[float]) -> list[list[float]]:
    size = len(columns)
    matrix = [[0.0] * size for _ in range(size)]
    for row, column in enumerate(columns):
        weighted = list(map(mul, column, slopes))
        for other in range(row, size):
            matrix[row][other] = matrix[other][row] = _dot(weighted, columns[other])
        matrix[row][row] += _RIDGE
    return matrix


def _solve(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """By elimination; the matrix is positive definite, so that no row need change its place."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for pivot in range(size):
        for below in range(pivot + 1, size):
            factor = rows[below][pivot] / rows[pivot][pivot]
            rows[below] = [one - factor * other for one, other in zip(rows[below], rows[pivot], strict=True)]
    found = [0.0] * size
    for place in reversed(range(size)):
        known = _dot(rows[place][place + 1 : size], found[place + 1 :])
        found[place] = (rows[place][size] - known) / rows[place][place]
    return found


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))
