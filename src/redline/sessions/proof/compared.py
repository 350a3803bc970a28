"""Two groups of sessions side by side: each measure with its interval, what chance would show, how many are missing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

import msgspec

from redline.sessions.proof.behaviour import SessionBehaviour
from redline.sessions.proof.intervals import difference_interval

LEAST = 5
"""With fewer sessions in a group nothing is compared."""
SOUGHT = 0.05
"""The difference whose sessions are counted: 5 %."""
SHUFFLES = 1_000
_LEVEL = 0.05
_POWER_SCORE = 0.84
"""Of the normal distribution: a difference of the size sought is then seen in four cases of five."""
_SEED = 20260102


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each session."""

    name: str
    says: str
    value: Callable[[SessionBehaviour], float | None]
    """None for a session that has none."""
    is_ratio: bool = True
    """Whether groups are compared by the ratio of typical sessions (geometric means), else by the difference of means."""


def _per_turn(count: float | None, one: SessionBehaviour) -> float | None:
    return count / one.turns if one.turns and count is not None else None


MEASURES = (
    Measure("usd", "paid for a session, $", lambda one: one.usd or None),
    Measure("usd_per_turn", "paid for a turn, $", lambda one: _per_turn(one.usd or None, one)),
    Measure("turns", "turns of a session", lambda one: one.turns or None),
    Measure("tokens", "tokens said in a session", lambda one: one.tokens or None),
    Measure("rereads", "files read again, in 100 turns", lambda one: _per_turn(100 * one.rereads, one), is_ratio=False),
    Measure("repeats", "calls repeated, in 100 turns", lambda one: _per_turn(100 * one.repeats, one), is_ratio=False),
    Measure("failures", "calls that failed, in 100 turns", lambda one: _per_turn(100 * one.failures, one), is_ratio=False),
    Measure(
        "interruptions", "interruptions, in 100 turns", lambda one: _per_turn(100 * one.interruptions, one), is_ratio=False
    ),
    Measure(
        "good",
        "ended well, %",
        lambda one: {"good": 100.0, "bad": 0.0}.get(one.outcome) if one.outcome else None,
        is_ratio=False,
    ),
)


class Compared(msgspec.Struct, frozen=True):
    """A measure in two groups, the second of which the first is measured against."""

    measure: str
    says: str
    sessions: tuple[int, int]
    """Those that have it."""
    means: tuple[float, float] | None = None
    difference: float | None = None
    """A ratio less 1, or a difference of means; None where a group has too few sessions."""
    low: float | None = None
    high: float | None = None
    """Where 95 % of the bootstrap samples are."""
    is_ratio: bool = True
    is_seen: bool = False
    """Whether chance alone would show so much, in any measure, in fewer than 5 % of the cases."""
    needed: int | None = None
    """Sessions, in groups of these proportions, with which a difference of 5 % would be seen in four cases of five."""

    @property
    def missing(self) -> int | None:
        """How many more that is."""
        return max(self.needed - sum(self.sessions), 0) if self.needed is not None else None


def compare_groups(
    group: Sequence[SessionBehaviour],
    against: Sequence[SessionBehaviour],
    *,
    shuffles: int = SHUFFLES,
    draws: int = 1_000,
    sought: float = SOUGHT,
) -> list[Compared]:
    """Every measure. Whether a difference is seen is judged over all of them at once: nine looks are not nine chances."""
    tables = [(measure, _values(measure, group), _values(measure, against)) for measure in MEASURES]
    told = [(measure, one, other) for measure, one, other in tables if min(len(one), len(other)) >= LEAST]
    limit = _largest_by_chance([(one, other) for _, one, other in told], shuffles)
    return [
        _compared(measure, one, other, limit, draws, sought)
        if min(len(one), len(other)) >= LEAST
        else Compared(measure.name, measure.says, (len(one), len(other)), is_ratio=measure.is_ratio)
        for measure, one, other in tables
    ]


def _compared(measure: Measure, one: list[float], other: list[float], limit: float, draws: int, sought: float) -> Compared:
    def difference(these: Sequence[float], those: Sequence[float]) -> float:
        apart = fmean(these) - fmean(those)
        return math.expm1(apart) if measure.is_ratio else apart

    plain = [[math.exp(value) for value in values] if measure.is_ratio else values for values in (one, other)]
    interval = difference_interval(one, other, difference, draws=draws)
    score = _score(len(one), sum(one), _squares(one), len(other), sum(other), _squares(other))
    apart = math.log1p(sought) if measure.is_ratio else sought * fmean(other)
    return Compared(
        measure.name,
        measure.says,
        (len(one), len(other)),
        (fmean(plain[0]), fmean(plain[1])),
        interval.value,
        interval.low,
        interval.high,
        measure.is_ratio,
        abs(score) > limit,
        _needed(one, other, apart, limit),
    )


def _values(measure: Measure, sessions: Sequence[SessionBehaviour]) -> list[float]:
    found = (measure.value(one) for one in sessions)
    return [math.log(value) if measure.is_ratio else value for value in found if value is not None]


def _largest_by_chance(pairs: Sequence[tuple[list[float], list[float]]], shuffles: int) -> float:
    """So large is the largest score of all measures in all but 5 % of the shuffles, in which sessions change groups."""
    random, largest = Random(_SEED), [0.0] * shuffles
    for one, other in pairs:
        values, few = [*one, *other], min(len(one), len(other))
        whole, squares, count = sum(values), _squares(values), len(values)
        for number in range(shuffles):
            drawn = random.sample(values, few)
            part, part_squares = sum(drawn), _squares(drawn)
            score = abs(_score(few, part, part_squares, count - few, whole - part, squares - part_squares))
            largest[number] = max(largest[number], score)
    return sorted(largest)[min(math.ceil((1 - _LEVEL) * (shuffles + 1)), shuffles) - 1] if shuffles else math.inf


def _score(count: int, total: float, squares: float, others: int, other_total: float, other_squares: float) -> float:
    """The difference of two means, in standard errors of it (Welch)."""
    error = sum(
        max(square - summed * summed / number, 0.0) / max(number - 1, 1) / number
        for number, summed, square in ((count, total, squares), (others, other_total, other_squares))
    )
    apart = total / count - other_total / others
    return apart / math.sqrt(error) if error > 1e-18 else 0.0


def _squares(values: Sequence[float]) -> float:
    return sum(value * value for value in values)


def _needed(one: Sequence[float], other: Sequence[float], sought: float, limit: float) -> int | None:
    """By the spread inside of the groups. None where there is none, or nothing that 5 % could be taken of."""
    if not sought:
        return None
    spread = sum(_squares(values) - sum(values) ** 2 / len(values) for values in (one, other))
    variance, share = spread / (len(one) + len(other) - 2), len(other) / (len(one) + len(other))
    return math.ceil((limit + _POWER_SCORE) ** 2 * variance / (share * (1 - share) * sought**2)) or None
