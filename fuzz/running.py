"""Cases run in a process of their own, one after the other, each made from a seed and a number."""

import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from fuzz.minimal import shrink
from fuzz.mutations import mutate
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.targets import TARGETS
from redline.errors import RedlineError

__all__ = ["Batch", "BatchOutcome", "Finding", "make_case", "replay", "start_batch"]

_SHRINK_TRIES = 200
_SHRINK_S = 5.0
_FOREVER_S = 600.0
_SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Finding:
    """A case for which a property does not hold."""

    target: str
    what: str
    """The error and where it was raised: what tells this finding from others."""
    case: bytes
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some cases of a target, by their numbers; or the ones that are given."""

    target: str
    seed: int = 0
    first: int = 0
    count: int = 0
    cases: tuple[bytes, ...] = ()
    shrinks: bool = True


@dataclass
class BatchOutcome:
    """What came of a batch."""

    done: int = 0
    refused: int = 0
    """Cases that ended with an error of Redline's."""
    findings: list[Finding] = field(default_factory=list)


def make_case(batch: Batch, number: int) -> bytes:
    """A case of a batch by its place in it: the same whenever it is asked for."""
    if batch.cases:
        return batch.cases[number]
    seeds = TARGETS[batch.target].make_seeds()
    random = Random(f"{batch.target} {batch.seed} {batch.first + number}")
    seed = random.choice(seeds)
    return seed if random.random() < 0.01 else mutate(seed, random, seeds)


def replay(target: str, cases: tuple[bytes, ...]) -> list[Finding]:
    """What given cases show, each as it is."""
    return start_batch(Batch(target, cases=cases, count=len(cases), shrinks=False)).findings


def start_batch(batch: Batch) -> BatchOutcome:
    """Run a batch in a process of its own, and wait for it. One that ends early was ended by its last case."""
    TARGETS[batch.target].make_seeds()  # before the process is made, so that the next one has them too
    outcome = BatchOutcome()
    while outcome.done < batch.count:
        part = _run(batch, outcome.done)
        outcome.done += part.done
        outcome.refused += part.refused
        outcome.findings += part.findings
    return outcome


def _run(batch: Batch, start: int) -> BatchOutcome:
    """The cases from a place on, in one process, as far as it gets."""
    shared = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="redline-fuzz-", dir=shared))
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_work, args=(batch, start, folder, there), daemon=True)
    process.start()
    there.close()
    outcome = BatchOutcome()
    with contextlib.suppress(EOFError):
        while here.poll(_FOREVER_S):
            outcome = here.recv()
        process.kill()
    process.join()
    if start + outcome.done < batch.count:
        trace = (folder / "traces").read_text(encoding="utf-8", errors="replace") if (folder / "traces").exists() else ""
        ended = _ended(process.exitcode or 0, trace)
        outcome.findings.append(Finding(batch.target, ended, make_case(batch, start + outcome.done), trace))
        outcome.done += 1
    shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _ended(code: int, trace: str) -> str:
    """Why a process ended: it hung, with where that was, or was killed."""
    lines = [line.strip() for line in trace.splitlines() if "/redline/" in line and "File" in line]
    why = "hangs" if "Timeout" in trace else signal.Signals(-code).name if code < 0 else f"exit {code}"
    return f"{why} in {_place(lines[0]) if lines else 'the process'}"


def _place(line: str) -> str:
    return line.partition("/redline/")[2].replace('"', "")


def _work(batch: Batch, start: int, folder: Path, out: Connection) -> None:
    """In the process: try each case, and tell how far it has come."""
    logging.disable(logging.CRITICAL)
    target, outcome = TARGETS[batch.target], BatchOutcome()
    sandbox = Sandbox(folder, programs=target.programs)
    with (folder / "traces").open("w", encoding="utf-8") as traces, target.open(sandbox) as trial:
        refusals: list[bytes] = []

        def attempt(case: bytes) -> Finding | None:
            try:
                with sandbox.watched(len(case), traces):
                    trial(case)
            except RedlineError:
                refusals.append(case)
            except Exception as problem:
                return Finding(batch.target, _signature(problem), case, traceback.format_exc(limit=-12))
            return None

        for number in range(start, batch.count):
            refusals.clear()
            finding = attempt(make_case(batch, number))
            outcome.refused += len(refusals)
            is_new = finding is not None and all(finding.what != one.what for one in outcome.findings)
            if finding is not None and batch.shrinks and is_new:
                finding = _shrunk(finding, attempt)
            if finding is not None and (is_new or not batch.shrinks):
                outcome.findings.append(finding)
            outcome.done += 1
            out.send(outcome)
        with contextlib.suppress(OSError):
            out.close()
        os._exit(0)  # threads of servers are not waited for


def _shrunk(finding: Finding, attempt: Callable[[bytes], Finding | None]) -> Finding:
    smallest, end = finding, time.monotonic() + _SHRINK_S

    def still_fails(case: bytes) -> bool:
        nonlocal smallest
        found = attempt(case) if time.monotonic() < end else None
        if found is None or found.what != finding.what:
            return False
        smallest = found
        return True

    shrink(finding.case, still_fails, most_tries=_SHRINK_TRIES)
    return smallest


def _signature(problem: BaseException) -> str:
    """The kind of an error and the innermost place in Redline that it came through; of a broken property what it says."""
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if "/redline/" in frame.filename]
    inside = f"{_place(frames[-1].filename)}, in {frames[-1].name}" if frames else "a target"
    said = f": {problem}" if isinstance(problem, BrokenProperty | AssertionError) else ""
    return f"{type(problem).__name__} in {inside}{said}"[:300]
