"""What a person can act on after a replay."""

import ast
import dataclasses

import msgspec
import pytest

import redline
from redline.formats.context_editing import CONTEXT_EDITING_BETA
from redline.prices import find_price
from redline.replay.advice import Advice, advise
from redline.replay.comparison import BASELINE, compare
from redline.replay.marks import rules_of
from redline.replay.policies import ADVISED, BY_PROVIDER
from redline.values.messages import Text
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
def test_the_code_that_switches_it_on_works(policy, tmp_path, monkeypatch):
    """As it is printed: a conversation with the model, the schedule and the rules that were replayed (R41)."""
    monkeypatch.chdir(tmp_path)
    made = {name: getattr(advise([outcome("claude-opus-4-6")]), name) for name in Advice.__dataclass_fields__}
    known: dict[str, redline.Conversation] = {}
    exec(Advice(**{**made, "policy": policy}).switch_on, known)
    with known["conversation"] as talk:
        talk.add({"role": "user", "content": "hi"})
        request = talk.request()
        assert [message["content"] for message in request.messages] == ["hi"]
        assert (request.schedule, request.model) == ("when_free", "claude-opus-4-6")
        mark_set = policy.removesuffix("_when_free")
        assert [one.name for one in talk.policy.made_rules()] == [one.name for one in rules_of(mark_set)]


@pytest.mark.parametrize("policy", BY_PROVIDER)
def test_what_the_provider_is_told_is_what_was_replayed(policy):
    """With the beta that it needs, and the least gain where that is the policy (R41)."""
    made = {name: getattr(advise([outcome("claude-opus-5-5")]), name) for name in Advice.__dataclass_fields__}
    code = Advice(**{**made, "policy": policy}).switch_on
    told = eval(code.replace("client.beta.messages.create", "dict").replace("    ...,\n", ""))
    gain = 20_000 if policy == "clear_tool_uses_min_gain" else None
    assert told["betas"] == [CONTEXT_EDITING_BETA]
    assert [edit.get("clear_at_least", {}).get("value") for edit in told["context_management"]["edits"]] == [gain]


def test_a_model_named_to_do_harm_stays_a_name():
    """A name from a session file cannot become code that is printed to be pasted (R55)."""
    made = {name: getattr(advise([outcome(None)]), name) for name in Advice.__dataclass_fields__}
    name = 'x")\nimport os  # '
    code = Advice(**{**made, "policy": "spec_when_free", "models": (name,)}).switch_on
    assert repr(ast.parse(code).body[1].value.keywords[0].value.value) == repr(name)
