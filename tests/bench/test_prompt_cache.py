import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.prompt_cache import LOOKBACK_BLOCKS, PromptCache, Segment
from redline.prices import PriceRule, Tier
from redline.schedules.bill import Charge, charge

RULE = PriceRule(0.1, 1.25, 1000)


def segments(text, tokens=10.0):
    """One segment for each letter, of one size."""
    return [Segment(letter, tokens) for letter in text]


def test_a_request_that_goes_on_reads_what_was_sent_before():
    """The beginning that two requests share is read, the rest is written."""
    cache = PromptCache(RULE)
    assert cache.send(segments("abc"), 0).written == 30
    assert cache.send(segments("abcd"), 500) == Charge(30, 10, 0, 0.1 * 30 + 1.25 * 10)


def test_a_change_loses_everything_behind_it():
    """From the first changed segment on all is written anew, even what is the same."""
    cache = PromptCache(RULE)
    cache.send(segments("abcd"), 0)
    assert cache.send(segments("aXcd"), 1).read == 10


def test_lifetime_counts_from_the_last_use():
    """What is read lives on; what nobody reads for too long is gone."""
    cache = PromptCache(RULE)
    cache.send(segments("ab"), 0)
    assert cache.send(segments("ab"), 900).read == 20
    assert cache.send(segments("ab"), 1800).read == 20
    assert cache.send(segments("ab"), 2801).read == 0


def test_an_earlier_request_can_still_be_cached():
    """What was sent before the last request is found too, such as a history that was restored."""
    cache = PromptCache(RULE)
    cache.send(segments("abcd"), 0)
    cache.send(segments("aX"), 1)
    assert cache.send(segments("abcde"), 2).read == 40


def test_short_prompts_are_not_cached():
    """Below the minimum a token costs what it costs, and nothing is there to be read later."""
    rule = PriceRule(0.1, 1.25, 1000, min_cached_tokens=25)
    assert charge(rule, 20, 0) == Charge(0, 0, 20, 20)
    assert charge(rule, 30, 20) == Charge(0, 30, 0, 37.5)
    assert charge(rule, 40, 30).read == 30


def test_a_tier_applies_to_the_whole_request():
    """Cached tokens get dearer too."""
    rule = PriceRule(0.1, 1.25, 1000, tiers=(Tier(100, 2.0, 1.5),))
    assert charge(rule, 101, 101).cost == pytest.approx(2 * 10.1)


histories = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=6), st.sampled_from([0, 300, 700, 1200])), min_size=1, max_size=12
)


@given(histories, st.sampled_from([0, 25]))
def test_totals_equal_a_recount(history, least):
    """Holding each request against every earlier one gives the same totals."""
    rule = PriceRule(0.1, 1.25, 1000, min_cached_tokens=least)
    cache, time_ms, cost, sent = PromptCache(rule), 0, 0.0, []
    expected = 0.0
    for text, gap in history:
        time_ms += gap
        cost += cache.send(segments(text), time_ms).cost
        alive = [other for other, then in sent if time_ms - then <= 1000]
        shared = 10 * max((common(text, other) for other in alive), default=0)
        total, shared = 10 * len(text), shared if shared >= least else 0
        expected += total if total < least else 0.1 * shared + 1.25 * (total - shared)
        sent.append((text, time_ms))
    assert cost == pytest.approx(expected)


def common(one, other):
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_breakpoints_cache_only_what_ends_at_them():
    """A beginning that no breakpoint ended is not found, and behind the last one nothing is written."""
    cache = PromptCache(RULE)
    cache.send(segments("abcdef"), 0, breakpoints=[2, 5])
    charged = cache.send(segments("abcXef"), 1, breakpoints=[2, 5])
    assert (charged.read, charged.written, charged.uncached) == (20, 30, 10)


def test_breakpoints_look_back_twenty_segments():
    """What was cached further before a breakpoint is not found: a long turn can lose the cache."""
    near, far = "a" * 10 + "b" * LOOKBACK_BLOCKS, "a" * 10 + "b" * (LOOKBACK_BLOCKS + 1)
    for text, read in ((near, 100), (far, 0)):
        cache = PromptCache(RULE)
        cache.send(segments(text[:10]), 0, breakpoints=[10])
        assert cache.send(segments(text), 1, breakpoints=[len(text)]).read == read


def test_at_most_four_breakpoints_count():
    """Of more, the last four are kept."""
    cache = PromptCache(RULE)
    cache.send(segments("abcdef"), 0, breakpoints=[1, 2, 3, 4, 5])
    assert cache.send(segments("aX"), 1, breakpoints=[2]).read == 0
    assert cache.send(segments("abX"), 1, breakpoints=[3]).read == 20
