"""What a person can act on after a replay."""

import dataclasses
import re

import msgspec
import pytest

import redline
from redline.messages import Text
from redline.prices import find_price
from redline.replay.advice import Advice, advise
from redline.replay.comparison import BASELINE, compare
from redline.replay.policies import ADVISED
from redline.rules import RULES
from tests.replay.recorded import recorded, step


def outcome(model):
    """Eighty reads of as many files, none of them looked at again."""
    turns = [("user", (Text("go"),))]
    for number in range(80):
        turns += step(number, "Read", {"file_path": f"/p/{number}.py"}, f"this is line {number} of a file\n" * 200)
    session = recorded([*turns, ("assistant", (Text("done"),))], every_ms=20_000.0)
    requests = tuple(msgspec.structs.replace(request, model=model) for request in session.requests)
    price = find_price(model) if model else None
    rule = (price or find_price("claude-opus-4-6")).rule()
    return compare(dataclasses.replace(session, requests=requests), {}, (), own=rule, price=price)


def test_the_cheapest_at_worst_is_advised():
    """Among those that can be switched on, with what asking again would cost (R41)."""
    made = outcome("claude-opus-4-6")
    advice = advise([made])
    worst = {policy: made.own[policy].cost + made.own[policy].reread_cost for policy in ADVISED}
    assert advice.policy is not None
    assert worst[advice.policy] == min(worst.values())
    assert advice.cost == pytest.approx(made.own[BASELINE].cost * 5 / 1e6)
    assert 0 < advice.saved_share < 1


def test_a_model_that_binds_its_reasoning_is_advised_no_strikes():
    """Only what the provider clears itself may be advised; what would be refused counts as sending everything (R41)."""
    bound, free = outcome("claude-opus-5-5"), outcome("claude-opus-4-6")
    alone, both = advise([bound]), advise([bound, free])
    assert alone.policy in (None, "clear_tool_uses", "clear_tool_uses_min_gain")
    assert both.sessions_bound == 1
    saved = advise([free])
    assert both.cost - both.cost_with_policy == pytest.approx(saved.cost - saved.cost_with_policy)


def test_without_a_price_the_cost_is_in_tokens():
    """Dollars are not made up (R41)."""
    advice = advise([outcome(None)])
    assert advice.unit == "tokens"
    assert advice.priced_as == ()
    assert any("no model is recorded" in text for text in advice.assumed)


@pytest.mark.parametrize("policy", ADVISED)
def test_the_line_that_switches_it_on_works(policy):
    """As it is printed, in a conversation, with the rules that were replayed."""
    made = {name: getattr(advise([outcome("claude-opus-4-6")]), name) for name in Advice.__dataclass_fields__}
    line = Advice(**{**made, "policy": policy}).switch_on
    conversation = redline.Conversation([{"role": "user", "content": "hi"}])
    request = eval(line.replace("request(", "request(now=0,"), {"conversation": conversation, "redline": redline})
    assert [message["content"] for message in request.messages] == ["hi"]
    assert set(re.findall(r"[a-z]+_(?:terminal|reads|results)", line)) <= set(RULES)
