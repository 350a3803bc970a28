"""A preview changes nothing: neither requests, nor records, nor bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, Policy
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.log import ROOT
from redline.rules import MaskedResults, OffloadResults, OldReasoning, StaleTerminal, TimelessFold
from redline.testing import asks, conversation, conversations, says
from tests.effort import tries

MINUTE = 60_000
RULE_SETS = [
    None,
    [StaleTerminal(max_age_ms=MINUTE, keep_recent=1)],
    [MaskedResults(keep_recent=1), OldReasoning(keep_recent=1)],
    [OffloadResults(min_chars=40, keep_recent=1)],
]


def commands(count):
    return [asks("terminal-execute", {"command": "ls"}, f"out {number} " * 60, id=f"c{number}") for number in range(count)]


def test_a_preview_of_later_strikes_nothing_now():
    """Fifteen minutes are not over for the request because somebody looked an hour ahead (R1)."""
    talk = Conversation()
    for number, turn in enumerate(commands(20)):
        for message in conversation("openai_chat", turn if number else [says("user", "go"), *turn]):
            talk.add(message, timestamp_ms=0)
    assert len(talk.preview(now=60 * MINUTE).new_strikes) == 15
    assert talk.request(now=MINUTE).strikes == ()
    assert len(talk.request(now=60 * MINUTE).strikes) == 15


looks = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 60, 6000]),
        st.sampled_from(range(len(RULE_SETS))),
        st.sampled_from(["eager", "when_free", "budget"]),
        st.sampled_from([None, "claude-sonnet-4-6", "gpt-5.6"]),
    ),
    max_size=3,
)
steps = st.lists(
    st.tuples(st.sampled_from(["say", "say", "request", "truncate", "undo", "rewind"]), st.integers(0, 9), looks), max_size=10
)


@tries(40, deadline=None)
@given(
    history=conversations("anthropic", max_steps=6, with_extras=False),
    steps=steps,
    rules=st.sampled_from(range(len(RULE_SETS))),
    schedule=st.sampled_from(["eager", "when_free"]),
)
def test_any_interleaving_of_previews_leaves_everything_as_without_them(history, steps, rules, schedule):
    """Whatever is looked at, at whatever time, with whatever rules, schedule and model (R1)."""
    logs = [MemoryLog(), MemoryLog()]
    blobs = [MemoryBlobs(), MemoryBlobs()]
    plain, looked_at = (Conversation(log=log, blobs=store, format="anthropic") for log, store in zip(logs, blobs, strict=True))
    now = 0
    for place, (what, value, looks) in enumerate(steps):
        now += value * MINUTE
        for later, looked_rules, looked_schedule, model in looks:
            before = sum(1 for _ in logs[1].read(ROOT))
            looked_at.preview(now=now + later * MINUTE, rules=RULE_SETS[looked_rules], schedule=looked_schedule, model=model)
            assert sum(1 for _ in logs[1].read(ROOT)) == before
        sent = [done(talk, what, value, history, place, now, rules, schedule) for talk in (plain, looked_at)]
        assert sent[0] == sent[1]
    assert list(logs[0].read(ROOT)) == list(logs[1].read(ROOT))


def done(talk, what, value, history, place, now, rules, schedule):
    match what:
        case "say":
            for message in history[place % len(history) :][: value + 1] if history else ():
                talk.add(message, timestamp_ms=now)
        case "request":
            request = talk.request(now=now, rules=RULE_SETS[rules], schedule=schedule)
            return request.body, request.new_strikes, request.lifted, request.refused, request.held
        case "truncate":
            talk.process({"operation": "truncate", "truncate": {"keep_last": value}})
        case "undo" if talk.strikes:
            talk.undo(talk.strikes[value % len(talk.strikes)])
        case "rewind" if talk.all_messages:
            talk.rewind(min(value, len(talk.all_messages) - 1))
    return None


def test_a_preview_stores_nothing_after_the_view_moved():
    """Neither a record nor a blob, and what it would lift is told (R1, R4)."""
    blobs = MemoryBlobs()
    talk = Conversation(blobs=blobs, policy=Policy(rules=[OffloadResults(min_chars=100, keep_recent=0)]))
    calls = [asks("grep", {"q": "x"}, f"line {number} " * 900, id=f"c{number}") for number in range(3)]
    history = conversation("openai_chat", [says("user", "go"), *(turn for pair in calls for turn in pair)])
    for message in history[:-2]:
        talk.add(message)
    assert len(talk.request().strikes) == 2
    talk.process({"operation": "truncate", "truncate": {"keep_last": 4}})
    for message in history[-2:]:
        talk.add(message)
    stored = list(blobs.list())
    assert len(talk.preview().new_strikes) == 1
    assert list(blobs.list()) == stored


def test_a_rule_that_fails_is_heard_of():
    """A look ahead is no place to hide a mistake; and the conversation goes on."""

    class Failing(TimelessFold):
        name = "failing"

        def fold(self):
            return self

        def see(self, seen):
            raise ZeroDivisionError

    talk = Conversation([{"role": "user", "content": "hi"}])
    with pytest.raises(ZeroDivisionError):
        talk.preview(now=0, rules=[Failing()])
    assert len(talk.preview(now=0, rules=[]).messages) == 1
