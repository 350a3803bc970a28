"""How long a request takes after one more message, at histories of growing length; and the one-shot functions.

python -m bench.requests [FORMAT ...] [MESSAGES ...]
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

import redline
from bench.generate import history
from redline.providers import FORMATS
from redline.schedules import Budget, Eager, Schedule, WhenFree
from redline.tokens import Estimate

_LENGTHS = (1_000, 4_000, 10_000, 40_000)
_STEPS = 60
_DEFAULT = redline.Policy()
_CASES: dict[str, tuple[redline.Policy, Schedule]] = {
    "eager": (_DEFAULT, Eager()),
    "when_free": (_DEFAULT, WhenFree()),
    **{f"when_free, {name}": (redline.Policy.named(name), WhenFree()) for name in ("careful", "balanced", "bold")},
    "budget": (_DEFAULT, Budget()),
    "budget, below": (_DEFAULT, Budget(trigger_tokens=10**9)),
}
"""The last never reaches its trigger, so that all marks wait."""
_MOST_CHARS = (10_000, 50_000)
"""Of a result, so that a message has 1 kB and 4 kB on average."""
_ONE_SHOT_LENGTH = 10_000
_SEEDS = range(4)
"""Each function sees each history once: what it may remember of one is of no use for the next."""


def main(arguments: Sequence[str]) -> None:
    """Print both tables."""
    lengths = [int(one) for one in arguments if one.isdigit()] or _LENGTHS
    formats = [one for one in arguments if not one.isdigit()]
    print(f"\nOne more message and a request, default rules or a preset's: ms of the processor (median of {_STEPS})")
    print("at so many messages; how much more at the last length than at the first; the first request over all, µs a message\n")
    print(f"{'':44}", *(f"{length:>8,}" for length in lengths), f"{'grows':>8} {'first':>8}")
    for format in formats or FORMATS:
        for open_calls in (False, True):
            messages = list(islice(history(format, _MOST_CHARS[0], open_calls=open_calls), lengths[-1] + _STEPS))
            for name, (policy, schedule) in _CASES.items():
                times = [_times_at(format, messages[: length + _STEPS], policy, schedule) for length in lengths]
                row = [request * 1000 for request, _ in times]
                title = f"{format}{', open calls' if open_calls else ''}: {name}"
                first = times[-1][1] * 1e6 / lengths[-1]
                print(f"{title:44}", *(f"{one:8.2f}" for one in row), f"{row[-1] / row[0]:7.1f}x {first:8.0f}", flush=True)
    _one_shots(formats or ("openai_chat", "anthropic"))


# --- requests


def _times_at(format: str, messages: Sequence[Any], policy: redline.Policy, schedule: Schedule) -> tuple[float, float]:
    """Of one more message and a request, the median; and of the first request."""
    conversation = redline.Conversation(messages[:-_STEPS], policy=policy, format=format, counter=Estimate())
    first = _seconds(partial(_request, conversation, messages[-_STEPS - 1], schedule))
    return statistics.median(_seconds(partial(_turn, conversation, one, schedule)) for one in messages[-_STEPS:]), first


def _turn(conversation: redline.Conversation, message: Any, schedule: Schedule) -> None:
    conversation.add(message)
    _request(conversation, message, schedule)


def _request(conversation: redline.Conversation, message: Any, schedule: Schedule) -> None:
    conversation.request(now=message["timestamp"], schedule=schedule)


# --- one-shot functions


def _one_shots(formats: Sequence[str]) -> None:
    print(f"\nOne-shot functions on {_ONE_SHOT_LENGTH:,} messages, beside one JSON encode of the list by each encoder\n")
    for format in formats:
        columns = [_measured(format, most_chars) for most_chars in _MOST_CHARS]
        sizes = [column.pop("size") for column in columns]
        encodes = [{name: column.pop(name) for name in _ENCODERS} for column in columns]
        titles = [
            f"{size:.1f} kB: {name} {encode[name] * 1000:.0f} ms"
            for size, encode in zip(sizes, encodes, strict=True)
            for name in encode
        ]
        print(f"{format + ', a message':38}", *(f"{title:>24}" for title in titles))
        for name in columns[0]:
            ratios = [column[name] / one for column, encode in zip(columns, encodes, strict=True) for one in encode.values()]
            print(f"  {name:36}", *(f"{ratio:23.1f}x" for ratio in ratios))


_ENCODERS: dict[str, Callable[[object], object]] = {"json.dumps": json.dumps, "msgspec": msgspec.json.encode}
"""The standard library's, and the fastest there is."""


def _measured(format: str, most_chars: int) -> dict[str, float]:
    """The best time of each function and of each encoder, and the kilobytes of a message."""
    best: dict[str, float] = {}
    for seed in _SEEDS:
        messages = list(islice(history(format, most_chars, seed), _ONE_SHOT_LENGTH))
        best["size"] = len(msgspec.json.encode(messages)) / len(messages) / 1000
        for name, job in _jobs(messages):
            best[name] = min(best.get(name, float("inf")), _seconds(job))
    return best


def _jobs(messages: list[Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    now = messages[-1]["timestamp"]
    for name, encode in _ENCODERS.items():
        yield name, partial(encode, messages)
    yield "clean_orphaned_tool_calls", lambda: redline.clean_orphaned_tool_calls(messages)
    yield "make_legal", lambda: redline.make_legal(messages)
    yield "simplify_outdated_terminal_results", lambda: redline.simplify_outdated_terminal_results(messages, now=now)
    yield "simplify_historical_file_reads", lambda: redline.simplify_historical_file_reads(messages, project_root="/p")
    yield "check", lambda: redline.check(messages)


def _seconds(job: Callable[[], object]) -> float:
    """Of the processor, so that what else runs on the machine counts less."""
    start = time.process_time()
    job()
    return time.process_time() - start


if __name__ == "__main__":
    main(sys.argv[1:])
