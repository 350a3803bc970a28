import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.agents.neovate import Neovate, StoredLine, active_path
from redline.agents.transcripts import Usage
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.corpus import corpus_path, corpus_rows, needs_corpus

ROOT = object()


def line(uuid, parent=ROOT, content="hi", role="user", **fields):
    stored = {"type": "message", "uuid": uuid, "role": role, "content": content, "timestamp": "2026-02-04T00:00:01Z"}
    return {**stored, **({} if parent is ROOT else {"parentUuid": parent}), **fields}


def asks(uuid, parent, *calls, kind="tool_use"):
    key = "id" if kind == "tool_use" else "toolCallId"
    blocks = [{"type": kind, key: call, "name": "read", "input": {}} for call in calls]
    return line(uuid, parent, blocks, "assistant", model="m", usage={"input_tokens": 5, "output_tokens": 2})


def answers(uuid, parent, *calls):
    blocks = [{"type": "tool-result", "toolCallId": call, "toolName": "read", "result": {"llmContent": call}} for call in calls]
    return line(uuid, parent, blocks, "tool")


def source_of(tmp_path, records, tail=""):
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + tail, encoding="utf-8")
    return Source(path)


def read(tmp_path, records, tail=""):
    return Neovate().read(source_of(tmp_path, records, tail))


def uuids(entries):
    return [entry.id for entry in entries]


def path_of(tmp_path, records):
    (conversation,) = read(tmp_path, records)
    return uuids(conversation.entries)


def test_the_path_to_the_last_message_is_the_conversation(tmp_path):
    """Abandoned messages are a branch that says where it left the path; other lines are passed over."""
    records = [
        {"type": "config", "model": "m"},
        line("a", None),
        line("b", "a"),
        line("x", "b"),
        line("y", "x"),
        {"uuid": "z", "role": "user", "content": "no type"},
        line("c", "b"),
    ]
    (conversation,) = read(tmp_path, records)
    assert uuids(conversation.entries) == ["a", "b", "c"]
    assert [(branch.after, uuids(branch.entries)) for branch in conversation.branches] == [(1, ["x", "y"])]
    assert uuids(conversation.walk()) == ["a", "b", "c", "x", "y"]


def test_a_line_without_a_parent_is_a_root(tmp_path):
    """Whether the key is missing or null; an earlier root is a branch that shares nothing with the path."""
    assert path_of(tmp_path, [line("a"), line("b", "a")]) == ["a", "b"]
    (conversation,) = read(tmp_path, [line("old", None), line("a", None), line("b", "a")])
    assert [(branch.after, uuids(branch.entries)) for branch in conversation.branches] == [(None, ["old"])]


@pytest.mark.parametrize("kind", ["tool_use", "tool-call"])
def test_parallel_results_are_siblings_on_the_path(tmp_path, kind):
    """When one result is on the path, those that answer the other calls of that message are too."""
    records = [line("1"), asks("2", "1", "t1", "t2", "t3", kind=kind)]
    records += [answers(f"3{call}", "2", call) for call in ("t1", "t2", "t3")]
    assert path_of(tmp_path, [*records, line("4", "3t3")]) == ["1", "2", "3t1", "3t2", "3t3", "4"]
    assert path_of(tmp_path, records) == ["1", "2", "3t1", "3t2", "3t3"]


def test_older_results_are_found_by_their_id(tmp_path):
    """They are in user messages and name the call `id`."""
    old = [line(f"3{call}", "2", [{"type": "tool_result", "id": call, "result": {}}]) for call in ("t1", "t2")]
    assert path_of(tmp_path, [line("1"), asks("2", "1", "t1", "t2"), *old]) == ["1", "2", "3t1", "3t2"]


def test_a_result_off_the_path_stays_off(tmp_path):
    """Where the path went on without results, or holds that call's result already, a sibling result is abandoned."""
    assert path_of(tmp_path, [line("1"), asks("2", "1", "t1"), answers("3", "2", "t1"), line("4", "2")]) == [
        "1",
        "2",
        "4",
    ]
    retried = [line("1"), asks("2", "1", "t1"), answers("3", "2", "t1"), answers("3b", "2", "t1")]
    assert path_of(tmp_path, retried) == ["1", "2", "3b"]
    chained = [
        line("1"),
        asks("2", "1", "t1", "t2"),
        answers("x", "2", "t2"),
        answers("3", "2", "t1"),
        answers("4", "3", "t2"),
    ]
    assert path_of(tmp_path, chained) == ["1", "2", "3", "4"]


def test_a_missing_parent_does_not_cut_the_conversation(tmp_path):
    """R131: the message follows the message before it in the file, and the line is named."""
    transcript = read(tmp_path, [line("1"), line("2", "lost"), line("3", "2")])
    assert uuids(transcript.conversations[0].entries) == ["1", "2", "3"]
    (problem,) = transcript.problems
    assert (problem.line, "'lost'" in problem.reason, problem.is_left_out) == (2, True, False)


def test_a_line_written_twice_is_read_once(tmp_path):
    """R131: the copy at the end of the file does not take the conversation back to where the line was first written."""
    records = [line("1"), line("2", "1"), line("3", "2"), line("2", "1")]
    assert uuids(read(tmp_path, records).conversations[0].entries) == ["1", "2", "3"]


@pytest.mark.parametrize("records", [[line("a", "a")], [line("a", "b"), line("b", "a")]])
def test_a_circle_ends_the_path(tmp_path, records):
    """A message that is its own ancestor is met once and reported as nothing."""
    transcript = read(tmp_path, records)
    assert uuids(transcript.conversations[0].entries) == [record["uuid"] for record in records]
    assert transcript.problems == ()


def test_the_payload_is_the_stored_line(tmp_path):
    """Every field of the line is kept; time, model and tokens are read from it."""
    records = [line("1", None), asks("2", "1", "t1")]
    (conversation,) = read(tmp_path, records)
    assert [message.native for message in conversation.messages] == records
    assert [call.id for call in conversation.messages[1].calls] == ["t1"]
    made = conversation.entries[1]
    assert (made.timestamp_ms, made.model, made.usage) == (1770163201000.0, "m", Usage(5, 2))
    assert (conversation.format, conversation.id) == ("ai_sdk", "session")


def test_the_session_id_names_the_conversation(tmp_path):
    """Where the lines carry one, it is the name."""
    (conversation,) = read(tmp_path, [line("1", None, sessionId="s-1")])
    assert conversation.id == "s-1"


def test_bad_lines_are_listed_and_the_rest_is_read(tmp_path):
    """A torn last line and one in the middle cost only themselves."""
    transcript = read(tmp_path, [line("1")], tail='{"type": "snap\n\n' + json.dumps(line("2", "1")) + '\n{"type": "mess')
    assert uuids(transcript.conversations[0].entries) == ["1", "2"]
    assert [problem.line for problem in transcript.problems] == [2, 5]


def test_a_file_without_messages_has_no_conversation(tmp_path):
    """Configuration alone is nothing said."""
    assert len(read(tmp_path, [{"type": "config"}])) == 0


@pytest.mark.parametrize(
    "odd", [{"content": 7}, {"usage": "free"}, {"model": 3}, {"content": [7, {"type": 1}]}, {"role": None}]
)
def test_odd_fields_do_not_cost_the_place_in_the_tree(tmp_path, odd):
    """A field of an unexpected type is left out, the path is found."""
    assert path_of(tmp_path, [line("1"), {**line("2", "1"), **odd}, line("3", "2")]) == ["1", "2", "3"]


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 8)), max_size=12))
def test_any_tree_gives_a_path_without_repetition(links):
    """Whatever the ids and parents, the path ends at the last line, is in file order and meets no line twice."""
    lines = [StoredLine(uuid=str(uuid), parent_uuid=None if parent is None else str(parent)) for uuid, parent in links]
    numbers = active_path(lines).numbers
    assert list(numbers) == sorted(set(numbers))
    assert numbers[-1:] == ((len(lines) - 1,) if lines else ())


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_every_line_is_either_on_the_path_or_in_one_branch(tmp_path_factory, parents):
    """Walking a conversation meets every message line of the file exactly once."""
    records = [line(str(number), None if parent >= number else str(parent)) for number, parent in enumerate(parents)]
    (conversation,) = read(tmp_path_factory.mktemp("tree"), records)
    assert sorted(uuids(conversation.walk()), key=int) == [record["uuid"] for record in records]


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user"}},
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"role": "user"}},
        {"role": "user", "content": "hi"},
    ],
)
def test_other_files_are_not_claimed(tmp_path, record):
    """Pi's and Claude Code's lines and plain messages are not Neovate's; its own are."""
    assert not Neovate().recognizes(take_sample(source_of(tmp_path, [record, record])))
    assert Neovate().recognizes(take_sample(source_of(tmp_path, [{"type": "config"}, line("1", None)])))


@needs_corpus
def test_no_recorded_file_of_another_agent_is_claimed():
    """None of the recorded sessions is Neovate's."""
    samples = [take_sample(Source(corpus_path(row))) for row in corpus_rows()]
    assert [sample.name for sample in samples if Neovate().recognizes(sample)] == []
