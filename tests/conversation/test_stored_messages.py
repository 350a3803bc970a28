"""Stored sessions as a model may see them."""

import copy
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.conversation.stored_messages import filter_messages, load_session_messages
from redline.errors import TranscriptError
from tests.effort import tries


def line(uuid: str, parent: str | None, role: str = "user", content: object = "hi", **more: object) -> dict:
    return {"type": "message", "uuid": uuid, "parentUuid": parent, "role": role, "content": content, **more}


def call(uuid: str, parent: str | None, *ids: str) -> dict:
    return line(uuid, parent, "assistant", [{"type": "tool_use", "id": i, "name": "read", "input": {}} for i in ids])


def answer(uuid: str, parent: str | None, *ids: str) -> dict:
    given_results = [{"type": "tool-result", "toolCallId": i, "toolName": "read", "result": {"llmContent": "x"}} for i in ids]
    return line(uuid, parent, "tool", given_results)


def test_an_interrupted_call_goes_and_its_children_are_adopted():
    """The message after it names the nearest parent left; all others are the very same objects."""
    lines = [line("1", None), call("2", "1", "t"), line("3", "2"), line("4", "3")]
    left = filter_messages(lines)
    assert [(message["uuid"], message["parentUuid"]) for message in left] == [("1", None), ("3", "1"), ("4", "3")]
    assert left[0] is lines[0]
    assert left[2] is lines[3]
    assert lines[2]["parentUuid"] == "2"


def test_a_first_message_that_goes_leaves_a_root():
    """With no parent left, none is named."""
    assert filter_messages([call("1", None, "t"), line("2", "1")]) == [line("2", None)]


def test_a_gap_is_reported_and_not_stitched(caplog):
    """The message after it keeps the name of the parent that is missing."""
    with caplog.at_level(logging.WARNING, logger="redline.sessions"):
        assert filter_messages([line("1", None), line("2", "lost")]) == [line("2", "lost")]
    assert "'lost'" in caplog.text


def test_lines_of_other_kinds_are_ignored():
    """Whatever they hold."""
    assert filter_messages([{"type": "config", "uuid": 5}, line("1", None), {"no": "type"}, 7]) == [line("1", None)]  # type: ignore[list-item]


def test_a_file_that_does_not_exist_is_an_empty_session(tmp_path):
    """Nothing is made."""
    assert load_session_messages(tmp_path / "none.jsonl") == []
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_an_error(tmp_path):
    """It is no empty session: a folder, say."""
    with pytest.raises(TranscriptError, match=str(tmp_path)):
        load_session_messages(tmp_path)


def test_a_torn_last_line_is_skipped_and_reported(tmp_path, caplog):
    """As a crash while writing leaves it, with a line break after it or without."""
    for end in ("", "\n"):
        file = tmp_path / "chat.jsonl"
        file.write_text(json.dumps(line("1", None)) + '\n{"type": "mess' + end)
        with caplog.at_level(logging.WARNING, logger="redline.sessions"):
            assert load_session_messages(file) == [line("1", None)]
        assert "line 2" in caplog.text


def test_a_bad_line_in_the_middle_is_an_error_unless_skipped(tmp_path):
    """It names the file, the line and the way out."""
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join((json.dumps(line("1", None)), "{bad", json.dumps(line("2", "1")))))
    with pytest.raises(TranscriptError, match=r"Line 2 of .*chat\.jsonl .*skip_bad_lines"):
        load_session_messages(file)
    assert [message["uuid"] for message in load_session_messages(file, skip_bad_lines=True)] == ["1", "2"]


@st.composite
def _stored(draw: st.DrawFn) -> list[dict]:
    """Lines whose parents come before them, some of which are missing; calls and answers at random."""
    lines: list[dict] = []
    for number in range(draw(st.integers(0, 12))):
        parent = draw(
            st.none()
            | st.sampled_from([f"u{other}" for other in range(max(number - 3, 0), number)] or [None])
            | st.just("lost")
        )
        ids = draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=2))
        make = draw(st.sampled_from([call, answer, answer, None]))
        lines.append(line(f"u{number}", parent) if make is None else make(f"u{number}", parent, *ids))
    return lines


@given(_stored())
def test_input_stays_and_twice_is_once(lines: list[dict]):
    """For any lines: they are untouched, every call left is answered, and a second pass finds the same."""
    before = copy.deepcopy(lines)
    left = filter_messages(lines)
    assert lines == before
    known = {message["uuid"] for message in left}
    originals = {message["uuid"]: message for message in lines}
    assert all(message is originals[message["uuid"]] for message in left if message == originals[message["uuid"]])
    assert all(message["parentUuid"] in {None, "lost", *known} for message in left)
    assert filter_messages(left) == left


@st.composite
def _wild(draw: st.DrawFn) -> list[dict]:
    """Lines as no agent writes them: ids that repeat or are missing, parents in circles, values of any type."""
    size = draw(st.integers(1, 8))
    ids = st.sampled_from([f"u{number}" for number in range(size)])
    odd = st.sampled_from([None, "", 5, [], {}, "lost"])
    lines = []
    for number in range(size):
        uuid = draw(st.just(f"u{number}") | ids | odd)
        parent = draw(ids | odd)
        called = draw(st.lists(st.sampled_from("ab"), unique=True, min_size=1, max_size=2))
        make = draw(st.sampled_from([call, answer, answer, mixed, None]))
        lines.append(line(uuid, parent) if make is None else make(uuid, parent, *called))
    return lines


def mixed(uuid: str, parent: str | None, *ids: str) -> dict:
    """Results and words in one message: it stays when its results go."""
    told = answer(uuid, parent, *ids)
    return {**told, "content": [*told["content"], {"type": "text", "text": "and"}]}


@tries(300)
@given(_wild())
def test_twice_is_once_whatever_the_lines_say(lines: list[dict]):
    """However damaged the tree is: nothing raises, nothing is touched, and a second pass finds the same."""
    before = copy.deepcopy(lines)
    left = filter_messages(lines)
    assert lines == before
    assert filter_messages(left) == left


def test_a_parallel_result_stays_when_the_one_beside_it_goes():
    """Its message is tied to the path by that other one alone; the words left of it are put after it."""
    lines = [call("1", None, "a"), answer("2", "1", "a"), mixed("3", "1", "nobody's")]
    left = filter_messages(lines)
    assert [(message["uuid"], message["parentUuid"]) for message in left] == [("1", None), ("2", "1"), ("3", "2")]
    assert left[:2] == lines[:2]
    assert filter_messages(left) == left
