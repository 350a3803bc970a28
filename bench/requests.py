"""How long a request takes after one more message, at histories of growing length; and the one-shot functions.

python -m bench.requests [FORMAT ...]
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
from redline.tokens import Estimate

_LENGTHS = (100, 1_000, 10_000, 100_000)
_STEPS = 60
_BODIES = 9
_MOST_CHARS = (10_000, 50_000)
"""Of a result, so that a message has 1 kB and 4 kB on average."""
_ONE_SHOT_LENGTH = 10_000
_SEEDS = range(4)
"""Each function sees each history once: what it may remember of one is of no use for the next."""


def main(formats: Sequence[str]) -> None:
    """Print both tables."""
    print("\nOne more message and a request, default rules, eager (median of 60)\n")
    print(f"{'messages':>10} {'add ms':>10} {'request ms':>12} {'+ body ms':>12} {'first, ms':>12} {'µs a message':>13}")
    for length in _LENGTHS:
        add, request, body, first = _times_at(length)
        print(f"{length:10,} {add:10.3f} {request:12.3f} {body:12.3f} {first:12.1f} {first * 1000 / length:13.1f}")
    _one_shots(formats or ("openai_chat", "anthropic"))


# --- requests


def _times_at(length: int) -> tuple[float, float, float, float]:
    messages = history("openai_chat", _MOST_CHARS[0])
    conversation = redline.Conversation(islice(messages, length), format="openai_chat", counter=Estimate())
    now = _now(conversation)
    first = _seconds(partial(conversation.request, now=now))
    adds, requests, bodies = list[float](), list[float](), list[float]()
    for message in islice(messages, _STEPS):
        now += 1000
        adds.append(_seconds(partial(conversation.add, message)))
        requests.append(_seconds(partial(conversation.request, now=now)))
    for message in islice(messages, _BODIES):  # apart: joining all the bytes leaves nothing else in the processor's cache
        now += 1000
        conversation.add(message)
        bodies.append(_seconds(partial(_body, conversation, now)))
    add, request, body = (statistics.median(times) * 1000 for times in (adds, requests, bodies))
    return add, request, body, first * 1000


def _body(conversation: redline.Conversation, now: float) -> bytes:
    return conversation.request(now=now).body


def _now(conversation: redline.Conversation) -> float:
    last: float = conversation.all_messages[-1]["timestamp"]
    return last


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
