"""Strikes need ground, and rules see what is sent: stated over requests, after any moves of the view."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, Conversation, check
from redline.record.backends.memory import MemoryLog
from redline.rules import HistoricalReads, Mark, TimelessFold
from redline.testing import asks, conversation, says
from redline.values.words import is_placeholder
from tests.effort import tries

MINUTE = 60_000
SCHEDULES = ["eager", "when_free"]


def reads(count, format="openai_chat", path="a.py", size=60):
    turns = [asks("filesystem-read", {"filePath": path}, f"text {number} " * size, id=f"r{number}") for number in range(count)]
    return conversation(format, [says("user", "go"), *itertools.chain.from_iterable(turns)])


def talk_of(messages, **settings):
    talk = Conversation(project_root="/p", **settings)
    for number, message in enumerate(messages):
        talk.add(message, timestamp_ms=number * MINUTE)
    return talk


def texts(request):
    """What every result says, in order."""
    history = FORMATS[request.format]
    return [result.text for native in request.messages for result in history.read(native).results]


def whole(request):
    return [text for text in texts(request) if not is_placeholder(text)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("format", sorted(FORMATS))
def test_half_answered_calls_take_no_place_among_the_latest(format, schedule):
    """Five commands, then a crash inside six parallel reads: the five commands' results are the latest, and stay (R3)."""
    commands = [asks("terminal-execute", {"command": "ls"}, f"out {number} " * 60, id=f"c{number}") for number in range(5)]
    parallel = asks("filesystem-read", {"filePath": "b.py"}, "text " * 60, id="p0")
    history = conversation(format, [says("user", "go"), *itertools.chain.from_iterable(commands)])
    crashed = conversation(format, parallel)
    half = [*crashed[:1], *conversation(format, asks("filesystem-read", {"filePath": "c.py"}, "x", id="p1"))[:1], *crashed[1:]]
    if format in ("anthropic", "gemini", "ai_sdk", "openai_chat"):
        half = [merged(crashed[0], half[1], format), *crashed[1:]]
    talk = talk_of([*history, *half])
    request = talk.request(now=600 * MINUTE, schedule=schedule)
    assert len(whole(request)) == 5


def merged(one, other, format):
    """Two calls of one message of the assistant."""
    field = {"openai_chat": "tool_calls", "gemini": "parts"}.get(format, "content")
    return {**one, field: [*one[field], *other[field]]}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "move",
    [
        lambda talk: talk.rewind(6),
        lambda talk: talk.process({"operation": "truncate", "truncate": {"keep_first": 7}}),
        lambda talk: talk.process(
            {"operation": "filter", "filter": {"content_excludes": ["text 9", "text 8", "text 7", "text 6"]}}
        ),
        lambda talk: talk.process({"operation": "truncate", "truncate": {"range": {"start": 0, "end": 9}}}),
    ],
)
def test_a_strike_goes_when_its_ground_does(move, schedule):
    """No read is struck as "see the latest read" where no later one is visible; it is told, recorded, and stays so (R4)."""
    log = MemoryLog()
    talk = talk_of(reads(10), log=log)
    assert len(talk.request(now=600 * MINUTE, schedule=schedule).strikes) == 5
    move(talk)
    preview, request = (talk.preview(now=601 * MINUTE), talk.request(now=601 * MINUTE, schedule=schedule))
    seen = len(texts(request))
    assert len(whole(request)) == min(seen, 5)
    assert request.lifted
    assert all(str(lift.strike.index) in request.explain() and lift.because for lift in request.lifted)
    assert preview.body == request.body
    reopened = Conversation(project_root="/p", log=log)
    assert reopened.request(now=602 * MINUTE, schedule=schedule).body == request.body
    assert talk.fork().request(now=602 * MINUTE, schedule=schedule).body == request.body


def test_a_rollback_brings_strikes_back_to_their_ground():
    """What a batch showed when it ended is judged by what is visible then (R4)."""
    talk = talk_of(reads(10))
    talk.process({"operation": "truncate", "truncate": {"keep_last": 4}})
    talk.rollback(0)
    assert len(talk.request(now=600 * MINUTE).strikes) == 5
    talk.process({"operation": "truncate", "truncate": {"keep_first": 5}})
    assert texts(talk.request(now=600 * MINUTE)) == whole(talk.request(now=600 * MINUTE))


def test_time_alone_takes_no_ground_away():
    """A clock that goes back an hour lifts nothing, and raises nothing, with any schedule (R53)."""
    for schedule in (*SCHEDULES, "budget"):
        commands = [asks("terminal-execute", {"command": "ls"}, f"out {number} " * 60, id=f"c{number}") for number in range(9)]
        talk = talk_of(conversation("openai_chat", [says("user", "go"), *itertools.chain.from_iterable(commands)]))
        before = talk.request(now=200 * MINUTE, schedule=schedule)
        talk.add({"role": "user", "content": "go on"}, timestamp_ms=201 * MINUTE)
        after = talk.request(now=140 * MINUTE, schedule=schedule)
        assert set(before.strikes) <= set(after.strikes)
        assert talk.request(now=80 * MINUTE, schedule=schedule).lifted == ()


moves = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 4)),
    st.tuples(st.just("rewind"), st.integers(0, 40)),
    st.tuples(
        st.just("truncate"), st.sampled_from(["keep_first", "keep_last", "remove_first", "remove_last"]), st.integers(0, 12)
    ),
    st.tuples(st.just("filter"), st.sampled_from([["text 1"], ["text 2", "go"], ["out"]])),
    st.tuples(st.just("rollback"), st.integers(0, 3)),
    st.tuples(st.just("fork")),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("request"), st.sampled_from(["eager", "when_free", "budget"])),
)


@tries(40, deadline=None)
@given(
    format=st.sampled_from(sorted(FORMATS)),
    strategy=st.sampled_from(["drop", "answer", "strip"]),
    steps=st.lists(moves, max_size=12),
)
def test_what_the_documents_promise_holds_for_what_is_sent(format, strategy, steps):  # noqa: C901 - one case for each step
    """After any moves the last five results stay whole, also the newest read, and every request is legal (R3, R4)."""
    log = MemoryLog()
    talk, now, number = Conversation(project_root="/p", log=log, format=format, strategy=strategy), 0, 0
    for step in [("add", 4), *steps, ("request", "eager")]:
        now += 7 * MINUTE
        match step:
            case ("add", count):
                for _ in range(count):
                    number += 1
                    tool = ("filesystem-read", "terminal-execute")[number % 2]
                    turn = asks(tool, {"filePath": "a.py", "command": "ls"}, f"text {number} " * 40, id=f"n{number}")
                    for message in conversation(format, turn):
                        talk.add(message, timestamp_ms=now)
            case ("rewind", index):
                talk.rewind(min(index, len(talk.all_messages) - 1))
            case ("truncate", option, count):
                talk.process({"operation": "truncate", "truncate": {option: count}})
            case ("filter", words):
                talk.process({"operation": "filter", "filter": {"content_excludes": words}})
            case ("rollback", batch):
                talk.rollback(min(batch, talk.current_batch))
            case ("fork",):
                log = MemoryLog()
                talk = talk.fork(log)
            case ("reopen",):
                talk = Conversation(project_root="/p", log=log, format=format, strategy=strategy)
            case ("request", schedule):
                sent = talk.request(now=now, schedule=schedule)
                said = texts(sent)
                assert not any(map(is_placeholder, said[-5:])), "one of the last five is struck"
                assert not sent.messages or check(sent.messages, format=format) == []


def test_other_rules_lift_nothing_while_the_view_is_as_it_was():
    """A move before the first strike takes no ground away from it (R4)."""
    talk = talk_of(reads(8))
    talk.process({"operation": "truncate", "truncate": {"keep_last": 16}})
    struck = talk.request(now=600 * MINUTE, rules=[HistoricalReads(keep_recent=1)]).strikes
    assert len(struck) == 7
    after = talk.request(now=600 * MINUTE)
    assert after.lifted == ()
    assert [one.number for one in after.strikes] == [one.number for one in struck]


class Shouting(TimelessFold):
    """A rule of one's own that gives nothing where it has nothing to say."""

    name = "shouting"

    def fold(self):
        return self

    def see(self, seen):
        if seen.message.text.isupper():
            return [Mark("shouting", seen.index, seen.part.at, "[shouted]", "it was shouted")]
        return None

    def due(self, now):
        return None


def test_a_rule_may_give_nothing_at_all():
    """Also when its strikes are looked at again because the view has moved."""
    talk = talk_of([{"role": "user", "content": text} for text in ("calm " * 50, "LOUD " * 50, "calm " * 50)])
    assert len(talk.request(now=MINUTE, rules=[Shouting()]).new_strikes) == 1
    talk.start_batch(1)
    request = talk.request(now=MINUTE, rules=[Shouting()])
    assert (request.lifted, [strike.index for strike in request.strikes]) == ((), [1])
