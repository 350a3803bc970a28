"""Tool output and arguments are words: nothing in them raises or takes more time than its length deserves."""

import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation
from redline.providers import FORMATS
from redline.rules import RULES, make_rules
from redline.testing import conversation, json_values
from redline.tools import Reads, Writes, describe, normalize_path
from redline.tools.failures import command_failed
from redline.values.messages import Message, Text, ToolCall, ToolResult
from tests.effort import holds_once
from tests.rules.folding import applied, check_laws, marks_of, read

STRICT: dict[str, dict[str, Any]] = {
    "stale_terminal": {"max_age_ms": 0, "keep_recent": 0},
    "historical_reads": {"keep_recent": 0, "shell_reads": True},
    "superseded_reads": {"until_read_again": False},
    "failed_inputs": {"after_steps": 0, "min_chars": 0},
    "masked_results": {"keep_recent": 0},
    "long_results": {"max_chars": 300},
    "old_images": {"keep_messages": 0},
    "offload_results": {"min_chars": 0},
}
ALL = make_rules([rule(**STRICT.get(name, {})) for name, rule in RULES.items()], project_root="/p")

DEEP = 5_000
ODD_OUTPUT = {
    "lists": "[" * DEEP,
    "objects": '{"a":' * DEEP,
    "closed objects": '{"stderr":' * DEEP + "1" + "}" * DEEP,
    "closed lists": '{"stdout":' + "[" * DEEP + "]" * DEEP + "}",
    "a long number": '{"exitCode":' + "9" * 5000 + "}",
    "a long exponent": '{"exitCode":1e' + "9" * 5000 + "}",
    "a long exit code": "exit code: " + "9" * 5000,
    "odd digits": "exit code: ٣٣",
    "half a character": '{"stdout":"\ud800","exitCode":1}',
    "half a character, escaped": '{"stdout":"\\ud800","exitCode":1}',
    "zero": "\0" * 500,
    "NaN": '{"exitCode":NaN,"stderr":Infinity}',
    "a key twice": '{"exitCode":0,"exitCode":1}',
    "metadata": '{"metadata":{"exit_code":[1]}}',
}
ODD_ARGUMENTS = {
    "a long number": {"command": 10**5000, "path": 10**5000, "bash_id": 10**5000, "offset": 10**5000, "cell_id": -(10**5000)},
    "half a character": {"command": "cat \ud800", "path": "\ud800", "input": "*** Add File: \ud800"},
    "zero": {"command": "cat a\0b", "path": "a\0b"},
    "lists": {"command": [[["cat"]]], "path": [[["a"]]], "prompt": [[1]], "view_range": [[], {}]},
    "objects": {"command": {"a": 1}, "path": {"path": {"path": "a"}}, "files": [{"path": {"path": "a"}}]},
    "numbers": {"command": math.nan, "path": math.inf, "limit": 1e308, "offset": -(10**30)},
    "nothing": {"command": None, "path": None, "": None},
}
TOOLS = ("Read", "Read", "Bash", "BashOutput", "exec", "apply_patch", "edit", "Grep", "Task", "str_replace_editor", "mystery")


def deep(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"path": [value], "command": value}
    return value


def asked(format_name: str, call_input: Any, said: str, tools: tuple[str, ...] = TOOLS) -> list[Message]:
    """Each tool called with the same input, with the same answer, 1 s apart."""
    turns: list[Any] = [("user", (Text("go"),))]
    for number, tool in enumerate(tools):
        call = ToolCall(f"c{number}", tool, call_input)
        turns += [("assistant", (call,)), ("tool", (ToolResult(call.id, (Text(said),), tool),))]
    stamped = [{**payload, "timestamp": 1000 * place} for place, payload in enumerate(conversation(format_name, turns))]
    return read(stamped, format_name)


def check_all(messages: list[Message]) -> None:
    for rule in ALL:
        assert len(applied(messages, check_laws(rule, messages))) <= len(messages)


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@pytest.mark.parametrize("kind", ODD_OUTPUT)
def test_no_output_raises(format_name, kind):
    """Nested thousands deep, numbers of thousands of digits, halves of characters: in every rule and format (R52)."""
    check_all(asked(format_name, {"command": "make", "path": "a"}, ODD_OUTPUT[kind]))


@pytest.mark.parametrize("kind", ODD_OUTPUT)
def test_odd_output_in_a_conversation(kind):
    """A request goes out, with the rules that are on by default (R52)."""
    output = {"type": "tool_result", "tool_use_id": "c", "content": ODD_OUTPUT[kind]}
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    talk = Conversation([{"role": "user", "content": "go"}], format="anthropic")
    talk.add({"role": "assistant", "content": [call]}, timestamp_ms=1)
    talk.add({"role": "user", "content": [output]}, timestamp_ms=2)
    assert len(talk.request(now=10**9).messages) == 3


@pytest.mark.parametrize("kind", ODD_ARGUMENTS)
def test_no_arguments_raise(kind):
    """Whatever object a caller's SDK made of them, in every rule (R52)."""
    check_all(asked("anthropic", ODD_ARGUMENTS[kind], "an answer of some length, " * 20))


def test_deep_arguments_do_not_raise():
    """Objects that are nested deeper than any recursion, as the caller's own objects and as text (R52)."""
    for tool in TOOLS:
        for arguments in (deep(DEEP), '{"path":' * DEEP + "1" + "}" * DEEP):
            assert isinstance(describe(ToolCall("c", tool, arguments)), tuple)


PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "'",
        "`",
        "$(",
        "cat ",
        "sed -n ",
        "1,2p",
        ";",
        "&&",
        "|",
        "\n",
        "a.py",
        "\0",
        "\ud800",
        " ",
    ),
    *("tools.Read(", "const a = ", "*** Add File: ", "exit code: ", '"stdout":', "<<EOF\n", "file://", "%ff", "9" * 400),
)
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(st.characters(codec=None), max_size=40)


@given(format_name=st.sampled_from(sorted(FORMATS)), said=texts, argument=texts, value=json_values())
def test_any_text_is_only_words(format_name: str, said: str, argument: str, value: object):
    """As output, as an argument and as the arguments themselves, through every rule (R52)."""
    everything = dict.fromkeys(("command", "path", "files", "input", "bash_id", "prompt", "pattern", "view_range"), argument)
    check_all(asked(format_name, everything, said))
    check_all(asked(format_name, {**everything, "path": value, "command": value}, said))
    check_all(asked(format_name, argument, said))


# --- time


REPEATED = {
    "[": "[",
    "object": '{"a":',
    "quote": '"',
    "single quote": "'",
    "backslash": "\\",
    "escaped quote": '\\"',
    "(": "(",
    "$(": "$(",
    "file name": "tool-result-",
    "line": "\n",
    "space": " ",
    "slash": "/",
    "up": "..\\",
    "call": 'tools.a({\\"',
    "constant": 'let a="',
    "header": "*** Add File: ",
    "quoted": "'a'\"b\"",
    "range": "1p;",
    "comment": "/*",
}
BEGINNINGS = {
    "nothing": "",
    "cat": "cat ",
    "sed": "sed -n '",
    "patch": "apply_patch <<'EOF'\n",
    "header": "*** Add File:",
    "script": "tools.a(",
    "json": '{"stdout":"',
}


def described(text: str) -> float:
    """Processor time of what is read out of a text: as a command, a path, a patch, a script, and as output."""
    start = time.process_time()
    for tool, name in (("Bash", "command"), ("Read", "path"), ("apply_patch", "input"), ("exec", "input")):
        for action in describe(ToolCall("c", tool, {name: text})):
            if isinstance(action, Reads | Writes):
                normalize_path(action.path, "/p")
                normalize_path(action.path, "C:\\p")
    command_failed(text)
    return time.process_time() - start


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("repeated", REPEATED)
def test_what_is_read_out_of_a_text_takes_time_by_its_length(beginning, repeated):
    """Ten times as much of anything takes about ten times as long, not a hundred times (R52)."""
    text = REPEATED[repeated]
    short, long = (BEGINNINGS[beginning] + text * (size // len(text)) for size in (20_000, 200_000))
    assert holds_once(lambda: described(long) < 40 * max(described(short), 0.002))


@pytest.mark.parametrize("repeated", ["[", "object", "quote", "backslash", "(", "$(", "file name", "line"])
def test_half_a_megabyte_takes_ten_times_a_tenth(repeated):
    """Through every rule, as output, as an argument, and as the arguments (R52)."""

    def spent(size):
        long = REPEATED[repeated] * (size // len(REPEATED[repeated]))
        inputs = ({"command": long, "path": long}, long)
        messages = [message for one in inputs for message in asked("openai_chat", one, long, ("Read", "Bash", "exec"))]
        start = time.process_time()
        for rule in ALL:
            marks_of(rule, messages)
        return time.process_time() - start

    assert holds_once(lambda: spent(500_000) < 40 * max(spent(50_000), 0.005))


def test_a_constant_that_is_used_often_does_not_fill_the_memory():
    """A script of 1 MB in which a long text is put in a thousand times is not spelled out (R52)."""
    code = f'const a = "{"x" * 500_000}"; tools.Read({{{",".join(f"k{number}:a" for number in range(50_000))}}})'
    assert len(describe(ToolCall("c", "exec", code))) == 1
