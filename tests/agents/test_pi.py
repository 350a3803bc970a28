from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.pi import Pi
from redline.agents.transcripts import Usage
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from redline.values.messages import Media, Reasoning
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_lines
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def line(line_id, parent, kind, **fields):
    return {"type": kind, "id": line_id, "parentId": parent, "timestamp": "2026-07-21T09:47:08.377Z", **fields}


def message(line_id, parent, role, content, **fields):
    return line(line_id, parent, "message", message={"role": role, "content": content, **fields})


def user(line_id, parent, words):
    return message(line_id, parent, "user", [text(words)])


def assistant(line_id, parent, *blocks):
    usage = {"input": 10, "output": 4, "cacheRead": 20, "cacheWrite": 3, "totalTokens": 37}
    return message(line_id, parent, "assistant", list(blocks), provider="maker", model="m", usage=usage)


def text(words):
    return {"type": "text", "text": words}


def result(line_id, parent, call_id, *blocks, is_error=False):
    return message(line_id, parent, "toolResult", list(blocks), toolCallId=call_id, toolName="read", isError=is_error)


def read(tmp_path, records):
    return Pi().read(Source(write_lines(tmp_path, records)))


START = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-07-21T09:47:00Z", "cwd": "/home/me/shop"}
CALL = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}, "thoughtSignature": "sealed"}
SESSION = [
    START,
    line("0", None, "model_change", modelId="m"),
    user("1", "0", "read a"),
    assistant("2", "1", {"type": "thinking", "thinking": "hm", "thinkingSignature": "sealed"}, text("I look."), CALL),
    line("x", "2", "custom", customType="tool_execution_start", data={}),
    result("3", "x", "c1", text("one"), text("two")),
    assistant("4", "3", text("Done.")),
]


def test_messages_along_the_chain(tmp_path):
    """Lines that are no messages lie in the chain and are left out."""
    conversation = only(read(tmp_path, SESSION))
    assert [spoken.role for spoken in conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert [entry.id for entry in conversation.entries] == ["1", "2", "3", "4"]
    assert (conversation.id, conversation.metadata, conversation.branches) == ("s", {"cwd": "/home/me/shop"}, ())


def test_blocks_become_parts(tmp_path):
    """Thoughts, words and calls are read, and signatures make them bound."""
    asked, answered = only(read(tmp_path, SESSION)).messages[1:3]
    assert asked.parts[0] == Reasoning("hm", is_bound=True, at=("content", 0))
    assert [(call.id, call.name, call.input) for call in asked.calls] == [("c1", "read", {"path": "a"})]
    assert asked.native["content"][2]["providerOptions"] == {"maker": {"thoughtSignature": "sealed"}}
    assert [(found.call_id, found.text) for found in answered.results] == [("c1", "one\ntwo")]


def test_the_name_of_a_field_is_no_signature(tmp_path):
    """Where thoughts came in a field of their own, its name is stored in place of a signature."""
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"}
    assert only(read(tmp_path, [START, assistant("1", None, thought)])).messages[0].parts[0].is_bound is False


def test_usage_is_that_of_the_request(tmp_path):
    """Tokens are with the assistant's message; zeros mean that the request failed."""
    zeros = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    failed = message("5", "4", "assistant", [], usage=zeros, stopReason="error", errorMessage="500")
    entries = only(read(tmp_path, [*SESSION, failed])).entries
    assert [entry.usage for entry in entries] == [None, Usage(10, 4, 20, 3), None, Usage(10, 4, 20, 3), None]
    assert entries[1].model == "m"


def test_one_hour_cache_writes_are_told_apart(tmp_path):
    """Newer versions say how much of what was written went to the one-hour cache."""
    usage = {"input": 10, "output": 4, "cacheRead": 20, "cacheWrite": 9, "cacheWrite1h": 7, "totalTokens": 43}
    said = message("1", None, "assistant", [], model="m", usage=usage)
    assert only(read(tmp_path, [START, said])).entries[0].usage == Usage(10, 4, 20, 9, 7)


def test_failed_tools_and_pictures(tmp_path):
    """A failure is marked, and pictures stay in their result."""
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    records = [START, result("1", None, "c1", text("no"), is_error=True), result("2", "1", "c2", text("see"), picture)]
    first, second = (spoken.results[0] for spoken in only(read(tmp_path, records)).messages)
    assert (first.is_error, first.text) == (True, "no")
    assert (second.text, second.parts[1]) == ("see", Media("image/png", "AAAA", at=second.parts[1].at))


def test_what_was_abandoned_is_a_branch(tmp_path):
    """The path to the last line is active; another continuation is a branch after the last entry it shares."""
    records = [START, user("1", None, "a"), assistant("2", "1", text("b")), user("3", "2", "c"), user("4", "2", "d")]
    conversation = only(read(tmp_path, [*records, assistant("5", "4", text("e"))]))
    assert [words for _, words in said(conversation)] == ["a", "b", "d", "e"]
    (branch,) = conversation.branches
    assert (branch.after, [entry.message.text for entry in branch.entries]) == (1, ["c"])


def test_a_second_beginning_shares_nothing(tmp_path):
    """Going back before the first message leaves all of it as a branch."""
    records = [START, user("1", None, "a"), assistant("2", "1", text("b")), user("3", None, "c")]
    (branch,) = only(read(tmp_path, records)).branches
    assert (branch.after, len(branch.entries)) == (None, 2)


def test_compaction_starts_a_window_with_the_summary_and_what_was_kept(tmp_path):
    """Kept messages are said again in the new window, but not paid for again."""
    compaction = line("c", "4", "compaction", summary="So far.", firstKeptEntryId="3", tokensBefore=900)
    conversation = only(read(tmp_path, [*SESSION, compaction, user("5", "c", "go on")]))
    (found,) = conversation.compactions
    assert (found.before, found.tokens_before) == (4, 900)
    before, after = conversation.windows
    assert [entry.id for entry in after] == ["c", "3", "4", "5"]
    assert after[0].message.text == "So far."
    assert after[2].usage is None
    assert before[3].usage is not None


def test_what_others_say_to_the_model(tmp_path):
    """Extensions, summaries of branches and the user's own commands speak as the user, developers as the system."""
    records = [
        START,
        line("1", None, "custom_message", customType="irc", content="from an agent"),
        line("2", "1", "branch_summary", fromId="1", summary="tried it"),
        message("3", "2", "developer", [text("keep going")]),
        line("4", "3", "message", message={"role": "bashExecution", "command": "ls", "output": "a.txt"}),
    ]
    spoken = [("user", "from an agent"), ("user", "tried it"), ("system", "keep going"), ("user", "ls\na.txt")]
    assert said(only(read(tmp_path, records))) == spoken


def test_the_system_prompt_of_a_sub_agent(tmp_path):
    """Files of sub-agents hold the system prompt."""
    records = [START, line("0", None, "session_init", systemPrompt="Be brief.", task="t"), user("1", "0", "hi")]
    assert only(read(tmp_path, records)).system == "Be brief."


def test_a_lost_line_does_not_cut_the_conversation(tmp_path):
    """A bad line is reported; what hung on it follows the line before, and that is reported too."""
    path = write_lines(tmp_path, SESSION)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:3], "oops", *lines[5:]]), encoding="utf-8")
    transcript = Pi().read(Source(path))
    assert [(problem.line, problem.is_left_out) for problem in transcript.problems] == [(4, True), (5, False)]
    assert [entry.id for entry in only(transcript).entries] == ["1", "3", "4"]


def test_lines_without_ids_are_a_chain(tmp_path):
    """The first version of the format had no tree."""
    records = [START, *({"type": "message", "message": {"role": "user", "content": words}} for words in ("a", "b"))]
    conversation = only(read(tmp_path, records))
    assert (said(conversation), conversation.branches) == ([("user", "a"), ("user", "b")], ())


def test_nothing_said_yet(tmp_path):
    """A session that was only opened has no conversation."""
    assert read(tmp_path, SESSION[:2]).conversations == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(SESSION))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, records):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(Pi(), write_lines(tmp_path, records))} <= {"ai_sdk"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("pi"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Messages, calls, results and tools are those of the manifest; it does not count messages of extensions."""
    transcript = Pi().read(Source(corpus_path(row)))
    assert tool_counts(transcript) == (row["tools"], row["n_tool_results"])
    of_extensions = corpus_path(row).read_text(encoding="utf-8").count('"type":"custom_message"')
    assert len(only(transcript).entries) - of_extensions == row["n_messages"]
    assert only(transcript).branches == ()


@needs_corpus
def test_only_pi_files_are_recognized():
    """Of all recorded sessions, exactly those of Pi are taken."""
    assert recognized_formats(Pi()) == Counter(row["format"] for row in corpus_rows("pi"))


def test_compactions_cannot_fill_the_memory(tmp_path):
    """Each of many says again all that came before it: that is refused, and says which line (R62)."""
    compaction = {"type": "compaction", "firstKeptEntryId": "0", "summary": "s"}
    records = [
        START,
        user("0", None, "hi"),
        *({**compaction, "id": f"c{n}", "parentId": f"c{n - 1}" if n else "0"} for n in range(9)),
    ]
    assert len(only(read(tmp_path, records)).entries) == 1 + 9 * 2
    turns = [user(str(number), str(number - 1) if number else None, "hi") for number in range(3000)]
    many = [{**compaction, "id": f"c{n}", "parentId": f"c{n - 1}" if n else "2999"} for n in range(3000)]
    with pytest.raises(TranscriptError, match=r"Line \d+ keeps so much"):
        read(tmp_path, [START, *turns, *many])
