import pytest
from hypothesis import given

from redline import ValidationError
from redline.engine.project import DestinationFinder
from redline.prices import Price
from redline.prices.find import price_of
from redline.record.records import Destination
from redline.testing import json_values
from redline.tokens import Estimate

OWN = Price(model="mine", input=1, output=5, cache_read=0.1, cache_write=1.25, binds_reasoning=True)


def destinations():
    return DestinationFinder(Estimate())


def test_what_is_not_said_is_as_before():
    """Nothing said, nothing known; later what was said last counts."""
    made = destinations()
    assert made.find(None, None, None) is None
    first = made.find("claude-opus-5-5", {"system": "Be brief."}, None)
    assert first.model == "claude-opus-5-5"
    assert first.binds_reasoning
    assert first.preamble_tokens > 0
    assert made.find(None, None, first) == first
    other = made.find("gpt-5.6", None, first)
    assert (other.model, other.preamble, other.binds_reasoning) == ("gpt-5.6", first.preamble, False)
    assert made.find(None, "Be long.", first).model == "claude-opus-5-5"


def test_a_model_of_ones_own():
    """A price says what the table does not know."""
    assert destinations().find(OWN, None, None) == Destination("mine", binds_reasoning=True)
    assert price_of(OWN) is OWN
    assert price_of(None) is price_of("nobody-knows-it") is None


@pytest.mark.parametrize("model", ["", 7, b"m"])
def test_a_model_is_a_name_or_a_price(model):
    """Anything else is an error that says so."""
    with pytest.raises(ValidationError, match="model must be the name"):
        destinations().find(model, None, None)


def test_a_preamble_is_json():
    """Anything else is an error that says so."""
    with pytest.raises(ValidationError, match="preamble must be JSON"):
        destinations().find(None, {"tools": object()}, None)


@given(json_values().filter(lambda value: value is not None), json_values().filter(lambda value: value is not None))
def test_a_preamble_has_one_digest(one, other):
    """The same value gives the same, whatever was looked at in between; only a digest and a count are kept of it."""
    made = destinations()
    first = made.find(None, one, None)
    made.find(None, other, None)
    assert made.find(None, one, None) == first == destinations().find(None, one, None)
    assert len(first.preamble) == 16
