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

FACTOR = 15
"""So many times what was sent is reported as sent, so that a short task fills the window."""
WINDOW = {"ANTHROPIC_MODEL": "claude-haiku-4-5", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
"""Claude Code 2.1.197 compacts ahead of a refusal only where somebody said how large its window is."""
COMPACTING = [agent for agent in REAL_AGENTS if agent.program == "claude"]


@pytest.fixture(scope="module", params=COMPACTING, ids=lambda agent: agent.program)
def scenes(request, tmp_path_factory):
    """What the agent did straight, through Redline, and through Redline that reports what would have been sent."""
    agent, played = request.param, {}
    install(agent)
    for name, mode, reports in (("direct", "direct", ""), ("sent", "redline", "sent"), ("unstruck", "redline", "unstruck")):
        told = {"SCRIPTED_USAGE_FACTOR": str(FACTOR), **WINDOW, **({"REDLINE_REPORT_USAGE": reports} if reports else {})}
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in told.items():
                patch.setenv(variable, value)
            played[name] = play_scene(agent, mode, tmp_path_factory)
    return agent, played


def compaction_at(phase):
    """The number of the request that asked for a summary; None if there was none."""
    return next(
        (n for n, asked in enumerate(phase["asked"]) if "create a detailed summary of" in json.dumps(asked["body"])), None
    )


def test_it_compacts_and_goes_on(scenes):
    """The task ends as it does straight; no request is refused."""
    _, played = scenes
    for name, (phases, _) in played.items():
        assert phases[MAIN]["code"] == 0, f"{name}: {phases[MAIN]['errors']}"
        assert [asked["complaint"] for asked in phases[MAIN]["asked"] if asked["status"] == 400] == [], name
    assert compaction_at(played["direct"][0][MAIN]) is not None


def test_unstruck_usage_makes_it_compact_as_without_redline(scenes):
    """By what was sent it compacts later, or not at all; by what would have been sent no later than straight."""
    _, played = scenes
    at = {name: compaction_at(phases[MAIN]) for name, (phases, _) in played.items()}
    assert at["sent"] is None or at["sent"] >= at["direct"]
    assert at["unstruck"] is not None
    assert abs(at["unstruck"] - at["direct"]) <= 2


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
