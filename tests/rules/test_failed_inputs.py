"""The input of a failed call goes after some turns, its result stays."""

from hypothesis import given

from redline.engine.sent import struck_message as strike
from redline.providers import FORMATS
from redline.rules.failed_inputs import FailedInputs
from redline.values.messages import Message, ToolCall
from redline.values.words import ZH
from tests.rules.folding import check_laws, histories, marked, marks_of, native, read, step, steps

FAILED = step(0, "Write", {"file_path": "a.py", "content": "x" * 500}, "no such folder", is_error=True)
NEXT = ("Read", {"file_path": "b.py"}, "content")


def test_the_input_goes_after_some_turns():
    """It stays for the turns that deal with the failure."""
    rule = FailedInputs(after_steps=2)
    later = steps(NEXT, NEXT)[1:]
    assert marked(rule, [*FAILED, *later[:2]]) == []
    assert marked(rule, [*FAILED, *later]) == [0]


def test_the_call_keeps_its_name_and_the_result_its_words():
    """Only the input is exchanged, in every format."""
    for name in FORMATS:
        messages = read(native(FAILED, name), name)
        (mark,) = marks_of(FailedInputs(after_steps=0), messages)
        struck = strike(messages[0], [mark], FORMATS[name])
        assert struck is not None
        (call,) = struck.calls
        assert (call.name, call.arguments) == ("Write", {"note": ZH.failed_input})
        assert marks_of(FailedInputs(after_steps=0, min_chars=0), [struck, *messages[1:]]) == []


def test_short_inputs_and_calls_that_succeeded_stay():
    """There is nothing to gain by removing a short command."""
    short = step(0, "Bash", {"command": "make"}, "no rule", is_error=True)
    fine = step(1, "Write", {"file_path": "a.py", "content": "x" * 500}, "done")
    assert marked(FailedInputs(after_steps=0), [*short, *fine, *FAILED[:0]]) == []


@given(histories())
def test_laws(messages: list[Message]):
    """Only inputs of calls are marked, and twice is once."""
    for mark in check_laws(FailedInputs(after_steps=1, min_chars=0), messages):
        part = next(part for part in messages[mark.index].parts if part.at == mark.at)
        assert isinstance(part, ToolCall)


def test_an_input_that_cannot_be_written_as_json_stays():
    """Its length is unknown, and nothing is gained for certain."""
    failed = step(0, "Write", {"content": 10**5000}, "no such folder", is_error=True)
    assert marked(FailedInputs(after_steps=0, min_chars=1), failed) == []
