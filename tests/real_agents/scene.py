"""One agent, the scripted provider and perhaps Redline between them, alone in a network with nothing else; run as a program.

`python -m tests.real_agents.scene PROGRAM FOLDER direct|redline|default|eager|folded BIN` writes FOLDER/report.json. It must be
started where there is no way out: `unshare -n` with only the loopback device. `default` and `eager` play the long task through
`redline run`, with the policy that comes with it and with one that strikes as early as it may; `folded` plays the task on a
small project, with the policy that comes with it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from redline.agents.launching import Launch
from redline.agents.registry import find_agent
from tests.real_agents.descriptions import REAL_AGENTS, RealAgent
from tests.real_agents.provider import ScriptedProvider, listening
from tests.real_agents.task import FILES, FOLDING, MAIN, PROJECT, STARTED, prompt

__all__ = ["FOLDED", "POLICY", "SOURCE", "finished", "main", "phases_of", "play"]

FOLDED = "folded"
_PHASE_SECONDS = 180
_PASSED_ON = ("REDLINE_REPORT_USAGE", "ANTHROPIC_MODEL", "CLAUDE_CODE_AUTO_COMPACT_WINDOW")
"""What the test of a scene says to the agent, or to Redline."""
POLICY = """
schedule = "eager"
words = "en"
rules = [{name = "stale_terminal", max_age_ms = 1, text_blocks = true}, "historical_reads"]
"""
"""Strikes as early as it may, so that a short session has something to strike; what that does to the cache does not matter."""
_EAGER = """
schedule = "eager"
words = "en"
rules = [{name = "stale_terminal", max_age_ms = 1, text_blocks = true, keep_recent = 3}, "repeated_calls",
         {name = "historical_reads", keep_recent = 1}, {name = "masked_results", keep_recent = 4}]
"""
"""For the long task: of the files, too, nothing is left but placeholders."""
SOURCE = Path(__file__).resolve().parents[2] / "src"


def main(program: str, folder: Path, mode: str, binaries: Path) -> None:
    """Play every phase of one agent, and write down what was asked and what came of it."""
    agent = next(one for one in REAL_AGENTS if one.program == program)
    home, work = folder / "home", folder / "work"
    work.mkdir(parents=True)
    for name, text in (PROJECT if mode == FOLDED else {"notes.txt": "The notes begin here.\n", **FILES}).items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    for name, text in agent.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    home.mkdir(exist_ok=True)
    phases = []
    with listening(lambda step, tools: agent.spell(step, tools, work)) as provider:
        for name, arguments in phases_of(agent, mode).items():
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


def phases_of(agent: RealAgent, mode: str) -> Mapping[str, tuple[str, ...]]:
    """What an agent is started with, one after the other."""
    if mode == FOLDED:
        return {FOLDING: tuple(prompt(FOLDING) if word == prompt(MAIN) else word for word in agent.phases[MAIN])}
    return agent.phases if mode in ("direct", "redline") else agent.long


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
        **{name: value for name, value in os.environ.items() if name in _PASSED_ON},
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
        redline = [sys.executable, "-m", "redline", "run", "--store", str(folder / "store")]
        if mode not in ("default", FOLDED):
            policy = folder / "redline.toml"
            policy.write_text(POLICY if mode == "redline" else _EAGER)
            redline += ["--policy", str(policy)]
        command = [*redline, *upstreams, "--", program, *arguments]
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH") or str(SOURCE)
    return finished(command, environment, work)


def finished(command: list[str], environment: dict[str, str], work: Path) -> subprocess.CompletedProcess[str]:
    """What a command said until its end. The agent is killed once a command of its has written that it runs."""
    started = work / STARTED
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        end = time.monotonic() + _PHASE_SECONDS
        while process.poll() is None:
            if started.exists():
                started.unlink()
                _kill_agent(process.pid)
            if time.monotonic() > end:
                os.killpg(process.pid, signal.SIGKILL)
                raise TimeoutError(f"{command} took more than {_PHASE_SECONDS} s")
            time.sleep(0.05)
        said = [stream.seek(0) or stream.read().decode(errors="replace") for stream in (output, errors)]
    return subprocess.CompletedProcess(command, process.returncode, *said)


def _kill_agent(first: int) -> None:
    """Kill a process and all that it started, but not Redline, which runs on Python: it is to see that the agent has gone."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = stat.read_text().partition(" ")
            children.setdefault(int(rest.rpartition(")")[2].split()[1]), []).append(int(number))
    found = [first]
    for one in found:
        found += children.get(one, [])
    for one in found:
        with contextlib.suppress(OSError):
            if not Path(f"/proc/{one}/exe").resolve().name.startswith("python"):
                os.kill(one, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
