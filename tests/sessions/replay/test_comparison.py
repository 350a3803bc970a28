from collections import defaultdict
from dataclasses import replace

import pytest

from redline import Policy, read_transcript
from redline.errors import ValidationError
from redline.policy.policy import find_policy
from redline.policy.presets import PRESETS
from redline.prices import PRICE_RULES, find_price
from redline.sessions.replay.comparison import (
    ADVISED,
    BASELINE,
    POLICIES,
    Comparison,
    SessionOutcome,
    compare,
    outcome_of,
    paid_of,
    replay_policies,
)
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun
from redline.sessions.replay.under_policy import BY_PROVIDER, SessionSizes, strikes_under
from redline.values.messages import Text
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.partial_fold import COMMAND, PROGRESS, use_partial_fold
from tests.sessions.replay.recorded import Usage, recorded, step
from tests.sessions.replay.sessions import RULE
from tests.sessions.replay.used_later import used_later

CHOSEN = ("documents", "masking")


def at_once_of(name):
    """A preset that does not wait for a cold cache."""
    return replace(find_policy(name), schedule="eager")


MASKING_EAGER = at_once_of("masking")


def long_session(**settings):
    turns = [("user", (Text("go"),))]
    for number in range(40):
        turns += step(number, "Read", {"file_path": f"/p/{number % 3}.py"}, "word " * 400)
    return recorded([*turns, ("assistant", (Text("done"),))], every_ms=20_000.0, **settings)


def compared(**options):
    return compare(long_session(), {"rule": RULE}, CHOSEN, **options)


def outcome_under(history, policy=MASKING_EAGER, **options):
    """A session under a policy that has no name."""
    session = SessionReplay(history)
    return outcome_of(session, session.under(policy, RULE), **options)


def outcomes_under(history, policy=MASKING_EAGER):
    """A session in which this policy is compared under the name `mine`."""
    own = {BASELINE: outcome_under(history, Policy(rules=())), "mine": outcome_under(history, policy)}
    return SessionOutcome("s", "test", len(history.requests), {"rule": own}, {})


def test_the_baseline_is_always_there():
    """Whatever is compared, sending everything is beside it, and is what ratios are to."""
    comparison = Comparison()
    comparison.add(compared())
    policies = comparison.as_json()["prices"]["rule"]["policies"]
    assert list(policies) == ["none", *CHOSEN]
    assert (policies["none"]["ratio"], policies["none"]["tokens_ratio"], policies["none"]["rewrites"]) == (1.0, 1.0, 0)


def test_the_promised_fields_are_there():
    """Cost, ratio, tokens, rewrites and risk for each policy."""
    comparison = Comparison()
    comparison.add(compare(long_session(), PRICE_RULES, CHOSEN))
    found = comparison.as_json()
    assert (found["requests"], found["sessions"]) == (41, 1)
    assert list(found["prices"]) == list(PRICE_RULES)
    for price in found["prices"].values():
        for numbers in price["policies"].values():
            assert numbers.keys() >= {"cost", "ratio", "ratio_with_rereads", "tokens_ratio", "rewrites"}
            assert numbers.keys() >= {"risk", "risk_requests", "strict", "strict_requests", "kinds"}


def test_both_risks_are_as_counted_by_hand():
    """Five strikes and seventeen requests, of which one quotes and two use words; by kind the same, over two sessions alike."""
    comparison = Comparison()
    for _ in range(2):
        comparison.add(outcomes_under(used_later()))
    found = comparison.as_json()["prices"]["rule"]["policies"]["mine"]
    assert (comparison.requests, found["strikes"]) == (34, 10)
    assert (found["risk"], found["risk_requests"]) == (1 / 5, 1 / 17)
    assert (found["strict"], found["strict_requests"]) == (2 / 5, 2 / 17)
    assert found["kinds"] == {
        "terminal": {"strikes": 6, "quoted": 0, "strict": 2},
        "file read": {"strikes": 2, "quoted": 2, "strict": 2},
        "edit": {"strikes": 0, "quoted": 0, "strict": 0},
        "search": {"strikes": 2, "quoted": 0, "strict": 0},
        "other": {"strikes": 0, "quoted": 0, "strict": 0},
    }


def test_kinds_sum_up_to_all_strikes():
    """Under every policy, by both measures."""
    for name, found in compare(used_later(), {"rule": RULE}).outcomes["rule"].items():
        sums = [sum(getattr(one, field) for one in found.kinds.values()) for field in ("strikes", "quoted", "strict")]
        assert (name, sums) == (name, [found.strikes, found.strikes_at_risk, found.strict_strikes])


def test_places_are_told_if_asked():
    """Of the named policies, at the session's own prices: after an hour the cache is cold, and `masking` strikes."""
    history = used_later(every_ms=lambda number: 1000.0 * number + (3_600_000 if number > 26 else 0))
    found = compare(history, {}, (), own=RULE, with_places=("masking",)).places
    assert [(place.message, place.measure) for place in found["masking"].used] == [
        (2, "quoted"),
        (2, "strict"),
        (4, "strict"),
    ]
    assert compare(history, {}, (), own=RULE).places == {}


def test_rereads_are_paid_for():
    """What was struck and then used is asked for once more: a request, the writing, and carrying it to the end."""
    line = "the_answer = compute_everything(42)"
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "cat a"}, f"{line}\n" + "word " * 300)]
    for number in range(1, 12):
        turns += step(number, "Bash", {"command": "ls"}, "a.py")
    turns += [("assistant", (Text(line),)), ("user", (Text("go on"),)), ("assistant", (Text("done"),))]
    session = SessionReplay(recorded(turns))
    found = session.under(MASKING_EAGER, RULE)
    [strike] = [one for one in found.strikes if one.index == 2]
    saved, others = strike.tokens_saved, sum(one.tokens_saved for one in found.strikes if one.index != 2 and one.first <= 12)
    sent = session.sizes.unstruck[12] - saved - others
    assert (found.risks["quoted"].strikes, strike.used_at) == (1, 12)
    assert found.reread_cost == pytest.approx(0.1 * sent + 1.25 * saved + 0.1 * saved)
    comparison = Comparison()
    comparison.add(outcomes_under(session.history))
    numbers = comparison.as_json()["prices"]["rule"]["policies"]
    assert numbers["mine"]["ratio_with_rereads"] > numbers["mine"]["ratio"]
    assert numbers["none"]["ratio_with_rereads"] == 1.0


def test_sessions_add_up():
    """Two sessions alike cost twice as much, and have the same ratios."""
    once, twice = Comparison(), Comparison()
    once.add(outcomes_under(long_session()))
    twice.add(outcomes_under(long_session()))
    twice.add(outcomes_under(long_session()))
    one, two = (found.as_json()["prices"]["rule"]["policies"]["mine"] for found in (once, twice))
    assert two["cost"] == pytest.approx(2 * one["cost"])
    assert (two["ratio"], two["risk"], two["worst_session"]) == pytest.approx((one["ratio"], one["risk"], one["worst_session"]))


def test_requests_are_told_one_by_one_if_asked():
    """Sizes and costs of each request add up to the totals."""
    found = compared(with_requests=True).outcomes["rule"]["documents"]
    assert sum(found.costs) == pytest.approx(found.cost)
    assert sum(found.sizes) == pytest.approx(found.tokens)
    assert compared().outcomes["rule"]["documents"].costs == ()


def test_policies_have_the_names_that_run_takes():
    """Sending everything, the presets of `redline run --policy`, and what a provider clears itself."""
    assert ("none", *PRESETS, *BY_PROVIDER) == POLICIES
    assert set(ADVISED) < set(PRESETS)
    assert list(compare(used_later(), {"rule": RULE}).outcomes["rule"]) == list(POLICIES)


def test_eager_strikes_all_and_none_strikes_nothing():
    """The two ends of the scale."""
    history = long_session()
    assert compare(history, {"rule": RULE}, ()).outcomes["rule"]["none"].strikes == 0
    assert outcome_under(history).strikes == 30


def test_an_unknown_policy_is_refused():
    """The error names those that are known."""
    with pytest.raises(ValidationError, match="careful, balanced, bold"):
        compare(long_session(), {"rule": RULE}, ("magic",))


def test_a_session_is_described():
    """By agent, model, prices, and what its file says."""
    price = find_price("claude-opus-4-6")
    found = compare(long_session(), {}, (), own=price.rule(), price=price)
    assert (found.agent, found.model, found.requests, found.price) == ("test", "claude-opus-4-6", 41, price)
    assert (found.has_usage, found.has_times, found.was_struck, found.paid) == (False, True, False, None)
    assert list(found.own) == [BASELINE, *ADVISED]
    bound = find_price("claude-opus-5-5")
    assert list(compare(long_session(), {}, (), own=bound.rule(), price=bound).own) == [BASELINE, *ADVISED, *BY_PROVIDER]


def test_what_was_paid_is_what_was_reported():
    """At list prices, output included; the part of the input is told beside it."""
    price = find_price("claude-opus-4-6")
    history = long_session(usages=[Usage(100, 10, 1_000, 200)] * 41)
    paid = paid_of(history)
    read, write = 1_000 * price.cache_read, 200 * price.cache_write
    assert paid.requests == 41
    assert paid.input_usd == pytest.approx(41 * (100 * price.input + read + write) / 1e6)
    assert paid.usd - paid.input_usd == pytest.approx(41 * 10 * price.output / 1e6)
    assert (paid.saved_usd, paid.usd_without, paid.is_dry_run) == (0.0, paid.usd, False)
    assert paid_of(long_session()) is None


SCHEDULED = ("stale", "superseded", "masking")


@pytest.fixture(scope="module")
def costs():
    """By price rule, rules and schedule, the cost of each recorded session."""
    found = defaultdict(list)
    for agent in ("claude-code", "codex", "opencode", "pi"):
        for row in corpus_rows(agent):
            if "hand-made-fixture" not in row["features"]:
                for history in histories_in(read_transcript(corpus_path(row))):
                    sizes = SessionSizes(history)
                    at_once = dict(zip(SCHEDULED, strikes_under(list(map(at_once_of, SCHEDULED)), sizes, RULE), strict=True))
                    for rule_name, rule in PRICE_RULES.items():
                        found[rule_name, BASELINE, ""].append(SimulatedRun(sizes, rule).cost)
                        when_free = strikes_under(list(map(find_policy, SCHEDULED)), sizes, rule)
                        for name, free in zip(SCHEDULED, when_free, strict=True):
                            found[rule_name, name, "eager"].append(SimulatedRun(sizes, rule, at_once[name]).cost)
                            found[rule_name, name, "when_free"].append(SimulatedRun(sizes, rule, free).cost)
    return found


@needs_corpus
@pytest.mark.parametrize("name", SCHEDULED)
@pytest.mark.parametrize("rule", PRICE_RULES)
def test_when_free_pays_on_recorded_sessions(costs, rule, name):
    """In total it is cheaper than nothing or all at once; no session is 5 percent dearer."""
    nothing, eager, free = costs[rule, BASELINE, ""], costs[rule, name, "eager"], costs[rule, name, "when_free"]
    assert sum(free) < min(sum(nothing), sum(eager))
    assert max(one / without for one, without in zip(free, nothing, strict=True)) <= 1.05


def test_a_replay_leaves_out_the_lines_that_a_run_would(monkeypatch):
    """Behind `redline run` agents can read whole results, so that partial folds count in what is advised."""
    use_partial_fold(monkeypatch)
    made = recorded([("user", (Text("go"),)), *step(0, "Bash", {"command": COMMAND}, PROGRESS), ("assistant", (Text("done"),))])
    played = replay_policies(SessionReplay(made), ["folded"], RULE, None)
    assert [strike.is_partial for strike in played["folded"].strikes] == [True]
