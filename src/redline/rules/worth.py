"""The chance that a tool result is used again: a logistic model, whose coefficients are in `worth.json` beside this file."""

import math
from functools import cache
from importlib.resources import files
from operator import mul

import msgspec

from redline.rules.worth_facts import FEATURES

__all__ = ["WorthModel", "chance", "shipped_model"]


class WorthModel(msgspec.Struct, frozen=True):
    """A model as its file has it."""

    source: str
    """What it was fitted on."""
    date: str
    command: str
    """The command that fits it."""
    coefficients: dict[str, float]
    """By feature (`worth_facts.FEATURES`); one that is missing counts nothing."""
    calibration: tuple[tuple[float, float, int], ...] = ()
    """By bin, cross-validated: the mean chance that was predicted, the share that was used, how many."""

    def weights(self) -> tuple[float, ...]:
        """The coefficients in the order of the features."""
        return tuple(self.coefficients.get(name, 0.0) for name in FEATURES)


@cache
def shipped_model() -> WorthModel:
    """The model that comes with Redline."""
    return msgspec.json.decode(files("redline.rules").joinpath("worth.json").read_bytes(), type=WorthModel)


def chance(weights: tuple[float, ...], features: tuple[float, ...]) -> float:
    """The probability that the model gives."""
    logit = sum(map(mul, weights, features))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))
