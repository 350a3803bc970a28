import pytest

from redline import FORMATS
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.log.records import MessageAdded, Strike, StrikesApplied, ViewChanged
from redline.rules.rule import Mark
from redline.tokens import Estimate
from redline.view.view import View

LONG, SHORT = b'{"role":"user","content":"' + b"word " * 200 + b'"}', b'{"role":"user","content":"hi"}'
MARK = Mark("r", 0, ("content",), "[gone]", "why")


@pytest.fixture
def state():
    state = State(FORMATS["openai_chat"])
    state.apply_all([MessageAdded(LONG), MessageAdded(SHORT)])
    return state


def test_a_view_is_the_sum_of_its_messages(state):
    """Whatever it shows, in the versions that it shows."""
    sizes = Sizes(state, Estimate())
    assert sizes.of_view(state.view) == sizes.of_message(0) + sizes.of_message(1)
    state.apply(ViewChanged(((0, 2),), replaced=((0, SHORT),)))
    assert sizes.of_message(0) == sizes.of_message(1)
    assert sizes.of_view(View.of([0, 1])) > sizes.of_view(state.view)


def test_saving_of_a_mark(state):
    """What stands there less what would; never below zero."""
    sizes = Sizes(state, Estimate())
    assert sizes.saving(MARK) == sizes.at(MARK) - sizes.instead(MARK) > 100
    assert sizes.saving(Mark("r", 1, ("content",), "much longer than what stood there", "why")) == 0


def test_messages_as_they_were_before_the_requests_of_this_view(state):
    """Strikes of an earlier view count, those of this one do not."""
    sizes = Sizes(state, Estimate())
    whole, strike = sizes.of_message(0), Strike(0, "r", 0, ("content",), "[gone]", "why", 200, 2)
    state.apply(StrikesApplied((strike,)))
    assert sizes.before_requests(0) == whole
    state.apply(ViewChanged(((0, 2),)))
    assert sizes.before_requests(0) == whole - 198
