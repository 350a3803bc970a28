import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from redline.repair import INTERRUPTED, NOT_SHOWN
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    codex_file,
    codex_item,
    codex_record,
    goes_on,
    records_of,
    rest_is_unchanged,
    sound,
    write,
)
from tests.effort import tries
from tests.repair.damage import damaged


def said(role, words):
    return {"type": "message", "role": role, "content": words}


def call(call_id, kind="function_call", **fields):
    return {"type": kind, "call_id": call_id, "name": "exec", **({"arguments": "{}"} | fields)}


CRASHED = [
    codex_record("session_meta", id="t"),
    codex_item(**said("user", "ls")),
    codex_item(type="reasoning", summary=[]),
    codex_item(**said("assistant", "I look.")),
    codex_record("event_msg", type="agent_message", message="I look."),
    codex_item(**call("c1")),
    codex_record("event_msg", type="token_count"),
]


def test_drop_removes_all_that_the_model_said_with_the_call(tmp_path):
    """Items between two inputs are one message; events for the screen stay."""
    mending = sound(write(tmp_path, CRASHED))
    assert actions(mending) == [("remove", 3), ("remove", 4), ("remove", 6)]
    assert [record["type"] for record in records_of(mending.content)] == [
        "session_meta",
        "response_item",
        "event_msg",
        "event_msg",
    ]


def test_strip_removes_the_call_alone(tmp_path):
    """Words and the thought before them stay."""
    assert actions(sound(write(tmp_path, CRASHED), "strip")) == [("remove", 6)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (call("c"), {"type": "function_call_output", "call_id": "c", "output": f"Error: {INTERRUPTED}"}),
        (
            call("c", "custom_tool_call", input="x"),
            {"type": "custom_tool_call_output", "call_id": "c", "output": f"Error: {INTERRUPTED}"},
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "c", "output": f"Error: {INTERRUPTED}"},
        ),
    ],
)
def test_an_answer_is_of_the_kind_that_fits_the_call(tmp_path, asked, answer):
    """It comes after the call in a line of its own, with the time of the call."""
    later = codex_item(**said("user", "go on"))
    mending = sound(write(tmp_path, [CRASHED[0], CRASHED[1], codex_item(**asked), later]), "answer")
    assert actions(mending) == [("add", 3)]
    assert records_of(mending.content)[3] == {"timestamp": CRASHED[0]["timestamp"], "type": "response_item", "payload": answer}


def test_a_changed_item_keeps_its_spelling(tmp_path):
    """Where an id must change, all else in the line stays as it was written."""
    payload = b'{"type": "function_call", "call_id":"", "n": 1.50, "name": "x", "arguments": "{}"}'
    line = b'{"timestamp" : "t", "type": "response_item", "payload": ' + payload + b"}"
    mending = sound(write(tmp_path, codex_file([said("user", "hi")], is_compacted=False) + line + b"\n"), "answer")
    after = mending.content.splitlines()[3]
    assert after == line.replace(b'"call_id":""', b'"call_id":"call_1_0"')


def test_the_history_of_a_compaction_is_mended_in_its_line(tmp_path):
    """An open call in it is dropped, or answered inside it; earlier windows are not looked at."""
    history = [said("user", "summary"), call("h1"), said("user", "and then")]
    records = [
        *CRASHED,
        codex_record("compacted", message="", replacement_history=history),
        codex_item(**said("user", "go on")),
    ]
    path = write(tmp_path, records)
    assert actions(sound(path)) == [("change", 8)]
    assert records_of(sound(path).content)[7]["payload"]["replacement_history"] == [history[0], history[2]]
    answered = records_of(sound(path, "answer").content)[7]["payload"]["replacement_history"]
    assert [item["type"] for item in answered] == ["message", "function_call", "function_call_output", "message"]


def test_a_call_at_the_end_of_that_history_is_answered_after_it(tmp_path):
    """The answer is an item like those that were said since."""
    records = [CRASHED[0], codex_record("compacted", message="", replacement_history=[said("user", "summary"), call("h1")])]
    mending = sound(write(tmp_path, records), "answer")
    assert actions(mending) == [("add", 2)]


def test_the_window_before_a_compaction_does_not_come_back(tmp_path):
    """Where nothing is left since then, an item holds the place."""
    thought = codex_item(type="reasoning", summary=[])
    records = [CRASHED[0], CRASHED[1], codex_record("compacted", message="", replacement_history=[]), thought]
    path = write(tmp_path, records)
    sound(path)
    assert [message.text for message in goes_on(path.with_name("out-session.jsonl"))] == [NOT_SHOWN]


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(40, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=damaged("openai_responses"), is_compacted=st.booleans())
def test_any_history_is_mended(tmp_path, strategy, history, is_compacted):
    """Whatever was lost, repeated, moved or bent: the file becomes legal, once and for all, and no other line changes."""
    mending = sound(write(tmp_path, codex_file(history, is_compacted=is_compacted)), strategy)
    assert rest_is_unchanged(mending)
