"""What `redline hook run` takes beyond the start of Python: `python -m bench.hook`."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROUNDS = 15
_MATCHES = "".join(f"src/part_{number}.c:{line}:int total_of_part_{number};\n" for number in range(8) for line in range(4))
_PASSED = "".join(f"test_a.py::test_part_{number} PASSED\n" for number in range(90)) + "===== 90 passed in 0.1s =====\n"
_WORDS = "".join(f"{number * 7919 % 1000:03} {'abcdefghij'[number % 10] * (number % 7 + 1)} of it\n" for number in range(60))
_OUTPUTS = {
    "too short to fold": ("ls", "a.txt"),
    "nothing to fold": ("./words", _WORDS),
    "a search": ("grep -rn total src", _MATCHES),
    "passed tests, whole kept": ("pytest -v", _PASSED),
}


def main() -> None:
    """Print a line for each kind of output: the least time of several calls, in milliseconds, and its ratio to Python's own."""
    with tempfile.TemporaryDirectory() as folder:
        start_wall, start_cpu = _least(["-c", "pass"], "", folder)
        print(f"{'python -c pass':26} {start_wall:6.1f} ms, {start_cpu:6.1f} ms of CPU")
        for name, (command, output) in _OUTPUTS.items():
            told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
            event = json.dumps(told | {"tool_response": {"stdout": output, "stderr": "", "interrupted": False}})
            wall, cpu = _least(["-P", "-m", "redline", "hook", "run", "--store", folder], event, folder)
            beyond = f"{wall - start_wall:6.1f} ms and {cpu - start_cpu:6.1f} ms of CPU beyond it"
            print(f"{name:26} {wall:6.1f} ms, {cpu:6.1f} ms of CPU: {beyond}, {cpu / start_cpu:4.1f} times as much")


def _least(arguments: list[str], event: str, home: str) -> tuple[float, float]:
    """The least wall time and the least CPU time of a process, in milliseconds."""
    walls, cpus = [], []
    environment = {**os.environ, "HOME": home, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}
    for _ in range(_ROUNDS):
        before, began = _cpu_ms(), time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments], input=event.encode(), stdout=subprocess.DEVNULL, env=environment, check=True
        )
        walls.append(1000 * (time.perf_counter() - began))
        cpus.append(_cpu_ms() - before)
    return min(walls), min(cpus)


def _cpu_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


if __name__ == "__main__":
    main()
