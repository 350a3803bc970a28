import pytest

from redline.prices import find_price
from redline.sessions.replay.paid import own_prices
from redline.values.messages import Text
from tests.sessions.replay.recorded import Usage, recorded

TURNS = [("user", (Text("go"),)), ("assistant", (Text("done"),))]


@pytest.mark.parametrize(("usage", "minutes"), [(None, 5), (Usage(0, 0, 0, 100), 5), (Usage(0, 0, 0, 100, 100), 60)])
def test_a_session_has_the_prices_of_the_cache_that_it_used(usage, minutes):
    """That of five minutes, unless what was reported was written for an hour (R113)."""
    rule, price = own_prices(recorded(TURNS, usages=[usage]))
    assert price == find_price("claude-opus-4-6")
    assert rule.lifetime_ms == minutes * 60_000


@pytest.mark.parametrize("model", ["nobody-knows-it", None])
def test_a_model_that_nobody_knows_is_charged_as_most_are(model):
    """As most Claude models: nothing is known of its price."""
    rule, price = own_prices(recorded(TURNS, model=model))
    assert price is None
    assert (rule.read, rule.write, rule.lifetime_ms) == (0.1, 1.25, 300_000)
