import re

import pytest

from redline import TranscriptError, inspect_transcript
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
