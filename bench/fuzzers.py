"""Ways to make cases side by side: which reaches more lines of Redline in the same time, and finds more.

python -m bench.fuzzers [TARGET …] [--seconds 60]        needs atheris (pip install atheris coverage)

Each way has a process and a core to itself, and the same real inputs to begin with. `mutator` is what `python -m fuzz` does;
`atheris` changes bytes and keeps what reaches something new; `both` keeps what reaches something new, and changes it as the
mutator does. Afterwards every case that a way made (the mutator), or kept because it reached something (the others), is tried
once more with coverage.py, which counts the lines inside of functions that ran.
"""

import argparse
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random

_WAYS = ("mutator", "atheris", "both")
_TARGETS = ("lists", "sessions", "editors", "wire")
_SEED = 1
_MOST_BYTES = 60_000


def main() -> None:
    """Print a table; or be one of the processes that it needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=_TARGETS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--lines", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        way, folder = asked.run
        _run(way, asked.targets[0], Path(folder), asked.seconds)
    elif asked.lines:
        way, folder = asked.lines
        print(json.dumps(_reached(asked.targets[0], _kept_cases(way, asked.targets[0], Path(folder)))))
    else:
        print("| target | way | cases | lines | findings |\n|---|---|---:|---:|---:|")
        for target in asked.targets:
            for way in _WAYS:
                print(_row(target, way, asked.seconds), flush=True)


def _row(target: str, way: str, seconds: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.fuzzers", target, "--seconds", str(seconds)]
        ran = subprocess.run([*command, "--run", way, folder], capture_output=True, text=True, check=False)
        found = re.search(r"number_of_executed_units: *(\d+)|^(\d+) cases", ran.stderr + ran.stdout, re.MULTILINE)
        assert found is not None, ran.stderr[-2000:]
        told = subprocess.run([*command, "--lines", way, folder], capture_output=True, text=True, check=True).stdout
        lines, findings = json.loads(told.splitlines()[-1])
    return f"| {target} | {way} | {int(found[1] or found[2]):,} | {lines:,} | {findings} |"


def _run(way: str, target: str, folder: Path, seconds: float) -> None:
    """Make cases and try them, for so long. What is to be tried again is in the folder afterwards."""
    if way == "mutator":
        _run_mutator(target, folder, seconds)
    else:
        _run_atheris(target, folder, seconds, mutates=way == "both")


def _run_mutator(target: str, folder: Path, seconds: float) -> None:
    from fuzz.running import Batch, make_case

    batch, end = Batch(target, seed=_SEED), time.monotonic() + seconds
    with _trying(target) as attempt:
        for number in count():
            if time.monotonic() > end:
                break
            attempt(make_case(batch, number))
    (folder / "made").write_text(str(number))
    print(f"{number} cases")


def _run_atheris(target: str, folder: Path, seconds: float, *, mutates: bool) -> None:
    import atheris

    with atheris.instrument_imports(include=["redline"]):
        from fuzz.mutations import mutate
        from fuzz.targets import TARGETS
    seeds = TARGETS[target].make_seeds()
    for name in ("kept", "seeds"):
        (folder / name).mkdir()
    for number, seed in enumerate(seeds):
        (folder / "seeds" / str(number)).write_bytes(seed)

    def changed(case: bytes, most: int, seed: int) -> bytes:
        return mutate(case, Random(seed), seeds)[:most]

    limits = [f"-max_total_time={seconds:.0f}", f"-seed={_SEED}", f"-max_len={_MOST_BYTES}", "-rss_limit_mb=0", "-timeout=60"]
    options = [*limits, "-print_final_stats=1", str(folder / "kept"), str(folder / "seeds")]
    with _trying(target) as attempt:
        atheris.Setup(["fuzz", *options], lambda case: attempt(case) and None, custom_mutator=changed if mutates else None)
        atheris.Fuzz()  # ends the process


def _kept_cases(way: str, target: str, folder: Path) -> Iterator[bytes]:
    from fuzz.running import Batch, make_case
    from fuzz.targets import TARGETS

    yield from TARGETS[target].make_seeds()
    if way == "mutator":
        yield from (make_case(Batch(target, seed=_SEED), number) for number in range(int((folder / "made").read_text())))
    else:
        yield from (path.read_bytes() for path in sorted((folder / "kept").iterdir()))


def _reached(target: str, cases: Iterable[bytes]) -> tuple[int, int]:
    """How many lines inside of functions run, and how many kinds of findings there are."""
    import coverage

    measured = coverage.Coverage(source_pkgs=["redline"], data_file=None)
    findings: set[str] = set()
    with _trying(target) as attempt:
        measured.start()
        for case in cases:
            findings.add(attempt(case))
        measured.stop()
    data = measured.get_data()
    return sum(len(data.lines(file) or ()) for file in data.measured_files()), len(findings - {""})


@contextmanager
def _trying(target: str) -> Iterator[Callable[[bytes], str]]:
    """Tries a case, as `python -m fuzz` does, and says what it found; empty if nothing."""
    from fuzz.sandbox import Sandbox
    from fuzz.targets import TARGETS
    from redline.errors import RedlineError

    logging.disable(logging.CRITICAL)
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="redline-fuzz-") as folder:
        sandbox = Sandbox(Path(folder), programs=TARGETS[target].programs)
        with Path(os.devnull).open("w", encoding="utf-8") as traces, TARGETS[target].open(sandbox) as trial:

            def attempt(case: bytes) -> str:
                try:
                    with sandbox.watched(len(case), traces):
                        trial(case)
                except RedlineError:
                    pass
                except Exception as problem:
                    return f"{type(problem).__name__} {problem}"[:80]
                return ""

            yield attempt
        os.chdir(here)


if __name__ == "__main__":
    main()
