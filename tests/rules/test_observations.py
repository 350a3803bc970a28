"""Texts of the user that answer what an agent without native tools did."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.providers import FORMATS
from redline.rules.facts import Facts, Seen
from redline.rules.observations import AUTO_OBSERVATIONS, NO_OBSERVATIONS, Observations, make_observations
from redline.testing import conversation, conversations, says, turns
from redline.tools import Reads, Runs
from redline.values.messages import Text, ToolCall, ToolResult
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.text_agents import AGENTS, as_text

MINI = (
    says("assistant", "THOUGHT: look.\n\n```bash\ncat a.py\n```"),
    says("user", "<returncode>0</returncode>\n<output>\nx\n</output>"),
)
PROMPT = "(Open file: n/a)\n(Current directory: /a)\nbash-$"
CALLED = ("assistant", (Text("```bash\nls\n```"), ToolCall("c", "bash", {}))), ("tool", (ToolResult("c", (Text("y"),)),))
TASK = says("user", "fix the bug")


def seen_in(payloads: list[Any], observations: Observations = AUTO_OBSERVATIONS, format: str = "openai_chat") -> list[Seen]:
    facts, messages = Facts(observations=observations), [FORMATS[format].read(payload) for payload in payloads]
    return [seen for index, message in enumerate(messages) for seen in facts.add(index, message)]


def observed(*said: Any, observations: Observations = AUTO_OBSERVATIONS) -> list[Seen]:
    """What is taken for results."""
    found = seen_in(conversation("openai_chat", list(said)), observations)
    return [one for one in found if isinstance(one.part, ToolResult)]


def test_an_observation_is_the_result_of_the_command_before_it():
    """Rules see a result at the place of the text, and the call that the text before it asked for."""
    [seen] = observed(TASK, *MINI)
    assert (seen.tool, seen.actions, seen.is_error, seen.index) == ("bash", (Runs("cat a.py"), Reads("a.py")), False, 2)
    assert seen.part.at == seen.message.parts[0].at


@pytest.mark.parametrize(
    ("action", "answer", "tool", "arguments"),
    [
        ("```\nls -a\n```", "x\n(Open file: n/a)\n(Current directory: /a)\nbash-$", "ls", {"command": "ls -a"}),
        ("```\nopen a.py\n```", "x\n\n(Open file: /a.py)\n(Current directory: /a)\nbash-$", "open", {"command": "open a.py"}),
        ('Thought: y\nAction: read_file\nAction Input: {"path": "a"}', "Observation: x", "read_file", {"path": "a"}),
        ("Action 1: search[words]", "Observation 1: x", "search", None),
        ('Action:\n```json\n{"action": "Bash", "action_input": "ls"}\n```', "Observation: x", "Bash", {"command": "ls"}),
        ("Action: ls -la /tmp", "Observation: x", "bash", {"command": "ls -la /tmp"}),
        ("I run <execute_bash>\nls\n</execute_bash>", "OBSERVATION:\nx", "bash", {"command": "ls"}),
        ("<execute_ipython>1 + 1</execute_ipython>", "OBSERVATION:\n2", "execute_ipython_cell", {"code": "1 + 1"}),
        (
            "<function=str_replace_editor>\n<parameter=command>view</parameter>\n<parameter=path>/a</parameter>\n</function>",
            "EXECUTION RESULT of [str_replace_editor]:\nx",
            "str_replace_editor",
            {"command": "view", "path": "/a"},
        ),
    ],
)
def test_known_agents_are_known(action: str, answer: str, tool: str, arguments: dict[str, Any] | None):
    """SWE-agent, ReAct, and OpenHands by tags and by functions."""
    [seen] = observed(TASK, says("assistant", action), says("user", answer))
    assert seen.tool == tool
    assert seen.call is not None
    assert arguments is None or seen.call.arguments == arguments


@pytest.mark.parametrize(
    "said",
    [
        (MINI[1],),
        (TASK, MINI[1]),
        (TASK, says("assistant", "done"), MINI[1]),
        (MINI[0], MINI[1]),
        (TASK, MINI[0], says("user", "no, wait")),
        (TASK, MINI[0], says("user", "Observation: it still crashes")),
        (TASK, MINI[0], TASK, MINI[1]),
        (
            TASK,
            ("assistant", (Text("```bash\nls\n```"), ToolCall("c", "bash", {}))),
            ("tool", (ToolResult("c", (Text("y"),)),)),
            MINI[1],
        ),
    ],
)
def test_what_a_person_typed_is_none(said: tuple[Any, ...]):
    """Not the first message, nothing that does not follow an action, no other words, nothing of an agent with calls."""
    assert [one.index for one in observed(*said) if one.message.role == "user"] == []


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("```bash\nls\n```", "<returncode>1</returncode>\n<output>\nno\n</output>"),
        ("Action: bash\nAction Input: ls", "Observation: Error: no such file"),
        (
            "```\nls\n```",
            f"Traceback (most recent call last):\n  x\nKeyError: 1\n{PROMPT}",
        ),
        ("<function=bash>\n<parameter=command>x</parameter></function>", "EXECUTION RESULT of [bash]:\nError: no"),
    ],
)
def test_failures_are_known_inside_of_what_agents_put_around_them(action: str, answer: str):
    """So that they stay, as they do where they are results."""
    [seen] = observed(TASK, says("assistant", action), says("user", answer))
    assert seen.is_error


def test_a_pattern_of_your_own():
    """It is taken at its word, whatever the action before it looks like; the end of a text counts, too."""
    for pattern, answer in (("^RESULT>", "RESULT> x"), (r"END OF RESULT\Z", "x" * 5000 + "END OF RESULT")):
        [seen] = observed(TASK, says("assistant", "look(a)"), says("user", answer), observations=make_observations([pattern]))
        assert (seen.tool, seen.text) == (None, answer)
    assert observed(TASK, *MINI, observations=make_observations("^RESULT>")) == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (7, "must be"),
        (["^a", 7], "must be a text"),
        ("", "must be a text"),
        ("(", "is no regular expression"),
        ("(a|b)*c", "may take long"),
        ("(?:a+)+c", "may take long"),
        (".*.*x", "may take long"),
        ("x" * 501, "may take long"),
        (".*", "fits every text"),
        (["auto", "off"], "off"),
    ],
)
def test_patterns_are_checked_at_the_door(given: object, why: str):
    """Wrong ones are refused where the policy is made, with what to write in their place."""
    with pytest.raises(redline.ValidationError, match=why):
        redline.Policy(observations=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["auto", "^Result:", ["auto", "^Result:"], None])
def test_a_policy_prints_and_loads_it(given: Any, tmp_path):
    """As text in `redline.toml`; a file may switch off what its preset has on."""
    file, policy = tmp_path / "redline.toml", redline.Policy(observations=given)
    file.write_text(policy.toml())
    assert redline.Policy.load(file) == policy
    file.write_text('preset = "careful"\nobservations = "off"\n')
    assert redline.Policy.load(file).observations is None
    assert redline.Policy.documents().observations is None
    assert redline.Policy().observations is None
    assert redline.Policy.careful().observations == "auto"


@given(conversations("anthropic"))
def test_off_nothing_changes(payloads: list[Any]):
    """What rules see is what was there, and agents with calls have no observations."""
    plain = [(one.part, one.asked and one.asked.part) for one in seen_in(payloads, NO_OBSERVATIONS, "anthropic")]
    assert plain == [(one.part, one.asked and one.asked.part) for one in seen_in(payloads, AUTO_OBSERVATIONS, "anthropic")]


@given(turns(), st.sampled_from(AGENTS), st.integers(0, 3))
def test_only_what_answers_an_action_is_an_observation(said: Any, agent: str, skipped: int):
    """Never the first message of the user, never one without an assistant's right before it."""
    told = as_text(said, agent)[skipped:]
    found = seen_in(conversation("openai_chat", told))
    first = next((index for index, (role, _) in enumerate(told) if role == "user"), None)
    for one in found:
        if isinstance(one.part, ToolResult):
            assert one.index != first
            assert told[one.index - 1][0] == "assistant"
            assert one.asked is None or one.asked.index == one.index - 1


@needs_corpus
def test_nobody_who_typed_is_taken_for_a_tool():
    """In the recorded sessions of agents with calls of their own, no message is an observation."""
    for agent in ("opencode", "pi", "copilot-cli", "cline-sdk", "gemini-cli", "claude-code"):
        for row in corpus_rows(agent):
            if row["bytes"] > 1_000_000:
                continue
            for recorded in redline.read_transcript(corpus_path(row)):
                facts = Facts(observations=AUTO_OBSERVATIONS)
                for index, message in enumerate(recorded.messages):
                    native = [isinstance(part, ToolResult) for part in message.parts]
                    assert [isinstance(one.part, ToolResult) for one in facts.add(index, message)] == native
