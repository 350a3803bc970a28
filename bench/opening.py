"""Opening a conversation of 200 MB with 40,000 messages, and its first request with all messages, beside bare decoding.

python -m bench.opening [MESSAGES]
"""

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw

import redline
from bench.generate import history
from redline.tokens import Estimate

_MESSAGES = 40_000
_MOST_CHARS = 72_000
"""Of a result, so that a message has 5 kB on average."""
_EVERY = 20
"""Messages between two requests."""

Given = TypeVar("Given")


class _Envelope(msgspec.Struct):
    number: int
    parent: int
    record: Raw


def main(messages: int = _MESSAGES) -> None:
    """Print one table a log."""
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        for schedule in ("eager", "when_free"):
            path = Path(folder) / f"{schedule}.jsonl"
            now = _written(path, messages, schedule)
            print(f"\n{messages:,} messages, {path.stat().st_size / 1e6:.0f} MB of JSON Lines, {schedule}\n")
            for ending in ("closed", "killed"):
                _measure(path, now, schedule, ending)
                now = _gone_on(path, now, schedule)


def _written(path: Path, count: int, schedule: str) -> float:
    talk = redline.open(path, durability="os", counter=Estimate())
    now = 0.0
    for number, message in enumerate(islice(history("openai_chat", _MOST_CHARS), count)):
        talk.add(message)
        now = message["timestamp"]
        if number % _EVERY == 0:
            talk.request(now=now, schedule=schedule)
    talk.request(now=now, schedule=schedule)
    talk.close()
    return now


def _gone_on(path: Path, now: float, schedule: str) -> float:
    """A little more is said, and nobody closes the log."""
    talk = redline.open(path, durability="os", counter=Estimate())
    for number in range(_EVERY):
        now += 1000
        talk.add({"role": "user", "content": f"and {number}"}, timestamp_ms=now)
    talk.request(now=now, schedule=schedule)
    return now


def _measure(path: Path, now: float, schedule: str, ending: str) -> None:
    decode = msgspec.json.Decoder(_Envelope).decode
    times: list[tuple[float, ...]] = []
    for _ in range(5):
        bare, _ = _seconds(lambda: [decode(line) for line in path.read_bytes().splitlines()[1:]])
        opened, talk = _seconds(lambda: redline.open(path, counter=Estimate()))
        first, request = _seconds(partial(talk.preview, now=now, schedule=schedule))
        listed, messages = _seconds(partial(getattr, request, "messages"))
        encoded = [msgspec.json.encode(message) for message in messages]
        decoded, _ = _seconds(partial(list, map(msgspec.json.decode, encoded)))
        second, _ = _seconds(partial(talk.preview, now=now, schedule=schedule))
        times.append((bare, opened, first, listed, decoded, second))
        talk.close()
    bare, opened, first, listed, decoded, second = map(min, zip(*times, strict=True))
    print(f"{ending}: bare decode of the log {bare:.2f} s, opened {opened:.2f} s ({opened / bare:.2f}x), ", end="")
    print(f"first request {first * 1000:.0f} ms, its messages {listed * 1000:.0f} ms more ", end="")
    print(f"(bare decode of them {decoded * 1000:.0f} ms), next request {second * 1000:.1f} ms")


def _seconds(job: Callable[[], Given]) -> tuple[float, Given]:
    gc.collect()
    start = time.process_time()
    given = job()
    return time.process_time() - start, given


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
