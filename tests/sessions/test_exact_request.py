"""What the model saw at a request, worked out again from the log: byte for byte what was sent."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import RedlineError
from redline.providers import FORMATS
from redline.record.opening import read_log
from redline.record.reading import read_log_file
from redline.rules.masked_results import MaskedResults
from redline.sessions.replay.history import history_of_log
from redline.sessions.to_json import exact_request
from redline.testing import asks, conversation, says

RULES = [MaskedResults(keep_recent=1), "historical_reads"]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from([2, 700, 3000]), st.booleans()),
        st.tuples(st.just("request"), st.sampled_from(["eager", "when_free"]), st.sampled_from([1_000, 900_000])),
        st.tuples(st.just("undo"), st.integers(0, 3), st.none()),
        st.tuples(st.just("pin"), st.integers(0, 9), st.none()),
        st.tuples(st.just("rewind"), st.integers(0, 9), st.none()),
        st.tuples(st.just("batch"), st.integers(0, 6), st.none()),
        st.tuples(st.just("rollback"), st.integers(0, 1), st.none()),
        st.tuples(st.just("truncate"), st.integers(1, 6), st.none()),
    ),
    min_size=4,
    max_size=16,
)


def talk_about(talk, format, story):
    """Do all of it; what each request sent, by its time. What is not possible is passed over."""
    now, bodies = 1_700_000_000_000.0, {}
    done = {
        "undo": talk.undo,
        "pin": talk.pin,
        "rewind": talk.rewind,
        "batch": talk.start_batch,
        "rollback": talk.rollback,
        "truncate": lambda count: talk.process({"operation": "truncate", "truncate": {"keep_last": count}}),
    }
    for number, (what, first, second) in enumerate(story):
        with contextlib.suppress(RedlineError):
            if what == "say":
                answer = "y" * first if second else None
                turns = asks("filesystem-read", {"filePath": "a.py"}, answer, id=f"call_{number}")
                for message in conversation(format, [says("user", f"step {number}"), *turns]):
                    talk.add(message, timestamp_ms=now)
            elif what == "request":
                now += second
                bodies[now] = talk.request(now=now, rules=RULES, schedule=first, model="claude-sonnet-4-5").body
            else:
                done[what](first)
    return bodies


def compare(log, bodies):
    """How many requests of the present path are byte for byte as sent."""
    recording = history_of_log(log)
    found = [one for one in recording.requests if one.time_ms in bodies and one.record is not None]
    decided = [one for one in found if type(log.records[one.record].record).__name__ == "StrikesApplied"]
    for one in decided:
        assert exact_request(log, recording, one.number).body == bodies[one.time_ms]
    return len(decided)


@pytest.mark.parametrize("format", sorted(FORMATS))
@given(story=steps, strategy=st.sampled_from(["drop", "answer", "strip"]))
def test_every_recorded_request_is_as_it_was_sent(format, story, strategy, tmp_path_factory):
    """With strikes, repairs, undone strikes, pins, rewinds, batches and truncations, in every format, by every strategy."""
    path = tmp_path_factory.mktemp("logs") / "chat.jsonl"
    with redline.open(path, format=format, strategy=strategy) as talk:
        bodies = talk_about(talk, format, story)
    if path.exists():
        compare(read_log_file(path), bodies)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_in_a_database(format, tmp_path):
    """The same of a log in SQLite; and the story has requests with strikes and repairs."""
    story = [
        ("say", 3000, True),
        ("request", "when_free", 1000),
        ("say", 3000, True),
        ("say", 700, True),
        ("request", "when_free", 900_000),
        ("say", 2, False),
        ("say", 2, True),
        ("request", "eager", 1000),
        ("undo", 0, None),
        ("request", "when_free", 1000),
    ]
    address = f"sqlite:///{tmp_path}/chats.db#talk"
    with redline.open(address, format=format) as talk:
        bodies = talk_about(talk, format, story)
    log = read_log(address)
    assert compare(log, bodies) == len(bodies) == 4
    recording = history_of_log(log)
    assert len(recording.strikes) >= 2
    assert recording.strikes[0].end is not None
    assert recording.strikes[0].ended_because == "it was undone"
    last = max(recording.requests, key=lambda one: one.time_ms)
    assert exact_request(log, recording, last.number).repairs
