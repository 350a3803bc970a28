import json

import pytest

from redline import read_transcript
from redline.agents.mending import LineEdits, apply_splices
from redline.agents.mending.window import RepairedWindow, edit_records, make_uuid
from redline.agents.transcripts.source import Source
from tests.agents.mending.sessions import sound, write

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}


def user(words):
    return {"role": "user", "content": words}


def rewrite(message, position):
    """A record that says how it came to be."""
    return json.dumps({"line": position.line, "changed": message.native}).encode()


def create(message, beside):
    return json.dumps({"beside": beside.line, "added": message.native}).encode()


def written(tmp_path, records, strategy="drop", first=0):
    path = write(tmp_path, records)
    (conversation,) = read_transcript(path)
    window, edits = RepairedWindow(conversation, strategy), LineEdits(Source(path))
    edit_records(window, window.repaired, edits=edits, rewrite=rewrite, create=create, first=first)
    return [json.loads(line) for line in apply_splices(edits.splices(), path.read_bytes()).splitlines()], edits.fixes


def test_what_goes_is_taken_out(tmp_path):
    """And nothing else is touched."""
    records, fixes = written(tmp_path, [user("a"), ASKED, user("b")])
    assert (records, [fix.action for fix in fixes]) == ([user("a"), user("b")], ["remove"])


def test_what_is_added_comes_after_what_stays(tmp_path):
    """Beside the record it belongs to."""
    records, fixes = written(tmp_path, [user("a"), ASKED, user("b")], "answer")
    assert [record.get("beside") for record in records] == [None, None, 2, None]
    assert [(fix.action, fix.line) for fix in fixes] == [("add", 2)]


def test_what_moves_is_removed_and_added(tmp_path):
    """A late result is taken out where it was and written where it belongs."""
    records, fixes = written(tmp_path, [user("a"), ASKED, user("b"), ANSWER])
    assert records == [user("a"), ASKED, {"beside": 2, "added": ANSWER}, user("b")]
    assert [(fix.action, fix.line) for fix in fixes] == [("move", 4), ("add", 2)]


def test_what_changes_is_written_anew(tmp_path):
    """In its place."""
    said = {**ASKED, "content": "I look."}
    records, fixes = written(tmp_path, [user("a"), said], "strip")
    assert records[1] == {"line": 2, "changed": {"role": "assistant", "content": "I look."}}
    assert [(fix.action, fix.line) for fix in fixes] == [("change", 2)]


@pytest.mark.parametrize("first", [0, 1])
def test_what_has_no_record_of_its_own_is_left_alone(tmp_path, first):
    """Messages before the first that has one are written elsewhere."""
    records, _ = written(tmp_path, [ASKED, user("b"), user("c")], first=first)
    assert records == [ASKED, user("b"), user("c")][1 - first :]


# --- ids of new records


def test_the_same_seeds_give_the_same_id_until_it_is_taken():
    """A repair done twice gives the same bytes; two records never share an id."""
    first = make_uuid(("session", None), lambda _: False)
    assert make_uuid(("session", None), lambda _: False) == first
    assert make_uuid(("session", None), {first}.__contains__) != first


def test_half_an_emoji_is_a_seed_too():
    """Whatever a session calls its calls (R61)."""
    assert make_uuid(("\ud83d",), lambda _: False) != make_uuid(("\ud83e",), lambda _: False)


@pytest.mark.parametrize("in_lines", [False, True])
@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_a_message_that_changes_sides_makes_room_for_itself(tmp_path, strategy, in_lines):
    """R138: nothing of the list stays where it was, so what is added takes the place of its first message."""
    message = {"role": "system", "parts": [{"text": "x"}]}
    path = write(tmp_path, json.dumps(message if in_lines else [message]).encode(), "list.json")
    (said,) = sound(path, strategy).promised
    assert [one.role for one in said] == ["user"]
