from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.gemini_cli.reader import GeminiCli
from redline.agents.transcripts import Usage
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_document
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def record(kind, content="", **fields):
    return {"id": kind, "timestamp": "2026-01-10T20:00:21Z", "type": kind, "content": content, **fields}


def call(call_id, **fields):
    return {
        "id": call_id,
        "name": "read_file",
        "args": {"file_path": "a"},
        "timestamp": "2026-01-10T20:00:25Z",
        **fields,
    }


def answer(call_id, words="text of a"):
    return [{"functionResponse": {"id": call_id, "name": "read_file", "response": {"output": words}}}]


def session(*messages):
    return {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-10T20:00:21Z", "messages": list(messages)}


def read(tmp_path, *messages):
    return GeminiCli().read(Source(write_document(tmp_path, session(*messages))))


TOKENS = {"input": 100, "output": 7, "cached": 80, "thoughts": 5, "tool": 0, "total": 112}
STEP = record(
    "gemini",
    "I look.",
    model="gemini-x",
    tokens=TOKENS,
    thoughts=[{"subject": "Looking", "description": "where it is"}],
    toolCalls=[call("c1", status="success", result=answer("c1")), call("c2", status="cancelled")],
)


def test_a_model_message_and_the_results_of_its_calls(tmp_path):
    """Calls and results inside one message become two entries at one place; a call without an output has no result."""
    conversation = only(read(tmp_path, record("user", "read a"), STEP))
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool"]
    asked, answered = conversation.messages[1:]
    assert [found.id for found in asked.calls] == ["c1", "c2"]
    assert [(found.call_id, found.text) for found in answered.results] == [("c1", "text of a")]
    assert conversation.entries[1].positions == conversation.entries[2].positions
    assert conversation.entries[2].timestamp_ms - conversation.entries[1].timestamp_ms == 4000


def test_thoughts_come_before_the_words(tmp_path):
    """The model's thoughts are reasoning, headed by their subject."""
    thought, words, *_ = only(read(tmp_path, STEP)).messages[0].parts
    assert (thought.text, words.text) == ("Looking\nwhere it is", "I look.")


def test_usage_takes_the_cached_tokens_out_and_the_thoughts_in(tmp_path):
    """Input includes what was cached; thoughts are paid as output; zeros mean that nothing was asked."""
    conversation = only(read(tmp_path, STEP, record("gemini", "x", tokens=dict.fromkeys(TOKENS, 0))))
    assert [entry.usage for entry in conversation.entries] == [Usage(20, 12, 80), None, None]
    assert conversation.entries[0].model == "gemini-x"


def test_notices_are_not_messages(tmp_path):
    """What is only shown on the screen is left out."""
    conversation = only(read(tmp_path, record("user", "hi"), record("info", "update available"), record("error", "quota")))
    assert said(conversation) == [("user", "hi")]


def test_content_may_be_parts(tmp_path):
    """Newer versions store parts in place of a string."""
    conversation = only(read(tmp_path, record("user", [{"text": "one"}, "two"]), record("user", {"text": "three"})))
    assert said(conversation) == [("user", "one\ntwo"), ("user", "three")]


def test_a_result_in_plain_words_is_wrapped(tmp_path):
    """A result that is a string is sent as the output of its call."""
    conversation = only(read(tmp_path, record("gemini", toolCalls=[call("c1", result="done")])))
    assert [(found.call_id, found.text) for found in conversation.messages[1].results] == [("c1", "done")]


def test_bad_messages_are_reported_and_the_rest_loads(tmp_path):
    """An item that is no object is listed with its place."""
    transcript = read(tmp_path, record("user", "one"), 5)
    assert said(only(transcript)) == [("user", "one")]
    assert [problem.column for problem in transcript.problems] == [3]


def test_a_torn_file_says_where(tmp_path):
    """A file cut off in the middle cannot be read, and the error names line and column."""
    path = write_document(tmp_path, session(record("user", "hi")))
    path.write_text(path.read_text()[:-9], encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"at line \d+, column \d+"):
        GeminiCli().read(Source(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(session(record("user", "read a"), STEP)))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, document):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(GeminiCli(), write_document(tmp_path, document))} <= {"gemini"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("gemini-cli"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Calls, results and tools are those of the manifest; it counts notices as messages too."""
    source = Source(corpus_path(row))
    transcript = GeminiCli().read(source)
    assert tool_counts(transcript) == (row["tools"], row["n_tool_results"])
    stored = {entry.positions for entry in only(transcript).entries}
    notices = corpus_path(row).read_text(encoding="utf-8").count('"type": "info"')
    assert len(stored) + notices == row["n_messages"]


@needs_corpus
def test_only_gemini_cli_files_are_recognized():
    """Of all recorded sessions, exactly those of Gemini CLI are taken."""
    assert recognized_formats(GeminiCli()) == Counter(row["format"] for row in corpus_rows("gemini-cli"))
