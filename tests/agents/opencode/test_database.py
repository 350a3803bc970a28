import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from redline import check, read_transcript
from redline.agents.transcripts import Usage
from redline.errors import RedlineError, TranscriptError
from tests.agents.transcripts.opencode_store import connect, make_database, message_row, part_row, recorded_rows, session_row
from tests.agents.transcripts.sessions import damaged, said
from tests.effort import tries

CRASHED, DELEGATED, REVERTED = range(3)


def read(tmp_path, rows=None):
    return read_transcript(make_database(tmp_path, rows))


def test_each_session_is_a_conversation(tmp_path):
    """The database of opencode is read where it is kept; sub-agents are within the session that asked them (R38)."""
    transcript = read(tmp_path)
    assert (transcript.format, len(transcript), list(transcript.problems)) == ("opencode-db", 3, [])
    (asked,) = transcript.conversations[DELEGATED].subagents
    assert asked.metadata["parent"] == transcript.conversations[DELEGATED].id
    assert said(asked)[-1] == ("assistant", "The subtask is done.")


def test_messages_calls_results_times_and_usage(tmp_path):
    """A step holds its calls and their results, which become a message of their own."""
    conversation = read(tmp_path).conversations[DELEGATED]
    asked, answered = conversation.messages[1:3]
    assert [call.name for call in asked.calls] == ["task"]
    assert [(result.call_id, result.is_error) for result in answered.results] == [(asked.calls[0].id, False)]
    first = conversation.entries[1]
    assert (first.usage, first.model) == (Usage(20, 15, 100, 30), "claude-sonnet-4-5")
    assert first.timestamp_ms < conversation.entries[2].timestamp_ms
    assert conversation.metadata["cwd"] == "/home/dev/shop"
    assert not check([message.native for message in conversation.messages])


def test_a_call_that_a_crash_left_open(tmp_path):
    """It stays `running` in the database for ever; opencode sends it as interrupted and goes on."""
    conversation = read(tmp_path).conversations[CRASHED]
    calls = {call.id for message in conversation.messages for call in message.calls}
    results = {result.call_id for message in conversation.messages for result in message.results}
    assert len(calls - results) == 1
    assert said(conversation)[-1] == ("assistant", "After the crash I go on.")


def test_summaries_and_what_was_taken_back(tmp_path):
    """A summary begins a window; what the user went back before is a branch, not what goes on."""
    conversation = read(tmp_path).conversations[REVERTED]
    assert [(compaction.before, compaction.trigger) for compaction in conversation.compactions] == [(10, "manual")]
    (branch,) = conversation.branches
    assert (branch.after, branch.entries[0].message.text) == (11, "After the summary")
    assert conversation.messages[-1].text == "A title"


def test_a_part_that_was_taken_back_leaves_its_message(tmp_path):
    """Going back to a part hides what comes after its message."""
    revert = json.dumps({"messageID": "m1", "partID": "p1"})
    rows = [session_row("s", revert=revert), *(message_row(f"m{at}", "s", at) for at in range(3))]
    (conversation,) = read(tmp_path, rows)
    assert (len(conversation.entries), len(conversation.branches[0].entries)) == (2, 1)


def test_outputs_that_were_pruned_are_named(tmp_path):
    """As in an export."""
    state = {"status": "completed", "input": {}, "output": "a", "time": {"start": 1, "end": 2, "compacted": 3}}
    rows = [
        session_row("s"),
        message_row("m", "s", role="assistant"),
        part_row("p", "m", "s", type="tool", tool="ls", callID="c", state=state),
    ]
    (conversation,) = read(tmp_path, rows)
    assert list(conversation.metadata["pruned"]) == [{"entry": 1, "call_id": "c", "since_ms": 3}]


def test_nothing_is_left_beside_a_closed_database(tmp_path):
    """Reading makes no -wal and no -shm file, and does not touch the database."""
    path = make_database(tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert read_transcript(path).conversations[DELEGATED].messages
    assert [found.name for found in tmp_path.iterdir()] == ["opencode.db"]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


WRITER = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
connection.execute("PRAGMA journal_mode = WAL")
print("open", flush=True)
number = 0
while sys.stdin.readline():
    for _ in range(50):
        number += 1
        connection.execute("BEGIN IMMEDIATE")
        data = json.dumps({"role": "user", "time": {"created": number}})
        connection.execute("INSERT INTO message VALUES (?, 'live', ?, ?, ?)", (f"m{number:06}", number, number, data))
        part = json.dumps({"type": "text", "text": f"words {number}"})
        row = (f"p{number:06}", f"m{number:06}", "live", number, number, part)
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        if number % 100 == 0:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    print(number, flush=True)
"""


def test_it_is_read_while_it_is_written(tmp_path):
    """A writer that never waits for a lock goes on undisturbed, and every message that is seen is whole."""
    path = make_database(tmp_path, [session_row("live")])
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        seen = 0
        for _ in range(12):
            writer.stdin.write("\n")
            writer.stdin.flush()
            (conversation,) = read_transcript(path)  # while the writer is at it
            texts = [message.text for message in conversation.messages[:5]]
            assert texts == [f"words {number}" for number in range(1, len(texts) + 1)]
            assert len(conversation.entries) >= seen
            seen = len(conversation.entries)
            assert int(writer.stdout.readline()) >= seen
        writer.stdin.close()
        assert writer.wait() == 0
    (conversation,) = read_transcript(path)
    assert len(conversation.entries) == 600


def test_what_is_only_in_the_write_ahead_log_is_seen(tmp_path):
    """Much of a session is left there, and all of it after a crash."""
    path = make_database(tmp_path, [session_row("s")])
    with closing(connect(path)) as connection:
        connection.execute("INSERT INTO message VALUES ('m', 's', 1, 1, '{\"role\": \"user\"}')")
        assert Path(f"{path}-wal").stat().st_size
        (conversation,) = read_transcript(path)
        assert len(conversation.entries) == 1


def test_messages_are_read_when_they_are_looked_at(tmp_path):
    """Hundreds of sessions cost a row each; a message that was taken back meanwhile says so."""
    rows = [session_row(f"s{number}") for number in range(300)]
    path = make_database(tmp_path, [*rows, message_row("m", "s7")])
    conversations = read_transcript(path).conversations
    assert len(conversations) == 300
    entry = next(one for one in conversations if one.id == "s7").entries[0]
    with closing(connect(path)) as connection:
        connection.execute("DELETE FROM message")
    with pytest.raises(TranscriptError, match=r"no message 'm' any more.*Read the file again"):
        assert entry.message


def test_circles_and_deep_chains_of_sessions(tmp_path):
    """However sessions name their parents, each is found once."""
    chain = [session_row(f"c{number:04}", f"c{number - 1:04}" if number else None) for number in range(1500)]
    rows = [session_row("a", "b"), session_row("b", "a"), session_row("x", "x"), session_row("o", "nobody"), *chain]

    def ids(conversation):
        return [conversation.id, *(name for inner in conversation.subagents for name in ids(inner))]

    found = [name for conversation in read(tmp_path, rows) for name in ids(conversation)]
    assert sorted(found) == sorted(row["id"] for row in rows)


def test_rows_that_are_no_objects_are_listed(tmp_path):
    """The rest is read."""
    rows = [session_row("s"), message_row("m1", "s"), message_row("m2", "s") | {"data": "{torn"}, part_row("p1", "m1", "s")]
    transcript = read(tmp_path, [*rows, part_row("p2", "m1", "s") | {"data": "5"}])
    assert said(transcript.conversations[0]) == [("user", "p1")]
    assert [problem.reason for problem in transcript.problems] == [
        "the row of message 'm2' is not a JSON object",
        "the row of part 'p2' is not a JSON object",
    ]


def test_another_database_is_not_taken_for_it(tmp_path):
    """A SQLite file without these tables is refused, and so are views in their place."""
    path = tmp_path / "other.db"
    with closing(connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE session (id); CREATE TABLE message (id);"
            "CREATE VIEW part AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n;"
        )
    with pytest.raises(TranscriptError, match="is not a session file that Redline knows"):
        read_transcript(path)


def test_other_versions_may_lack_columns(tmp_path):
    """What is not there is not told; a table that cannot be read at all is a TranscriptError."""
    path = tmp_path / "opencode.db"
    with closing(connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE session (id text, time_created); CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id); INSERT INTO session VALUES ('s', 1);"
        )
    (conversation,) = read_transcript(path)
    assert conversation.metadata.keys() == {"pruned"}
    with pytest.raises(TranscriptError, match="no such column"):
        assert conversation.entries[0]


PARTS = [json.loads(row["data"]) for row in recorded_rows() if row["table"] == "part"]
INFOS = [json.loads(row["data"]) for row in recorded_rows() if row["table"] == "message"]


@tries(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(INFOS[1]), damaged(next(part for part in PARTS if part["type"] == "tool")))
def test_values_of_odd_types_do_not_stop_the_reader(tmp_path_factory, info, part):
    """Whatever one value of a row is replaced by, all the rest is read."""
    message = message_row("m", "s") | {"data": json.dumps(info)}
    rows = [session_row("s"), message, part_row("p", "m", "s") | {"data": json.dumps(part)}, message_row("m9", "s", 9)]
    (conversation,) = read_transcript(make_database(tmp_path_factory.mktemp("odd"), rows))
    assert {message.format for message in conversation.messages} == {"ai_sdk"}


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("whole")).read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(at=1547, put=b"\x80", end=200_000)  # a name in the schema that is no UTF-8
@given(at=st.integers(0, 120_000), put=st.binary(min_size=1, max_size=64), end=st.integers(0, 200_000))
def test_damage_gives_only_our_errors(tmp_path, content, at, put, end):
    """Bytes anywhere in the database replaced by others, or its end cut off: it is read, or refused with a RedlineError."""
    path = tmp_path / "opencode.db"
    path.write_bytes((content[:at] + put + content[at + len(put) :])[: max(end, 1)])
    try:
        transcript = read_transcript(path)
        assert all(problem.reason for problem in transcript.problems)
        assert all(entry.message.format for conversation in transcript for entry in conversation.walk())
    except RedlineError:
        pass
