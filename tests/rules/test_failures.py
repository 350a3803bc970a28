"""Whether a result reports a failure."""

import json

import pytest
from hypothesis import given

from redline.rules.failures import command_failed, is_command_output, is_failure
from redline.testing import json_values
from redline.values.messages import Text, ToolResult


def result(text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult("c", (Text(text),), is_error=is_error)


@pytest.mark.parametrize("text", ["Error: no", "  \n Error: no"])
def test_the_first_word_tells(text):
    """Of any tool, whatever space comes before it."""
    assert is_failure(result(text), is_terminal=False)


def test_the_flag_tells():
    """A result that the format calls an error is one."""
    assert is_failure(result("fine", is_error=True), is_terminal=False)


@pytest.mark.parametrize("text", ["An Error: no", "error: no", '{"exitCode":1}', "Exit code: 1"])
def test_other_tools_results_are_not_searched(text):
    """A file that speaks of exit codes reports no failure."""
    assert not is_failure(result(text), is_terminal=False)


@pytest.mark.parametrize(
    "text",
    [
        '{"stdout":"","stderr":"boom","exitCode":0}',
        '{"stdout":"","stderr":"\\n","exitCode":0}',
        '{"stdout":"1 failed","stderr":"","exitCode":1}',
        ' {"exitCode": -1}',
        '{"output":"x","metadata":{"exit_code":2}}',
        '{"output":"\\ud800","exit_code":2}',
        "Exit code 1\nboom",
        "Wall time: 1 s\nProcess exited with code 101\nOutput:\n",
        "boom\n" * 300 + "[The command completed with exit code 1.]",
        "<returncode>1</returncode>\n<output>",
    ],
)
def test_how_a_command_ended_tells(text):
    """In JSON by stderr or the exit code, in words by the line before or after the output."""
    assert command_failed(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"stdout":"ok","stderr":"","exitCode":0}',
        '{"stdout":"ok","stderr":null}',
        '{"stdout":"torn',
        "{not json",
        "Exit code: 0\nok",
        "it says exit code 1 in the middle of a line",
        "a\n" * 300 + "Exit code: 1\n" + "b\n" * 300,
        "",
    ],
)
def test_a_command_that_ended_well_did_not_fail(text):
    """What cannot be parsed reports nothing, and the output itself is not searched."""
    assert not command_failed(text)


@pytest.mark.parametrize(("text", "expected"), [('{"stdout": 1}', True), ('{\\"stdout\\": 1}', False), ("stdout: 1", False)])
def test_output_is_known_by_its_keys(text, expected):
    """The key with its quotes and colon, not escaped."""
    assert is_command_output(text) is expected


@given(json_values())
def test_any_json_is_taken(value):
    """No content makes it raise."""
    assert command_failed(json.dumps(value)) in (True, False)
