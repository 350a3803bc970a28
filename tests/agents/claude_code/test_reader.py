import json
import re

import pytest

from redline import check
from redline.agents.claude_code.reader import ClaudeCode
from redline.agents.transcripts.source import Source
from redline.providers.usage import Usage
from redline.values.pairs import pair_up
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def line(uuid, parent, kind="user", content="hi", **fields):
    message = {"role": kind, "content": content} if kind in ("user", "assistant") else None
    record = {"parentUuid": parent, "sessionId": "s", "type": kind, "uuid": uuid, "timestamp": "2026-02-04T00:00:01Z"}
    if message and kind == "assistant":
        message |= {
            "id": fields.pop("id", f"msg_{uuid}"),
            "model": "m",
            "usage": {"input_tokens": 5, "output_tokens": 2},
        }
    return record | ({"message": message} if message else {}) | fields


def use(name):
    return [{"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}}]


def result(name):
    return [{"type": "tool_result", "tool_use_id": name, "content": f"text of {name}"}]


def read(tmp_path, records):
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return ClaudeCode().read(Source(path))


def only(transcript):
    (conversation,) = transcript.conversations
    return conversation


def test_lines_of_one_api_message_are_put_together(tmp_path):
    """Assistant lines with one message id are one message, and its parallel results are one message."""
    records = [
        line("1", None),
        line("2", "1", "assistant", [{"type": "text", "text": "look"}], id="m"),
        line("3", "2", "assistant", use("a"), id="m"),
        line("4", "3", "assistant", use("b"), id="m"),
        line("5", "3", content=result("a")),
        line("6", "4", content=result("b")),
        line("7", "6", "assistant", [{"type": "text", "text": "done"}]),
    ]
    conversation = only(read(tmp_path, records))
    assert [len(entry.positions) for entry in conversation.entries] == [1, 3, 2, 1]
    assert [message.role for message in conversation.messages] == ["user", "assistant", "user", "assistant"]
    assert check([message.native for message in conversation.messages], format="anthropic") == []
    assert conversation.branches == ()


def test_usage_is_that_of_the_message_not_the_sum_of_its_lines(tmp_path):
    """Usage is repeated on every line of a message and counts once."""
    records = [
        line("1", None),
        line("2", "1", "assistant", use("a"), id="m"),
        line("3", "2", "assistant", use("b"), id="m"),
    ]
    assert only(read(tmp_path, records)).entries[1].usage.fresh_tokens == 5


@pytest.mark.parametrize(
    ("split", "written_1h"),
    [
        ({"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 800}, 800),
        ({"ephemeral_1h_input_tokens": 901}, 900),
        ({"ephemeral_1h_input_tokens": -1}, 0),
        ({}, 0),
        (None, 0),
        ("odd", 0),
    ],
)
def test_one_hour_cache_writes_are_told_apart(tmp_path, split, written_1h):
    """Where the session says it; never more than was written at all."""
    answer = line("2", "1", "assistant", [{"type": "text", "text": "done"}])
    answer["message"]["usage"] |= {"cache_creation_input_tokens": 900, "cache_creation": split}
    usage = only(read(tmp_path, [line("1", None), answer])).entries[1].usage
    assert usage == Usage(5, 2, 0, 900, written_1h)


def test_progress_lines_lie_in_the_chain(tmp_path):
    """A message whose parent is a progress line still follows the message before it."""
    records = [
        line("1", None),
        line("p", "1", "progress"),
        line("2", "p", "assistant", [{"type": "text", "text": "ok"}]),
    ]
    assert [message.text for message in only(read(tmp_path, records)).messages] == ["hi", "ok"]


def test_what_was_abandoned_is_a_branch(tmp_path):
    """After going back, the earlier continuation is a branch that names the last entry it shares."""
    records = [
        line("1", None),
        line("2", "1", "assistant", [{"type": "text", "text": "first"}]),
        line("3", "1", content="no, this way"),
        line("4", "3", "assistant", [{"type": "text", "text": "second"}]),
    ]
    conversation = only(read(tmp_path, records))
    assert [message.text for message in conversation.messages] == ["hi", "no, this way", "second"]
    (branch,) = conversation.branches
    assert (branch.after, [entry.message.text for entry in branch.entries]) == (0, ["first"])


def test_compaction_joins_the_windows(tmp_path):
    """The boundary has no parent; the history before it is still the beginning of the conversation."""
    boundary = line(
        "b",
        None,
        "system",
        subtype="compact_boundary",
        logicalParentUuid="2",
        compactMetadata={"trigger": "auto", "preTokens": 9},
    )
    records = [
        line("1", None),
        line("2", "1", "assistant", [{"type": "text", "text": "ok"}]),
        boundary,
        line("3", "b", content="This session is being continued", isCompactSummary=True),
    ]
    conversation = only(read(tmp_path, records))
    (compaction,) = conversation.compactions
    assert (compaction.before, compaction.trigger, compaction.tokens_before) == (2, "auto", 9)
    assert [len(window) for window in conversation.windows] == [2, 1]


def test_boundary_whose_parent_was_not_written_follows_the_message_before(tmp_path):
    """A compaction that names a lost line still continues what is before it in the file."""
    boundary = line("b", None, "system", subtype="compact_boundary", logicalParentUuid="lost")
    records = [line("1", None), boundary, line("3", "b", content="go on")]
    assert [message.text for message in only(read(tmp_path, records)).messages] == ["hi", "go on"]


def test_sub_agents_inside_the_file_are_chains_of_their_own(tmp_path):
    """Side-chain lines are not part of the conversation but a sub-agent of it."""
    records = [
        line("1", None),
        line("s1", None, content="sub task", isSidechain=True, agentId="a7"),
        line("s2", "s1", "assistant", [{"type": "text", "text": "sub done"}], isSidechain=True),
        line("2", "1", "assistant", [{"type": "text", "text": "ok"}]),
    ]
    conversation = only(read(tmp_path, records))
    assert [message.text for message in conversation.messages] == ["hi", "ok"]
    assert [(sub.id, len(sub.entries)) for sub in conversation.subagents] == [("a7", 2)]


def test_file_of_a_sub_agent_is_a_conversation(tmp_path):
    """A file that holds nothing but a side chain is read as that chain."""
    conversation = only(read(tmp_path, [line("1", None, isSidechain=True, agentId="a7")]))
    assert len(conversation.entries) == 1
    assert conversation.metadata == {"agent_id": "a7"}


def test_attachments_are_listed(tmp_path):
    """What the model saw besides messages is listed with its place."""
    records = [line("1", None), line("2", "1", "attachment", attachment={"type": "task_reminder"})]
    assert [attachment.kind for attachment in only(read(tmp_path, records)).attachments] == ["task_reminder"]


def test_lines_without_ids_that_lost_their_line_breaks_are_all_kept(tmp_path):
    """Several objects on one line, none of which has an id, are told apart by where they are."""
    path = tmp_path / "session.jsonl"
    written = [json.dumps(line(None, None, content=text)) for text in "abc"]
    path.write_text("".join(written) + "\n", encoding="utf-8")
    conversation = only(ClaudeCode().read(Source(path)))
    assert sorted(entry.message.text for entry in conversation.walk()) == ["a", "b", "c"]


def test_same_line_twice_counts_once_and_another_with_its_id_is_kept(tmp_path):
    """A repeated line adds nothing; a different line under a known id is not lost."""
    records = [line("1", None), line("1", None), line("1", None, content="other")]
    conversation = only(read(tmp_path, records))
    assert sorted(entry.message.text for entry in conversation.walk()) == ["hi", "other"]


def test_circle_of_parents_ends_the_walk(tmp_path):
    """Lines that are each other's parents do not hang the reader."""
    assert len(only(read(tmp_path, [line("1", "2"), line("2", "1")])).entries) == 2


def test_fields_of_odd_types_do_not_stop_the_reader(tmp_path):
    """A line with a number where a text belongs loses that field only."""
    records = [
        line("1", None, timestamp=7, cwd=None, agentId={"x": 1}),
        {"type": "user", "uuid": "2", "parentUuid": "1"},
    ]
    assert [message.text for message in only(read(tmp_path, records)).messages] == ["hi"]


def test_nothing_said_yet(tmp_path):
    """A file with lines of a session but no message yet is an empty conversation; one without such lines is none."""
    assert len(only(read(tmp_path, [line("1", None, "system")])).entries) == 0
    assert len(read(tmp_path, [{"type": "summary", "summary": "x", "leafUuid": "y"}])) == 0


DELIBERATE = {
    "claude-code/entire-b00b80af-879~2.jsonl": 1,  # a message glued to another record, which the manifest does not count
}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("claude-code"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Every line, call and result of every recorded session is there; so are compactions and unanswered calls."""
    transcript = ClaudeCode().read(Source(corpus_path(row)))
    entries = [entry for conversation in transcript for entry in conversation.walk()]
    messages = [entry.message for entry in entries]
    lines = sum(len(entry.positions) for entry in entries)
    assert lines == row["n_messages"] + DELIBERATE.get(row["path"], 0)
    assert sum(len(message.calls) for message in messages) == row["n_tool_calls"]
    assert sum(len(message.results) for message in messages) == row["n_tool_results"]
    features = dict(re.match(r"([^:]+):?(.*)", feature).groups() for feature in row["features"])
    assert sum(len(conversation.compactions) for conversation in transcript) == int(features.get("compaction", 0))


def is_whole(row):
    """A session that was sent as it is, from its first message on."""
    return not any(feature in row["features"] for feature in ("hand-made-fixture", "excerpt-with-comment-lines"))


@needs_corpus
@pytest.mark.parametrize("row", [row for row in corpus_rows("claude-code") if is_whole(row)], ids=lambda row: row["path"])
def test_whole_sessions_are_legal(row):
    """What was sent breaks no law, but for interrupted calls and thoughts, and sub-agents whose prompt is not in the file.

    A blank text that the model said is in the file, and Claude Code leaves it out when it sends the message again.
    """
    allowed = {"present_content"}
    allowed |= {"answered_calls"} if "unmatched-tool-use" in str(row["features"]) else set()
    allowed |= {"reasoning_order"} if "interrupted" in str(row["features"]) else set()
    allowed |= {"first_message"} if "subagent-file" in row["features"] else set()
    for conversation in ClaudeCode().read(Source(corpus_path(row))):
        for window in conversation.windows:
            messages = [entry.message for entry in window]
            assert {problem.law for problem in check([m.native for m in messages], format="anthropic")} <= allowed


@needs_corpus
@pytest.mark.parametrize("row", [row for row in corpus_rows("claude-code") if is_whole(row)], ids=lambda row: row["path"])
def test_unanswered_calls_are_those_the_manifest_lists(row):
    """Calls without a result, in the whole file, are as many as the manifest says."""
    listed = next((int(feature.split(":")[1]) for feature in row["features"] if feature.startswith("unmatched-tool-use")), 0)
    conversations = ClaudeCode().read(Source(corpus_path(row))).conversations
    assert sum(len(unanswered_of(conversation)) for conversation in conversations) == listed


def unanswered_of(conversation):
    pieces = [*conversation.windows, *(branch.entries for branch in conversation.branches)]
    pieces += [piece for sub in conversation.subagents for piece in sub.windows]
    return [spot for piece in pieces for spot in pair_up([entry.message for entry in piece]).unanswered]
