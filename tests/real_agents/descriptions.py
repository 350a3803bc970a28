"""The five agents as the tests run them: what they are given, how they are asked, how their tools are called."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real_agents.task import FOLLOW_UP, INTERRUPTED, LONG, MAIN, RESUMED, Step, prompt

__all__ = ["REAL_AGENTS", "RealAgent"]

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RealAgent:
    """One agent without its user: no terminal, no questions, a made-up key, and nothing that it would tell its makers."""

    program: str
    package: str
    key: Mapping[str, str]
    phases: Mapping[str, tuple[str, ...]]
    """What it is started with, one after the other, in one home: the task, the session resumed, and what else it can do."""
    shell: Callable[[str, set[str]], Call]
    """The call that runs a command, given the names of the tools that were offered."""
    read: Callable[[Path], Call] | None = None
    """The call that reads a file; without one, a command does it."""
    long: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """As `phases`, for the long task: its start, the session that is interrupted, and the session resumed after that."""
    delegate: Callable[[str], Call] | None = None
    """The call that gives a prompt to a sub-agent."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What must be in its home before it starts."""

    def spell(self, step: Step, tools: set[str], folder: Path) -> Call:
        """A step as this agent's model would say it."""
        if step.kind == "read" and self.read:
            return self.read(folder / step.what)
        if step.kind == "tool":
            name, arguments = json.loads(step.what)
            return name, arguments
        if step.kind == "delegate" and self.delegate:
            return self.delegate(prompt(step.what))
        return self.shell(f"cat {step.what}" if step.kind == "read" else step.what, tools)


def _codex_shell(command: str, tools: set[str]) -> Call:
    if "exec_command" in tools:
        return "exec_command", {"cmd": command}
    if "shell_command" in tools:
        return "shell_command", {"command": command}
    return "exec", {"input": f"text(await tools.exec_command({json.dumps({'cmd': command})}))"}


_CLAUDE = ("--allowedTools", "Bash,Read,Task,Agent", "-p")
_CODEX = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
_CODEX_FUNCTIONS = (*_CODEX, "-m", "gpt-5.2")
_GEMINI = ("--yolo", "--skip-trust")
_OPENCODE = ("run", "-m", "anthropic/claude-sonnet-4-5")
_CLINE_PROVIDERS = {
    "version": 1,
    "lastUsedProvider": "openai-native",
    "modes": {},
    "providers": {
        "openai-native": {
            "settings": {"provider": "openai-native", "apiKey": "sk-made-up", "model": "gpt-5.2"},
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "tokenSource": "manual",
        }
    },
}

REAL_AGENTS: tuple[RealAgent, ...] = (
    RealAgent(
        program="claude",
        package="@anthropic-ai/claude-code",
        key={
            "ANTHROPIC_API_KEY": "sk-ant-api03-made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        },
        phases={
            MAIN: (*_CLAUDE, prompt(MAIN)),
            FOLLOW_UP: ("--continue", *_CLAUDE, prompt(FOLLOW_UP)),
            "fork": ("--continue", "--fork-session", *_CLAUDE, prompt("short")),
            "compaction": ("--continue", *_CLAUDE, "/compact"),
            "after-compaction": ("--continue", *_CLAUDE, prompt("short")),
            "delegating": (*_CLAUDE, prompt("delegating")),
        },
        long={
            LONG: (*_CLAUDE, prompt(LONG)),
            INTERRUPTED: ("--continue", *_CLAUDE, prompt(INTERRUPTED)),
            RESUMED: ("--continue", *_CLAUDE, prompt(RESUMED)),
        },
        shell=lambda command, _: ("Bash", {"command": command, "description": "a step"}),
        read=lambda path: ("Read", {"file_path": str(path)}),
        delegate=lambda text: ("Agent", {"description": "a part", "prompt": text, "subagent_type": "general-purpose"}),
    ),
    RealAgent(
        program="codex",
        package="@openai/codex",
        key={"CODEX_API_KEY": "sk-made-up"},
        phases={
            MAIN: (*_CODEX_FUNCTIONS, prompt(MAIN)),
            FOLLOW_UP: (*_CODEX_FUNCTIONS, "resume", "--last", prompt(FOLLOW_UP)),
            "code-mode": (*_CODEX, prompt("code-mode")),
        },
        long={
            LONG: (*_CODEX_FUNCTIONS, prompt(LONG)),
            INTERRUPTED: (*_CODEX_FUNCTIONS, "resume", "--last", prompt(INTERRUPTED)),
            RESUMED: (*_CODEX_FUNCTIONS, "resume", "--last", prompt(RESUMED)),
        },
        shell=_codex_shell,
    ),
    RealAgent(
        program="gemini",
        package="@google/gemini-cli",
        key={"GEMINI_API_KEY": "made-up", "GEMINI_TELEMETRY_ENABLED": "false"},
        phases={
            MAIN: (*_GEMINI, "-p", prompt(MAIN)),
            FOLLOW_UP: (*_GEMINI, "--resume", "latest", "-p", prompt(FOLLOW_UP)),
        },
        long={
            LONG: (*_GEMINI, "-p", prompt(LONG)),
            INTERRUPTED: (*_GEMINI, "--resume", "latest", "-p", prompt(INTERRUPTED)),
            RESUMED: (*_GEMINI, "--resume", "latest", "-p", prompt(RESUMED)),
        },
        shell=lambda command, _: ("run_shell_command", {"command": command}),
        read=lambda path: ("read_file", {"file_path": str(path)}),
        files={
            ".gemini/settings.json": json.dumps(
                {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
            )
        },
    ),
    RealAgent(
        program="opencode",
        package="opencode-ai",
        key={
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        phases={
            MAIN: (*_OPENCODE, prompt(MAIN)),
            FOLLOW_UP: (*_OPENCODE, "--continue", prompt(FOLLOW_UP)),
            "fork": (*_OPENCODE, "--continue", "--fork", prompt("short")),
            "delegating": (*_OPENCODE, prompt("delegating")),
        },
        long={
            LONG: (*_OPENCODE, prompt(LONG)),
            INTERRUPTED: (*_OPENCODE, "--continue", prompt(INTERRUPTED)),
            RESUMED: (*_OPENCODE, "--continue", prompt(RESUMED)),
        },
        shell=lambda command, _: ("bash", {"command": command, "description": "a step"}),
        read=lambda path: ("read", {"filePath": str(path)}),
        delegate=lambda text: ("task", {"description": "a part", "prompt": text, "subagent_type": "general"}),
    ),
    RealAgent(
        program="cline",
        package="cline",
        key={"CLINE_NO_AUTO_UPDATE": "1"},
        phases={MAIN: (prompt(MAIN),)},  # a session is resumed in a terminal only
        long={LONG: (prompt(LONG),), INTERRUPTED: (prompt(INTERRUPTED),)},
        shell=lambda command, _: ("run_commands", {"commands": [command]}),
        read=lambda path: ("read_files", {"files": [{"path": str(path)}]}),
        files={
            ".cline/data/settings/providers.json": json.dumps(_CLINE_PROVIDERS),
            ".cline/data/settings/global-settings.json": json.dumps({"telemetryOptOut": True}),
        },
    ),
)
"""Every agent that is run for real, with current flags."""
