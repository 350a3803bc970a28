"""The agents that Redline can send through a proxy, one file each.

To add one, copy the nearest (`codex` is short): a file with a class that says how it is started and where it was sent before, a
line in `AGENTS`, a file tests/agents/test_NAME.py, and a row in docs/use-with-your-agent.md.
"""

from pathlib import PurePath

from redline.agents.agent import Agent, BaseUrl, Launch, Route
from redline.agents.claude_code import ClaudeCodeAgent
from redline.agents.cline import ClineAgent
from redline.agents.codex import CodexAgent
from redline.agents.gemini_cli import GeminiCliAgent
from redline.agents.opencode import OpenCodeAgent
from redline.agents.sdk import SdkProgram

__all__ = ["AGENTS", "Agent", "BaseUrl", "Launch", "Route", "find_agent"]

AGENTS: tuple[Agent, ...] = (ClaudeCodeAgent(), CodexAgent(), GeminiCliAgent(), OpenCodeAgent(), ClineAgent())
"""Every agent that is known by name."""


def find_agent(program: str) -> Agent:
    """The agent that a program is, by the name of its file; a program with an SDK if it is none of them."""
    name = PurePath(program).name
    return next((agent for agent in AGENTS if agent.program == name), SdkProgram())
