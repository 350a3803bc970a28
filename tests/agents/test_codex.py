import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from redline.agents.codex import Codex
from redline.agents.transcripts import Usage
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.sessions import damaged, load_all, only, recognized_formats, said, tool_counts, write_lines
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def record(kind, **payload):
    return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}


def session(session_id="thread", text="Be brief."):
    return record("session_meta", id=session_id, cwd="/home/me/shop", cli_version="0.9", base_instructions={"text": text})


def message(role, text, **fields):
    kind = "output_text" if role == "assistant" else "input_text"
    return record("response_item", type="message", role=role, content=[{"type": kind, "text": text}], **fields)


def call(call_id):
    return record("response_item", type="function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id=call_id)


def output(call_id):
    return record("response_item", type="function_call_output", call_id=call_id, output="a.txt")


def tokens(sent, cached, written, total=None):
    last = {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": written,
        "total_tokens": sent + written,
    }
    return record("event_msg", type="token_count", info={"last_token_usage": last, "total_token_usage": total or last})


def read(tmp_path, records):
    return Codex().read(Source(write_lines(tmp_path, records)))


SESSION = [
    session(),
    record("turn_context", model="gpt-x"),
    message("user", "what is here?"),
    record("event_msg", type="user_message", message="what is here?"),
    record("response_item", type="reasoning", id="rs_1", summary=[], encrypted_content="sealed"),
    call("c1"),
    output("c1"),
    tokens(100, 60, 10),
    record("event_msg", type="agent_message", message="One file."),
    message("assistant", "One file.", id="msg_2"),
    tokens(130, 100, 5),
]


def test_items_are_the_messages_and_events_are_not(tmp_path):
    """Every item is an entry in file order; what the screen shows again is left out."""
    conversation = only(read(tmp_path, SESSION))
    assert conversation.id == "thread"
    assert [message.role for message in conversation.messages] == [
        "user",
        "assistant",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [entry.positions[0].line for entry in conversation.entries] == [3, 5, 6, 7, 10]
    assert [entry.id for entry in conversation.entries] == [None, "rs_1", None, None, "msg_2"]


def test_the_payload_is_the_item_as_it_stands(tmp_path):
    """A message keeps every field of its item, and nothing of the envelope."""
    assert only(read(tmp_path, SESSION)).messages[2].native == SESSION[5]["payload"]


def test_tokens_belong_to_the_first_item_of_the_response(tmp_path):
    """All entries before the one with the tokens are what was sent; cached tokens are taken out of the input."""
    entries = only(read(tmp_path, SESSION)).entries
    assert [entry.usage for entry in entries] == [None, Usage(40, 10, 60), None, None, Usage(30, 5, 100)]
    assert {entry.model for entry in entries} == {"gpt-x"}


def test_tokens_told_twice_count_once(tmp_path):
    """Codex repeats its last report when limits change; the repetition pays for nothing."""
    records = [
        session(),
        message("user", "hi"),
        message("assistant", "a"),
        tokens(9, 0, 1),
        message("assistant", "b"),
        tokens(9, 0, 1),
    ]
    assert [entry.usage for entry in only(read(tmp_path, records)).entries] == [None, Usage(9, 1), None]


def test_compaction_starts_a_window_with_the_history_that_replaces_the_old(tmp_path):
    """The items inside the record are entries of the new window; sizes come from the reports around it."""
    history = [message("user", "what is here?")["payload"], {"type": "compaction", "encrypted_content": "sealed"}]
    empty = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": 17}
    size = record(
        "event_msg",
        type="token_count",
        info={"last_token_usage": empty, "total_token_usage": SESSION[-1]["payload"]["info"]["total_token_usage"]},
    )
    compacted = record("compacted", message="", replacement_history=history, window_number=1)
    conversation = only(read(tmp_path, [*SESSION, compacted, size, message("user", "go on")]))
    (compaction,) = conversation.compactions
    assert (compaction.before, compaction.tokens_before, compaction.tokens_after) == (5, 135, 17)
    before, after = conversation.windows
    assert [entry.message.role for entry in after] == ["user", "assistant", "user"]
    assert after[0].message.native == history[0]
    assert after[0].positions == after[1].positions == (compaction.position,)
    assert len(before) == 5


def test_compaction_of_older_files_leaves_a_summary(tmp_path):
    """Without a replacing history, the window starts with the summary in words."""
    conversation = only(read(tmp_path, [*SESSION, record("compacted", message="Listed one file."), message("user", "go on")]))
    assert said(conversation)[-2:] == [("user", "Listed one file."), ("user", "go on")]
    assert conversation.compactions[0].before == 5


def test_resuming_and_interrupting_are_counted(tmp_path):
    """The start is written again on each resume; the instructions in force are the latest."""
    records = [*SESSION, session(text="Be very brief."), record("event_msg", type="turn_aborted", reason="interrupted")]
    conversation = only(read(tmp_path, records))
    assert conversation.metadata == {"cwd": "/home/me/shop", "version": "0.9", "resumed": 1, "aborted_turns": 1}
    assert conversation.system == "Be very brief."


def test_searches_of_the_provider_are_hosted_calls(tmp_path):
    """A web search is a call that needs no answer."""
    search = record(
        "response_item", type="web_search_call", id="ws", status="completed", action={"type": "search", "query": "q"}
    )
    (found,) = only(read(tmp_path, [session(), search])).messages
    assert (found.calls, [part.is_hosted for part in found.parts]) == ((), [True])


def test_snapshots_for_undo_are_not_messages(tmp_path):
    """Items that Codex never sends are left out."""
    records = [session(), record("response_item", type="ghost_snapshot", ghost_commit={}), message("user", "hi")]
    assert said(only(read(tmp_path, records))) == [("user", "hi")]


def test_items_of_new_kinds_are_carried(tmp_path):
    """An unknown item is an entry with its payload."""
    (entry,) = only(read(tmp_path, [record("response_item", type="dream", depth=3)])).entries
    assert entry.message.native == {"type": "dream", "depth": 3}


def test_torn_and_bad_lines_are_reported_and_the_rest_loads(tmp_path):
    """A line that is no JSON is listed with line and column; so is one cut off at the end."""
    path = write_lines(tmp_path, SESSION[:3])
    path.write_text(path.read_text() + 'oops\n{"timestamp": "2026-03-01T10:00:00Z", "type": "resp', encoding="utf-8")
    transcript = Codex().read(Source(path))
    assert [(problem.line, problem.column) for problem in transcript.problems] == [(4, 1), (5, 47)]
    assert said(only(transcript)) == [("user", "what is here?")]


def test_a_file_cut_off_anywhere_loads_what_is_there(tmp_path):
    """Each complete item before the cut is read, and a torn line is reported."""
    path = write_lines(tmp_path, SESSION)
    content = path.read_bytes()
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b'"response_item"') - (b'"response_item"' in content[:cut].rpartition(b"\n")[2])
        assert whole <= len(load_all(Codex(), path)) <= whole + 1


def test_nothing_said_yet(tmp_path):
    """A session that was only opened has no conversation."""
    assert read(tmp_path, [session()]).conversations == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(SESSION))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, records):
    """Whatever one value of the file is replaced by, all the rest is read."""
    assert {message.format for message in load_all(Codex(), write_lines(tmp_path, records))} <= {"openai_responses"}


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("codex"), ids=lambda row: row["path"])
def test_counts_agree_with_the_manifest(row):
    """Calls, results, tools, windows, resumes and the largest prompt are those of the manifest."""
    transcript = Codex().read(Source(corpus_path(row)))
    conversation = only(transcript)
    calls, results = tool_counts(transcript)
    # The manifest names a search by its item, Redline by its tool.
    expected = {{"web_search_call": "web_search"}.get(name, name): count for name, count in row["tools"].items()}
    assert (calls, results) == (expected, row["n_tool_results"])
    kinds = Counter(entry.message.native["type"] for entry in of_their_own(conversation))
    assert sum(kinds.values()) - kinds["reasoning"] - kinds["agent_message"] == row["n_messages"]
    features = " ".join(row["features"])
    assert len(conversation.compactions) == feature_count(features, "compaction")
    assert conversation.metadata.get("resumed", 0) == feature_count(features, "resumed")
    assert max(entry.usage.input_tokens for entry in conversation.entries if entry.usage) == row["max_context_tokens_reported"]


@needs_corpus
def test_only_codex_files_are_recognized():
    """Of all recorded sessions, exactly those of Codex are taken."""
    assert recognized_formats(Codex()) == Counter(row["format"] for row in corpus_rows("codex"))


def of_their_own(conversation):
    """The entries that have a line to themselves, not those inside the record of a compaction."""
    compacted = {compaction.position for compaction in conversation.compactions}
    return [entry for entry in conversation.entries if entry.positions[0] not in compacted]


def feature_count(features, name):
    found = re.search(rf"\b{name}:(\d+)", features)
    return int(found[1]) if found else 0
