"""Side calls are told from turns, by the agents' own words and by what the session's other requests offered."""

import json

import pytest

from redline.providers.apis import find_api
from redline.providers.side_calls import SIDE_CALL_WORDS, SideCalls
from tests.transport.side_call_cases import SIDE_CALLS, TURNS, WireCase


def find(known: SideCalls, case: WireCase, **changed):
    body = find_api("POST", case.path).read(json.dumps({**case.body, **changed}).encode(), case.path)
    assert not body.untouchable, body.untouchable
    session = case.headers.get("x-claude-code-session-id", "")
    return known.find(body, case.headers, session=session, namespace="n")


@pytest.mark.parametrize("case", SIDE_CALLS, ids=lambda case: case.name)
def test_a_side_call_is_known_by_its_words(case):
    """R106: with nothing known of the session; the agent and the purpose are named."""
    found = find(SideCalls(), case)
    assert found is not None
    assert found.reason.startswith("side call: ")
    assert found.reason.endswith(f"({case.name})")
    assert found.keeps_strikes is case.keeps_strikes


@pytest.mark.parametrize("case", TURNS, ids=lambda case: case.name)
def test_a_turn_is_none(case):
    """R106: also after other turns of the session, and twice."""
    known = SideCalls()
    assert find(known, case) is None
    assert find(known, case) is None


@pytest.mark.parametrize("case", [case for case in TURNS if case.body.get("tools")], ids=lambda case: case.name)
def test_without_the_tools_of_its_session_it_is_a_side_call(case):
    """R106: a history of calls, sent without the tools that the session's turns offer, whatever it says."""
    known = SideCalls()
    assert find(known, case) is None
    found = find(known, case, tools=[])
    assert found is not None
    assert not found.keeps_strikes
    assert find(known, case) is None


def test_what_another_session_offers_does_not_count():
    """An agent without tools beside one with tools, under one key."""
    known, (turn, *_) = SideCalls(), TURNS
    body = find_api("POST", turn.path).read(turn.raw, turn.path)
    bare = find_api("POST", turn.path).read(json.dumps({**turn.body, "tools": []}).encode(), turn.path)
    assert known.find(body, {}, session="a", namespace="n") is None
    assert known.find(bare, {}, session="b", namespace="n") is None
    assert known.find(bare, {}, session="a", namespace="other") is None
    assert known.find(bare, {}, session="a", namespace="n") is not None


def test_unnamed_sessions_are_told_apart_by_program():
    """Gemini CLI names no session: the requests of one program count, not those of another."""
    known, turn = SideCalls(), next(case for case in TURNS if case.name == "Gemini with tools")
    body, bare = (
        find_api("POST", turn.path).read(json.dumps({**turn.body, "tools": tools}).encode(), turn.path)
        for tools in (turn.body["tools"], [])
    )
    assert known.find(body, {"user-agent": "GeminiCLI-tui/0.61.0"}, session="", namespace="n") is None
    assert known.find(bare, {"user-agent": "my-app/1.0"}, session="", namespace="n") is None
    assert known.find(bare, {"user-agent": "GeminiCLI-tui/0.61.0"}, session="", namespace="n") is not None


def test_so_many_sessions_are_remembered():
    """The oldest are forgotten; then a request without tools is taken for a turn."""
    known, (turn, *_) = SideCalls(), TURNS
    body = find_api("POST", turn.path).read(turn.raw, turn.path)
    bare = find_api("POST", turn.path).read(json.dumps({**turn.body, "tools": []}).encode(), turn.path)
    for number in range(1_001):
        known.find(body, {}, session=str(number), namespace="n")
    assert known.find(bare, {}, session="0", namespace="n") is None
    assert known.find(bare, {}, session="1000", namespace="n") is not None


def test_the_words_are_told_once():
    """No two entries look for the same words in the same place."""
    places = [(known.place, known.words) for known in SIDE_CALL_WORDS]
    assert len(places) == len(set(places))
