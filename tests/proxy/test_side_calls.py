"""Side calls through the proxy, in all APIs: they arrive as the agent sent them, and the conversation goes on without them."""

import json

import pytest

from redline import EN
from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.testing import asks, conversation, says
from redline.transport.editing import WireEditor
from tests.measure_bytes import PATHS
from tests.proxy.support import proxy, upstream

EAGER = Policy(schedule="eager", words=EN)
HEADERS = [("x-api-key", "k"), ("x-session-id", "chat"), ("user-agent", "agent/1.0")]
TOOLS = {
    "anthropic": [{"name": "Read", "input_schema": {"type": "object"}}],
    "openai_chat": [{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}],
    "openai_responses": [{"type": "function", "name": "Read", "parameters": {"type": "object"}}],
    "gemini": [{"functionDeclarations": [{"name": "Read"}]}],
}
SUMMARY = "Your task is to create a detailed summary of the conversation so far."


def body(format, reads, *after, tools=True, **more):
    """A request over a history in which one file was read so many times."""
    turns = [says("user", "Go on.")]
    for number in range(reads):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{number}")
    turns += [says("user", text) for text in after]
    offered = {"tools": TOOLS[format]} if tools else {}
    return json.dumps({"model": "claude-sonnet-4-5", **offered, PATHS[format][1]: conversation(format, turns), **more}).encode()


def play(tmp_path, format, *bodies, headers=HEADERS):
    """What arrives for each of the bodies, and the status at the end."""
    with (
        Editor(tmp_path / "store", policy=EAGER) as editor,
        upstream() as up,
        proxy(up.url, tmp_path, editor=WireEditor(editor)) as running,
    ):
        for one in bodies:
            running.ask(path=PATHS[format][0], body=one, headers=headers)
        status = running.settled(len(bodies))
    return [seen.body for seen in up.seen], status


def left(sent):
    """The numbers of the reads whose words are in a body."""
    return [number for number in range(20) if f"text {number} text".encode() in sent]


@pytest.mark.parametrize("format", PATHS)
def test_a_check_over_the_history_sees_all_of_it(format, tmp_path):
    """R106: without the session's tools it is no turn: nothing is struck, nothing is repaired, and it says why."""
    check = body(format, 9, "Is this a loop? Answer in JSON.", tools=False)
    sent, status = play(tmp_path, format, body(format, 9), check, body(format, 10))
    assert left(sent[0]) == [4, 5, 6, 7, 8]
    assert sent[1] == check
    assert left(sent[2]) == [5, 6, 7, 8, 9]
    assert list(status["totals"]["untouched"]) == [
        "side call: not edited (it offers no tools, the session's other requests do)"
    ]


@pytest.mark.parametrize("format", PATHS)
def test_the_conversation_does_not_move(format, tmp_path):
    """R106: what is sent for the turns after a side call is, byte for byte, what is sent without it."""
    turns = [body(format, reads) for reads in (7, 8, 9)]
    check = body(format, 8, "Is this a loop?", tools=False)
    summary = body(format, 8, SUMMARY)
    alone, _ = play(tmp_path / "alone", format, *turns)
    among, _ = play(tmp_path / "among", format, turns[0], turns[1], check, summary, turns[2])
    assert [among[0], among[1], among[4]] == alone
    assert len(list((tmp_path / "among/store").glob("*.jsonl"))) == len(list((tmp_path / "alone/store").glob("*.jsonl")))


@pytest.mark.parametrize("format", PATHS)
def test_a_summary_in_the_conversation_s_own_frame_keeps_its_prefix(format, tmp_path):
    """R106: with its tools, the strikes that were sent stay, so that the cache serves it; nothing new is struck."""
    sent, status = play(tmp_path, format, body(format, 7), body(format, 9, SUMMARY), body(format, 9))
    assert [left(one) for one in sent] == [[2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7, 8], [4, 5, 6, 7, 8]]
    assert list(status["totals"]["untouched"]) == ["side call: nothing new is struck (Claude Code: summary)"]


@pytest.mark.parametrize("format", PATHS)
def test_ordinary_turns_are_edited(format, tmp_path):
    """An agent that never offers tools, and one that asks for JSON each time: neither is taken for a side call."""
    bare, _ = play(tmp_path / "bare", format, body(format, 8, tools=False), body(format, 9, tools=False))
    assert [left(one) for one in bare] == [[3, 4, 5, 6, 7], [4, 5, 6, 7, 8]]
    strict = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        "openai_chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
        "openai_responses": {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}},
        "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {}}},
    }[format]
    sent, status = play(tmp_path / "strict", format, body(format, 8, **strict), body(format, 9, **strict))
    assert [left(one) for one in sent] == [[3, 4, 5, 6, 7], [4, 5, 6, 7, 8]]
    assert status["totals"]["untouched"] == {}


def test_an_unnamed_session_is_known_by_its_program(tmp_path):
    """R106: Gemini CLI names no session, and looks for loops in the last contents only."""
    headers = [("x-goog-api-key", "k"), ("user-agent", "GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux)")]
    history = json.loads(body("gemini", 9))["contents"]
    loop_check = json.dumps({"contents": [*history[-12:-1], {"role": "user", "parts": [{"text": "A loop?"}]}]}).encode()
    sent, _ = play(tmp_path, "gemini", body("gemini", 9), loop_check, headers=headers)
    assert left(sent[0]) == [4, 5, 6, 7, 8]
    assert sent[1] == loop_check
