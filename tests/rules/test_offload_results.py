"""Large results move to a store, and a stub says how to read them back."""

from dataclasses import replace

import pytest
from hypothesis import given

from redline.errors import ValidationError
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.blobs.retrieval import recall
from redline.rules.offload_results import OffloadResults
from redline.values.messages import Message
from redline.values.words import EN
from tests.rules.folding import check_laws, histories, marked, marks_of, native, read, step, steps

LONG = "\n".join(f"line {number}" for number in range(200))
RULE = OffloadResults(min_chars=1000, stub=EN.offloaded)


def test_the_stub_says_what_it_was_and_how_to_read_it_back():
    """Tool, arguments, size, first and last lines, and a reference that leads to the very text."""
    (mark,) = marks_of(RULE, read(native(steps(("Bash", {"command": "seq 200"}, LONG)))))
    assert isinstance(mark.replacement, str)
    lines = mark.replacement.split("\n")
    assert lines[0] == f'[Tool result stored elsewhere: Bash {{"command":"seq 200"}}, {len(LONG):,} characters, 200 lines]'
    assert lines[1:6] == LONG.split("\n")[:5]
    assert lines[7:12] == LONG.split("\n")[-5:]
    blobs = MemoryBlobs()
    assert mark.blob is not None
    assert blobs.put(mark.blob) in mark.replacement
    assert recall(mark.replacement, blobs) == LONG


def test_smaller_results_and_failures_stay():
    """The length decides, and errors stay unless asked for."""
    assert marked(RULE, steps(("Bash", {"command": "x"}, "a" * 999))) == []
    failed = step(0, "Bash", {"command": "x"}, LONG, is_error=True)
    assert marked(RULE, failed) == []
    assert marked(OffloadResults(min_chars=1000, errors_too=True), failed) == [1]


def test_the_latest_can_stay():
    """With some kept, an older one moves when a newer one comes."""
    turns = steps(("Bash", {"command": "x"}, LONG), ("Grep", {"pattern": "x"}, "short"))
    assert marked(OffloadResults(min_chars=1000, keep_recent=2), turns) == []
    assert marked(OffloadResults(min_chars=1000, keep_recent=1), turns) == [2]


@pytest.mark.parametrize("tool", ["recall", "mcp__redline__recall"])
def test_what_was_recalled_is_not_moved_again(tool):
    """Or the model would never get to read it."""
    assert marked(RULE, steps((tool, {"reference": "0" * 64}, LONG))) == []


def test_stubs_are_left_alone_in_either_language():
    """A stub that is itself long is not moved."""
    for stub in (RULE.stub, OffloadResults().stub):
        (mark,) = marks_of(OffloadResults(min_chars=1000, stub=stub), read(native(steps(("Bash", {}, LONG)))))
        assert marked(OffloadResults(min_chars=10), steps(("Bash", {}, str(mark.replacement)))) == []


def test_what_another_rule_left_is_not_moved():
    """However long the words are that it put there."""
    words = replace(EN, masked_result="left out, " * 50)
    rule = OffloadResults(min_chars=100, stub="{reference}", words=words)
    turns = steps(("Bash", {"command": "x"}, words.masked_result), ("Bash", {"command": "x"}, "left over, " * 50))
    assert marked(rule, turns) == [4]


def test_a_stub_with_unknown_fields_is_refused():
    """The error names the fields there are."""
    with pytest.raises(ValidationError, match=r"\{reference\}"):
        OffloadResults(stub="{where}")


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, twice is once, and every stub names the blob that it replaces."""
    blobs = MemoryBlobs()
    for mark in check_laws(OffloadResults(min_chars=300, preview_lines=1), messages):
        assert mark.blob is not None
        assert blobs.put(mark.blob) in str(mark.replacement)
