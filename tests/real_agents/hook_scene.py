"""Claude Code and the scripted provider, with Redline's hook and no proxy, alone in a network; run as a program.

`python -m tests.real_agents.hook_scene FOLDER direct|hooked|run|broken|slow BIN` writes FOLDER/report.json. `hooked` installs
the hook before the task and takes it out after it, `run` starts the agent through `redline run --hooks`, `broken` installs a
hook whose Python is gone, `slow` a hook that takes longer than it may.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.provider import listening
from tests.real_agents.scene import SOURCE, finished
from tests.real_agents.task import HOOKED, PROJECT, prompt

_STOP = '[ {"hooks": [{"type": "command", "command": "true"}]} ]'
SETTINGS = f'{{"permissions": {{"deny": ["WebFetch"]}},\n\t"hooks": {{"Stop": {_STOP}}}}}\n'
"""What the user had; laid out as no program would write it."""
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    lines = "".join(f"src/part_{number}.c:{number}:int total_of_part;\\n" for number in range(40))
    answers = {
        "initialize": lambda told: {"protocolVersion": told["protocolVersion"], "capabilities": {"tools": {}},
                                    "serverInfo": {"name": "code", "version": "1"}},
        "tools/list": lambda told: {"tools": [{"name": "find", "description": "-", "inputSchema": {"type": "object"}}]},
        "tools/call": lambda told: {"content": [{"type": "text", "text": lines}]},
    }
    if "id" in asked:
        result = answers.get(asked["method"], lambda told: {})(asked.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
_ALLOWED = "Bash,Grep,Glob,mcp__code__find"
"""Not Read: only the working directory may be read without a question, and what a hook was given."""


def main(folder: Path, mode: str, binaries: Path) -> None:
    """Play the task once, and write down what was asked, and the settings before, during and after it."""
    agent = REAL_AGENTS[0]
    home, work = folder / "home", folder / "work"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    for name, text in PROJECT.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
        **agent.key,
    }

    def redline(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "redline", *words], env=environment, cwd=work, check=True)

    def spell(step, tools):
        name, arguments = agent.spell(step, tools, work)
        if arguments.get("file_path") == "WHOLE":
            arguments["file_path"] = str(next(iter(sorted((home / ".redline" / "hooks").glob("*.txt"))), work / "Makefile"))
        return name, arguments

    if mode in ("hooked", "broken", "slow"):
        redline("hook", "install", "claude-code", "--yes")
    if mode == "broken":
        settings.write_text(settings.read_text().replace(sys.executable, "/nowhere/python"))
    if mode == "slow":
        slow = settings.read_text().replace(sys.executable, f"sleep 20; {sys.executable}")
        settings.write_text(slow.replace('"timeout": 10', '"timeout": 1'))
    during = settings.read_text()
    (folder / "server.py").write_text(SERVER)
    servers = {"mcpServers": {"code": {"command": sys.executable, "args": [str(folder / "server.py")]}}}
    with listening(spell) as provider:
        command = [
            str(binaries / "claude"),
            "--mcp-config",
            json.dumps(servers),
            "--allowedTools",
            _ALLOWED,
            "-p",
            prompt(HOOKED),
        ]
        if mode == "run":
            options = ["--hooks", "--dry-run", "--upstream", f"anthropic={provider.url}"]
            command = [sys.executable, "-m", "redline", "run", *options, "--", *command]
        else:
            environment["ANTHROPIC_BASE_URL"] = provider.url
        done = finished(command, environment, work)
    if mode == "hooked":
        redline("hook", "uninstall", "claude-code", "--yes")
    report = {
        "code": done.returncode,
        "output": done.stdout,
        "errors": done.stderr,
        "result": (work / "result.txt").read_text(),
        "during": during,
        "after": settings.read_text(),
        "asked": [asdict(one) for one in provider.asked if one.script],
    }
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
