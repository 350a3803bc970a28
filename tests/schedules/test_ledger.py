"""The ledger and the choice made from it: what is paid, what waits, and when a rewrite is worth its price."""

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.schedules import CacheState, Ledger, Rates, choose


class Session:
    """A ledger with its rates; messages are named by their positions, marks by any key."""

    def __init__(self, tokens=(), *, rates=None, prefix=0.0):
        self.ledger, self.rates = Ledger(prefix_tokens=prefix), rates or Rates(foresight=0, most_loss=10.0)
        for count in tokens:
            self.grow(count)

    def grow(self, tokens):
        self.ledger.grow(len(self.ledger.sizes), tokens)

    def hold(self, key, position, saving):
        self.ledger.hold(self.ledger.make_mark((position, (key,)), saving))

    def release(self, key, position):
        self.ledger.release((position, (key,)))

    def decide(self, cache):
        return choose(self.ledger, self.ledger.marks, cache, self.rates)

    def send(self, cache=None):
        cache = cache or CacheState()
        choice = self.decide(cache)
        return choice, [key for _, (key,) in self.ledger.settle(choice, cache, self.rates)]


def balance(tokens, *, rates=None, prefix=0.0):
    return Session(tokens, rates=rates, prefix=prefix)


def sent(made, cache=None):
    return made.send(cache)


def test_without_marks_there_is_nothing_to_decide():
    """No mark, no cut."""
    assert sent(balance([10, 10]))[0].cut is None


def test_a_cold_cache_takes_everything():
    """What is written anew anyway can be struck for nothing."""
    made = balance([10, 20, 30])
    sent(made)
    made.hold("a", 1, 15)
    choice, applied = sent(made, CacheState(alive=0.0))
    assert (choice.reason, choice.cut, choice.saving, applied) == ("cold", 1, 15, ["a"])
    assert made.ledger.tokens == 45


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
    while not (step := sent(made))[1]:
        waited += 1
        assert (step[0].reason, step[0].rent, step[0].price) == (
            "held",
            pytest.approx(5.0 * (waited - 1)),
            pytest.approx(150.0),
        )
    assert (waited, step[0].rent, step[0].price) == (31, pytest.approx(155.0), pytest.approx(150.0))


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
    assert made.decide(CacheState(alive=1.0)).cut is None
    assert made.decide(CacheState(alive=0.2)).cut == 1


def test_a_history_that_is_rewritten_anyway_is_free_from_there():
    """Where something else changes the past, the marks behind it go along."""
    made = balance([100, 1000, 1000])
    sent(made)
    made.hold("before", 0, 10)
    made.hold("behind", 2, 10)
    choice, applied = sent(made, CacheState(rewritten_from=1))
    assert (choice.reason, applied) == ("free", ["behind"])


def test_bound_reasoning_is_not_touched():
    """No cut lies before what may not change, however much it would save."""
    made = balance([1000, 10, 10], rates=Rates(foresight=100, most_loss=10.0))
    sent(made)
    made.hold("a", 0, 990)
    assert made.decide(CacheState(allowed_from=1)).reason == "nothing"
    assert made.decide(CacheState(allowed_from=1, alive=0.0)).reason == "nothing"
    assert made.decide(CacheState()).cut == 0


def test_a_price_tier_is_not_crossed_if_a_cut_prevents_it():
    """What crossing would cost counts as rent."""
    made = balance([10_000, 500, 500], rates=Rates(foresight=5, most_loss=0.0))
    sent(made)
    made.hold("a", 1, 100)
    assert made.decide(CacheState(tier_tokens=20_000, tier_factor=2.0)).cut is None
    assert made.decide(CacheState(tier_tokens=10_950)).cut is None, "above it nothing costs more"
    choice = made.decide(CacheState(tier_tokens=10_950, tier_factor=2.0))
    assert (choice.reason, choice.cut) == ("tier", 1)
    assert made.decide(CacheState(tier_tokens=10_900, tier_factor=2.0)).reason == "tier", "just not above it"
    assert made.decide(CacheState(tier_tokens=10_950, tier_factor=2.0, window_tokens=10_950)).reason == "window"


def test_a_full_window_leaves_no_choice():
    """The best cut that makes room is taken; everything, if none does."""
    made = balance([100, 1000, 1000, 1000])
    sent(made)
    made.hold("front", 1, 900)
    made.hold("back", 3, 900)
    assert made.decide(CacheState(window_tokens=2500)).cut == 3
    assert made.decide(CacheState(window_tokens=1500)).cut == 1
    assert made.decide(CacheState(window_tokens=50)).cut == 1
    nothing_fits = made.decide(CacheState(window_tokens=50))
    assert (nothing_fits.reason, nothing_fits.saving) == ("window", 1800)


def test_a_known_number_of_requests_replaces_the_guess():
    """With ten requests to come a cut pays that does not with one."""
    made = balance([100, 1000, 100])
    sent(made)
    made.hold("a", 1, 900)
    assert made.decide(CacheState(requests_left=1)).cut is None
    assert made.decide(CacheState(requests_left=10)).cut == 1


def test_a_mark_that_fell_away_is_not_applied():
    """What is released is neither applied nor counted."""
    made = balance([100, 1000])
    sent(made)
    made.hold("a", 1, 900)
    made.release("a", 1)
    assert sent(made, CacheState(alive=0.0))[1] == []


def test_a_new_view_starts_over():
    """Positions count from zero again, nothing is pending."""
    made = balance([100, 1000], prefix=5.0)
    made.hold("a", 1, 900)
    made.ledger.start_over()
    made.grow(7.0)
    assert (made.ledger.tokens, made.decide(CacheState(alive=0.0)).reason) == (12.0, "nothing")


events = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.integers(1, 2000), st.integers(1, 40)),
        st.tuples(st.just("hold"), st.floats(0, 1), st.floats(0.1, 1), st.integers(1, 5)),
        st.tuples(st.just("send"), st.sampled_from([1.0, 1.0, 1.0, 0.9, 0.4, 0.0]), st.sampled_from([0, 0, 7])),
    ),
    max_size=80,
)


def surplus_by_definition(session, position, cache, end):
    """What the marks from a position on have cost by waiting and will in the requests foreseen, less what the rewrite costs."""
    ledger, rates = session.ledger, session.rates
    premium = rates.write - rates.read
    marks = [mark for mark in ledger.marks if position <= mark.position < end]
    waited = [ledger.requests - mark.since + rates.foresight for mark in marks]
    doubt = (1 - cache.alive) * premium
    rent = sum(mark.saving * (rates.read * requests + doubt) for mark, requests in zip(marks, waited, strict=True))
    rewritten = sum(ledger.sizes[position:end]) - sum(mark.saving for mark in marks)
    return rent - cache.alive * premium * rewritten


@given(events, st.sampled_from([Rates(), Rates(foresight=0), Rates(0.025, 1.25), Rates(0.1, 1.0, most_loss=1.0)]))
def test_the_choice_is_the_best_by_definition(steps, rates):
    """No other cut has more surplus, unless it would leave the session too dear; deciding changes nothing."""
    made, marked, count = Session(rates=rates), set(), 0
    for step in steps:
        match step:
            case ("grow", tokens, times):
                for _ in range(times):
                    made.grow(tokens)
                count += times
            case ("hold", place, share, stride) if count:
                for position in {*range(int(place * (count - 1)), count, stride)} - marked:
                    made.hold(position, position, made.ledger.sizes[position] * share)
                    marked.add(position)
            case ("send", alive, allowed):
                cache = CacheState(alive=alive, allowed_from=allowed)
                chosen, end = made.decide(cache), made.ledger.warm_end(cache)
                cuts = {mark.position for mark in made.ledger.marks if allowed <= mark.position < end}
                surplus = {position: surplus_by_definition(made, position, cache, end) for position in cuts}
                if chosen.reason == "paid":
                    assert surplus[chosen.cut] == pytest.approx(chosen.rent - chosen.price, abs=1e-6)
                    assert surplus[chosen.cut] > 0
                if chosen.reason in ("held", "free") and rates.most_loss == 1.0:
                    assert max(surplus.values(), default=-math.inf) <= 1e-6
                if chosen.reason == "paid" and rates.most_loss == 1.0:
                    assert surplus[chosen.cut] >= max(surplus.values()) - 1e-6
                assert made.decide(cache) == chosen, "deciding changes nothing"
                made.send(cache)
                assert made.ledger.sums == pytest.approx([*accumulate(made.ledger.sizes, initial=0.0)])


def test_a_prefix_that_becomes_known_counts_from_then_on():
    """It is part of every request's size, and changes nothing of what was struck."""
    made = balance([100, 1000])
    sent(made)
    made.ledger.set_prefix(500.0)
    assert (made.ledger.tokens, made.ledger.prefix_tokens) == (1600.0, 500.0)
    made.ledger.set_prefix(0.0)
    assert made.ledger.tokens == 1100.0


def test_strikes_of_others_make_messages_smaller():
    """What another schedule struck is no longer in the way of a cut before it."""
    made = balance([100, 1000, 1000])
    sent(made)
    made.hold("a", 1, 900)
    price = made.decide(CacheState()).price
    made.ledger.shrink({2: 600.0})
    assert made.ledger.tokens == 1500.0
    assert made.decide(CacheState()).price < price


def test_marks_wait_in_the_order_of_their_positions():
    """Whichever came first."""
    made = balance([10, 10, 10])
    for key, position in (("b", 2), ("a", 1), ("z", 0)):
        made.hold(key, position, 1)
    assert [mark.target[1][0] for mark in made.ledger.marks] == ["z", "a", "b"]


@pytest.mark.parametrize("reason", ["cold", "free", "held", "paid", "tier", "window", "nothing"])
def test_every_decision_says_why(reason):
    """Each reason has its sentence."""
    made = balance([10.0])
    choice = type(made.decide(CacheState()))(reason, 0, 1200.0, 3400.0, 56.0, 78.0)
    assert len(choice.why) > 10


def test_requests_of_which_nothing_is_known_cost_nothing():
    """As in a record that another schedule made: they count, and the ledger begins at zero."""
    made = balance([10, 20])
    made.ledger.restore(None, requests=3, sent=1)
    assert (made.ledger.requests, made.ledger.sent_end, made.ledger.saved, made.ledger.bill) == (3, 1, 0.0, 0.0)
    assert (made.ledger.sent_unstruck, made.ledger.tokens) == (0.0, 30.0)


def test_an_empty_ledger_has_no_tokens():
    """Nothing is sent before the first message unless one says so."""
    assert Ledger().tokens == 0.0
