"""The helper that follows pointers: it finds those that arrive nowhere, in each API, and lets the others be."""

import pytest

from redline.testing import asks, conversation, says
from tests.measure_bytes import PATHS
from tests.pointers import holds_file, lost_pointers, ways_to_have

WASTED = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
WORDS = "".join(f"line {number} of the file\n" for number in range(60))
LEFT_OUT = "[Tool result left out: Read /p/a.py, 1 kB; read it again]"
SEE_LATEST = "[Earlier read of this file; see the latest one: Read /p/a.py]"
OUTDATED = '[{"query":"/p/a.py","result":"[outdated - see the latest file content]","success":true}]'


def body(format, *texts, tool="Read"):
    turns = [says("user", "Go on.")]
    for number, text in enumerate(texts):
        turns += asks(tool, {"file_path": "/p/a.py"}, text, id=f"call_{number}")
    return {PATHS[format][1]: conversation(format, turns)}


@pytest.mark.parametrize("format", PATHS)
@pytest.mark.parametrize(
    ("texts", "lost"),
    [
        ((WORDS,), 0),
        ((WORDS, WASTED, WASTED), 0),
        ((LEFT_OUT,), 0),
        ((LEFT_OUT, WASTED), 1),
        ((SEE_LATEST, WASTED), 2),
        ((SEE_LATEST, WORDS, WASTED), 0),
        ((SEE_LATEST, LEFT_OUT), 0),
        ((WASTED,), 1),
        ((OUTDATED, WORDS), 0),
        ((OUTDATED, SEE_LATEST), 2),
        ((WORDS, "[Old tool result content cleared]"), 0),
    ],
)
def test_pointers_are_followed(format, texts, lost):
    """Those that arrive nowhere are told, however many there are on the way."""
    assert len(lost_pointers(body(format, *texts), format)) == lost


@pytest.mark.parametrize("format", PATHS)
def test_a_file_can_be_had(format):
    """Whole in the body, or by a result that says how."""
    assert holds_file(body(format, WORDS, WASTED), WORDS)
    assert not holds_file(body(format, LEFT_OUT), WORDS)
    assert [one.kind for one in ways_to_have(body(format, LEFT_OUT), format, "a.py")] == ["again"]
    assert ways_to_have(body(format, LEFT_OUT, WASTED), format, "a.py")[0].kind == "again"
    assert ways_to_have(body(format, SEE_LATEST, WASTED), format, "a.py") == []
    assert ways_to_have(body(format, WORDS), format, "b.py") == []


def test_a_command_that_prints_a_file_is_a_read():
    """Codex has no other."""
    turns = [says("user", "Go on."), *asks("exec_command", {"cmd": "cat a.py"}, WORDS, id="c")]
    sent = {"input": conversation("openai_responses", turns)}
    assert [one.kind for one in ways_to_have(sent, "openai_responses", "a.py")] == ["words"]
