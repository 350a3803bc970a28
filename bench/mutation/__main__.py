"""Faults in laws, rules, schedules and engine, and the share that the tests notice, with every one that they do not.

Nothing is written into the working tree: a fault is put in while its file is imported, in a forked process that has pytest and
all libraries loaded already, and runs only the tests that run the changed statement, until one fails.

python -m bench.mutation [--sample 400] [--seed 0] [--only src/redline/rules/faded.py:120]
"""

import argparse
import importlib
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from bench.mutation.mutants import Mutant, mutants_of
from bench.mutation.touching import Touched, run_all
from bench.mutation.trial import ARGUMENTS, Deselect, plan, start, try_mutant

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_SOURCE = _ROOT / "src" / "redline"
_ROOMS = ("laws", "rules", "schedules", "engine")
_OTHER_TESTS = ("conversation*", "editor", "logging", "policy")
"""Tests of the whole, in tests/test_….py."""
_WIDTH = 110
"""How much of a changed statement is printed."""


def main(arguments: Sequence[str]) -> None:
    """Print the score by room, and what survived."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutation", description="How many small faults do the tests notice?")
    parser.add_argument("--sample", type=int, default=0, help="try so many, drawn at random; all if it is not given")
    parser.add_argument("--seed", type=int, default=0, help="another one draws others")
    parser.add_argument("--only", action="append", default=[], metavar="PATH[:LINE]", help="only here; may be given again")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    asked = parser.parse_args(arguments)
    os.chdir(_ROOT)
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    begun = time.monotonic()
    mutants = _chosen(asked.sample, asked.seed, asked.only)
    with tempfile.TemporaryDirectory(prefix="redline-mutation-") as folder:
        touched = _touched(Path(folder), asked.jobs)
        _say(f"{len(touched.seconds):,} tests pass in {sum(touched.seconds.values()):.0f} s; {len(mutants):,} mutants\n")
        outcomes = _try_all(mutants, touched, Path(folder), asked.jobs)
    _report(outcomes)
    print(f"\n{len(mutants):,} mutants, seed {asked.seed}, {(time.monotonic() - begun) / 60:.0f} minutes")


def _chosen(sample: int, seed: int, only: Sequence[str]) -> list[Mutant]:
    """Those of a sample are the same as long as their own code is."""
    ranked, met = list[tuple[bytes, Mutant]](), Counter[tuple[str, str, str]]()
    for room in _ROOMS:
        for path in sorted((_SOURCE / room).glob("*.py")):
            for mutant in mutants_of(path):
                key = (str(path), mutant.before, mutant.after)
                met[key] += 1
                ranked.append((mutant.rank(seed, met[key]), mutant))
    ranked.sort(key=lambda one: one[0])
    mutants = [mutant for _, mutant in ranked if not only or _is_at(mutant, only)]
    return mutants[:sample] if sample else mutants


def _is_at(mutant: Mutant, places: Sequence[str]) -> bool:
    path = str(mutant.path.relative_to(_ROOT))
    return any(place in (path, f"{path}:{mutant.line}") for place in places)


def _touched(folder: Path, jobs: int) -> Touched:
    """What each test touches, from as many processes as may run, each with a part of the tests."""
    files = [str(path.relative_to(_ROOT)) for room in _ROOMS for path in (_ROOT / "tests" / room).glob("test_*.py")]
    files += [str(path.relative_to(_ROOT)) for name in _OTHER_TESTS for path in (_ROOT / "tests").glob(f"test_{name}.py")]
    random.Random(0).shuffle(files)  # the slow ones are neighbours
    found, running = Touched(), dict[int, Path]()
    for number in range(jobs):
        own = folder / f"all-{number}"
        own.mkdir()
        running[start(partial(_run_part, files[number::jobs], own), own)] = own
    try:
        for pid, own in running.items():
            os.waitpid(pid, 0)
            if not (own / "touched").exists():
                raise RuntimeError(f"the tests do not run:\n{(own / 'output').read_text()}")
            part, modules = pickle.loads((own / "touched").read_bytes())
            found.seconds |= part.seconds
            for statement, names in part.tests.items():
                found.tests.setdefault(statement, set()).update(names)
            _import(modules)
    finally:
        for pid in running:
            _end_group(pid)
    return found


def _run_part(files: Sequence[str], folder: Path) -> int:
    """Run these tests, and leave in the folder what they touched and which libraries they loaded."""
    rooms = [_SOURCE / room for room in _ROOMS]
    touched = run_all(rooms, [*ARGUMENTS, f"--basetemp={folder}/tmp", *files], [Deselect()])
    modules = [name for name in sys.modules if name.partition(".")[0] not in ("redline", "tests", "bench", "__main__")]
    (folder / "touched").write_bytes(pickle.dumps((touched, modules)))
    return 0


def _import(modules: Iterable[str]) -> None:
    """What every test process would have to load: a fork has it."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


def _try_all(mutants: Sequence[Mutant], touched: Touched, folder: Path, jobs: int) -> list[tuple[Mutant, str]]:
    """Each mutant with what became of it: killed, survived, or touched by no test."""
    outcomes, running = list[tuple[Mutant, str]](), dict[int, tuple[Mutant, Path]]()
    waiting = list(reversed(mutants))
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop()
                if names := touched.tests_of(mutant.path, mutant.statement_line):
                    own = folder / str(len(waiting))
                    own.mkdir()
                    job = partial(try_mutant, mutant, plan(mutant, names, touched.seconds), own)
                    running[start(job, own)] = (mutant, own)
                else:
                    outcomes.append((mutant, "untouched"))
            if running:
                outcomes.append(_next_outcome(running))
                _say(f"\r{len(outcomes):,} tried, {sum(what != 'killed' for _, what in outcomes):,} survived")
    finally:
        for pid in running:
            _end_group(pid)
    _say("\n")
    return outcomes


def _next_outcome(running: dict[int, tuple[Mutant, Path]]) -> tuple[Mutant, str]:
    pid, status = os.wait()
    mutant, own = running.pop(pid)
    _end_group(pid)
    shutil.rmtree(own)
    if not status:
        _say(f"\r{_described(mutant)}\n")
    return mutant, "killed" if status else "survived"


def _end_group(pid: int) -> None:
    """What a process, or a test in it, has started goes with it."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _report(outcomes: Sequence[tuple[Mutant, str]]) -> None:
    print("| room | mutants | killed | survived | touched by no test | score |\n|---|---:|---:|---:|---:|---:|")
    for room in (*_ROOMS, "all"):
        counts = Counter(what for mutant, what in outcomes if room in ("all", mutant.path.parent.name))
        if total := counts.total():
            cells = f"{total:,} | {counts['killed']:,} | {counts['survived']:,} | {counts['untouched']:,}"
            print(f"| {room} | {cells} | {counts['killed'] / total:.1%} |")
    print()
    for mutant, what in sorted(outcomes, key=lambda one: (one[0].path, one[0].line)):
        if what != "killed":
            print(_described(mutant) + (" (touched by no test)" if what == "untouched" else ""))


def _described(mutant: Mutant) -> str:
    return f"{mutant.path.relative_to(_ROOT)}:{mutant.line}  {mutant.before[:_WIDTH]} → {mutant.after[:_WIDTH]}"


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
