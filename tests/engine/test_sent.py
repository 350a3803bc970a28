"""What a request sends is kept from one to the next; nobody may see that."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, Policy
from redline.providers import FORMATS
from redline.record.backends.memory import MemoryLog
from redline.rules import MaskedResults, OldReasoning, StaleTerminal
from redline.testing import asks, conversation, conversations, says
from tests.effort import tries

RULES = [MaskedResults(keep_recent=1), OldReasoning(keep_recent=1), StaleTerminal(max_age_ms=60_000, keep_recent=1)]

moves = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "request", "request", "preview", "undo", "pin", "rewind", "look back"]),
        st.integers(0, 20),
        st.sampled_from(["body", "messages", "neither"]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("format", sorted(FORMATS))
@tries(15, deadline=None)
@given(data=st.data(), moves=moves, schedule=st.sampled_from(["eager", "when_free"]))
def test_requests_do_not_disturb_each_other(format, data, moves, schedule):
    """Whichever request is looked at when, and as what, it sends what a conversation opened anew for each request does."""
    history, policy = data.draw(conversations(format, max_steps=8)), Policy(rules=RULES, schedule=schedule)
    log, now, said = MemoryLog(), 0, 0
    living = Conversation(format=format, policy=policy)
    requests, expected = [], []
    for what, value, look in moves:
        now += 60_000 * value
        reopened = Conversation(log=log, format=format, policy=policy)
        if what == "say" and said < len(history):
            for talk in (living, reopened):
                talk.add(history[said], timestamp_ms=now)
            said += 1
        elif what in ("request", "preview"):
            requests.append(getattr(living, what)(now=now))
            expected.append(sent_by(getattr(reopened, what)(now=now)))
        elif what == "undo" and living.strikes:
            number = living.strikes[value % len(living.strikes)].number
            for talk in (living, reopened):
                talk.undo(number)
        elif what in ("pin", "rewind") and living.all_messages:
            index = value % len(living.all_messages)
            for talk in (living, reopened):
                getattr(talk, what)(index)
        if requests and look != "neither":
            place = value % len(requests) if what == "look back" else -1
            assert getattr(requests[place], look) == expected[place][look]
    assert list(map(sent_by, requests)) == expected


def sent_by(request):
    return {"body": request.body, "messages": request.messages}


def test_an_earlier_request_does_not_send_later_strikes():
    """Nothing was added in between, only struck; the later ones are looked at first."""
    talk = Conversation(policy=Policy(rules=[StaleTerminal(max_age_ms=60_000, keep_recent=0)]), format="openai_chat")
    for message in conversation(
        "openai_chat", [says("user", "go"), *asks("terminal-execute", {"command": "ls"}, "a.py " * 99)]
    ):
        talk.add(message, timestamp_ms=0)
    talk.add({"role": "user", "content": "and now?"}, timestamp_ms=0)
    before, striking, after = talk.request(now=0), talk.request(now=120_000), talk.request(now=120_000)
    assert len(striking.new_strikes) == 1
    assert after.body == striking.body
    assert "a.py a.py" not in after.body.decode()
    assert "a.py a.py" in before.body.decode()


@pytest.mark.parametrize("look", ["body", "messages"])
def test_breakpoints_are_counted_however_their_name_is_written(look):
    """A name in JSON may have letters as their numbers."""
    block = rb'{"type":"text","text":"hi","cache_\u0063ontrol":{"type":"ephemeral"}}'
    talk = Conversation(format="anthropic")
    for number in range(6):
        talk.add(b'{"role":"%b","content":[%b]}' % (b"assistant" if number % 2 else b"user", block))
    request = talk.request(now=0)
    sent = json.loads(request.body) if look == "body" else request.messages
    assert sum("cache_control" in message["content"][0] for message in sent) == 4
    assert "cache_control" not in sent[0]["content"][0]


@pytest.mark.parametrize("attempt", range(10))
def test_threads_may_look_at_requests_at_once(attempt):
    """All go on from the same messages; none of these is sent twice or left out. It does not go wrong every time."""
    turns = [turn for number in range(150) for turn in asks("read", {"path": "a"}, "x " * 40, id=f"c{number}")]
    talk = Conversation(conversation("openai_chat", [says("user", "go"), *turns]), policy=Policy(rules=RULES))
    talk.request(now=400)
    requests, switched, begin = [talk.request(now=400) for _ in range(8)], sys.getswitchinterval(), threading.Barrier(8)

    def look(request):
        begin.wait()
        return [one.native for one in request.sent]

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            sent = list(pool.map(look, requests))
    finally:
        sys.setswitchinterval(switched)
    assert all(len(one) == 301 and one == sent[0] for one in sent)


def test_a_struck_message_is_made_once():
    """What one request worked out of a struck message, the requests after it send (R146)."""
    talk = Conversation(policy=Policy(rules=[MaskedResults(keep_recent=1)], schedule="eager"))
    for number in range(4):
        for message in conversation("anthropic", asks("Bash", {"command": "make"}, "cc -c orders.c\n" * 100, id=f"t{number}")):
            talk.add(message)
    first = talk.request()
    assert first.body
    places = [strike.index for strike in first.new_strikes]
    talk.add({"role": "user", "content": "Go on."})
    second = talk.request()
    assert second.body.startswith(first.body[:-1])
    assert places
    assert all(first.sent[place] is second.sent[place] for place in places)
