from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.opencode.export import OpenCode, read_history, read_message
from redline.agents.transcripts import Position, Usage
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from redline.values.messages import Opaque, Reasoning
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_document
from tests.corpus import corpus_path, corpus_rows, needs_corpus

SIGNED = {"metadata": {"maker": {"reasoningEncryptedContent": "sealed"}}}


def user(*parts):
    return {
        "info": {"id": "u", "role": "user", "time": {"created": 1000.0}, "summary": {"diffs": []}},
        "parts": list(parts),
    }


def assistant(*parts, **info):
    tokens = {"input": 10, "output": 4, "reasoning": 1, "cache": {"read": 20, "write": 3}}
    known = {
        "id": "a",
        "role": "assistant",
        "modelID": "m",
        "time": {"created": 2000.0},
        "tokens": tokens,
        "finish": "stop",
    }
    return {"info": known | info, "parts": list(parts)}


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


def tool(call_id, status="completed", **state):
    given = {"status": status, "input": {"filePath": "/a"}, "time": {"start": 2100.0, "end": 2200.0}}
    return {"type": "tool", "callID": call_id, "tool": "read", "state": given | state}


def session(*messages):
    return {
        "info": {"id": "ses_1", "directory": "/home/me/shop", "version": "1.2", "time": {}},
        "messages": list(messages),
    }


def read(tmp_path, *messages):
    return OpenCode().read(Source(write_document(tmp_path, session(*messages))))


STEP = assistant(
    {"type": "step-start", "snapshot": "s"},
    {"type": "reasoning", "text": "hm", **SIGNED},
    text("I look."),
    tool("c1", output="one line"),
    tool("c2", "error", error="no such file"),
    {"type": "step-finish", "reason": "tool-calls"},
)


def test_a_step_is_a_message_and_a_message_of_results(tmp_path):
    """Calls and results are in one part; they become two entries at the same place."""
    conversation = only(read(tmp_path, user(text("read /a")), STEP))
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool"]
    asked, answered = conversation.messages[1:]
    assert [call.id for call in asked.calls] == [result.call_id for result in answered.results] == ["c1", "c2"]
    assert [(result.text, result.is_error) for result in answered.results] == [
        ("one line", False),
        ("no such file", True),
    ]
    assert conversation.entries[1].positions == conversation.entries[2].positions
    assert [entry.timestamp_ms for entry in conversation.entries] == [1000.0, 2000.0, 2200.0]


def test_signed_reasoning_keeps_its_seal(tmp_path):
    """What the provider wants back with a part is carried beside it."""
    assert only(read(tmp_path, STEP)).messages[0].parts[0] == Reasoning("hm", is_bound=True, at=("content", 0))


def test_calls_that_never_ended_have_no_result(tmp_path):
    """A call that was pending or running when the session was saved is unanswered."""
    conversation = only(read(tmp_path, assistant(tool("c1", "running"), tool("c2", "pending"))))
    assert [(len(message.calls), len(message.results)) for message in conversation.messages] == [(2, 0)]
    conversation = only(read(tmp_path, assistant(tool("c1", output="x"), tool("c2", "running"))))
    assert [(len(message.calls), len(message.results)) for message in conversation.messages] == [(2, 0), (0, 1)]


def test_usage_is_that_of_the_step(tmp_path):
    """Tokens are with the message, not with its results; zeros mean that nothing was asked."""
    nothing = {"input": 0, "output": 0, "cache": {"read": 0, "write": 0}}
    conversation = only(read(tmp_path, STEP, assistant(text("x"), tokens=nothing)))
    assert [entry.usage for entry in conversation.entries] == [Usage(10, 4, 20, 3), None, None]
    assert [entry.model for entry in conversation.entries] == ["m", None, "m"]


def test_pruned_outputs_are_a_fact_about_the_session(tmp_path):
    """What opencode stopped sending is listed, and still there to read."""
    pruned = tool("c9", output="long ago", time={"start": 1.0, "end": 2.0, "compacted": 9000.0})
    conversation = only(read(tmp_path, user(text("hi")), assistant(pruned)))
    assert conversation.metadata["pruned"] == ({"entry": 2, "call_id": "c9", "since_ms": 9000.0},)
    assert conversation.messages[2].results[0].text == "long ago"
    assert conversation.compactions == ()


def test_a_summary_starts_a_window_with_the_request_for_it(tmp_path):
    """The request for a summary, the summary and what follows are sent together from then on."""
    request = user({"type": "compaction", "auto": True})
    conversation = only(read(tmp_path, user(text("old")), request, assistant(text("so far"), summary=True), user(text("new"))))
    assert [(found.before, found.trigger) for found in conversation.compactions] == [(1, "auto")]
    assert [entry.message.text for entry in conversation.windows[-1]] == ["", "so far", "new"]


def test_a_summary_that_failed_starts_none(tmp_path):
    """Only a finished summary without an error replaces what was before."""
    failed = assistant(summary=True, finish=None, error={"name": "AbortedError"})
    assert only(read(tmp_path, user(text("old")), failed)).compactions == ()
    assert len(only(read(tmp_path, user(text("old")), assistant(text("so far"), summary=True))).compactions) == 1


def test_files_are_media_unless_their_text_stands_beside_them(tmp_path):
    """A picture is sent; a text file was spelled out in a part of its own, and ignored words are not sent."""
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": "p.png"}
    notes = {"type": "file", "mime": "text/plain", "url": "file:///notes.txt"}
    (message,) = only(read(tmp_path, user(text("see"), picture, notes, text("aside", ignored=True)))).messages
    assert [type(part).__name__ for part in message.parts] == ["Text", "Media"]
    assert message.parts[1].source == "AAAA"


def test_pictures_in_results_come_along(tmp_path):
    """Attachments of a tool are in its result."""
    shot = tool("c1", output="shot", attachments=[{"mime": "image/png", "url": "data:image/png;base64,AAAA"}])
    result = only(read(tmp_path, assistant(shot))).messages[1].results[0]
    assert (result.text, result.parts[1].source, result.parts[1].media_type) == ("shot", "AAAA", "image/png")


def test_parts_of_new_kinds_are_carried(tmp_path):
    """A part that is not known is not dropped."""
    (message,) = only(read(tmp_path, user({"type": "subtask", "prompt": "p"}))).messages
    assert [part.kind for part in message.parts if isinstance(part, Opaque)] == ["subtask"]


def test_bad_messages_are_reported_and_the_rest_loads(tmp_path):
    """An item that is no object is listed with its place."""
    transcript = read(tmp_path, user(text("one")), "oops", user(text("two")))
    assert said(only(transcript)) == [("user", "one"), ("user", "two")]
    (problem,) = transcript.problems
    assert (problem.column, "must be a JSON object" in problem.reason) == (3, True)


def test_a_torn_file_says_where(tmp_path):
    """A file cut off in the middle cannot be read, and the error names line and column."""
    path = write_document(tmp_path, session(user(text("hi"))))
    path.write_text(path.read_text()[:-20], encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"session\.json is not JSON: .* at line \d+, column \d+"):
        OpenCode().read(Source(path))


def test_metadata_of_the_session(tmp_path):
    """Its id, its directory and the version that wrote it."""
    conversation = only(read(tmp_path, user(text("hi"))))
    assert (conversation.id, conversation.metadata) == ("ses_1", {"cwd": "/home/me/shop", "version": "1.2"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(session(user(text("read /a")), STEP)))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, document):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(OpenCode(), write_document(tmp_path, document))} <= {"ai_sdk"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("opencode"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Calls, results, tools, stored messages and pruned outputs are those of the manifest."""
    transcript = OpenCode().read(Source(corpus_path(row)))
    conversation = only(transcript)
    assert tool_counts(transcript) == (row["tools"], row["n_tool_results"])
    assert len({entry.positions for entry in conversation.entries}) == row["n_messages"]
    pruned = len(conversation.metadata.get("pruned", ()))
    assert [f"pruned-tool-outputs:{pruned}"] * bool(pruned) == [f for f in row["features"] if f.startswith("pruned")]


@needs_corpus
def test_only_opencode_files_are_recognized():
    """Of all recorded sessions, exactly those of opencode are taken."""
    assert recognized_formats(OpenCode()) == Counter(row["format"] for row in corpus_rows("opencode"))


def test_messages_come_from_wherever_they_are():
    """A history is read through its source, a file or a database."""
    stored = [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}]
    history = read_history(
        lambda position: stored[position.offset], [(Position(0, 1), read_message(b'{"info": {"id": "m"}, "parts": []}'))]
    )
    assert [(entry.id, entry.message.text) for entry in history.entries] == [("m", "hi")]
    assert history.compactions == history.pruned == ()
