"""What a person can act on after a replay."""

import ast
import dataclasses
import json

import msgspec
import pytest

import redline
from redline.prices import find_price
from redline.providers.anthropic.cache_control import CONTEXT_EDITING_BETA
from redline.record.records import SavedTokens
from redline.sessions.replay.advice import PaidBill, advise
from redline.sessions.replay.comparison import ADVISED, BASELINE, PaidSession, PolicyOutcome, SessionOutcome, compare
from redline.sessions.replay.paid import own_prices
from redline.sessions.replay.under_policy import BY_PROVIDER
from redline.values.messages import Text
from tests.sessions.replay.recorded import Usage, recorded, step


def outcome(model, **settings):
    """Eighty reads of as many files, none of them looked at again."""
    turns = [("user", (Text("go"),))]
    for number in range(80):
        turns += step(number, "Read", {"file_path": f"/p/{number}.py"}, f"this is line {number} of a file\n" * 200)
    history = recorded([*turns, ("assistant", (Text("done"),))], every_ms=20_000.0, model=model, **settings)
    rule, price = own_prices(history)
    return compare(history, {}, (), own=rule, price=price)


def given(
    careful,
    balanced,
    bold,
    *,
    requests=1000,
    price=None,
    rereads=0.0,
    quoted=2,
    strikes=(100, 100, 100),
    folds=0,
    folded_cost=1000.0,
    **facts,
):
    """A session that cost 1,000 with everything sent: of each preset the cost, and how many requests miss something."""
    found = {
        name: PolicyOutcome(cost, 0.0, 0.0, 0, struck, quoted, 1, strict_strikes=5, strict_requests=missed, reread_cost=rereads)
        for name, (cost, missed), struck in zip(ADVISED[1:], (careful, balanced, bold), strikes, strict=True)
    }
    folded = PolicyOutcome(folded_cost, 0.0, 0.0, 0, 0, 0, 0, folds=folds, saved=SavedTokens(folded=70 * folds))
    own = {"folded": folded, **found, BASELINE: PolicyOutcome(1000.0, 0.0, 0.0, 0, 0, 0, 0)}
    return SessionOutcome("s", "test", requests, {}, own, price=price, **facts)


@pytest.mark.parametrize(
    ("presets", "advised", "why"),
    [
        (
            ((850, 20), (760, 40), (700, 73)),
            "bold",
            "`bold` misses words in 7.3 % of the requests by the strict measure (7.3 % allowed)",
        ),
        (((850, 20), (760, 40), (700, 74)), "balanced", "words in 7.4 % of the requests by the strict measure (7.3 % allowed)"),
        (((850, 20), (760, 41), (700, 74)), "careful", "words in 4.1 % of the requests by the strict measure (4 % allowed)"),
        (
            ((850, 41), (760, 41), (700, 74)),
            None,
            "(4 % allowed), and 2 % of its strikes were quoted or read again (10 % allowed): too much",
        ),
        (((850, 20), (821, 30), (819, 40)), "bold", "`bold` misses words in 4 % of the requests by the strict measure (7.3 %"),
        (((850, 20), (821, 30), (821, 40)), "careful", "2.9 points of the bill less than `careful`, which is not worth"),
        (((850, 20), (800, 30), (771, 40)), "balanced", "`bold` costs 2.9 points of the bill less than `balanced`"),
        (
            ((850, 20), (760, 41), (700, 73)),
            "careful",
            "`balanced` misses words in 4.1 % of the requests by the strict measure",
        ),
        (((980, 0), (900, 0), (980, 0)), "balanced", "`bold` costs 8 points of the bill more than `balanced`"),
        (((990, 0), (985, 0), (981, 0)), None, "`bold` saves 1.9 % of the bill, less than 2 %"),
        (
            ((1100, 0), (900, 0), (890, 0)),
            "balanced",
            "`careful` costs 10 points of the bill more than sending everything, which is not",
        ),
        (((1000, 0), (900, 0), (900.1, 0)), "balanced", "`careful` saves nothing over sending everything; `balanced` misses"),
        (((1000, 0), (900, 0), (900.1, 0)), "balanced", "; `bold` saves nothing over `balanced`"),
    ],
)
def test_the_boldest_within_its_limit_that_pays_is_advised(presets, advised, why):
    """At most 4, 4 and 7.3 % of the requests by the strict measure, and 3 points of the bill less than the safer one."""
    advice = advise([given(*presets)])
    assert advice.policy == advised
    assert why in advice.why


def test_what_is_quoted_too_often_is_not_advised():
    """At most 10, 10 and 15 % of the strikes may be quoted or read again (R118)."""
    costs = (850, 1), (760, 1), (700, 1)
    assert [advise([given(*costs, quoted=count)]).policy for count in (10, 11)] == ["bold", None]
    assert "11 % of its strikes were quoted or read again (10 % allowed): too much" in advise([given(*costs, quoted=11)]).why


def test_a_preset_that_strikes_nothing_says_so():
    """It is not one that costs 0 points more."""
    struck = given((1000, 0), (900, 0), (895, 0), quoted=0, strikes=(0, 100, 100))
    assert advise([struck]).policy == "balanced"
    assert advise([struck]).why.startswith(
        "`folded` changes nothing here; `careful` changes nothing here; `balanced` misses words in 0 % of the requests"
    )
    nothing = given((1000, 0), (1000, 0), (1000, 0), quoted=0, strikes=(0, 0, 0))
    assert (advise([nothing]).policy, advise([nothing]).why) == (None, "no preset changes anything here")


def test_folds_alone_are_advised_where_strikes_are_not_worth_it():
    """They pay without a strike, and an exact fold is in no share of what may be missed."""
    advice = advise([given((905, 0), (904, 0), (903, 0), folds=40, folded_cost=930.0)])
    assert (advice.policy, advice.figures.folds, advice.figures.folded_tokens) == ("folded", 40, 2_800)
    assert (advice.figures.strikes, advice.figures.risk) == (0, 0)
    assert "0 % of its folds were quoted or read again" in advice.why
    assert advice.switch_on_command == "redline proxy --policy folded"


def test_sessions_that_were_struck_weigh_nothing():
    """What ran behind Redline was pruned once: it is counted, and what it saved is told, and that is all (R111, R112)."""
    whole = given((850, 20), (760, 30), (700, 40))
    paid = PaidSession(7.0, 6.0, 2.0, 10)
    struck = given((100, 0), (100, 0), (100, 0), was_struck=True, paid=paid)
    thinned = given((100, 0), (100, 0), (100, 0), missing_tokens=9_000.0, paid=PaidSession(3.0, 2.0, 0.0, 10))
    dry = given((850, 20), (760, 30), (700, 40), paid=PaidSession(5.0, 4.0, 1.0, 10, is_dry_run=True))
    alone, beside = advise([whole, dry]), advise([whole, struck, thinned, dry])
    assert (beside.cost, beside.weighed, beside.policy) == (alone.cost, alone.weighed, alone.policy)
    assert (beside.sessions, beside.sessions_edited, beside.sessions_thinned) == (4, 1, 1)
    assert beside.paid == PaidBill(usd=15.0, input_usd=12.0, saved_usd=2.0, would_save_usd=1.0, sessions=3)
    only = advise([struck, thinned])
    assert (only.policy, only.why) == (None, "what could be struck was struck when it was sent")


def test_the_figures_say_which_cache_they_hold_for():
    """Five minutes, or the hour that the requests asked for."""
    assert advise([outcome("claude-opus-4-6")]).caches == ("5 minutes",)
    usages = [Usage(0, 0, 0, 100, 100)] * 81
    assert advise([outcome("claude-opus-4-6"), outcome("claude-opus-4-6", usages=usages)]).caches == ("5 minutes", "1 hour")


def test_what_saves_nothing_at_worst_is_not_advised():
    """Asking again for what was quoted would cost more than was saved."""
    assert advise([given((850, 1), (760, 1), (700, 1), rereads=350.0)]).policy is None


def test_every_preset_is_told_with_bill_and_both_risks():
    """For programs as plain values, the safest first; the figures of the advised one are beside them."""
    found = advise([given((850, 20), (760, 40), (700, 74)), given((850, 0), (760, 0), (700, 0), requests=3000)]).as_json()
    assert [one["policy"] for one in found["weighed"]] == list(ADVISED)
    bold = found["weighed"][3]
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


def test_for_a_model_that_binds_its_reasoning_the_provider_may_clear():
    """Presets strike what is allowed there; beside them, what the provider clears itself is weighed if all models are so."""
    bound, free = outcome("claude-opus-5-5"), outcome("claude-opus-4-6")
    alone, both, saved = (advise(made).as_json() for made in ([bound], [bound, free], [free]))
    assert [one["policy"] for one in alone["weighed"]] == [*ADVISED, *BY_PROVIDER]
    assert (alone["sessions_bound"], both["sessions_bound"], saved["sessions_bound"]) == (1, 1, 0)
    assert saved["policy"] in ADVISED
    assert [one["policy"] for one in both["weighed"]] == [one["policy"] for one in saved["weighed"]] == list(ADVISED)
    for both_cost, *costs in zip(*([one["cost"] for one in made["weighed"][:3]] for made in (both, alone, saved)), strict=True):
        assert both_cost == pytest.approx(sum(costs))


def test_what_may_not_be_struck_is_not_advised():
    """All presets strike nothing, and the provider clears what saves enough at worst."""
    bound = find_price("claude-opus-5-5")
    nothing = given((1000, 0), (1000, 0), (1000, 0), quoted=0, strikes=(0, 0, 0), price=bound)
    for cost, policy in ((980.0, "clear_tool_uses"), (995.0, None)):
        by_provider = {name: PolicyOutcome(cost + place, 0.0, 0.0, 0, 10, 1, 1) for place, name in enumerate(BY_PROVIDER)}
        advice = advise([msgspec.structs.replace(nothing, own={**nothing.own, **by_provider})])
        assert advice.policy == policy
        assert advice.why.startswith("no preset changes anything here; ")


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
