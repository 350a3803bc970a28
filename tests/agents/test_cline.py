from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.cline import Cline
from redline.agents.transcripts import Usage
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from redline.values.messages import Opaque
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_document
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def message(role, *blocks, **fields):
    return {"id": f"msg_{role}", "role": role, "content": list(blocks), "ts": 1783376868634, **fields}


def text(words):
    return {"type": "text", "text": words}


def session(*messages):
    top = {
        "version": 1,
        "updated_at": "2026-07-15T05:42:04Z",
        "agent": "lead",
        "sessionId": "s",
        "system_prompt": "Be brief.",
    }
    return {**top, "messages": list(messages)}


def read(tmp_path, *messages):
    return Cline().read(Source(write_document(tmp_path, session(*messages))))


METRICS = {"inputTokens": 100, "outputTokens": 7, "cacheReadTokens": 80, "cacheWriteTokens": 5, "cost": 0.1}
CALL = message(
    "assistant",
    {"type": "tool_use", "id": "c1", "name": "read_files", "input": {"paths": ["a"]}},
    modelInfo={"id": "claude-x", "provider": "cline"},
    metrics=METRICS,
)
RESULT = message(
    "user",
    {"type": "tool_result", "tool_use_id": "c1", "name": "read_files", "content": [{"query": "a", "result": "x"}]},
)


def test_messages_are_those_of_anthropic(tmp_path):
    """Role and content are what is sent; ids, times and models stay beside them."""
    conversation = only(read(tmp_path, message("user", text("read a")), CALL, RESULT))
    assert conversation.messages[1].native == {"role": "assistant", "content": CALL["content"]}
    assert [entry.id for entry in conversation.entries] == ["msg_user", "msg_assistant", "msg_user"]
    assert conversation.entries[1].model == "claude-x"
    assert conversation.entries[0].timestamp_ms == 1783376868634
    assert (conversation.id, conversation.system) == ("s", "Be brief.")


def test_usage_takes_the_cached_tokens_out_of_the_input(tmp_path):
    """Cline counts cached tokens among the input."""
    assert only(read(tmp_path, CALL)).entries[0].usage == Usage(15, 7, 80, 5)


def test_results_of_bare_objects_are_their_json(tmp_path):
    """A result that no provider takes as it is stored says the same as text."""
    (result,) = only(read(tmp_path, RESULT)).messages[0].results
    assert (result.call_id, result.text) == ("c1", '[{"query":"a","result":"x"}]')


def test_results_of_blocks_stay_as_they_are(tmp_path):
    """A result with typed blocks is sent unchanged."""
    blocks = [text("x"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]
    stored = message("user", {"type": "tool_result", "tool_use_id": "c1", "content": blocks})
    assert only(read(tmp_path, stored)).messages[0].native["content"] == stored["content"]


def test_blocks_of_its_own_are_carried(tmp_path):
    """A file block, which Anthropic does not know, is kept."""
    (spoken,) = only(read(tmp_path, message("user", {"type": "file", "path": "a", "content": "x"}))).messages
    assert [part.kind for part in spoken.parts if isinstance(part, Opaque)] == ["file"]


def test_a_summary_starts_a_window(tmp_path):
    """The message that sums up what came before begins the window, with the size before it."""
    summary = message("user", text("Context summary"), metadata={"kind": "compaction_summary", "tokensBefore": 900})
    conversation = only(read(tmp_path, message("user", text("old")), summary, message("user", text("new"))))
    assert [(found.before, found.tokens_before) for found in conversation.compactions] == [(1, 900)]
    assert [entry.message.text for entry in conversation.windows[-1]] == ["Context summary", "new"]


def test_bad_messages_are_reported_and_the_rest_loads(tmp_path):
    """An item that is no object is listed with its place."""
    transcript = read(tmp_path, message("user", text("one")), None)
    assert said(only(transcript)) == [("user", "one")]
    assert [problem.column for problem in transcript.problems] == [3]


def test_a_torn_file_says_where(tmp_path):
    """A file cut off before its first message ends cannot be read, and the error names line and column."""
    path = write_document(tmp_path, session(CALL))
    whole = path.read_text()
    path.write_text(whole[: whole.index('"messages"') + 20], encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"at line \d+, column \d+"):
        Cline().read(Source(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(session(message("user", text("read a")), CALL, RESULT)))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, document):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(Cline(), write_document(tmp_path, document))} <= {"anthropic"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("cline-sdk"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Messages, calls, results and tools are those of the manifest."""
    transcript = Cline().read(Source(corpus_path(row)))
    assert tool_counts(transcript) == (row["tools"], row["n_tool_results"])
    assert len(only(transcript).entries) == row["n_messages"]


@needs_corpus
def test_only_cline_files_are_recognized():
    """Of all recorded sessions, exactly those of Cline are taken."""
    assert recognized_formats(Cline()) == Counter(row["format"] for row in corpus_rows("cline-sdk"))
