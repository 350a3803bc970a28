import itertools

import pytest
from hypothesis import given, settings
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


# --- what a reopened conversation knows

asked = st.tuples(
    st.just("ask"),
    st.sampled_from([10, 90, 2000]),  # words of the result
    st.sampled_from([0.1, 1, 4, 7, 30]),  # minutes
    st.sampled_from([None, 0.0, 0.6, 1.0]),  # what share was read from the cache, if that is reported
)
meanwhile = st.one_of(
    st.tuples(st.just("undo"), st.integers(0, 30)),
    st.tuples(st.just("pin"), st.integers(0, 20)),
    st.tuples(st.just("eager"), st.integers(1, 3)),
    st.tuples(st.just("model"), st.sampled_from(["claude-sonnet-4-5", "gpt-5.6", "nobody-knows-it"])),
    st.tuples(st.just("preamble"), st.sampled_from(["You are.", "You are not." * 99])),
    st.tuples(st.just("truncate"), st.integers(2, 8)),
    st.tuples(st.just("rewind"), st.integers(1, 8)),
)
happenings = st.lists(st.tuples(asked, asked, asked, meanwhile), min_size=1, max_size=8)


def balance_of(talk, schedule):
    (projector,) = (one for settings, one in talk._projectors.items() if settings.rules == RULES)
    return projector._accounts[schedule.rates, schedule.lifetime_ms]._balance


def messages_in_books(talk, schedule):
    """The tokens of the messages, as struck."""
    balance = balance_of(talk, schedule)
    return balance.tokens - balance.prefix_tokens


def books(talk, schedule):
    """The numbers that the last decision of a schedule was made with."""
    balance = balance_of(talk, schedule)
    waiting = [(mark.position, mark.saving, mark.since) for mark in balance._pending.marks_from(0)]
    numbers = (balance._saved, balance._bill, balance._prefix, balance._requests, balance._unstruck, balance._sent_unstruck)
    return [*numbers, *balance._sums, *itertools.chain.from_iterable(waiting)]


@settings(max_examples=60, deadline=None)
@given(happenings)
def test_a_reopened_conversation_decides_as_the_one_that_went_on(steps_taken):
    """Whatever was reported, undone, pinned, struck by others or changed: the record is all that a decision depends on."""
    log = MemoryLog()
    talk, now, number, to = begun(log), 0.0, 0, {}
    for step in itertools.chain.from_iterable(steps_taken):
        match step:
            case ("ask", size, minutes, share):
                for message in conversation("openai_chat", asks("Bash", {"command": "ls"}, "line " * size, id=f"n{number}")):
                    talk.add(message)
                now, number = now + minutes * MINUTE, number + 1
                opened = Conversation(log=log)
                again = opened.preview(now=now, rules=RULES, schedule="when_free", **to)
                before = talk.preview(now=now, rules=RULES, schedule="when_free", **to)
                schedule = WhenFree.for_model(to.get("model"))
                assert books(opened, schedule) == pytest.approx(books(talk, schedule))
                visible = set(talk.visible_indices)
                struck = sum(strike.tokens_saved for strike in talk.strikes if strike.index in visible)
                assert messages_in_books(talk, schedule) == pytest.approx(before.stats.tokens_before - struck)
                made = talk.request(now=now, rules=RULES, schedule="when_free", **to)
                assert again.body == before.body == made.body
                assert again.held == made.held
                assert [strike.why_now for strike in again.new_strikes] == [strike.why_now for strike in made.new_strikes]
                if share is not None:
                    talk.record_usage(input_tokens=9000 + number, output_tokens=10, cache_read_tokens=int(share * 9000))
            case ("undo", which) if talk.strikes:
                talk.undo(talk.strikes[which % len(talk.strikes)])
            case ("pin", index) if index < len(talk.all_messages):
                talk.pin(index)
            case ("eager", recent):
                talk.request(now=now, rules=[MaskedResults(keep_recent=recent)])
            case ("truncate", count):
                talk.process({"operation": "truncate", "truncate": {"keep_last": count}})
            case ("rewind", back) if len(talk.all_messages) > back:
                talk.rewind(len(talk.all_messages) - 1 - back)
            case ("model" | "preamble" as name, value):
                to[name] = value
