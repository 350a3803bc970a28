"""One agent, the scripted provider and perhaps Redline between them, alone in a network with nothing else; run as a program.

`python -m tests.real_agents.scene PROGRAM FOLDER direct|redline BIN` writes FOLDER/report.json. It must be started where
there is no way out: `unshare -n` with only the loopback device.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from redline.agents import Launch, find_agent
from tests.real_agents.descriptions import REAL_AGENTS, RealAgent
from tests.real_agents.provider import ScriptedProvider, listening

__all__ = ["POLICY", "main", "play"]

_PHASE_SECONDS = 180
POLICY = """
schedule = "eager"
words = "en"
rules = [{name = "stale_terminal", max_age_ms = 1, text_blocks = true}, "historical_reads"]
"""
"""Strikes as early as it may, so that a short session has something to strike; what that does to the cache does not matter."""
_SOURCE = Path(__file__).resolve().parents[2] / "src"


def main(program: str, folder: Path, mode: str, binaries: Path) -> None:
    """Play every phase of one agent, and write down what was asked and what came of it."""
    agent = next(one for one in REAL_AGENTS if one.program == program)
    home, work = folder / "home", folder / "work"
    work.mkdir(parents=True)
    (work / "notes.txt").write_text("The notes begin here.\n")
    for name, text in agent.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    home.mkdir(exist_ok=True)
    phases = []
    with listening(lambda step, tools: agent.spell(step, tools, work)) as provider:
        for name, arguments in agent.phases.items():
            first, began = len(provider.asked), time.monotonic()
            done = play(agent, arguments, folder, mode, binaries, provider)
            result = work / "result.txt"
            phases.append(
                {
                    "name": name,
                    "code": done.returncode,
                    "output": done.stdout[-2000:],
                    "errors": done.stderr[-4000:],
                    "seconds": round(time.monotonic() - began, 1),
                    "result": result.read_text() if result.exists() else None,
                    "asked": [asdict(one) for one in provider.asked[first:]],
                }
            )
    (folder / "report.json").write_text(json.dumps(phases))


def play(
    agent: RealAgent, arguments: tuple[str, ...], folder: Path, mode: str, binaries: Path, provider: ScriptedProvider
) -> subprocess.CompletedProcess[str]:
    """Start the agent once: as Redline's routing says, straight to the provider or through `redline run`."""
    home, work, program = folder / "home", folder / "work", str(binaries / agent.program)
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        **agent.key,
    }
    if mode == "direct":
        route = find_agent(program).route(Launch(arguments, environment, home, work), provider.url)
        for variable, text in route.private_files.items():
            (folder / variable).write_text(text)
            environment[variable] = str(folder / variable)
        command = [program, *route.arguments]
        environment.update(route.environment)
    else:
        upstreams = [word for name in ("anthropic", "openai", "gemini") for word in ("--upstream", f"{name}={provider.url}")]
        policy = folder / "redline.toml"
        policy.write_text(POLICY)
        redline = [sys.executable, "-m", "redline", "run", "--store", str(folder / "store"), "--policy", str(policy)]
        command = [*redline, *upstreams, "--", program, *arguments]
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH") or str(_SOURCE)
    return subprocess.run(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PHASE_SECONDS,
        check=False,
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
