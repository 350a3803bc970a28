"""A setting is better if it costs no more for two thirds of the risk, or 8 % less for no more."""

from collections import Counter

import pytest

from bench.frontier import better_setting
from bench.parts import shares_in
from redline.sessions.replay.under_policy import SessionSizes
from tests.sessions.replay.test_under_policy import generated


def found(bill: float, risk: float) -> Counter[str]:
    return Counter({"whole": 1000, "cost": round(1000 * bill), "requests": 1000, "strict_requests": round(1000 * risk)})


@pytest.mark.parametrize(
    ("bill", "risk", "better"),
    [(0.75, 0.04, True), (0.75, 0.041, False), (0.69, 0.06, True), (0.70, 0.06, False), (0.5, 0.061, False)],
)
def test_what_is_better(bill, risk, better):
    """Than a bill of 0.75 at a risk of 6 %."""
    assert (better_setting(found(0.75, 0.06), {"it": found(bill, risk)}) == "it") == better


def test_the_cheapest_of_several():
    """All of them are better."""
    tried = {"dear": found(0.74, 0.01), "cheap": found(0.6, 0.03), "risky": found(0.5, 0.2)}
    assert better_setting(found(0.75, 0.06), tried) == "cheap"


def test_parts_cost_what_they_weigh_and_how_long_they_stay():
    """Every part that was sent has a kind and a price; the first said costs most of its size."""
    shares = list(shares_in(SessionSizes(generated(1))))
    assert {name for name, _ in shares} >= {"result: file read", "result: terminal", "input: edit", "text: user"}
    assert all(cost > 0 for name, cost in shares if name.startswith("result"))
