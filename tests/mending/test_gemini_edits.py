import json

from redline.mending.fixes import Fix
from redline.mending.gemini_edits import GeminiEdits, results_at, without_results
from redline.transcripts.base import Position
from redline.transcripts.source import Source
from tests.mending.sessions import gemini_call

FIX = Fix("change", "because")
RECORD = json.dumps({"id": "g", "toolCalls": [gemini_call("a", "a"), gemini_call("b", "b"), gemini_call("c")]}).encode()


def edits_of(tmp_path, content=RECORD + b"\n"):
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    return GeminiEdits(Source(path), [Position(0, len(RECORD), 1)], in_document=False)


def test_nothing_changes_without_a_change(tmp_path):
    """No line is added for nothing."""
    assert list(edits_of(tmp_path).splices()) == []


def test_results_change_apart_from_the_words(tmp_path):
    """They leave the record of the model, and what takes their place comes after it."""
    edits = edits_of(tmp_path)
    edits.replace(results_at(Position(0, len(RECORD), 1)), b'{"id":"r"}', FIX)
    (splice,) = edits.splices()
    left = json.loads(splice.content)["$set"]["messages"]
    assert left == [{"id": "g", "toolCalls": [gemini_call("a"), gemini_call("b"), gemini_call("c")]}, {"id": "r"}]


def test_results_of_some_calls_are_taken_out():
    """Those that are known from elsewhere; the rest of the record is as it is spelled."""
    left = json.loads(without_results(RECORD, frozenset({"a"})))
    assert left["toolCalls"] == [gemini_call("a"), gemini_call("b", "b"), gemini_call("c")]
