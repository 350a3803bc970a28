"""Run cases into targets: `python -m fuzz [--target NAME] [--cases N] [--seconds S] [--seed K] [--jobs 2]
[--postgres]`."""

import argparse
import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from pathlib import Path

from fuzz.running import Batch, BatchOutcome, Finding, start_batch
from fuzz.targets import TARGETS
from fuzz.targets.stateful import POSTGRES
from tests.postgres import running_postgres

__all__ = ["CASES", "main"]

CASES = Path(__file__).resolve().parents[1] / "tests" / "fuzz" / "cases"
"""Where findings are kept, in a folder for each target; the tests try them again."""
_BATCH = 200


@dataclass
class Totals:
    """What came of a run."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, target: str, outcome: BatchOutcome, seconds: float) -> None:
        """Count a batch; a finding that is new is printed and kept as a file."""
        self.done[target] += outcome.done
        self.refused[target] += outcome.refused
        self.seconds[target] += seconds  # type: ignore[assignment]  # a Counter counts fractions too
        for finding in outcome.findings:
            key = f"{finding.target}: {finding.what}"
            if key not in self.findings:
                self.findings[key] = finding
                print(f"FINDING {key}\n  {_keep(finding)}\n{finding.trace}", flush=True)


def main() -> int:
    """Run until so many cases or seconds are over, and print what was found. The status is 1 if something was."""
    asked = _parse()
    with running_postgres() if asked.postgres else contextlib.nullcontext() as server:
        if server is not None:
            os.environ[POSTGRES] = server.address
        return _run(asked)


def _run(asked: argparse.Namespace) -> int:
    names, totals, start = asked.target or list(TARGETS), Totals(), time.monotonic()
    batches = _batches(names, asked.seed, asked.cases)
    with ThreadPoolExecutor(asked.jobs) as pool:
        running: dict[Future[BatchOutcome], tuple[str, float]] = {}
        while True:
            is_over = asked.seconds and time.monotonic() - start > asked.seconds
            while len(running) < asked.jobs and not is_over and (batch := next(batches, None)):
                running[pool.submit(start_batch, batch)] = (batch.target, time.monotonic())
            if not running:
                break
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                target, begun = running.pop(ended)
                totals.add(target, ended.result(), time.monotonic() - begun)
    _report(totals, time.monotonic() - start)
    return 1 if totals.findings else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Changed inputs into everything that takes input.")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one; may be given again")
    parser.add_argument("--cases", type=int, default=0, help="cases for each target; 2,000 if no time is given either")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long, in all")
    parser.add_argument("--seed", type=int, default=0, help="another one makes other cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--postgres", action="store_true", help="run `stateful` in a PostgreSQL server of its own, too")
    asked = parser.parse_args()
    asked.cases = asked.cases or (0 if asked.seconds else 2_000)
    return asked


def _batches(names: list[str], seed: int, cases: int) -> Iterator[Batch]:
    """In turn of each target, until each has had its cases; for ever if there is no number."""
    for first in range(0, cases, _BATCH) if cases else count(0, _BATCH):
        for name in names:
            yield Batch(name, seed, first, min(_BATCH, cases - first) if cases else _BATCH)


def _keep(finding: Finding) -> Path:
    folder = CASES / finding.target
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / blake2b(finding.case, digest_size=6).hexdigest()
    path.write_bytes(finding.case)
    return path


def _report(totals: Totals, seconds: float) -> None:
    print(f"{'target':<16}{'cases':>10}{'refused':>9}{'cases/s':>9}{'findings':>9}")
    for name, done in totals.done.items():
        found = sum(1 for finding in totals.findings.values() if finding.target == name)
        refused, speed = totals.refused[name] / max(done, 1), done / max(totals.seconds[name], 1e-9)
        print(f"{name:<16}{done:>10,}{refused:>9.0%}{speed:>9,.0f}{found:>9}")
    whole = totals.done.total()
    print(f"{whole:,} cases in {seconds:,.0f} s, {whole / seconds:,.0f} a second, {len(totals.findings)} findings")


if __name__ == "__main__":
    raise SystemExit(main())
