"""How long a request takes after one more message, at histories of growing length; and the one-shot functions.

python -m bench.requests
"""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec

import redline
from bench.generate import history
from redline.tokens import Estimate

_LENGTHS = (100, 1_000, 10_000, 100_000)
_STEPS = 60


def main() -> None:
    """Print both tables."""
    print("\nOne more message and a request, default rules, eager (median of 60)\n")
    print(f"{'messages':>10} {'add ms':>10} {'request ms':>12} {'+ body ms':>12} {'whole redone ms':>16}")
    for length in _LENGTHS:
        add, request, body, redone = _times_at(length)
        print(f"{length:10,} {add:10.3f} {request:12.3f} {body:12.3f} {redone:16.1f}")
    _one_shots()


def _times_at(length: int) -> tuple[float, float, float, float]:
    messages = history("openai_chat", 10_000)
    conversation = redline.Conversation(islice(messages, length), format="openai_chat", counter=Estimate())
    start = time.perf_counter()
    now = _now(conversation)
    conversation.request(now=now)
    redone = time.perf_counter() - start
    adds, requests, bodies = list[float](), list[float](), list[float]()
    for message in islice(messages, _STEPS):
        now += 1000
        adds.append(_seconds(partial(conversation.add, message)))
        requests.append(_seconds(partial(conversation.request, now=now)))
        bodies.append(_seconds(partial(_body, conversation, now)))
    add, request, body = (statistics.median(times) * 1000 for times in (adds, requests, bodies))
    return add, request, body, redone * 1000


def _body(conversation: redline.Conversation, now: float) -> bytes:
    return conversation.request(now=now).body


def _now(conversation: redline.Conversation) -> float:
    last: float = conversation.all_messages[-1]["timestamp"]
    return last


def _one_shots() -> None:
    for format in ("openai_chat", "anthropic"):
        for most_chars in (10_000, 50_000):
            _one_shots_on(format, list(islice(history(format, most_chars), 10_000)))


def _one_shots_on(format: str, messages: list[Any]) -> None:
    encode = min(_seconds(lambda: msgspec.json.encode(messages)) for _ in range(5))
    size = len(msgspec.json.encode(messages))
    print(f"\nOne-shot functions on 10,000 {format} messages of {size / 1e7:.1f} kB, beside one JSON encode\n")
    print(f"{'msgspec.json.encode':40} {encode * 1000:8.1f} ms")
    for name, job in _jobs(messages, messages[-1]["timestamp"]):
        seconds = min(_seconds(job) for _ in range(3))
        print(f"{name:40} {seconds * 1000:8.1f} ms {seconds / encode:8.2f}x")


def _jobs(messages: list[Any], now: float) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "clean_orphaned_tool_calls", lambda: redline.clean_orphaned_tool_calls(messages)
    yield "make_legal", lambda: redline.make_legal(messages)
    yield "simplify_outdated_terminal_results", lambda: redline.simplify_outdated_terminal_results(messages, now=now)
    yield "simplify_historical_file_reads", lambda: redline.simplify_historical_file_reads(messages, project_root="/p")
    yield "check", lambda: redline.check(messages)


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
