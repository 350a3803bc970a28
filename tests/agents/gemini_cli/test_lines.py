import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline import check, read_transcript
from redline.agents.gemini_cli.reader import GeminiCli, replay_lines
from redline.agents.transcripts.source import Source
from redline.errors import RedlineError
from tests.agents.transcripts.sessions import damaged, load_all, only, said, write_lines

DATA = Path(__file__).parents[1] / "transcripts" / "data" / "gemini"
HEADER = {"sessionId": "s", "projectHash": "h", "startTime": "2026-11-16T06:00:00Z", "kind": "main"}


def user(name, words="hi"):
    return {"id": name, "timestamp": "2026-11-16T06:00:01Z", "type": "user", "content": [{"text": words}]}


def gemini(name, words="yes", **fields):
    return {"id": name, "timestamp": "2026-11-16T06:00:02Z", "type": "gemini", "content": words, **fields}


def answer(*call_ids):
    return [{"functionResponse": {"id": one, "name": "ls", "response": {"output": f"of {one}"}}} for one in call_ids]


def read(tmp_path, *records):
    return only(read_transcript(write_lines(tmp_path, [HEADER, *records])))


def recorded(name):
    return only(read_transcript(DATA / f"{name}.jsonl"))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_sessions_of_gemini_cli_are_recognized(path):
    """Lines with `$set` and `$rewindTo` records, as Gemini CLI 0.61 writes them (R38)."""
    transcript = read_transcript(path)
    assert (transcript.format, transcript.problems) == ("gemini-cli", ())
    assert only(transcript).messages


def test_a_session_with_tools(tmp_path):
    """A record is written twice, with its calls the second time; results have a record of their own (R38)."""
    conversation = recorded("looked")
    roles = [message.role for message in conversation.messages]
    assert roles == ["user", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [call.name for message in conversation.messages for call in message.calls] == ["read_file", "run_shell_command"]
    assert conversation.entries[2].usage.input_tokens == 110
    assert not check([message.native for message in conversation.messages])


def test_what_a_resumed_session_sends_twice_is_there_twice():
    """Gemini CLI 0.61 writes the result of a call a second time when it resumes, and sends both: the check says so."""
    conversation = recorded("resumed")
    problems = check([message.native for message in conversation.messages])
    assert [problem.law for problem in problems] == ["requested_results", "requested_results"]
    assert said(conversation)[-2:] == [("user", "Go on please"), ("assistant", "Understood: Go on please")]


def test_a_summary_begins_a_window():
    """A list of messages that takes the place of others with new ones is a compaction."""
    conversation = recorded("compressed")
    assert [compaction.before for compaction in conversation.compactions] == [9]
    assert conversation.windows[1][1].message.text.startswith("<state_snapshot>")
    assert len(conversation.entries) == 16


def test_what_was_rewound_is_a_branch():
    """The prompt that was taken back, and its answer, branch off after the entry before them."""
    conversation = recorded("rewound")
    rewound = conversation.branches[0]
    assert rewound.after == 1
    assert [entry.message.text for entry in rewound.entries] == ["another prompt", "Understood: another prompt"]


def test_a_call_that_was_running_at_a_crash_is_not_in_the_file():
    """Calls are written when they have ended: what a crash leaves are the words."""
    assert said(recorded("crashed"))[-1] == ("assistant", "I run it.")
    assert not any(message.calls for message in recorded("crashed").messages)


def test_the_project_and_the_parent_are_known_by_the_folder(tmp_path):
    """`.project_root` is beside the folder of chats; the chats of sub-agents are in a folder named after their parent."""
    folder = tmp_path / "tmp" / "shop" / "chats" / "4bda9603"
    folder.mkdir(parents=True)
    (tmp_path / "tmp" / "shop" / ".project_root").write_text("/home/dev/shop", encoding="utf-8")
    shutil.copy(DATA / "subagent.jsonl", folder)
    metadata = only(read_transcript(folder / "subagent.jsonl")).metadata
    assert metadata == {"cwd": "/home/dev/shop", "kind": "subagent", "parent": "4bda9603"}


def test_a_record_with_a_known_id_takes_its_place(tmp_path):
    """The later spelling counts, at the place of the first."""
    conversation = read(tmp_path, user("u1", "one"), user("u2", "two"), user("u1", "one again"))
    assert said(conversation) == [("user", "one again"), ("user", "two")]


def test_a_rewind_to_nowhere_takes_all_back(tmp_path):
    """As Gemini CLI reads it."""
    conversation = read(tmp_path, user("u1"), {"$rewindTo": "u9"}, user("u2", "after"))
    assert said(conversation) == [("user", "after")]
    assert [(branch.after, len(branch.entries)) for branch in conversation.branches] == [(None, 1)]


def test_when_all_is_taken_back_nothing_goes_on(tmp_path):
    """Not even the window before a summary."""
    conversation = read(tmp_path, user("u1"), {"$set": {"messages": [user("u2")]}}, {"$rewindTo": "u2"})
    assert (conversation.windows, len(conversation.branches)) == ((), 2)


def test_results_are_given_once(tmp_path):
    """After a resume each call of a turn holds the results of all, and a record of its own does, too."""
    calls = [{"id": one, "name": "ls", "args": {}, "result": answer("c1", "c2")} for one in ("c1", "c2")]
    inline = read(tmp_path, user("u1"), gemini("g1", toolCalls=calls))
    assert [found.call_id for found in inline.messages[-1].results] == ["c1", "c2"]
    apart = read(tmp_path, user("u1"), gemini("g1", toolCalls=calls), user("r1") | {"content": answer("c1", "c2")})
    assert [found.call_id for message in apart.messages for found in message.results] == ["c1", "c2"]


def test_calls_among_the_content_are_not_read_again(tmp_path):
    """A record that holds its calls as content, too, makes each of them once."""
    call = {"id": "c1", "name": "ls", "args": {}}
    record = gemini(
        "g1", [{"text": "hm", "thought": True}, {"functionCall": call}], toolCalls=[call], thoughts=[{"subject": "hm"}]
    )
    (_, message) = read(tmp_path, user("u1"), record).messages
    assert [type(part).__name__ for part in message.parts] == ["Reasoning", "ToolCall"]


def test_bad_lines_are_listed(tmp_path):
    """A torn line costs nothing but itself."""
    path = write_lines(tmp_path, [HEADER, user("u1")])
    path.write_text(path.read_text() + '{"id":"g1","type":"gem', encoding="utf-8")
    transcript = read_transcript(path)
    assert [problem.line for problem in transcript.problems] == [3]
    assert said(only(transcript)) == [("user", "hi")]


LINES = [
    HEADER,
    {"$set": {"messages": [user("u1")], "lastUpdated": "x"}},
    gemini("g1", toolCalls=[{"id": "c1", "name": "ls", "args": {}, "result": answer("c1")}]),
    user("r1") | {"content": answer("c1")},
    {"$rewindTo": "r1"},
    {"$set": {"messages": [user("u9"), gemini("g9")], "summary": "t", "directories": ["/p"]}},
    user("u10"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(LINES))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path, records):
    """Whatever one value of the file is replaced by, all the rest is read."""
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert {message.format for message in load_all(GeminiCli(), path)} <= {"gemini"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(DATA.glob("*.jsonl"))), st.integers(0, 10_000), st.binary(max_size=8))
def test_damage_gives_only_our_errors(tmp_path, recorded, at, put):
    """Bytes anywhere in a real file replaced by others: it is read, or refused with a RedlineError."""
    content = recorded.read_bytes()
    path = tmp_path / "session.jsonl"
    path.write_bytes(content[:at] + put + content[at + len(put) :])
    try:
        for conversation in read_transcript(path):
            for entry in conversation.walk():
                assert entry.message.format
    except RedlineError:
        pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([user("a"), user("b"), gemini("c"), {"$rewindTo": "b"}, {"$set": {"messages": [user("b")]}}])))
def test_nothing_that_was_said_is_lost(tmp_path, records):
    """Every id that was ever said is among the records that go on, an earlier window, or what was abandoned."""
    history = replay_lines(Source(write_lines(tmp_path, [HEADER, *records])))
    kept = [*history.records, *(one for _, window in history.earlier for one in window)]
    found = {record.id for _, record in [*kept, *(one for taken in history.abandoned for one in taken.records)]}
    listed = [item for record in records for item in record.get("$set", {}).get("messages", [record])]
    assert found == {item["id"] for item in listed if "id" in item}
