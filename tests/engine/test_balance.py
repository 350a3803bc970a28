import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline.engine import pending
from redline.engine.balance import Balance, Moment, Rates


def balance(tokens, *, rates=None, prefix=0.0):
    made = Balance(rates or Rates(foresight=0, most_loss=10.0), prefix_tokens=prefix)
    for count in tokens:
        made.grow(count)
    return made


def sent(made, moment=None):
    moment = moment or Moment()
    choice = made.decide(moment)
    return choice, made.record(choice, moment)


def test_without_marks_there_is_nothing_to_decide():
    """No mark, no cut."""
    assert sent(balance([10, 10]))[0].cut is None


def test_a_cold_cache_takes_everything():
    """What is written anew anyway can be struck for nothing."""
    made = balance([10, 20, 30])
    sent(made)
    made.hold("a", 1, 15)
    choice, applied = sent(made, Moment(alive=0.0))
    assert (choice.reason, choice.cut, choice.saving, applied) == ("cold", 1, 15, ["a"])
    assert made.tokens == 45


def test_what_was_never_sent_is_free():
    """A mark on the new part of a request goes at once, one on the old part waits."""
    made = balance([10, 2000, 1000])
    sent(made)
    made.grow(500)
    made.hold("old", 1, 20)
    made.hold("new", 3, 400)
    choice, applied = sent(made)
    assert (choice.reason, applied) == ("free", ["new"])
    assert "nothing is cached" in choice.why


def test_a_mark_waits_until_its_rent_has_reached_the_price():
    """One token read ten times costs one; so the tenth part of what is behind, times the waiting, must reach it."""
    made = balance([100, 100, 100], rates=Rates(read=0.1, write=1.1, foresight=0, most_loss=10.0))
    sent(made)
    made.hold("a", 1, 50)  # rent 5 for each request, price 1.0 * 150
    waited = 0
    while not sent(made)[1]:
        waited += 1
    assert waited == 31


def test_marks_behind_a_cut_go_with_it():
    """All that lies behind is written anew, so every mark there goes for nothing more."""
    made = balance([10, 1000, 20, 20], rates=Rates(foresight=100, most_loss=10.0))
    sent(made)
    made.hold("large", 1, 990)
    made.hold("small", 2, 1)
    assert sorted(sent(made)[1]) == ["large", "small"]


def test_the_cut_that_pays_best_is_taken():
    """A small mark far in front does not drag the whole history along."""
    made = balance([100, 50_000, 5_000, 10], rates=Rates(foresight=20, most_loss=10.0))
    sent(made)
    made.hold("front", 0, 50)
    made.hold("back", 2, 4_900)
    choice, applied = sent(made)
    assert (choice.reason, choice.cut, applied) == ("paid", 2, ["back"])


def test_a_session_is_never_much_dearer():
    """A rewrite that pays by its rent is not made while it could leave the session dearer than its limit allows."""
    for most_loss, cut in ((0.5, 1), (0.0, None)):
        made = balance([100, 1000, 100], rates=Rates(foresight=10, most_loss=most_loss))
        sent(made)
        made.hold("a", 1, 900)
        assert sent(made)[0].cut == cut


def test_a_doubtful_cache_makes_a_cut_cheaper():
    """If the cache is probably gone, the price counts only by the probability that it is not."""
    made = balance([100, 1000, 1000])
    sent(made)
    made.hold("a", 1, 500)
    assert made.decide(Moment(alive=1.0)).cut is None
    assert made.decide(Moment(alive=0.2)).cut == 1


def test_a_history_that_is_rewritten_anyway_is_free_from_there():
    """Where something else changes the past, the marks behind it go along."""
    made = balance([100, 1000, 1000])
    sent(made)
    made.hold("before", 0, 10)
    made.hold("behind", 2, 10)
    choice, applied = sent(made, Moment(rewritten_from=1))
    assert (choice.reason, applied) == ("free", ["behind"])


def test_bound_reasoning_is_not_touched():
    """No cut lies before what may not change, however much it would save."""
    made = balance([1000, 10, 10], rates=Rates(foresight=100, most_loss=10.0))
    sent(made)
    made.hold("a", 0, 990)
    assert made.decide(Moment(allowed_from=1)).reason == "nothing"
    assert made.decide(Moment(allowed_from=1, alive=0.0)).reason == "nothing"
    assert made.decide(Moment()).cut == 0


def test_a_price_tier_is_not_crossed_if_a_cut_prevents_it():
    """What crossing would cost counts as rent."""
    made = balance([10_000, 500, 500], rates=Rates(foresight=5, most_loss=0.0))
    sent(made)
    made.hold("a", 1, 100)
    assert made.decide(Moment(tier_tokens=20_000, tier_factor=2.0)).cut is None
    choice = made.decide(Moment(tier_tokens=10_950, tier_factor=2.0))
    assert (choice.reason, choice.cut) == ("tier", 1)


def test_a_full_window_leaves_no_choice():
    """The best cut that makes room is taken; everything, if none does."""
    made = balance([100, 1000, 1000, 1000])
    sent(made)
    made.hold("front", 1, 900)
    made.hold("back", 3, 900)
    assert made.decide(Moment(window_tokens=2500)).cut == 3
    assert made.decide(Moment(window_tokens=1500)).cut == 1
    assert made.decide(Moment(window_tokens=50)).cut == 1
    assert made.decide(Moment(window_tokens=50)).reason == "window"


def test_a_known_number_of_requests_replaces_the_guess():
    """With ten requests to come a cut pays that does not with one."""
    made = balance([100, 1000, 100])
    sent(made)
    made.hold("a", 1, 900)
    assert made.decide(Moment(requests_left=1)).cut is None
    assert made.decide(Moment(requests_left=10)).cut == 1


def test_a_mark_that_fell_away_is_not_applied():
    """What is released is neither applied nor counted."""
    made = balance([100, 1000])
    sent(made)
    made.hold("a", 1, 900)
    made.release("a")
    assert sent(made, Moment(alive=0.0))[1] == []


def test_a_new_view_starts_over():
    """Positions count from zero again, nothing is pending."""
    made = balance([100, 1000], prefix=5.0)
    made.hold("a", 1, 900)
    made.start_over()
    made.grow(7.0)
    assert (made.tokens, made.decide(Moment(alive=0.0)).reason) == (12.0, "nothing")


events = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.integers(1, 2000), st.integers(1, 40)),
        st.tuples(st.just("hold"), st.floats(0, 1), st.floats(0.1, 1), st.integers(1, 5)),
        st.tuples(st.just("send"), st.sampled_from([1.0, 1.0, 1.0, 0.9, 0.4, 0.0]), st.sampled_from([0, 0, 7])),
    ),
    max_size=80,
)


class Plain(Balance):
    """Looks at every cut every time, and reckons by the definition."""

    def _best(self, scale, is_possible, *, least):
        cuts = [cut for stretch in self._pending.stretches(scale.start, scale.end) for cut in stretch.cuts()]
        paying = [cut for cut in cuts if self.surplus(cut, scale) > least and is_possible(cut)]
        best, nearest = (max(some, key=scale.rank, default=None) for some in (paying, cuts))
        return best and scale.choice(best), nearest and scale.choice(nearest)

    def surplus(self, cut, scale):
        marks = [mark for mark in self._pending.marks_from(cut.position) if mark.position < scale.end]
        alive = scale.premium / (self.rates.write - self.rates.read)
        doubt = (1 - alive) * (self.rates.write - self.rates.read)
        waited = [self._requests - mark.since + self.rates.foresight for mark in marks]
        rent = sum(mark.saving * (self.rates.read * requests + doubt) for mark, requests in zip(marks, waited, strict=True))
        kept = sum(self._tokens[cut.position : scale.end]) - sum(mark.saving for mark in marks)
        surplus = rent - scale.premium * kept
        is_last_at_its_position = cut.saving == pytest.approx(sum(mark.saving for mark in marks))
        assert not is_last_at_its_position or scale.surplus(cut) == pytest.approx(surplus, abs=1e-6)
        return scale.surplus(cut)


@pytest.fixture
def small_blocks(monkeypatch):
    """So that a few marks fill several."""
    monkeypatch.setattr(pending, "_BLOCK", 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events, st.sampled_from([Rates(), Rates(foresight=0), Rates(0.025, 1.25), Rates(0.1, 1.0, most_loss=1.0)]))
def test_not_looking_at_every_cut_changes_no_decision(small_blocks, steps, rates):
    """Skipping the cuts that cannot be the best decides as if all had been looked at."""
    quick, plain, marked, count = Balance(rates), Plain(rates), set(), 0
    for step in steps:
        match step:
            case ("grow", tokens, times):
                for made in (quick, plain) * times:
                    made.grow(tokens)
                count += times
            case ("hold", place, share, stride) if count:
                for position in {*range(int(place * (count - 1)), count, stride)} - marked:
                    saving = quick._tokens[position] * share
                    quick.hold(position, position, saving)
                    plain.hold(position, position, saving)
                    marked.add(position)
            case ("send", alive, allowed):
                moment = Moment(alive=alive, allowed_from=allowed)
                chosen, expected = quick.decide(moment), plain.decide(moment)
                assert (chosen.reason, chosen.cut) == (expected.reason, expected.cut)
                assert chosen.cut is None or chosen == expected, "the numbers too"
                assert quick.decide(moment) == chosen, "deciding changes nothing"
                assert quick.record(chosen, moment) == plain.record(expected, moment)
                assert quick.tokens == pytest.approx(quick._prefix + sum(quick._tokens))


def test_a_prefix_that_becomes_known_counts_from_then_on():
    """It is part of every request's size, and changes nothing of what was struck."""
    made = balance([100, 1000])
    sent(made)
    made.set_prefix(500.0)
    assert (made.tokens, made.prefix_tokens) == (1600.0, 500.0)
    made.set_prefix(0.0)
    assert made.tokens == 1100.0


def test_strikes_of_others_make_messages_smaller():
    """What another schedule struck is no longer in the way of a cut before it."""
    made = balance([100, 1000, 1000])
    sent(made)
    made.hold("a", 1, 900)
    price = made.decide(Moment()).price
    made.shrink({2: 600.0})
    assert made.tokens == 1500.0
    assert made.decide(Moment()).price < price


def test_marks_from_a_position_on_are_named():
    """In the order of their positions."""
    made = balance([10, 10, 10])
    for key, position in (("b", 2), ("a", 1), ("z", 0)):
        made.hold(key, position, 1)
    assert made.keys_from(1) == ["a", "b"]


@pytest.mark.parametrize("alive", [1.0, 0.9])
def test_deciding_costs_little_more_in_a_long_conversation(alive):
    """With ten times the messages, and ten times the marks that wait, a decision costs a few times as much at most."""
    cost = {}
    for length in (1_000, 10_000):
        made = balance([200.0] * length, rates=Rates(read=1e-6))
        sent(made)
        for position in range(0, length, 2):
            made.hold(position, position, 50.0)
        seconds = []
        for _ in range(50):
            begin = time.process_time()
            assert made.decide(Moment(alive=alive)).cut is None
            seconds.append(time.process_time() - begin)
        cost[length] = min(seconds)
    assert cost[10_000] < 4 * cost[1_000]


@pytest.mark.parametrize("reason", ["cold", "free", "held", "paid", "tier", "window", "nothing"])
def test_every_decision_says_why(reason):
    """Each reason has its sentence."""
    made = balance([10.0])
    choice = type(made.decide(Moment()))(reason, 0, 1200.0, 3400.0, 56.0, 78.0)
    assert len(choice.why) > 10
