"""Time and memory of a request after one more message: Redline and a peer in turn, in one process."""

import signal
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.peers.inputs import long_history
from bench.peers.peer import Message, Turn, Way
from bench.peers.redline_side import REDLINE_WAYS

__all__ = ["measure_requests"]

_MOST_STEPS = 41
_FEWEST_STEPS = 3
_SECONDS = 30.0
"""For one length: whoever is slow gets fewer steps, and so do all others."""
_MEMORY_STEPS = 3
_LIMIT_S = 60.0
"""A single request that takes longer is given up."""


@dataclass
class RequestTimes:
    """Of one way at one length, in ms of the processor."""

    way: str
    messages: int
    first: float = 0.0
    steps: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    """Bytes that Python objects took at most during a request, beyond what was there before."""
    failed: str = ""


class TooSlowError(BaseException):
    """A request took longer than anybody waits. No Exception, as libraries catch those."""


def measure_requests(ways: Mapping[str, Way], lengths: Sequence[int], limit_s: float = _LIMIT_S) -> list[dict[str, Any]]:
    """A row for each way and length; one that fails at a length is not tried with longer ones."""
    rows, left = list[dict[str, Any]](), {**REDLINE_WAYS, **ways}
    for length in lengths:
        rows += _at_length(left, length, limit_s)
        left = {name: way for name, way in left.items() if name not in {row["way"] for row in rows if row["failed"]}}
    return rows


def _at_length(ways: Mapping[str, Way], length: int, limit_s: float) -> list[dict[str, Any]]:
    messages = long_history(length + 1 + _MOST_STEPS + _MEMORY_STEPS)
    history, more = messages[:length], iter(messages[length:])
    rows = {name: RequestTimes(name, length) for name in ways}
    turns: dict[str, Turn] = {}
    first = next(more)
    for name, begin in ways.items():
        with _noting_failure(rows[name], limit_s):
            turns[name] = begin(history)
            rows[name].first = _ms(turns[name](first))
    _take_turns(turns, rows, more, limit_s)
    for name, turn in turns.items():
        if not rows[name].failed:
            is_slow = rows[name].steps[-1] > 1000 * _SECONDS / _MOST_STEPS
            rows[name].peaks += [_peak_bytes(turn(message)) for message in messages[-1 if is_slow else -_MEMORY_STEPS :]]
    return [_row(row) for row in rows.values()]


def _take_turns(turns: Mapping[str, Turn], rows: Mapping[str, RequestTimes], more: Iterator[Message], limit_s: float) -> None:
    """Each step one message, given to all; who begins changes from step to step."""
    began = time.monotonic()
    for step in range(_MOST_STEPS):
        message, names = next(more), [name for name in turns if not rows[name].failed]
        for place in range(len(names)):
            name = names[(step + place) % len(names)]
            with _noting_failure(rows[name], limit_s):
                rows[name].steps.append(_ms(turns[name](message)))
        if step + 1 >= _FEWEST_STEPS and time.monotonic() - began > _SECONDS:
            break


@contextmanager
def _noting_failure(row: RequestTimes, limit_s: float) -> Iterator[None]:
    """A peer may fail in any way, or take for ever: that is a result, and is printed."""

    def give_up(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    except TooSlowError:
        row.failed = f"> {limit_s:g} s"
    except Exception as problem:
        row.failed = f"{type(problem).__name__}: {problem}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ms(job: Callable[[], object]) -> float:
    """Of the processor, so that what else runs on the machine counts less."""
    start = time.process_time()
    kept = job()
    spent = (time.process_time() - start) * 1000
    del kept  # what is thrown away afterwards is not timed
    return spent


def _peak_bytes(job: Callable[[], object]) -> int:
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _row(times: RequestTimes) -> dict[str, Any]:
    row = asdict(times)
    steps, peaks = row.pop("steps"), row.pop("peaks")
    if steps and not times.failed:
        low, middle, high = statistics.quantiles(steps, n=4)
        row |= {"runs": len(steps), "low": low, "median": middle, "high": high, "peak_bytes": statistics.median(peaks)}
    return row
