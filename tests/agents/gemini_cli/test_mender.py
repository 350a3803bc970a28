import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from redline import mend_transcript, read_transcript
from redline.errors import RedlineError
from redline.repair import INTERRUPTED
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    gemini_answers,
    gemini_call,
    gemini_document,
    gemini_lines,
    gemini_record,
    goes_on,
    records_of,
    sound,
    write,
)
from tests.agents.transcripts.sessions import damaged
from tests.effort import tries

DATA = Path(__file__).parents[1] / "transcripts" / "data" / "gemini"
QUESTION = gemini_record("u1", content=[{"text": "look"}])
THOUGHTS = [{"subject": "Looking", "description": "where it is"}]
CRASHED = gemini_record(
    "g1", "gemini", "I look.", thoughts=THOUGHTS, model="m", toolCalls=[gemini_call("c1", "c1"), gemini_call("c2")]
)
NOTICE = gemini_record("i1", "info", "an update")


def in_lines(tmp_path, records, strategy="drop"):
    """The mending of a file of lines, and the records that its last line leaves."""
    content = gemini_lines(records)
    mending = sound(write(tmp_path, content), strategy)
    assert mending.content.startswith(content)  # what is there stays as it is: a line is added
    (added,) = records_of(mending.content[len(content) :])
    return mending, added["$set"]["messages"]


def in_document(tmp_path, records, strategy="drop"):
    mending = sound(write(tmp_path, gemini_document(records), "session.json"), strategy)
    return mending, json.loads(mending.content)["messages"]


def test_drop_removes_the_message(tmp_path):
    """In lines by a last one that says what is left, as Gemini CLI does it; notices stay (R38)."""
    mending, left = in_lines(tmp_path, [QUESTION, NOTICE, CRASHED])
    assert {action for action, line in actions(mending) if line == 4} == {"remove"}
    assert left == [QUESTION, NOTICE]


def test_drop_in_a_document(tmp_path):
    """Fixes name the place in the list of messages; all else stays byte for byte."""
    mending, messages = in_document(tmp_path, [QUESTION, NOTICE, CRASHED, gemini_record("u2")])
    assert {*actions(mending)} == {("remove", 2)}
    assert messages == [QUESTION, NOTICE, gemini_record("u2")]
    assert mending.content.startswith(gemini_document([QUESTION, NOTICE])[:-4].rstrip())


@pytest.mark.parametrize("mended", [in_lines, in_document])
def test_answer_adds_the_missing_result(tmp_path, mended):
    """Results that must change get a record of their own, with the time of their neighbour; the call is as it was."""
    _, (_, asked, answered) = mended(tmp_path, [QUESTION, CRASHED], "answer")
    assert answered["type"] == "user"
    assert answered["timestamp"] == CRASHED["timestamp"]
    given = [part["functionResponse"] for part in answered["content"]]
    assert [(one["id"], list(one["response"].values())) for one in given] == [("c1", ["of c1"]), ("c2", [INTERRUPTED])]
    assert asked == CRASHED | {"toolCalls": [gemini_call("c1"), gemini_call("c2")]}


@pytest.mark.parametrize("mended", [in_lines, in_document])
def test_strip_removes_the_call_alone(tmp_path, mended):
    """The words, the thoughts and the call that was answered stay, with its result."""
    _, (_, stripped) = mended(tmp_path, [QUESTION, CRASHED], "strip")
    assert stripped["toolCalls"] == [gemini_call("c1", "c1")]
    out = next(tmp_path.glob("out-*"))
    assert [[call.id for call in message.calls] for message in goes_on(out)] == [[], ["c1"], []]
    assert "I look." in goes_on(out)[1].text


def test_strip_of_the_only_call(tmp_path):
    """Nothing of it comes back from elsewhere in its record."""
    open_call = CRASHED | {"toolCalls": [gemini_call("c2")]}
    in_lines(tmp_path, [QUESTION, open_call, gemini_record("u2")], "strip")
    assert [message.calls for message in goes_on(tmp_path / "out-session.jsonl")] == [(), (), ()]


def test_calls_among_the_content_are_mended(tmp_path):
    """A record that was written again on a resume has its calls there."""
    content = [{"text": "I look."}, {"functionCall": {"id": "c2", "name": "ls", "args": {}}}]
    resumed = gemini_record("g1", "gemini", content, toolCalls=[gemini_call("c2")])
    _, left = in_lines(tmp_path, [QUESTION, resumed], "answer")
    assert left[:2] == [QUESTION, resumed]
    assert left[2]["content"][0]["functionResponse"]["id"] == "c2"


def test_a_result_in_two_records_is_left_in_one(tmp_path):
    """Gemini CLI 0.61 would send both when it resumes; the record of the user, which was sent, is the one that stays."""
    asked = CRASHED | {"toolCalls": [gemini_call("c1", "c1")]}
    given = gemini_record("r1", content=gemini_answers("c1"))
    mending, left = in_lines(tmp_path, [QUESTION, asked, given])
    assert actions(mending) == [("change", 3)]
    assert left == [QUESTION, CRASHED | {"toolCalls": [gemini_call("c1")]}, given]


def test_results_of_one_turn_come_together(tmp_path):
    """Of two results, one of them in two records, each is left once, in one record after the calls."""
    asked = CRASHED | {"toolCalls": [gemini_call("a", "a"), gemini_call("b", "b")]}
    _, left = in_lines(tmp_path, [QUESTION, asked, gemini_record("r1", content=gemini_answers("a"))])
    assert left[:2] == [QUESTION, CRASHED | {"toolCalls": [gemini_call("a"), gemini_call("b")]}]
    assert [part["functionResponse"]["id"] for record in left[2:] for part in record["content"]] == ["b", "a"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_sessions_of_gemini_cli_are_mended(tmp_path, path, strategy):
    """Whole, resumed, rewound or compressed: afterwards each result is in one record, as the agent reads them (R38)."""
    mending = sound(write(tmp_path, path.read_bytes()), strategy)
    assert mending.content.startswith(path.read_bytes())
    inline = [call.get("result") for record in _live(tmp_path / "out-session.jsonl") for call in record.get("toolCalls", ())]
    apart = [part for record in _live(tmp_path / "out-session.jsonl") for part in _answers_in(record)]
    assert not (any(inline) and apart)


def _live(path):
    """The records as Gemini CLI loads them."""
    live = {}
    for record in records_of(path.read_bytes()):
        if "$rewindTo" in record:
            names = list(live)
            live = {name: live[name] for name in names[: names.index(record["$rewindTo"])]}
        elif "id" in record:
            live[record["id"]] = record
        elif "messages" in record.get("$set", {}):
            live = {one["id"]: one for one in record["$set"]["messages"]}
    return list(live.values())


def _answers_in(record):
    return [part for part in record["content"] if isinstance(part, dict) and "functionResponse" in part]


def test_earlier_windows_stay(tmp_path):
    """An open call before a summary is not looked at; a window of which nothing is left keeps its place."""
    summary = gemini_record("s1", content=[{"text": "so far"}])
    healthy = sound(write(tmp_path, gemini_lines([QUESTION, CRASHED, {"$set": {"messages": [summary]}}])))
    assert healthy.fixes == ()
    lone = {"$set": {"messages": [CRASHED | {"id": "g9"}]}}
    sound(write(tmp_path, gemini_lines([QUESTION, lone])))
    assert [message.text for message in goes_on(tmp_path / "out-session.jsonl")] != ["look"]


def test_a_torn_last_line_is_cut_off(tmp_path):
    """The new line is not glued to it."""
    content = gemini_lines([QUESTION, CRASHED]) + b'{"id":"g2","type":"gem'
    mending = sound(write(tmp_path, content), "answer")
    assert read_transcript(tmp_path / "out-session.jsonl").problems == ()
    assert [line for action, line in actions(mending) if action == "remove"] == [4]


def test_a_last_line_without_a_line_break_stays(tmp_path):
    """The new line begins a line of its own."""
    content = gemini_lines([QUESTION, CRASHED])[:-1]
    mending = sound(write(tmp_path, content), "answer")
    assert mending.content.startswith(content + b"\n")


CALLS = st.sampled_from(["a", "b", "c"])
TOOL_CALLS = st.lists(
    st.builds(lambda name, is_answered: gemini_call(name, *[name] * is_answered), CALLS, st.booleans()), max_size=3
)
CONTENT = st.one_of(
    st.sampled_from(["", "words", [{"text": "hm", "thought": True}, {"text": "words"}]]),
    st.lists(CALLS.map(lambda name: {"functionCall": {"id": name, "name": "ls", "args": {}}}), max_size=2),
)
RECORDS = st.one_of(
    st.builds(lambda name, calls, said: gemini_record(name, "gemini", said, toolCalls=calls), CALLS, TOOL_CALLS, CONTENT),
    st.lists(CALLS, max_size=3, unique=True).map(
        lambda names: gemini_record("r" + "".join(names), content=gemini_answers(*names))
    ),
    st.sampled_from([QUESTION, NOTICE, gemini_record("u2", content="and?")]),
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    records=st.lists(
        st.one_of(RECORDS, st.just({"$rewindTo": "u2"}), st.lists(RECORDS).map(lambda some: {"$set": {"messages": some}}))
    )
)
def test_any_session_in_lines_is_mended(tmp_path, strategy, records):
    """Whatever its records say, the file becomes legal, once and for all, and nothing in it changes but its end."""
    content = gemini_lines(records)
    assert sound(write(tmp_path, content), strategy).content.startswith(content)


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(60, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(RECORDS))
def test_any_session_in_a_document_is_mended(tmp_path, strategy, records):
    """Whatever its records say, the file becomes legal, once and for all, and records not named are as they were."""
    mending, after = in_document(tmp_path, records, strategy)
    named = {fix.message for fix in mending.fixes}
    rest = iter(after)
    assert all(any(record == other for other in rest) for number, record in enumerate(records) if number not in named)


REPLACED = {"$set": {"messages": [QUESTION, CRASHED, gemini_record("r", content=gemini_answers("c1"))]}}


@tries(30, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged(REPLACED))
def test_odd_values_give_only_our_errors(tmp_path, replaced):
    """A record with a value of a type nobody expects is mended by what is appended, or refused with a RedlineError."""
    content = gemini_lines([QUESTION, CRASHED, replaced])
    path, mended = write(tmp_path, content), tmp_path / "out.jsonl"
    for strategy in STRATEGIES:
        with contextlib.suppress(RedlineError):
            mend_transcript(path, strategy=strategy).write(mended, overwrite=True)
            assert mended.read_bytes().startswith(content)
