import pytest

from redline.prices import PRICE_RULES
from redline.replay.comparison import Comparison, compare
from redline.replay.marks import MARK_SETS
from tests.replay.sessions import RULE
from tests.replay.test_policies import long_session

POLICIES = ("masking_eager", "masking_when_free")


def compared(**options):
    return compare(long_session(), {"rule": RULE}, POLICIES, **options)


def test_the_baseline_is_always_there():
    """Whatever is compared, sending everything is beside it, and is what ratios are to."""
    comparison = Comparison()
    comparison.add(compared())
    policies = comparison.as_json()["prices"]["rule"]["policies"]
    assert list(policies) == ["none", *POLICIES]
    assert (policies["none"]["ratio"], policies["none"]["tokens_ratio"], policies["none"]["rewrites"]) == (1.0, 1.0, 0)


def test_the_promised_fields_are_there():
    """Cost, ratio, tokens, rewrites and risk for each policy, and a bound for each mark set."""
    comparison = Comparison()
    comparison.add(compare(long_session(), PRICE_RULES, POLICIES))
    found = comparison.as_json()
    assert (found["requests"], found["sessions"]) == (41, 1)
    assert list(found["prices"]) == list(PRICE_RULES)
    for price in found["prices"].values():
        assert set(price["bounds"]) == set(MARK_SETS)
        for numbers in price["policies"].values():
            assert numbers.keys() >= {"cost", "ratio", "tokens_ratio", "rewrites", "risk"}


def test_sessions_add_up():
    """Two sessions alike cost twice as much, and have the same ratios."""
    once, twice = Comparison(), Comparison()
    once.add(compared())
    twice.add(compared())
    twice.add(compared())
    one, two = (found.as_json()["prices"]["rule"]["policies"]["masking_eager"] for found in (once, twice))
    assert two["cost"] == pytest.approx(2 * one["cost"])
    assert (two["ratio"], two["risk"], two["worst_session"]) == pytest.approx((one["ratio"], one["risk"], one["worst_session"]))


def test_no_schedule_is_below_the_bound():
    """Marks applied at once without any penalty are the least that can be paid."""
    outcome = compare(long_session(), PRICE_RULES)
    for rule, policies in outcome.outcomes.items():
        for mark_set, bound in outcome.bounds[rule].items():
            own = [found.cost for name, found in policies.items() if name.startswith(mark_set)]
            assert min(own) >= bound - 1e-6


def test_requests_are_told_one_by_one_if_asked():
    """Sizes and costs of each request add up to the totals."""
    found = compared(with_requests=True).outcomes["rule"]["masking_eager"]
    assert sum(found.costs) == pytest.approx(found.cost)
    assert sum(found.sizes) == pytest.approx(found.tokens)
    assert compared().outcomes["rule"]["masking_eager"].costs == ()
