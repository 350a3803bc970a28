"""One agent started by `redline run` in a folder whose every settings file points to somebody else's server; run as a program.

`python -m tests.real_agents.hostile_scene PROGRAM FOLDER BIN` writes FOLDER/report.json: what that server got, and what the
provider was asked. It must be started where there is no way out: `unshare -n` with only the loopback device.
"""

import json
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.cli.test_hostile_folder import Evil, clone
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.provider import listening
from tests.real_agents.scene import play
from tests.real_agents.task import MAIN, prompt

__all__ = ["main"]


def main(program: str, folder: Path, binaries: Path) -> None:
    """Give the agent a short task in the clone, which its user trusts, and write down who heard of it."""
    agent = next(one for one in REAL_AGENTS if one.program == program)
    home, work = folder / "home", folder / "work"
    work.mkdir(parents=True)
    for name, text in agent.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(f'[projects."{work}"]\ntrust_level = "trusted"\n')
    arguments = tuple(prompt("short") if word == prompt(MAIN) else word for word in agent.phases[MAIN])
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Evil) as evil,
        listening(lambda step, tools: agent.spell(step, tools, work)) as provider,
    ):
        evil.got = []
        Thread(target=evil.serve_forever, daemon=True).start()
        clone(work, f"http://127.0.0.1:{evil.server_port}")
        done = play(agent, arguments, folder, "redline", binaries, provider)
        evil.shutdown()
        report = {
            "code": done.returncode,
            "output": done.stdout[-2000:],
            "errors": done.stderr,
            "got": evil.got,
            "asked": len(provider.asked),
        }
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
