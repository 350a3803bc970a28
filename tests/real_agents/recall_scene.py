"""One agent behind `redline run`, told to fetch what was struck, alone in a network with nothing else; run as a program.

`python -m tests.real_agents.recall_scene PROGRAM FOLDER file|tool BIN` writes FOLDER/report.json.
"""

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path

from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.provider import listening
from tests.real_agents.scene import SOURCE, finished
from tests.real_agents.task import MAIN, RECALLING, prompt

_STRIKING = 'schedule = "eager"\nwords = "en"\nstrategy = "answer"\nrules = [{name = "masked_results", keep_recent = 1}]\n'
_FILE = re.compile(r"all of it: ([^\]\"\\]+\.txt)")
_REFERENCE = re.compile(r'redline_recall\(reference=\\*"(#[\d.]+)')


def main(program: str, folder: Path, mode: str, binaries: Path) -> None:
    """Play the task once, and write down what was asked."""
    agent = next(one for one in REAL_AGENTS if one.program == program)
    home, work = folder / "home", folder / "work"
    work.mkdir(parents=True)
    for name, text in agent.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    home.mkdir(exist_ok=True)
    (folder / "redline.toml").write_text(_STRIKING)
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
        **agent.key,
    }

    def spell(step, tools):
        """A call of the tool for what the first placeholder names; in the other mode a read of its file, or a command."""
        if step.kind != "tool":
            return agent.spell(step, tools, work)
        _, arguments = json.loads(step.what)
        body = json.dumps(next(one.body for one in reversed(provider.asked) if one.script), ensure_ascii=False)
        if mode == "tool":
            return "redline_recall", {"reference": _REFERENCE.search(body)[1]}
        path = _FILE.search(body)[1]
        if "by" in arguments or agent.read is None:
            return agent.shell(f"cat {path}", tools)
        return agent.read(Path(path))

    with listening(spell) as provider:
        upstreams = [word for name in ("anthropic", "openai", "gemini") for word in ("--upstream", f"{name}={provider.url}")]
        options = ["--store", str(folder / "store"), "--policy", str(folder / "redline.toml"), "--recall", mode]
        words = [prompt(RECALLING) if word == prompt(MAIN) else word for word in agent.phases[MAIN]]
        command = [sys.executable, "-m", "redline", "run", *options, *upstreams, "--", str(binaries / program), *words]
        done = finished(command, environment, work)
    result = work / "result.txt"
    report = {
        "code": done.returncode,
        "output": done.stdout[-2000:],
        "errors": done.stderr[-4000:],
        "result": result.read_text() if result.exists() else None,
        "asked": [asdict(one) for one in provider.asked if one.script],
    }
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
