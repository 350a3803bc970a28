import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from redline import mend_transcript, read_transcript
from redline.repair import INTERRUPTED, NOT_SHOWN
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    as_lines,
    claude_file,
    claude_line,
    goes_on,
    records_of,
    rest_is_unchanged,
    result,
    sound,
    text,
    use,
    write,
)
from tests.effort import tries
from tests.repair.damage import damaged

CRASHED = [
    {"type": "file-history-snapshot", "messageId": "1"},
    claude_line("1", None, content="fix it"),
    claude_line("2", "1", "assistant", text("I look."), id="m"),
    claude_line("3", "2", "assistant", use("a"), id="m"),
    claude_line("p", "3", "progress"),
]

IN_THE_MIDDLE = [*CRASHED, claude_line("4", "3", content="[Request interrupted by user]"), claude_line("5", "4", "system")]


def by_uuid(mending):
    return {record["uuid"]: record for record in records_of(mending.content) if "uuid" in record}


def chain(mending, leaf):
    """The ids from a line up to the root, as a reader that knows nothing of parallel results follows them."""
    lines, way = by_uuid(mending), []
    while leaf is not None:
        way.append(leaf)
        leaf = lines[leaf]["parentUuid"]
    return way[::-1]


def test_drop_removes_every_line_of_the_message(tmp_path):
    """The lines of an API message with an open call go; their children name the nearest line left."""
    mending = sound(write(tmp_path, CRASHED))
    assert actions(mending) == [("remove", 3), ("remove", 4), ("change", 5)]
    assert [fix.call_id for fix in mending.fixes] == [None, "a", None]
    assert by_uuid(mending)["p"]["parentUuid"] == "1"


def test_strip_keeps_the_words(tmp_path):
    """Only the line of the call goes."""
    mending = sound(write(tmp_path, CRASHED), "strip")
    assert actions(mending) == [("remove", 4), ("change", 5)]
    assert by_uuid(mending)["p"]["parentUuid"] == "2"


def test_answer_adds_a_line_as_the_agent_would_write_it(tmp_path):
    """It is the child of the line of the call, and takes session, folder and time from it."""
    mending = sound(write(tmp_path, CRASHED), "answer")
    assert actions(mending) == [("add", 4)]
    added = records_of(mending.content)[4]
    assert {key: added[key] for key in ("parentUuid", "sessionId", "cwd", "type", "timestamp")} == {
        "parentUuid": "3",
        "sessionId": "s",
        "cwd": "/p",
        "type": "user",
        "timestamp": "2026-02-04T00:00:01Z",
    }
    assert added["sourceToolAssistantUUID"] == "3"
    (block,) = added["message"]["content"]
    assert block == {"type": "tool_result", "tool_use_id": "a", "content": INTERRUPTED, "is_error": True}


def test_the_same_file_gives_the_same_bytes(tmp_path):
    """No clock and no chance: ids are made from the session and the call."""
    path = write(tmp_path, CRASHED)
    assert mend_transcript(path, strategy="answer").content == mend_transcript(path, strategy="answer").content


def test_what_followed_an_open_call_follows_its_answer(tmp_path):
    """The new line goes between, so that who follows parents alone finds every message."""
    mending = sound(write(tmp_path, IN_THE_MIDDLE), "answer")
    added = records_of(mending.content)[4]["uuid"]
    assert chain(mending, "5") == ["1", "2", "3", added, "4", "5"]
    assert chain(sound(write(tmp_path, IN_THE_MIDDLE), "drop"), "5") == ["1", "4", "5"]
    assert chain(sound(write(tmp_path, IN_THE_MIDDLE), "strip"), "5") == ["1", "2", "4", "5"]


def test_parallel_calls_of_several_lines(tmp_path):
    """Each answer is the child of the line of its call; the ones that came stay as they are."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a"), id="m"),
        claude_line("3", "2", "assistant", use("b"), id="m"),
        claude_line("4", "3", "assistant", use("c"), id="m"),
        claude_line("5", "3", content=result("b")),
    ]
    path = write(tmp_path, records)
    mending = sound(path, "answer")
    assert actions(mending) == [("add", 5), ("add", 5)]
    assert [record["parentUuid"] for record in records_of(mending.content)[5:]] == ["2", "4"]
    assert [answer.call_id for answer in goes_on(path.with_name("out-session.jsonl"))[-1].results] == ["b", "a", "c"]
    assert actions(sound(path, "strip")) == [("remove", 2), ("change", 3), ("remove", 4)]
    assert actions(sound(path, "drop")) == [("remove", number) for number in (2, 3, 4, 5)]


def test_calls_of_one_line_are_answered_in_a_chain(tmp_path):
    """Where each result is the child of the one before, the answers are too, and no message is off the chain."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a", "b", "c")),
        claude_line("3", "2", content=result("a")),
        claude_line("4", "3", content="go on"),
    ]
    mending = sound(write(tmp_path, records), "answer")
    first, second = (record["uuid"] for record in records_of(mending.content)[3:5])
    assert chain(mending, "4") == ["1", "2", "3", first, second, "4"]


def test_a_line_loses_only_the_blocks_that_go(tmp_path):
    """Words beside a call, and words beside results, stay in their lines, and the lines keep their spelling."""
    asked = json.dumps(claude_line("2", "1", "assistant", [*text("I look."), *use("a", "b")])).encode()
    asked = asked.replace(b'"sessionId": "s"', b'"sessionId" :  "s",  "x": 1.50')
    answered = json.dumps(claude_line("3", "2", content=[*result("a"), *text("wait")])).encode()
    path = write(tmp_path, as_lines([claude_line("1", None)]) + asked + b"\n" + answered + b"\n")
    stripped = sound(path, "strip").content.splitlines()
    gone = b", " + json.dumps(use("b")[0]).encode()
    assert stripped[1] == asked.replace(gone, b"")
    assert stripped[2] == answered
    dropped = records_of(sound(path, "drop").content)
    assert [(record["uuid"], record["parentUuid"]) for record in dropped] == [("1", None), ("3", "1")]
    assert dropped[1]["message"]["content"] == text("wait")


def test_an_answer_among_words_goes_into_their_line(tmp_path):
    """Results must come before words, so a line that holds both takes the answer in between."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a", "b")),
        claude_line("3", "2", content=[*result("a"), *text("wait")]),
    ]
    mending = sound(write(tmp_path, records), "answer")
    kinds = [block["type"] for block in records_of(mending.content)[2]["message"]["content"]]
    assert (actions(mending), kinds) == ([("change", 3)], ["tool_result", "tool_result", "text"])


def test_a_late_result_moves_up_as_it_is(tmp_path):
    """Its line is put after the call; it and those around it name their new parents."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a")),
        claude_line("3", "2", content="still there?"),
        claude_line("4", "3", content=result("a"), toolUseResult={"kept": True}),
        claude_line("5", "4", "assistant", text("yes")),
    ]
    mending = sound(write(tmp_path, records))
    assert chain(mending, "5") == ["1", "2", "4", "3", "5"]
    assert by_uuid(mending)["4"]["toolUseResult"] == {"kept": True}


def test_ids_used_twice_are_renamed_in_place(tmp_path):
    """The id of a call is unique in a request; only the ids change in the lines."""
    records = [claude_line("1", None)]
    for number in (2, 4):
        records.append(claude_line(str(number), str(number - 1), "assistant", use("a")))
        records.append(claude_line(str(number + 1), str(number), content=result("a")))
    mending = sound(write(tmp_path, records))
    assert actions(mending) == [("change", 4), ("change", 5)]
    before, after = json.dumps(records[3]), mending.content.decode().splitlines()[3]
    assert after == before.replace('"id": "a"', f'"id": {json.dumps(json.loads(after)["message"]["content"][0]["id"])}')


def test_the_user_begins(tmp_path):
    """A session whose beginning is lost gets a first line, and keeps the name of the parent that is lost."""
    mending = sound(write(tmp_path, [claude_line("2", "lost", "assistant", text("done"))]))
    first, second = records_of(mending.content)
    assert (first["parentUuid"], second["parentUuid"]) == ("lost", first["uuid"])
    assert first["message"]["content"] == text(NOT_SHOWN)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_branches_and_earlier_windows_stay(tmp_path, strategy):
    """Open calls before a compaction, off the path, or of a sub-agent are not looked at."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("old")),
        claude_line("b", None, "system", subtype="compact_boundary", logicalParentUuid="2"),
        claude_line("4", "b", content="summary"),
        claude_line("s", None, "assistant", use("side"), isSidechain=True),
        claude_line("x", "4", "assistant", use("abandoned")),
        claude_line("y", "x", content="never mind"),
        claude_line("5", "4", "assistant", use("open")),
        claude_line("6", "5", content="hello?"),
    ]
    mending = sound(write(tmp_path, records), strategy)
    assert rest_is_unchanged(mending)
    assert {fix.line for fix in mending.fixes} <= {8, 9}


def test_a_branch_does_not_become_the_conversation(tmp_path):
    """When the last line goes, the session still goes on from where it was, not from an answer that was given up."""
    records = [
        claude_line("1", None),
        claude_line("x", "1", "assistant", text("given up")),
        claude_line("2", "1", "assistant", use("a")),
    ]
    path = write(tmp_path, records)
    mending = sound(path)
    assert [record["uuid"] for record in records_of(mending.content)] == ["x", "1"]
    assert [message.text for message in goes_on(path.with_name("out-session.jsonl"))] == ["hi"]


@pytest.mark.parametrize("strategy", ["drop", "strip"])
def test_a_sub_agent_does_not_become_the_conversation(tmp_path, strategy):
    """Where nothing is left of the conversation, a line holds its place."""
    records = [claude_line("1", None, "assistant", use("a")), claude_line("s", None, isSidechain=True)]
    path = write(tmp_path, records)
    sound(path, strategy)
    assert [message.text for message in goes_on(path.with_name("out-session.jsonl"))] == [NOT_SHOWN]


def test_a_line_written_twice_goes_twice(tmp_path):
    """Otherwise its copy would be left as a line of its own."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a")),
        claude_line("2", "1", "assistant", use("a")),
    ]
    assert actions(sound(write(tmp_path, records))) == [("remove", 2), ("remove", 3)]
    assert actions(sound(write(tmp_path, [*records, claude_line("3", "2")]))) == [("remove", 2), ("remove", 3), ("change", 4)]


def test_the_last_prompt_names_a_line_that_is_there(tmp_path):
    """Records beside the tree that name the end of the conversation name its new end."""
    records = [*CRASHED, {"type": "last-prompt", "leafUuid": "3", "sessionId": "s"}]
    assert records_of(sound(write(tmp_path, records)).content)[-1]["leafUuid"] == "1"
    answered = records_of(sound(write(tmp_path, records), "answer").content)
    assert answered[-1]["leafUuid"] == answered[4]["uuid"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(40, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=damaged("anthropic"), is_split=st.booleans())
def test_any_history_is_mended(tmp_path, strategy, history, is_split):
    """Whatever was lost, repeated, moved or bent: the file becomes legal, once and for all, and no other line changes."""
    if not history:
        return
    mending = sound(write(tmp_path, claude_file(history, is_split=is_split)), strategy)
    assert rest_is_unchanged(mending)


def test_a_legal_file_comes_back_as_it_is(tmp_path):
    """Nothing to do is nothing done."""
    path = write(tmp_path, [claude_line("1", None), claude_line("2", "1", "assistant", text("hello"))])
    assert (sound(path).fixes, sound(path).content) == ((), path.read_bytes())
    assert read_transcript(path).format == "claude-code"
