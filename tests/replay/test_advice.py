"""What a person can act on after a replay."""

import ast
import dataclasses
import json

import msgspec
import pytest

import redline
from redline.formats.context_editing import CONTEXT_EDITING_BETA
from redline.prices import find_price
from redline.replay.advice import advise
from redline.replay.comparison import BASELINE, PolicyOutcome, SessionOutcome, compare
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


def given(careful, balanced, bold, *, requests=1000, price=None, rereads=0.0):
    """A session that cost 1,000 with everything sent: of each preset the cost, and how many requests miss something."""
    found = {
        name: PolicyOutcome(cost, 0.0, 0.0, 0, 100, 2, 1, strict_strikes=5, strict_requests=missed, reread_cost=rereads)
        for name, (cost, missed) in zip(ADVISED, (careful, balanced, bold), strict=True)
    }
    own = {**found, BASELINE: PolicyOutcome(1000.0, 0.0, 0.0, 0, 0, 0, 0)}
    return SessionOutcome("s", "test", requests, {}, own, {}, price=price)


@pytest.mark.parametrize(
    ("presets", "advised", "why"),
    [
        (((850, 20), (760, 40), (700, 73)), "bold", "`bold` misses words in 7.3 % of the requests (7.3 % allowed)"),
        (
            ((850, 20), (760, 40), (700, 74)),
            "balanced",
            "words in 7.4 % of the requests, more than the 7.3 % allowed",
        ),
        (
            ((850, 20), (760, 41), (700, 74)),
            "careful",
            "words in 4.1 % of the requests, more than the 4 % allowed",
        ),
        (((850, 41), (760, 41), (700, 74)), None, "`careful` misses words in 4.1 % of the requests, more than the 4 % allowed"),
        (((850, 20), (821, 30), (819, 40)), "bold", "`bold` misses words in 4 % of the requests (7.3 % allowed)"),
        (((850, 20), (821, 30), (821, 40)), "careful", "2.9 points of the bill less than `careful`, which is not worth"),
        (((850, 20), (800, 30), (771, 40)), "balanced", "`bold` costs 2.9 points of the bill less than `balanced`"),
        (((850, 20), (760, 41), (700, 73)), "careful", "`balanced` misses words in 4.1 % of the requests, more than the 4 %"),
        (((980, 0), (900, 0), (980, 0)), "balanced", "`bold` costs 8 points of the bill more than `balanced`"),
        (((990, 0), (985, 0), (981, 0)), None, "`bold` saves 1.9 % of the bill, less than 2 %"),
        (
            ((1100, 0), (900, 0), (890, 0)),
            "balanced",
            "`careful` costs 10 points of the bill more than sending everything, which is not",
        ),
    ],
)
def test_the_boldest_within_its_limit_that_pays_is_advised(presets, advised, why):
    """At most 2, 4 and 7.3 % of the requests by the strict measure, and 3 points of the bill less than the safer one."""
    advice = advise([given(*presets)])
    assert advice.policy == advised
    assert why in advice.why


def test_what_saves_nothing_at_worst_is_not_advised():
    """Asking again for what was quoted would cost more than was saved."""
    assert advise([given((850, 1), (760, 1), (700, 1), rereads=350.0)]).policy is None


def test_every_preset_is_told_with_bill_and_both_risks():
    """For programs as plain values, the safest first; the figures of the advised one are beside them."""
    found = advise([given((850, 20), (760, 40), (700, 74)), given((850, 0), (760, 0), (700, 0), requests=3000)]).as_json()
    assert [one["policy"] for one in found["weighed"]] == list(ADVISED)
    bold = found["weighed"][2]
    assert (bold["ratio"], bold["strikes"], bold["risk"], bold["strict"]) == (0.7, 200, 0.02, 0.05)
    assert (bold["risk_requests"], bold["strict_requests"]) == (2 / 4000, 74 / 4000)
    assert (found["policy"], found["cost"], found["cost_with_policy"]) == ("bold", 2000.0, 1400.0)
    assert (found["saved_share"], found["strikes"], found["strikes_used_later"]) == (pytest.approx(0.3), 200, 4)
    assert json.loads(json.dumps(found))["switch_on_command"] == "redline proxy --policy bold"


def test_where_nothing_is_advised_nothing_is_saved():
    """The figures are those of sending everything."""
    found = advise([given((1000, 0), (1000, 0), (1000, 0))]).as_json()
    assert (found["policy"], found["cost_with_policy"], found["cost_with_rereads"]) == (None, 1000, 1000)
    assert (found["saved_share"], found["saved_share_with_rereads"]) == (0, 0)
    assert (found["switch_on"], found["switch_on_command"], found["switch_on_toml"], found["strikes"]) == (None, None, None, 0)


def test_a_model_that_binds_its_reasoning_is_advised_no_strikes():
    """Only what the provider clears itself may be advised; what would be refused counts as sending everything (R41)."""
    bound, free = outcome("claude-opus-5-5"), outcome("claude-opus-4-6")
    alone, both, saved = (advise(made).as_json() for made in ([bound], [bound, free], [free]))
    assert [one["policy"] for one in alone["weighed"]] == list(BY_PROVIDER)
    assert alone["policy"] in (None, *BY_PROVIDER)
    assert both["sessions_bound"] == 1
    assert saved["policy"] in ADVISED
    for beside, own in zip(both["weighed"], saved["weighed"], strict=True):
        assert beside["policy"] == own["policy"]
        assert both["cost"] - beside["cost"] == pytest.approx(saved["cost"] - own["cost"])


def test_requests_of_a_model_that_refuses_do_not_thin_the_risk():
    """Nothing is struck in them, so that nothing can be missed there."""
    made = [given((850, 20), (760, 40), (700, 74)), given((1, 0), (1, 0), (1, 0), price=find_price("claude-opus-5-5"))]
    assert [one.strict_requests for one in advise(made).weighed] == [0.02, 0.04, 0.074]


def test_without_a_price_the_cost_is_in_tokens():
    """Dollars are not made up (R41)."""
    advice = advise([outcome(None)])
    assert advice.unit == "tokens"
    assert advice.priced_as == ()
    assert any("no model is recorded" in text for text in advice.assumed)


@pytest.mark.parametrize("policy", ADVISED)
def test_the_code_that_switches_it_on_works(policy, tmp_path, monkeypatch):
    """As it is printed: a conversation with the model, the schedule and the rule that were replayed (R41)."""
    monkeypatch.chdir(tmp_path)
    known: dict[str, redline.Conversation] = {}
    exec(dataclasses.replace(advise([outcome("claude-opus-4-6")]), policy=policy).switch_on, known)
    with known["conversation"] as talk:
        talk.add({"role": "user", "content": "hi"})
        request = talk.request()
        assert [message["content"] for message in request.messages] == ["hi"]
        assert (request.schedule, request.model) == ("when_free", "claude-opus-4-6")
        assert talk.policy == redline.Policy.named(policy)


@pytest.mark.parametrize("policy", ADVISED)
def test_the_file_that_switches_it_on_works(policy, tmp_path):
    """A `redline.toml` with the lines that are printed has the rule and the schedule that were replayed."""
    (tmp_path / "redline.toml").write_text(dataclasses.replace(advise([outcome(None)]), policy=policy).switch_on_toml)
    assert redline.Policy.load(tmp_path / "redline.toml") == redline.Policy.named(policy)


@pytest.mark.parametrize("policy", BY_PROVIDER)
def test_what_the_provider_is_told_is_what_was_replayed(policy):
    """With the beta that it needs, and the least gain where that is the policy (R41)."""
    code = dataclasses.replace(advise([outcome("claude-opus-5-5")]), policy=policy).switch_on
    told = eval(code.replace("client.beta.messages.create", "dict").replace("    ...,\n", ""))
    gain = 20_000 if policy == "clear_tool_uses_min_gain" else None
    assert told["betas"] == [CONTEXT_EDITING_BETA]
    assert [edit.get("clear_at_least", {}).get("value") for edit in told["context_management"]["edits"]] == [gain]


def test_a_model_named_to_do_harm_stays_a_name():
    """A name from a session file cannot become code that is printed to be pasted (R55)."""
    name = 'x")\nimport os  # '
    code = dataclasses.replace(advise([outcome(None)]), policy="careful", models=(name,)).switch_on
    assert repr(ast.parse(code).body[1].value.keywords[0].value.value) == repr(name)
