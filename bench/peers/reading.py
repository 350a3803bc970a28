"""Reading a long session file of Claude Code: a bare decode, Redline and a peer in turn, and what each then holds."""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.generate import write_claude_code_session
from bench.transcripts import bare_decode, full_decode, index, index_then_touch, resident_bytes

__all__ = ["measure_reading"]

_ROUNDS = 5
_OWN: dict[str, Callable[[Path], object]] = {
    "bare decode of envelopes": bare_decode,
    "bare decode of everything": full_decode,
    "Redline, opened": index,
    "Redline, every message looked at": index_then_touch,
}


def measure_reading(readers: Mapping[str, Callable[[Path], object]], megabytes: int) -> list[dict[str, Any]]:
    """A row for each reader."""
    jobs = {**_OWN, **readers}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = write_claude_code_session(path, megabytes * 1_000_000)
        for _ in range(_ROUNDS):
            for name, job in jobs.items():
                start = time.process_time()
                kept = job(path)
                times[name].append(time.process_time() - start)
                del kept
        held = {name: _held_bytes(job, path) for name, job in jobs.items()}
        size = path.stat().st_size
    rows = []
    for name, spent in times.items():
        low, middle, high = statistics.quantiles(spent, n=4)
        row = {"reader": name, "bytes": size, "lines": lines, "held_bytes": held[name]}
        rows.append({**row, "low": low, "median": middle, "high": high})
    return rows


def _held_bytes(job: Callable[[Path], object], path: Path) -> int:
    """What a process of its own holds after the job, beyond what it held before."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_hold, args=(job, path, sender))
    process.start()
    held = int(receiver.recv())
    process.join()
    return held


def _hold(job: Callable[[Path], object], path: Path, sender: Any) -> None:
    before = resident_bytes()
    kept = job(path)
    sender.send(max(0, resident_bytes() - before))
    del kept
