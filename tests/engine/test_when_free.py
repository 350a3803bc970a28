import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation
from redline.engine.balance import Rates
from redline.engine.when_free import WhenFree
from redline.log.memory import MemoryLog
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says

MINUTE = 60_000
RULES = (MaskedResults(keep_recent=2),)


def steps(count, size=400):
    turns = [asks("Bash", {"command": "ls"}, "line " * size, id=f"c{number}") for number in range(count)]
    return [conversation("openai_chat", turn) for turn in turns]


def play(talk, rounds, *, gap_ms=MINUTE, start=0.0, schedule="when_free"):
    """One exchange and one request a round; the bodies that were sent."""
    sent, now = [], start
    for exchange in rounds:
        for message in exchange:
            talk.add(message)
        now += gap_ms
        sent.append(talk.request(now=now, rules=RULES, schedule=schedule))
    return sent


def begun(log=None):
    return Conversation(conversation("openai_chat", [says("user", "go")]), log=log)


def test_warm_cache_is_left_alone_at_first():
    """While the cache is warm and little was paid for waiting, marks are held, each with the numbers."""
    sent = play(begun(), steps(4))
    assert sent[3].strikes[:] == ()
    assert len(sent[3].held) == 2
    assert "rewriting would cost" in sent[3].held[0].why


def test_cold_cache_makes_it_free():
    """After the cache has gone, everything that waits is applied at once."""
    talk = begun()
    play(talk, steps(4))
    later = talk.request(now=60 * MINUTE, rules=RULES, schedule="when_free")
    assert [strike.index for strike in later.new_strikes] == [2, 4]
    assert "cache is cold" in later.new_strikes[0].why_now


def test_waiting_long_enough_pays():
    """In a session that goes on without a pause the rewrite comes when waiting has cost as much."""
    sent = play(begun(), steps(60))
    applied = [number for number, request in enumerate(sent) if request.new_strikes]
    assert applied
    assert applied[0] > 4
    assert len(applied) < 20


def test_prefix_is_kept_unless_a_decision_says_why_not():
    """Consecutive requests share their bytes up to the first message that a new strike names."""
    sent = play(begun(), steps(40))
    for earlier, later in itertools.pairwise(sent):
        first = min((strike.index for strike in later.new_strikes), default=len(earlier.messages))
        assert later.messages[:first] == earlier.messages[:first]
        assert later.new_strikes or later.body.startswith(earlier.body[:-1])
        assert set(earlier.strikes) <= set(later.strikes)


def test_window_leaves_no_choice():
    """A request that would not fit is cut down, warm or not."""
    schedule = WhenFree(window_tokens=3_000)
    sent = play(begun(), steps(12), schedule=schedule)
    assert any("window" in strike.why_now for request in sent for strike in request.new_strikes)


def test_decisions_survive_a_restart():
    """Opened again, the conversation has the same strikes in force and knows how long its marks have waited."""
    log = MemoryLog()
    talk = begun(log)
    rounds = steps(30)
    first = play(talk, rounds[:20])
    again = Conversation(log=log)
    assert again.strikes == talk.strikes
    assert again.preview(now=20 * MINUTE, rules=RULES, schedule="when_free").body == first[-1].body
    rest = play(again, rounds[20:], start=20 * MINUTE)
    assert any(request.new_strikes for request in rest)


def test_preview_does_not_count_as_a_request():
    """Looking ahead costs no rent and records nothing."""
    talk = begun()
    play(talk, steps(6))
    looks = {talk.preview(now=7 * MINUTE, rules=RULES, schedule="when_free").body for _ in range(50)}
    assert len(looks) == 1


@pytest.mark.parametrize("rates", [Rates(0.1, 1.25), Rates(0.025, 1.25), Rates(0.1, 2.0)])
@given(gaps=st.lists(st.sampled_from([1, 2, 10]), min_size=1, max_size=12))
def test_strikes_only_grow(rates, gaps):
    """Whatever the pauses: a strike once applied stays."""
    talk, now, before = begun(), 0.0, set()
    for exchange, gap in zip(steps(12, size=30), gaps, strict=False):
        for message in exchange:
            talk.add(message)
        now += gap * MINUTE
        request = talk.request(now=now, rules=RULES, schedule=WhenFree(rates))
        assert before <= set(request.strikes)
        before = set(request.strikes)
