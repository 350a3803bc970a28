from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.copilot_cli import CopilotCli
from redline.agents.transcripts import Attachment
from redline.agents.transcripts.source import Source
from redline.values.messages import Reasoning
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_lines
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def event(kind, agent=None, **data):
    record = {"type": kind, "data": data, "id": f"e-{kind}", "timestamp": "2026-06-23T05:17:21.500Z", "parentId": None}
    return record | ({"agentId": agent} if agent else {})


def request(call_id, arguments, kind="function", name="view"):
    return {"toolCallId": call_id, "name": name, "arguments": arguments, "type": kind}


def answer(api_call, content="", *requests, **fields):
    return event(
        "assistant.message",
        messageId=f"m-{api_call}",
        apiCallId=api_call,
        content=content,
        toolRequests=list(requests),
        **fields,
    )


def done(call_id, **fields):
    return event("tool.execution_complete", toolCallId=call_id, **fields)


def read(tmp_path, records):
    return CopilotCli().read(Source(write_lines(tmp_path, records)))


SESSION = [
    event("session.start", sessionId="s", copilotVersion="1.0", context={"cwd": "/home/me/shop"}),
    event("system.message", role="system", content="Be brief."),
    event(
        "user.message",
        content="show a",
        transformedContent="<now/> show a",
        attachments=[{"type": "file", "path": "a"}],
    ),
    event("assistant.turn_start", turnId="0"),
    answer("r1", reasoningText="hm", reasoningOpaque="sealed"),
    answer(
        "r1",
        "I look.",
        request("c1", {"path": "a"}),
        request("c2", "*** patch", "custom", "apply_patch"),
        model="gpt-x",
    ),
    event("tool.execution_start", toolCallId="c1", toolName="view"),
    done("c2", success=False, error={"message": "does not apply"}),
    done("c1", success=True, result={"content": "text of a", "detailedContent": "diff"}),
    answer("r2", "Done."),
]


def test_a_few_events_are_messages(tmp_path):
    """User and assistant messages and finished tools are entries; the rest of the stream is not."""
    conversation = only(read(tmp_path, SESSION))
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert (conversation.id, conversation.system) == ("s", "Be brief.")
    assert conversation.metadata == {"cwd": "/home/me/shop", "version": "1.0"}


def test_lines_of_one_response_are_one_message(tmp_path):
    """A response that thinks first and then speaks is written on several lines with one API call."""
    entry = only(read(tmp_path, SESSION)).entries[1]
    assert [position.line for position in entry.positions] == [5, 6]
    message = entry.message
    assert [part.text for part in message.parts if isinstance(part, Reasoning)] == ["hm"]
    assert (message.text, [call.id for call in message.calls]) == ("I look.", ["c1", "c2"])
    assert message.native["reasoningOpaque"] == ["sealed"]


def test_the_user_is_heard_as_the_model_heard_him(tmp_path):
    """The words as sent, with what Copilot put around them; the plain ones where there are no others."""
    assert said(only(read(tmp_path, SESSION)))[0] == ("user", "<now/> show a")
    assert said(only(read(tmp_path, [event("user.message", content="hi")]))) == [("user", "hi")]


def test_calls_keep_objects_and_free_text_apart(tmp_path):
    """A function's arguments are an object, a custom tool's input is free text."""
    view, patch = only(read(tmp_path, SESSION)).messages[1].calls
    assert (view.name, view.arguments) == ("view", {"path": "a"})
    assert (patch.name, patch.input) == ("apply_patch", "*** patch")


def test_results_say_what_came_out_or_what_went_wrong(tmp_path):
    """A failed tool answers with its error and is marked as failed."""
    results = [result for message in only(read(tmp_path, SESSION)).messages for result in message.results]
    assert [(r.call_id, r.text, r.is_error) for r in results] == [
        ("c2", "does not apply", True),
        ("c1", "text of a", False),
    ]


def test_calls_that_never_ended_have_no_result(tmp_path):
    """A tool that was started and not finished leaves its call unanswered."""
    messages = only(read(tmp_path, SESSION[:7])).messages
    assert [(len(message.calls), len(message.results)) for message in messages] == [(0, 0), (2, 0)]


def test_attached_files_are_listed(tmp_path):
    """What the user attached is not spelled out in the file; it is listed by kind and place."""
    conversation = only(read(tmp_path, SESSION))
    assert conversation.attachments == (Attachment("file", conversation.entries[0].positions[0]),)


def test_compaction_starts_a_window_with_the_summary(tmp_path):
    """A finished compaction begins a window; one that failed does not."""
    sizes = {"preCompactionTokens": 900, "postCompactionTokens": 100}
    compacted = event("session.compaction_complete", success=True, summaryContent="So far.", trigger="manual", **sizes)
    failed = event("session.compaction_complete", success=False, error="timeout")
    conversation = only(read(tmp_path, [*SESSION, failed, compacted, event("user.message", content="go on")]))
    (compaction,) = conversation.compactions
    assert (compaction.before, compaction.trigger, compaction.tokens_before, compaction.tokens_after) == (
        5,
        "manual",
        900,
        100,
    )
    assert [entry.message.text for entry in conversation.windows[-1]] == ["So far.", "go on"]


def test_sub_agents_are_conversations_of_their_own(tmp_path):
    """Events of a sub-agent, known by its id or by the call that started it, are not in the main conversation."""
    inner = [
        event("user.message", agent="explore", content="look around"),
        event("assistant.message", content="found", toolRequests=[], parentToolCallId="c7"),
    ]
    conversation = only(read(tmp_path, [*SESSION, *inner]))
    assert len(conversation.entries) == 5
    assert [(sub.id, said(sub)) for sub in conversation.subagents] == [
        ("explore", [("user", "look around")]),
        ("c7", [("assistant", "found")]),
    ]


def test_resuming_is_counted(tmp_path):
    """Each resume of the session is counted."""
    assert only(read(tmp_path, [*SESSION, event("session.resume")])).metadata["resumed"] == 1


def test_bad_lines_are_reported_and_the_rest_loads(tmp_path):
    """A line that is no JSON, or cut off at the end, is listed with line and column."""
    path = write_lines(tmp_path, SESSION[:3])
    path.write_text(path.read_text() + 'oops\n{"type": "user.mess', encoding="utf-8")
    transcript = CopilotCli().read(Source(path))
    assert [(problem.line, problem.column) for problem in transcript.problems] == [(4, 1), (5, 10)]
    assert len(only(transcript).entries) == 1


def test_nothing_said_yet(tmp_path):
    """A session that was only opened has no conversation."""
    assert read(tmp_path, SESSION[:2]).conversations == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(SESSION))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, records):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(CopilotCli(), write_lines(tmp_path, records))} <= {"openai_chat"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("copilot-cli"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Lines of messages, calls, results and tools are those of the manifest."""
    transcript = CopilotCli().read(Source(corpus_path(row)))
    assert tool_counts(transcript) == (row["tools"], row["n_tool_results"])
    assert sum(len(entry.positions) for entry in only(transcript).walk()) == row["n_messages"]


@needs_corpus
def test_only_copilot_files_are_recognized():
    """Of all recorded sessions, exactly those of Copilot CLI are taken."""
    assert recognized_formats(CopilotCli()) == Counter(row["format"] for row in corpus_rows("copilot-cli"))
