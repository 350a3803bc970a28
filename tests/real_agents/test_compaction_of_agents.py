"""Agents that run to their own compaction, without Redline and with it: they compact, go on, and leave no broken file."""

import json
import shutil

import pytest

import redline
from redline.agents.registry import find_agent
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.task import MAIN
from tests.real_agents.test_real_agents import CACHE, install, play_scene

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")

SCENES = {"direct": ("direct", 15), "later": ("redline", 15), "redline": ("redline", 60)}
"""How each is played, and how many times what was sent is reported as sent, so that a short task fills the window. Through
Redline less is sent: by the same factor it is not filled."""
WINDOW = {"ANTHROPIC_MODEL": "claude-haiku-4-5", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
"""Claude Code 2.1.197 compacts ahead of a refusal only where somebody said how large its window is."""
COMPACTING = [agent for agent in REAL_AGENTS if agent.program == "claude"]


@pytest.fixture(scope="module", params=COMPACTING, ids=lambda agent: agent.program)
def scenes(request, tmp_path_factory):
    """What the agent did straight and through Redline."""
    agent, played = request.param, {}
    install(agent)
    for name, (mode, factor) in SCENES.items():
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in {**WINDOW, "SCRIPTED_USAGE_FACTOR": str(factor)}.items():
                patch.setenv(variable, value)
            played[name] = play_scene(agent, mode, tmp_path_factory)
    return agent, played


def compaction_at(phase):
    """The number of the request that asked for a summary; None if there was none."""
    return next(
        (n for n, asked in enumerate(phase["asked"]) if "create a detailed summary of" in json.dumps(asked["body"])), None
    )


def test_it_compacts_and_goes_on(scenes):
    """The task ends as it does straight; no request is refused; by what was sent it compacts later, or not at all."""
    _, played = scenes
    at = {}
    for name, (phases, _) in played.items():
        assert phases[MAIN]["code"] == 0, f"{name}: {phases[MAIN]['errors']}"
        assert phases[MAIN]["result"] == "17\n", name
        assert [asked["complaint"] for asked in phases[MAIN]["asked"] if asked["status"] == 400] == [], name
        at[name] = compaction_at(phases[MAIN])
    assert at["direct"] is not None
    assert at["redline"] is not None
    assert at["later"] is None or at["later"] > at["direct"]


def test_the_files_that_it_leaves_are_whole(scenes):
    """`redline check` finds nothing in them."""
    agent, played = scenes
    assert shutil.which("npm"), "the agents come from npm"
    for name, (_, home) in played.items():
        files = [*home.rglob("projects/**/*.jsonl")]
        assert files, name
        for file in files:
            for window in (one.windows[-1] for one in redline.read_transcript(file) if one.windows):
                messages = [entry.message.native for entry in window]
                assert not redline.mend_transcript(file).fixes, (name, file, len(messages))
    assert find_agent(agent.program)
