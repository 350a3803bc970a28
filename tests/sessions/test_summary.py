import json
import re

import pytest

from redline import TranscriptError, inspect_transcript
from redline.prices import find_price
from redline.tokens import Estimate
from tests.cli.sample import write_session
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def test_everything_in_the_file_is_counted(tmp_path):
    """Messages, calls by tool, errors, tokens by kind and repeated reads add up."""
    found = inspect_transcript(write_session(tmp_path / "s.jsonl", is_open=True), counter=Estimate())
    assert (found.messages, found.records, found.tool_calls, found.tool_results) == (8, 8, 4, 3)
    assert found.tools["Bash"].errors == 1
    assert found.tokens["total"] == sum(count for kind, count in found.tokens.items() if kind != "total")
    assert sum(use.tokens for use in found.tools.values()) == found.tokens["tool_calls"] + found.tokens["tool_results"]
    assert [(read.path, read.reads) for read in found.repeated_reads] == [("/p/a.py", 2)]
    assert found.largest[0].kind == "tool_results"
    assert [part.tokens for part in found.largest] == sorted((part.tokens for part in found.largest), reverse=True)


def test_an_orphan_may_weigh_as_much_as_another_part(tmp_path):
    """Of parts that weigh the same the earlier comes first, whatever else they have or lack (R56)."""
    orphan = {"type": "tool_result", "tool_use_id": "gone", "content": "same words, " * 20}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    known = {**orphan, "tool_use_id": "t1"}
    messages = [
        {"role": "user", "content": [orphan]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [known]},
        {"role": "user", "content": [orphan]},
    ]
    (tmp_path / "s.json").write_text(json.dumps(messages * 200))
    largest = inspect_transcript(tmp_path / "s.json", counter=Estimate()).largest
    assert {part.tool for part in largest} == {None, "Bash"}
    assert [part.offset for part in largest] == sorted(part.offset for part in largest)


def test_a_session_is_told_by_its_time_project_and_first_words(tmp_path):
    """As far as its file has them; what the agent says in the user's name is passed over (R39)."""
    path = write_session(tmp_path / "s.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["message"]["content"] = "<system-reminder>be brief</system-reminder>"
    lines[2]["message"]["content"].append({"type": "text", "text": "now   fix\nit " + "well " * 50})
    for number, line in enumerate(lines):
        line |= {"timestamp": f"2026-02-04T00:00:0{number}Z", "cwd": "/home/me/shop"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = inspect_transcript(path, counter=Estimate())
    assert (found.started_ms, found.ended_ms) == (1770163200000.0, 1770163207000.0)
    assert found.project == "/home/me/shop"
    assert found.first_words.startswith("now fix it well well")
    assert len(found.first_words) == 120


def test_the_user_speaks_after_what_the_agent_put_in_front(tmp_path):
    """However long that is, where it is a text of its own; the folder that it tells the model is the project."""
    reminder = f"<system-reminder>{'be brief ' * 1000}\nPrimary working directory: /home/me/shop\n</system-reminder>"
    said = [{"type": "text", "text": reminder}, {"type": "text", "text": "fix the login test"}]
    (tmp_path / "s.json").write_text(json.dumps([{"role": "user", "content": said}, {"role": "assistant", "content": "done"}]))
    found = inspect_transcript(tmp_path / "s.json", counter=Estimate())
    assert (found.first_words, found.project) == ("fix the login test", "/home/me/shop")
    said[0]["text"] = "<environment_context><cwd>/home/me/shop</cwd></environment_context>"
    (tmp_path / "s.json").write_text(json.dumps([{"role": "user", "content": said}, {"role": "assistant", "content": "done"}]))
    found = inspect_transcript(tmp_path / "s.json", counter=Estimate())
    assert (found.first_words, found.project) == ("fix the login test", "/home/me/shop")


def test_requests_are_counted_and_paid_for(tmp_path):
    """An answer in several messages is one; what no model said is none, and what has no price is not reckoned."""
    path = write_session(tmp_path / "s.jsonl", model="claude-opus-4-6")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [line["message"] for line in lines if line["type"] == "assistant"]
    answers[1]["model"] = "<synthetic>"
    answers[2]["model"] = "a model that nobody knows"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = inspect_transcript(path, counter=Estimate())
    price = find_price("claude-opus-4-6")
    assert (found.requests, found.models) == (3, ["claude-opus-4-6", "a model that nobody knows"])
    assert found.cost_usd == pytest.approx(2 * price.cost(fresh=3, read=900, written=0, output=7))


def test_unreadable_file_raises(tmp_path):
    """What is no session is a TranscriptError."""
    (tmp_path / "x").write_text("hello")
    with pytest.raises(TranscriptError):
        inspect_transcript(tmp_path / "x")


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows(), ids=lambda row: row["path"])
def test_unanswered_calls_are_those_the_manifest_lists(row):
    """The calls that nothing answers are as many as the manifest says, in the files that it speaks of."""
    listed = re.search(r"unmatched-tool-use:(\d+)", " ".join(row["features"]))
    if "hand-made-fixture" in row["features"] or row["format"] == "mini-swe-agent":
        pytest.skip("hand-made, or calls written as text")
    assert inspect_transcript(corpus_path(row), counter=Estimate()).unanswered_calls == int(listed[1] if listed else 0)
