import pytest
from hypothesis import HealthCheck, given

from redline import load_session_messages
from redline.repair import INTERRUPTED, NOT_SHOWN
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    goes_on,
    is_subsequence,
    neovate_file,
    neovate_line,
    records_of,
    rest_is_unchanged,
    sound,
    write,
)
from tests.effort import tries
from tests.repair.damage import damaged

CONFIG = {"type": "config", "model": "m"}


def asks(uuid, parent, *calls, kind="tool_use"):
    id_field, name_field = ("id", "name") if kind == "tool_use" else ("toolCallId", "toolName")
    blocks = [{"type": kind, id_field: call, name_field: "read", "input": {"path": call}} for call in calls]
    return neovate_line(uuid, parent, [{"type": "text", "text": "I look."}, *blocks], "assistant")


def answers(uuid, parent, *calls):
    blocks = [{"type": "tool-result", "toolCallId": call, "toolName": "read", "result": {"llmContent": call}} for call in calls]
    return neovate_line(uuid, parent, blocks, "tool")


CRASHED = [CONFIG, neovate_line("1", None), asks("2", "1", "a", "b"), answers("3", "2", "a"), neovate_line("4", "3", "go on")]


def test_drop_removes_the_message_and_its_results(tmp_path):
    """As loading the session does; what comes later names the nearest parent left."""
    path = write(tmp_path, CRASHED)
    mending = sound(path)
    assert actions(mending) == [("remove", 3), ("remove", 4), ("change", 5)]
    assert records_of(mending.content)[1:] == load_session_messages(path)
    assert records_of(mending.content)[2]["parentUuid"] == "1"


def test_strip_removes_the_call_alone(tmp_path):
    """The line keeps its words and the call that was answered."""
    mending = sound(write(tmp_path, CRASHED), "strip")
    assert actions(mending) == [("change", 3)]
    assert [block.get("id") for block in records_of(mending.content)[2]["content"]] == [None, "a"]


def test_answer_joins_the_results_that_came(tmp_path):
    """In the agent's own shape of a result, with the input of the call."""
    mending = sound(write(tmp_path, CRASHED), "answer")
    assert actions(mending) == [("change", 4)]
    _, added = records_of(mending.content)[3]["content"]
    assert added == {
        "type": "tool-result",
        "toolCallId": "b",
        "toolName": "read",
        "input": {"path": "b"},
        "result": {"llmContent": INTERRUPTED, "isError": True},
    }


def test_answer_without_results_is_a_line_between(tmp_path):
    """It names the message that asked, and what came after that names it."""
    mending = sound(write(tmp_path, [neovate_line("1", None), asks("2", "1", "a"), neovate_line("3", "2")]), "answer")
    asked, added, later = records_of(mending.content)[1:]
    assert (added["role"], added["type"], added["sessionId"], added["timestamp"]) == (
        "tool",
        "message",
        "s",
        asked["timestamp"],
    )
    assert (added["parentUuid"], later["parentUuid"]) == ("2", added["uuid"])


def test_answer_in_an_older_file_is_the_users(tmp_path):
    """Older files have results in messages of the user, under `id`."""
    old = neovate_line("3", "2", [{"type": "tool_result", "id": "a", "name": "read", "result": {"llmContent": "x"}}])
    path = write(tmp_path, [neovate_line("1", None), asks("2", "1", "a"), old, asks("4", "3", "b")])
    added = records_of(sound(path, "answer").content)[-1]
    assert (added["role"], added["content"][0]["type"], added["content"][0]["id"]) == ("user", "tool_result", "b")


def test_answer_to_a_call_of_the_ai_sdk_has_its_shape(tmp_path):
    """A file that writes calls as the AI SDK does gets a result as the AI SDK has it."""
    path = write(tmp_path, [neovate_line("1", None), asks("2", "1", "a", kind="tool-call")])
    (block,) = records_of(sound(path, "answer").content)[-1]["content"]
    assert block["output"] == {"type": "error-text", "value": INTERRUPTED}


def test_a_late_result_moves_up(tmp_path):
    """The line keeps its id; the three around it name their new parents."""
    records = [
        neovate_line("1", None),
        asks("2", "1", "a"),
        neovate_line("3", "2"),
        answers("4", "3", "a"),
        neovate_line("5", "4"),
    ]
    after = records_of(sound(write(tmp_path, records)).content)
    assert [(record["uuid"], record["parentUuid"]) for record in after] == [
        ("1", None),
        ("2", "1"),
        ("4", "2"),
        ("3", "4"),
        ("5", "3"),
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_branches_stay(tmp_path, strategy):
    """Open calls off the active path are not looked at."""
    records = [neovate_line("1", None), asks("x", "1", "z"), neovate_line("y", "x"), asks("2", "1", "a")]
    mending = sound(write(tmp_path, records), strategy)
    assert is_subsequence(records[1:3], records_of(mending.content))


def test_a_branch_does_not_become_the_conversation(tmp_path):
    """When the last line goes, the session goes on from where it was; where nothing is left, a line holds its place."""
    path = write(tmp_path, [neovate_line("1", None, "first"), neovate_line("x", "1", "given up"), asks("2", "1", "a")])
    sound(path)
    assert [message.text for message in goes_on(path.with_name("out-session.jsonl"))] == ["first"]
    path = write(tmp_path, [neovate_line("x", None, "given up"), asks("2", None, "a")])
    sound(path)
    assert [message.text for message in goes_on(path.with_name("out-session.jsonl"))] == [NOT_SHOWN]


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(40, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=damaged("ai_sdk"))
def test_any_history_is_mended(tmp_path, strategy, history):
    """Whatever was lost, repeated, moved or bent: the file becomes legal, once and for all, and no other line changes."""
    if not history:
        return
    mending = sound(write(tmp_path, neovate_file(history)), strategy)
    assert rest_is_unchanged(mending)
