"""The table of agents: the readers and menders of their session files, and how they are started through the proxy."""

from functools import cache
from pathlib import PurePath
from typing import NamedTuple

from redline.agents.claude_code.launch import ClaudeCodeAgent
from redline.agents.claude_code.mender import ClaudeCodeMender
from redline.agents.claude_code.reader import ClaudeCode
from redline.agents.cline import Cline, ClineAgent
from redline.agents.codex import Codex, CodexAgent, CodexMender
from redline.agents.copilot_cli import CopilotCli
from redline.agents.gemini_cli.launch import GeminiCliAgent
from redline.agents.gemini_cli.mender import GeminiCliMender
from redline.agents.gemini_cli.reader import GeminiCli
from redline.agents.inspect_ai import InspectAi
from redline.agents.launching import Agent, SdkProgram
from redline.agents.mending import Mender
from redline.agents.neovate import Neovate, NeovateMender
from redline.agents.opencode.database import OpenCodeDatabase
from redline.agents.opencode.export import OpenCode, OpenCodeMender
from redline.agents.opencode.launch import OpenCodeAgent
from redline.agents.openhands import OpenHands
from redline.agents.pi import Pi
from redline.agents.plain import Plain, PlainMender
from redline.agents.swe_agent import MiniSweAgent, SweAgent
from redline.agents.tau_bench import Tau2Bench, TauBench
from redline.agents.transcripts.detect import Reader
from redline.plugins import load_plugins


class KnownAgent(NamedTuple):
    """All that Redline knows of one agent. An agent of another package can be a row like these."""

    readers: tuple[Reader, ...]
    menders: tuple[Mender, ...] = ()
    """The next is asked where the work of the one before cannot be proven."""
    launcher: Agent | None = None


KNOWN_AGENTS = (
    KnownAgent((ClaudeCode(),), (ClaudeCodeMender(), ClaudeCodeMender(relinks_all=True)), ClaudeCodeAgent()),
    KnownAgent((Codex(),), (CodexMender(),), CodexAgent()),
    KnownAgent((GeminiCli(),), (GeminiCliMender(),), GeminiCliAgent()),
    KnownAgent((OpenCode(), OpenCodeDatabase()), (OpenCodeMender(),), OpenCodeAgent()),
    KnownAgent((CopilotCli(),)),
    KnownAgent((Pi(),)),
    KnownAgent((Neovate(),), (NeovateMender(), NeovateMender(relinks_all=True))),
    KnownAgent((OpenHands(),)),
    KnownAgent((Cline(),), launcher=ClineAgent()),
    KnownAgent((MiniSweAgent(),)),
    KnownAgent((SweAgent(),)),
    KnownAgent((Tau2Bench(),)),
    KnownAgent((TauBench(),)),
    KnownAgent((InspectAi(),)),
    KnownAgent((Plain(),), (PlainMender(),)),
)
"""Plain lists of messages come last, because they fit almost anything."""

AGENTS: tuple[Agent, ...] = tuple(agent.launcher for agent in KNOWN_AGENTS if agent.launcher)
"""Every agent that is known by the name of its program."""


@cache
def known_agents() -> tuple[KnownAgent, ...]:
    """`KNOWN_AGENTS`, and before plain lists those that other packages add: entry points `redline.agents` that name a row."""
    taken = {reader.name for agent in KNOWN_AGENTS for reader in agent.readers}
    return (*KNOWN_AGENTS[:-1], *load_plugins("redline.agents", taken).values(), KNOWN_AGENTS[-1])


def agent_of(format: str) -> KnownAgent | None:
    """The agent whose transcripts have a format; None for a log of Redline's, and for an agent that nobody knows."""
    return next((one for one in known_agents() if any(reader.name == format for reader in one.readers)), None)


def find_agent(program: str) -> Agent:
    """The agent that a program is, by the name of its file; a program with an SDK if it is none of them."""
    name = PurePath(program).name
    return next((one.launcher for one in known_agents() if one.launcher and one.launcher.program == name), SdkProgram())
