"""Whether a result reports a failure. The cases are data: `failure_cases.toml`."""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.providers import FORMATS, find_format
from redline.rules import MaskedResults, OffloadResults
from redline.rules.long_results import LongResults
from redline.testing import json_values
from redline.tools.failures import DOCUMENTS_SIGNS, KNOWN_SIGNS, FailureSigns, command_failed, is_command_output
from redline.values.messages import Text, ToolCall, ToolResult

_CASES = tomllib.loads(Path(__file__).with_name("failure_cases.toml").read_text(encoding="utf-8"))
_TOOLS = {"command": ("bash", {"command": "make"}), "known tool": ("Read", {"file_path": "a.py"}), "unknown": ("my_tool", {})}
_MASKED = redline.Policy(rules=[MaskedResults(keep_recent=0, placeholder="-")], schedule="eager", words=redline.EN)


def result(text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult("c", (Text(text),), is_error=is_error)


def _conversation(format_name: str, tool: str, text: str) -> list[dict[str, Any]]:
    """A question, a call, its result as this format holds it, and an answer."""
    format, (name, arguments) = find_format(format_name), _TOOLS[tool]
    said = (
        ("user", Text("go")),
        ("assistant", ToolCall("c1", name, arguments)),
        ("tool", ToolResult("c1", (Text(text),), name)),
        ("assistant", Text("done")),
    )
    return [payload for role, part in said for payload in format.compose(role, (part,)).payloads]


def _is_kept(messages: list[dict[str, Any]], policy: redline.Policy, format: str) -> bool:
    conversation = redline.Conversation(messages, policy=policy, format=format)
    return not conversation.request(now=10**13).strikes


# --- the table


@pytest.mark.parametrize("tool", _TOOLS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_is_kept_in_every_format_and_from_every_tool(tool, format):
    """R152: whatever framework or tool tells it, a result that reports a failure is not struck."""
    for case in _CASES["failure"]:
        if case.get("only", tool) == tool:
            assert _is_kept(_conversation(format, tool, case["text"]), _MASKED, format), case["source"]


@pytest.mark.parametrize("tool", _TOOLS)
@pytest.mark.parametrize("format", FORMATS)
def test_what_only_speaks_of_failures_is_none(format, tool):
    """R152: a result that reports no failure goes as before, in every format and from every tool."""
    for case in _CASES["fine"]:
        assert not _is_kept(_conversation(format, tool, case["text"]), _MASKED, format), case["why"]


@cache
def _signs() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads(files("redline.tools").joinpath("failure_signs.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["start", "end", "last_line"])
def test_every_sign_is_a_pattern_with_a_source(kind):
    """R152: each row names who says it, and no pattern takes the empty text for a failure."""
    for row in _signs()[kind]:
        assert row["source"]
        assert not re.compile(row["pattern"]).match("")


# --- flags


_FLAGS = ({"is_error": True}, {"isError": True}, {"status": "error"}, {"messageStatus": "error"})


@pytest.mark.parametrize("flag", _FLAGS, ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_a_flag_beside_a_result_keeps_it(format, flag):
    """R168: a message that is marked as failed keeps its results, also where they are blocks in a message of the user."""
    messages = _conversation(format, "unknown", "nothing was written")
    messages[2] = {**messages[2], **flag}
    assert _is_kept(messages, _MASKED, format)


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_message_status_of_an_anthropic_message(role):
    """R168: the plain functions keep such a result too, and only the message that is marked."""
    call = {"type": "tool_use", "id": "t1", "name": "terminal-execute", "input": {"command": "make"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": '{"stdout":"a long output of a command","exitCode":0}'}
    messages = [
        {"role": "user", "content": "go", "timestamp": 0},
        {"role": "assistant", "content": [call], "timestamp": 0},
        {"role": "user", "content": [answer], "timestamp": 0},
    ]
    place = 2 if role == "user" else 1
    messages[place] = {**messages[place], "messageStatus": "error"}
    after = redline.simplify_outdated_terminal_results(messages, now=10**7, keep_recent=0)
    assert (after[2] is messages[2]) is (role == "user")


# --- every rule and preset


_LONG = "Traceback (most recent call last):\n" + "  File 'a.py', line 1\n" * 2_000 + "ValueError: x"


@pytest.mark.parametrize(
    "rules",
    [
        ("stale_terminal",),
        ("historical_reads",),
        ("superseded_reads",),
        ("repeated_calls",),
        ("masked_results",),
        ("faded",),
        (LongResults(max_chars=1_000),),
        (OffloadResults(min_chars=1_000),),
        redline.Policy.careful().rules,
        redline.Policy.balanced().rules,
        redline.Policy.bold().rules,
    ],
    ids=str,
)
@pytest.mark.parametrize("format", FORMATS)
def test_no_rule_strikes_a_failure(format, rules):
    """R152: a long failure is seen by the model for ever, under every rule and preset; the failure is from thirty turns ago."""
    writer, messages = find_format(format), []
    for turn in range(30):
        name, arguments = ("Read", {"file_path": "a.py"}) if turn % 2 else ("bash", {"command": "make"})
        text = _LONG if turn < 2 else f"{turn} fine\n" * 300
        parts = (("assistant", ToolCall(f"c{turn}", name, arguments)), ("tool", ToolResult(f"c{turn}", (Text(text),), name)))
        messages += writer.compose("user", (Text(f"go {turn}"),)).payloads
        messages += [
            {**payload, "timestamp": turn} for role, part in parts for payload in writer.compose(role, (part,)).payloads
        ]
    with redline.Conversation(messages, policy=redline.Policy(rules=rules), format=format, blobs=redline.MemoryBlobs()) as chat:
        sent = json.dumps(chat.request(now=10**13).messages)
    assert sent.count("Traceback (most recent") == 2


def test_the_plain_functions_know_the_documents_signs_only():
    """R152: to the letter: a traceback is no sign there; `Error:`, the status and the exit code are."""
    told = {
        "Traceback (most recent call last):\n  File": True,
        "Error: no": False,
        '{"stdout":"","stderr":"x","exitCode":1}': False,
    }
    for text, is_struck in told.items():
        messages = _conversation("openai_chat", "command", text + " " * 40)
        messages = [{**message, "timestamp": 0} for message in messages]
        after = redline.simplify_outdated_terminal_results(messages, now=10**7, keep_recent=0)
        assert (after[2] is not messages[2]) is is_struck
        assert _is_kept(messages, redline.Policy.documents(rules=_MASKED.rules), "openai_chat") is not is_struck


# --- what a user teaches


def _teaching(**settings: Any) -> redline.Policy:
    return redline.Policy(rules=_MASKED.rules, schedule="eager", words=redline.EN, **settings)


@pytest.mark.parametrize("format", FORMATS)
def test_a_policy_is_taught_a_failure(format):
    """R152: `is_error` is asked about each result that shows no sign, and is given the tool and the words."""
    messages = _conversation(format, "unknown", "rolled back to version 12")
    policy = _teaching(is_error=lambda seen: seen.tool == "my_tool" and "rolled back" in seen.text)
    assert _is_kept(messages, policy, format)
    assert not _is_kept(messages, _MASKED, format)
    assert _is_kept(_conversation(format, "unknown", "Error: x"), _teaching(is_error=lambda seen: seen is None), format)


def test_an_editor_is_taught_a_failure():
    """R152: and so is whatever is built on an editor."""
    messages = _conversation("openai_chat", "unknown", "rolled back to version 12")
    kept = redline.Editor(policy=_teaching(is_error=lambda seen: "rolled back" in seen.text)).edit(messages, session="a")
    struck = redline.Editor(policy=_MASKED).edit(messages, session="a")
    assert (len(kept.strikes), len(struck.strikes)) == (0, 1)


def test_a_policy_is_taught_words(tmp_path):
    """R152: also by a file, which is written back with them."""
    file = tmp_path / "redline.toml"
    file.write_text('rules = [{ name = "masked_results", keep_recent = 0 }]\nerror_words = ["ROLLED BACK", "Abbruch"]\n')
    policy = redline.Policy.load(file)
    assert policy.error_words == ("ROLLED BACK", "Abbruch")
    assert _is_kept(_conversation("gemini", "unknown", "  ROLLED BACK to version 12, which is the latest"), policy, "gemini")
    file.write_text(policy.toml())
    assert redline.Policy.load(file) == policy


@pytest.mark.parametrize("wrong", [3, "Error", int, lambda: True, lambda seen, other: seen is other], ids=range(5))
def test_what_cannot_be_asked_is_refused(wrong):
    """R152: where the policy is made, and not in mid-conversation."""
    with pytest.raises(redline.ValidationError, match="is_error must be"):
        redline.Policy(is_error=wrong)


def test_a_coroutine_function_is_refused():
    """R152: it would answer with a promise, which counts as yes."""

    async def is_error(seen: object) -> bool:
        return False

    with pytest.raises(redline.ValidationError, match="coroutine"):
        redline.Policy(is_error=is_error)


@pytest.mark.parametrize("wrong", ["Error", 3, [""], [3], None], ids=str)
def test_words_that_are_none_are_refused(wrong):
    """R152: one text would be taken letter by letter, and an empty one fits every result."""
    with pytest.raises(redline.ValidationError, match="error_words must be"):
        redline.Policy(error_words=wrong)


def test_signs_that_there_are_not_are_refused():
    """R152: a wrong name is found at once."""
    with pytest.raises(redline.ValidationError, match="error_signs must be one of"):
        redline.Policy(error_signs="all")


def test_a_function_that_raises_is_named():
    """R152: with the tool and the message that it was asked about."""
    messages = _conversation("openai_chat", "unknown", "rolled back to version 12")
    policy = _teaching(is_error=lambda seen: seen.nothing)
    with pytest.raises(redline.ValidationError, match="my_tool in message 2"):
        redline.Conversation(messages, policy=policy).request()


def test_a_function_may_ask_what_is_known():
    """R152: asking again within does not go round in circles."""
    messages = _conversation("openai_chat", "unknown", "rolled back to version 12")
    assert not _is_kept(messages, _teaching(is_error=lambda seen: seen.is_error), "openai_chat")


def test_a_function_has_no_place_in_a_file():
    """R152: what cannot be written is said."""
    with pytest.raises(redline.ValidationError, match="Pass it in Python"):
        redline.Policy(is_error=lambda seen: seen.tool is None).toml()
    with pytest.raises(redline.ValidationError, match="error_words"):
        redline.Policy.of_table({"is_error": "x"})


# --- how commands end


@pytest.mark.parametrize("text", ["Error: no", "  \n Error: no"])
def test_the_first_word_tells(text):
    """Of any tool, whatever space comes before it, by the documents too."""
    assert DOCUMENTS_SIGNS.in_result(result(text), "known tool")


def test_the_flag_tells():
    """A result that the format calls an error is one."""
    assert DOCUMENTS_SIGNS.in_result(result("fine", is_error=True), "known tool")


@pytest.mark.parametrize("text", ["An Error: no", "error: no", '{"exitCode":1}', "Exit code: 1"])
def test_the_documents_search_no_other_tools_results(text):
    """To them, a file that speaks of exit codes reports no failure."""
    assert not DOCUMENTS_SIGNS.in_result(result(text), "known tool")


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
    text = json.dumps(value)
    assert command_failed(text) in (True, False)
    assert KNOWN_SIGNS.in_result(result(text), "unknown") in (True, False)


@given(st.text(), st.sampled_from(["command", "known tool", "unknown"]))
def test_what_the_documents_know_is_known(text, origin):
    """More signs never take one away."""
    assert KNOWN_SIGNS.in_result(result(text), origin) >= DOCUMENTS_SIGNS.in_result(result(text), origin)
    assert FailureSigns(words=("zzz",)).in_result(result(f"zzz{text}"), origin)


def test_a_traceback_with_more_after_it_is_read_at_once():
    """However many lines it has, and however deep they are indented: there is one way to read each."""
    frames = '  File "a.py", line 1, in f\n            g()\n' * 30
    assert not KNOWN_SIGNS.in_result(result(f"ok\nTraceback (most recent call last):\n{frames}x.y: no\n\n$"), "command")
