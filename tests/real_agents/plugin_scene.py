"""opencode, pi or Copilot CLI and the scripted provider, with Redline's hook and no proxy, alone in a network: a program.

`python -m tests.real_agents.plugin_scene AGENT FOLDER direct|hooked|run|broken BIN` writes a report.json. `hooked` installs
the hook before the task and takes it out after it, `run` starts the agent through `redline run --hooks`, `broken` installs a
hook whose Python is gone.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.real_agents.hook_scene import SERVER
from tests.real_agents.provider import listening
from tests.real_agents.scene import SOURCE, finished
from tests.real_agents.task import HOOKED_BY_PLUGIN, PROJECT, Step, prompt

_PROMPT = prompt(HOOKED_BY_PLUGIN)


@dataclass(frozen=True, slots=True)
class PluggedAgent:
    """An agent without a terminal. `PROVIDER` and `HOME` in its words, variables and files are put in when it starts."""

    name: str
    """As `redline hook install` takes it."""
    package: str
    words: tuple[str, ...]
    variables: Mapping[str, str]
    shell: Callable[[str], dict[str, Any]]
    read: tuple[str, str]
    """The tool that reads a file, and its argument with the path."""
    files: Mapping[str, str] = field(default_factory=dict)
    fetched: tuple[str, str] | None = None
    """A folder of its home into which it would fetch a package from npm, and wait for that; it is put there before."""
    has_search: bool = True
    has_mcp: bool = False
    has_run: bool = True

    def spell(self, step: Step, whole: Path, work: Path) -> tuple[str, dict[str, Any]]:
        """A step as this agent's model would say it; a search or MCP call that it has no tool for is a command."""
        if step.kind == "read":
            return self.read[0], {self.read[1]: str(whole if step.what == "WHOLE" else work / step.what)}
        if step.kind == "tool":
            name, arguments = json.loads(step.what)
            if self.has_mcp if name == "code_find" else self.has_search:
                return name, arguments
            return "bash", self.shell("grep -rn total_of_part src/ | sort")
        return "bash", self.shell(step.what)


_OPENCODE = {
    "provider": {"anthropic": {"options": {"baseURL": "PROVIDER/v1"}}},
    "mcp": {"code": {"type": "local", "command": [sys.executable, "HOME/server.py"]}},
}
PLUGGED_AGENTS = (
    PluggedAgent(
        name="opencode",
        package="opencode-ai",
        words=("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", _PROMPT),
        variables={
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE),
        },
        shell=lambda command: {"command": command, "description": "a step"},
        read=("read", "filePath"),
        fetched=(".config/opencode", "@opencode-ai/plugin"),
        has_search=False,  # it would fetch ripgrep
        has_mcp=True,
    ),
    PluggedAgent(
        name="pi",
        package="@mariozechner/pi-coding-agent",
        words=("pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", _PROMPT),
        variables={"ANTHROPIC_API_KEY": "sk-ant-made-up", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        shell=lambda command: {"command": command},
        read=("read", "path"),
        files={".pi/agent/models.json": json.dumps({"providers": {"anthropic": {"baseUrl": "PROVIDER"}}})},
        has_search=False,
    ),
    PluggedAgent(
        name="copilot",
        package="@github/copilot",
        words=("copilot", "--allow-all-tools", "--add-dir", "HOME/.redline/hooks", "-p", _PROMPT),
        variables={
            "COPILOT_PROVIDER_BASE_URL": "PROVIDER/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "sk-made-up",
            "COPILOT_MODEL": "gpt-5.2",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
        shell=lambda command: {"command": command, "description": "a step", "initial_wait": 60},
        read=("view", "path"),
        has_run=False,
    ),
)


def main(name: str, folder: Path, mode: str, binaries: Path) -> None:
    """Play the task once, and write down what was asked, and which files of the home the hook was in."""
    agent = next(one for one in PLUGGED_AGENTS if one.name == name)
    home, work = folder / "home", folder / "work"
    prepare(agent, home, work, binaries)
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
    }

    def redline(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "redline", *words], env=environment, cwd=work, check=True)

    def spell(step: Step, _: set[str]) -> tuple[str, dict[str, Any]]:
        kept = sorted((home / ".redline" / "hooks").glob("*.txt"))
        return agent.spell(step, kept[0] if kept else work / "Makefile", work)

    if mode in ("hooked", "broken"):
        redline("hook", "install", name, "--yes")
    installed = hook_files(home)
    for path in installed if mode == "broken" else ():
        (home / path).write_text((home / path).read_text().replace(sys.executable, "/nowhere/python"))
    with listening(spell) as provider:

        def filled(text: str) -> str:
            return text.replace("PROVIDER", provider.url).replace("HOME", str(home))

        for file, text in agent.files.items():
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            (home / file).write_text(filled(text))
        command = [filled(word) for word in agent.words]
        if mode == "run":
            options = ["--hooks", "--dry-run", "--upstream", f"anthropic={provider.url}"]
            command = [sys.executable, "-m", "redline", "run", *options, "--", *command]
        variables = {key: filled(value) for key, value in agent.variables.items()}
        done = finished(command, {**environment, **variables}, work)
    if mode == "hooked":
        redline("hook", "uninstall", name, "--yes")
    report = {
        "code": done.returncode,
        "output": done.stdout,
        "errors": done.stderr,
        "result": (work / "result.txt").read_text() if (work / "result.txt").exists() else None,
        "installed": installed,
        "left": hook_files(home),
        "asked": [asdict(one) for one in provider.asked if one.script],
    }
    (folder / "report.json").write_text(json.dumps(report))


def prepare(agent: PluggedAgent, home: Path, work: Path, binaries: Path) -> None:
    """The project, and a home with what the agent would fetch."""
    (home / ".redline" / "hooks").mkdir(parents=True)
    (home / "server.py").write_text(SERVER)
    for file, text in PROJECT.items():
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text(text)
    if agent.fetched:
        place = home / agent.fetched[0]
        place.mkdir(parents=True)
        for one in (binaries.parents[2] / f"{agent.name}-fetched").iterdir():
            (place / one.name).symlink_to(one)


def hook_files(home: Path) -> list[str]:
    """The files of a home that Redline's hook is in."""
    return sorted(str(path.relative_to(home)) for path in home.rglob("redline.js*") if path.is_file())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
