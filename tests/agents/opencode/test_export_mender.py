import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from redline.repair import INTERRUPTED
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    goes_on,
    opencode_file,
    opencode_message,
    opencode_tool,
    sound,
    write,
)
from tests.effort import tries

QUESTION = opencode_message("user", {"type": "text", "text": "ls"})
STEP_START, STEP_FINISH = {"type": "step-start", "snapshot": "s"}, {"type": "step-finish", "reason": "tool-calls"}
WORDS = {"type": "text", "text": "I look.", "time": {"start": 1}}
DONE = opencode_tool("c1", "completed", output="a.txt", time={"start": 5, "end": 6})
OPEN = opencode_tool("c2", "running", metadata={"kept": 1}, time={"start": 7})
CRASHED = opencode_message("assistant", STEP_START, WORDS, DONE, OPEN)


def mended(tmp_path, messages, strategy="drop"):
    path = write(tmp_path, opencode_file(messages), "session.json")
    mending = sound(path, strategy)
    return mending, json.loads(mending.content)["messages"]


def test_drop_removes_the_message(tmp_path):
    """All of it, with the calls that were answered."""
    mending, messages = mended(tmp_path, [QUESTION, CRASHED])
    assert (actions(mending), messages) == ([("remove", 1)], [QUESTION])


def test_strip_removes_the_part(tmp_path):
    """The words, the answered call and what opencode keeps for itself stay."""
    mending, messages = mended(tmp_path, [QUESTION, CRASHED, QUESTION], "strip")
    assert (actions(mending), messages[1]["parts"]) == ([("change", 1)], [STEP_START, WORDS, DONE])


def test_strip_takes_the_thought_that_led_to_the_call(tmp_path):
    """Parts that are not sent are not mistaken for it."""
    thoughts = [{"type": "reasoning", "text": "hm", "ignored": True}, {"type": "reasoning", "text": "hm"}]
    _, messages = mended(tmp_path, [QUESTION, opencode_message("assistant", WORDS, *thoughts, OPEN)], "strip")
    assert messages[1]["parts"] == [WORDS, thoughts[0]]


def test_strip_keeps_files_and_parts_of_other_kinds(tmp_path):
    """Each part is found again by what it holds; a part that is no object is passed over."""
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD", "filename": "a.png"}
    other = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,REVG"}
    said = [other, {"type": "new", "words": "?"}, picture, 5]
    mending, messages = mended(tmp_path, [QUESTION, opencode_message("assistant", *said, WORDS, OPEN)], "strip")
    assert (actions(mending), messages[1]["parts"]) == ([("change", 1)], [*said, WORDS])


@pytest.mark.parametrize("status", ["running", "pending"])
def test_answer_makes_the_call_a_failure(tmp_path, status):
    """With the words of every repair, its input and its metadata; it ended when it began."""
    part = opencode_tool("c2", status, metadata={"kept": 1}, **({"time": {"start": 7}} if status == "running" else {}))
    mending, messages = mended(tmp_path, [QUESTION, opencode_message("assistant", WORDS, DONE, part, STEP_FINISH)], "answer")
    time = 7 if status == "running" else 1000
    assert actions(mending) == [("change", 1)]
    assert messages[1]["parts"][2]["state"] == {
        "status": "error",
        "input": {"command": "ls"},
        "metadata": {"kept": 1},
        "error": INTERRUPTED,
        "time": {"start": time, "end": time},
    }
    assert [result.is_error for result in goes_on(tmp_path / "out-session.json")[-1].results] == [False, True]


def test_ids_used_twice_are_renamed(tmp_path):
    """A part holds the call and its result, so one id changes for both."""
    twice = opencode_message("assistant", DONE, DONE)
    mending, messages = mended(tmp_path, [QUESTION, twice])
    assert actions(mending) == [("change", 1)]
    assert len({part["callID"] for part in messages[1]["parts"]}) == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_else_stays_byte_for_byte(tmp_path, strategy):
    """The description of the session, other messages and the spaces between them are as they were."""
    content = opencode_file([QUESTION, CRASHED, QUESTION])
    mending = sound(write(tmp_path, content, "session.json"), strategy)
    record = json.dumps(CRASHED, indent=1).encode().replace(b"\n", b"\n  ")
    before, after = content.split(record)
    assert mending.content.startswith(before.rstrip(b", \n"))
    assert mending.content.endswith(after.lstrip(b", \n"))


def test_earlier_windows_stay(tmp_path):
    """An open call before a summary is not looked at."""
    summary = opencode_message("assistant", WORDS, finish="stop", summary=True)
    mending, messages = mended(tmp_path, [QUESTION, CRASHED, QUESTION, summary, CRASHED])
    assert (actions(mending), messages) == ([("remove", 4)], [QUESTION, CRASHED, QUESTION, summary])


TOOLS = st.builds(
    opencode_tool, st.sampled_from(["a", "b", "c"]), st.sampled_from(["pending", "running", "completed", "error"])
)
PARTS = st.one_of(
    TOOLS, st.sampled_from([STEP_START, STEP_FINISH, WORDS, {"type": "reasoning", "text": "hm"}, {"type": "new"}])
)
MESSAGES = st.one_of(
    st.just(QUESTION),
    st.lists(PARTS, max_size=5).map(lambda parts: opencode_message("assistant", *parts)),
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(40, deadline=None, suppress_health_check=list(HealthCheck))
@given(messages=st.lists(MESSAGES, max_size=5))
def test_any_session_is_mended(tmp_path, strategy, messages):
    """Whatever state its calls are in, the file becomes legal, once and for all, and messages not named are as they were."""
    mending, after = mended(tmp_path, messages, strategy)
    named = {fix.message for fix in mending.fixes}
    rest = iter(after)
    assert all(any(message == other for other in rest) for number, message in enumerate(messages) if number not in named)
