import pytest

from redline.prices import PRICE_RULES
from redline.replay.comparison import Comparison, compare
from redline.replay.marks import MARK_SETS, due_marks, rules_of
from redline.values.messages import Text
from tests.replay.recorded import recorded, step
from tests.replay.sessions import RULE
from tests.replay.test_policies import long_session
from tests.replay.used_later import used_later

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
            assert numbers.keys() >= {"cost", "ratio", "ratio_with_rereads", "tokens_ratio", "rewrites"}
            assert numbers.keys() >= {"risk", "risk_requests", "strict", "strict_requests", "kinds"}


def test_both_risks_are_as_counted_by_hand():
    """Five strikes and seventeen requests, of which one quotes and two use words; by kind the same, over two sessions alike."""
    comparison = Comparison()
    for _ in range(2):
        comparison.add(compare(used_later(), {"rule": RULE}, ("masking_eager",)))
    found = comparison.as_json()["prices"]["rule"]["policies"]["masking_eager"]
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


def test_dropped_messages_count_by_the_strict_measure_too():
    """A sliding window takes away what the assistant said itself; of what was said in the window nothing is missed."""
    turns = [("user", (Text("go"),)), ("assistant", (Text("I call it part_99"),)), ("user", (Text("go on"),))]
    for number in range(24):
        turns += step(number, "Bash", {"command": "make"}, "nothing new")
    turns += [("assistant", (Text("part_99"),)), ("user", (Text("go on"),)), ("assistant", (Text("part_99"),))]
    session = recorded(turns)
    found = compare(session, {"rule": RULE}, ("sliding_window",)).outcomes["rule"]["sliding_window"]
    assert (found.strict_strikes, found.strict_requests) == (1, 1)


def test_kinds_sum_up_to_all_strikes():
    """Under every policy, by both measures."""
    for name, found in compare(used_later(), {"rule": RULE}).outcomes["rule"].items():
        sums = [sum(getattr(one, field) for one in found.kinds.values()) for field in ("strikes", "quoted", "strict")]
        assert (name, sums) == (name, [found.strikes, found.strikes_at_risk, found.strict_strikes])


def test_places_are_told_if_asked():
    """Of the named policies, at the session's own prices."""
    found = compare(used_later(), {}, (), own=RULE, with_places=("masking_eager",)).places
    assert [(place.message, place.measure) for place in found["masking_eager"].used] == [
        (2, "quoted"),
        (2, "strict"),
        (4, "strict"),
    ]
    assert compare(used_later(), {}, (), own=RULE).places == {}


def test_rereads_are_paid_for():
    """What was struck and then used is asked for once more: a request, the writing, and carrying it to the end."""
    line = "the_answer = compute_everything(42)"
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "cat a"}, f"{line}\n" + "word " * 300)]
    for number in range(1, 12):
        turns += step(number, "Bash", {"command": "ls"}, "a.py")
    turns += [("assistant", (Text(line),)), ("user", (Text("go on"),)), ("assistant", (Text("done"),))]
    session = recorded(turns)
    found = compare(session, {"rule": RULE}, ("masking_eager",)).outcomes["rule"]["masking_eager"]
    [strike] = [one for one in due_marks(session, rules_of("masking")) if one.position == 2]
    sent = prompt_of(session, 12) - strike.saving
    assert found.strikes_at_risk == 1
    assert found.reread_cost == pytest.approx(0.1 * sent + 1.25 * strike.saving + 0.1 * strike.saving)
    comparison = Comparison()
    comparison.add(compare(session, {"rule": RULE}, ("masking_eager",)))
    numbers = comparison.as_json()["prices"]["rule"]["policies"]
    assert numbers["masking_eager"]["ratio_with_rereads"] > numbers["masking_eager"]["ratio"]
    assert numbers["none"]["ratio_with_rereads"] == 1.0


def prompt_of(session, number):
    """The tokens of a request as it was recorded."""
    request = session.requests[number]
    return session.prefix_tokens + sum(session.tokens[request.start : request.end])


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
