"""Agents without native tools: what rules, folds and the replay do with observations that are words of the user."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.record.backends.memory import MemoryLog
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.simulated_run import SessionReplay
from redline.sessions.replay.under_policy import SessionSizes, strikes_under
from redline.testing import conversation, conversations, says, turns
from redline.values.messages import ToolResult
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.sessions.replay.recorded import recorded, step
from tests.sessions.replay.sessions import RULE
from tests.text_agents import AGENTS, as_text

PRESETS = ("folded", "careful", "balanced", "bold", "masking")


def run_of(steps: int = 60) -> list[Any]:
    """A run of commands and reads; each file is read twice, each tenth command fails."""
    said = [says("user", "fix the bug")]
    for number in range(steps):
        path = f"src/module_{number % 20}.py"
        name = f"{'abcdefghij'[number % 10] * 3}Loader{number}"
        lines = "\n".join(f"{path}:{line}:{name}_{line} = compute_{number * line}({line})" for line in range(250))
        arguments = {"path": path} if number % 2 else {"command": f"grep -rn {name} src"}
        said += step(number, "read" if number % 2 else "bash", arguments, lines, says=f"Step {number}.")
    return [*said, says("assistant", "done")]


def strikes_of(said: list[Any], policy: redline.Policy) -> int:
    [found] = strikes_under([policy], SessionSizes(recorded(said)), RULE)
    return len(found)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("preset", PRESETS)
def test_presets_strike_about_what_they_strike_where_tools_are_native(preset: Any, agent: str):
    """Within a third; nothing where observations are off."""
    policy, said = redline.Policy.named(preset), run_of()
    native, told = strikes_of(said, policy), strikes_of(as_text(said, agent), policy)
    assert native * 2 / 3 <= told <= native * 4 / 3
    assert native > 0
    off = {**{name: getattr(policy, name) for name in ("rules", "schedule", "words", "strategy")}, "observations": None}
    assert strikes_of(as_text(said, agent), redline.Policy(**off)) == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_the_replay_says_what_was_missed(agent: str):
    """The measures of risk take observations for what may be lost: a word that only a struck one held is a miss."""
    said = [*run_of()[:-1], says("assistant", "So aaaLoader0_7 and cccLoader2_9 were it.")]
    native, told = (SessionReplay(recorded(one)) for one in (said, as_text(said, agent)))
    missed = [one.under(redline.Policy.named("masking"), RULE).risks["strict"].strikes for one in (native, told)]
    assert missed == [2, 2]
    assert set(told.kinds.values()) == {"terminal", "file read"}


def test_only_the_text_that_is_an_observation_is_struck():
    """Other texts of its message, pictures and fields stay as they are."""
    action, long = {"role": "assistant", "content": "```bash\nls\n```"}, "x y\n" * 400
    blocks = [{"type": "text", "text": f"<returncode>0</returncode>\n{long}", "mine": 1}, {"type": "text", "text": "and now b"}]
    messages = [{"role": "user", "content": "go"}]
    for _ in range(12):
        messages += [action, {"role": "user", "content": [dict(block) for block in blocks]}]
    editor = redline.Editor(policy=redline.Policy(rules=["masked_results"], schedule="eager", observations="auto"))
    sent = editor.edit(messages).messages
    assert len(sent) == len(messages)
    [struck, kept] = sent[2]["content"]
    assert (kept, struck["mine"], len(struck["text"]) < 200) == (blocks[1], 1, True)
    assert sent[-1] == messages[-1]
    assert sent[1] == action


MASKED = {"rules": ["masked_results", "repeated_calls", "failed_inputs", "folded"], "schedule": "eager"}


@given(conversations("openai_chat"))
def test_off_is_as_before(payloads: list[Any]):
    """Requests of agents with native calls are the same bytes, with observations on or off."""
    bodies = []
    for observations in (None, "auto"):
        chat = redline.Conversation(policy=redline.Policy(**MASKED, observations=observations))
        for payload in payloads:
            chat.add(payload)
        bodies.append(chat.request(now=1).body)
    assert bodies[0] == bodies[1]


@given(turns(max_steps=12), st.sampled_from(AGENTS), st.sampled_from(["openai_chat", "anthropic"]), st.integers(1, 12))
def test_restart_is_going_on(said: Any, agent: str, format: str, every: int):
    """Also after a fork; requests stay legal, the first message and failures are sent as they were said."""
    policy = redline.Policy(**MASKED, observations="auto")
    payloads = conversation(format, [*as_text(said, agent), *as_text(run_of(14), agent)[1:]])
    log = MemoryLog()
    chat, forked = (redline.Conversation(log=one, policy=policy, format=format) for one in (MemoryLog(), log))
    for number, payload in enumerate(payloads):
        chat.add(payload)
        forked.add(payload)
        if number % every == 0:
            assert chat.request(now=number).body == forked.request(now=number).body
            forked = redline.Conversation(log=log, policy=policy, format=format)
    request = chat.request(now=10_000)
    assert request.body == forked.request(now=10_000).body == chat.fork().request(now=10_000).body
    assert redline.check(request.messages, format=format) == []
    assert any(strike.rule == "masked_results" for strike in request.strikes)
    first = next(number for number, payload in enumerate(payloads) if payload["role"] == "user")
    assert request.messages[first] == payloads[first]


def test_a_rewind_is_fine():
    """What was struck before comes back with the view; after it, the run goes on."""
    chat = redline.Conversation(policy=redline.Policy(rules=["masked_results"], schedule="eager", observations="auto"))
    payloads = conversation("openai_chat", as_text(run_of(30), "react"))
    for payload in payloads:
        chat.add(payload)
    assert len(chat.request(now=1).strikes) == 20
    chat.rewind(20)
    fewer = chat.request(now=2)
    for payload in payloads[len(fewer.messages) :]:
        chat.add(payload)
    assert len(chat.request(now=3).messages) == len(payloads)
    assert len(chat.request(now=4).strikes) >= 18


@needs_corpus
@pytest.mark.parametrize("agent", ["mini-swe-agent", "swe-agent"])
def test_recorded_runs_are_folded_and_struck(agent: str):
    """Of the runs with observations as text in the corpus; the policy `bold` finds something in each long one."""
    for row in corpus_rows(agent):
        for history in histories_in(redline.read_transcript(corpus_path(row))):
            session = SessionReplay(history)
            count = sum(isinstance(one.part, ToolResult) for found in session.seen for one in found)
            if count >= 30:
                assert session.under(redline.Policy.bold(), RULE).strikes
