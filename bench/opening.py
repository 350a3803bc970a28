"""From opening a conversation of 200 MB with 40,000 messages to `request.messages`, beside a bare decode of these messages.

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

import msgspec

import redline
from bench.generate import history
from redline.schedules import ScheduleName
from redline.tokens import Estimate

_MESSAGES = 40_000
_SCHEDULES: tuple[ScheduleName, ...] = ("eager", "when_free")
_MOST_CHARS = 72_000
"""Of a result, so that a message has 5 kB on average."""
_EVERY = 20
"""Messages between two requests."""
_ROUNDS = 5


class _Envelope(msgspec.Struct):
    number: int
    parent: int
    record: msgspec.Raw


def main(messages: int = _MESSAGES) -> None:
    """Print a table: each schedule, after the log was closed and after its process was killed."""
    print(f"\nFrom `redline.open` to `request.messages`: milliseconds of the processor, best of {_ROUNDS}\n")
    titles = ("open", "request", "messages", "in all", "decode", "ratio", "lines", "next")
    print(f"{'':18}", *(f"{title:>9}" for title in titles))
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        for schedule in _SCHEDULES:
            path = Path(folder) / f"{schedule}.jsonl"
            now = _write(path, messages, schedule)
            for ending in ("closed", "killed"):
                _measure(path, now, schedule, ending)
                now = _go_on(path, now, schedule)
            print(f"  {path.stat().st_size / 1e6:.0f} MB of JSON Lines with {messages:,} messages")
    print("\ndecode: a bare decode of the messages that are sent, and `in all` beside it; lines: one of the envelopes of all")
    print("lines of the log; next: the request after that, when nothing was said in between")


def _write(path: Path, count: int, schedule: ScheduleName) -> float:
    """A conversation with a request now and then, closed in the end; the time of its last message."""
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


def _go_on(path: Path, now: float, schedule: ScheduleName) -> float:
    """A little more is said, and nobody closes the log."""
    talk = redline.open(path, durability="os", counter=Estimate())
    for number in range(_EVERY):
        now += 1000
        talk.add({"role": "user", "content": f"and {number}"}, timestamp_ms=now)
    talk.request(now=now, schedule=schedule)
    return now


def _measure(path: Path, now: float, schedule: ScheduleName, ending: str) -> None:
    """One row; bare decoding is measured in turn with the rest, so that both see the same machine."""
    decode_envelope = msgspec.json.Decoder(_Envelope).decode
    rounds: list[tuple[float, ...]] = []
    for _ in range(_ROUNDS):
        gc.collect()
        start = time.process_time()
        talk = redline.open(path, counter=Estimate())
        opened = time.process_time()
        request = talk.preview(now=now, schedule=schedule)
        requested = time.process_time()
        messages = request.messages
        listed = time.process_time()
        again = _seconds(partial(talk.preview, now=now, schedule=schedule))
        encoded = [msgspec.json.encode(message) for message in messages]
        talk.close()
        decoded = _seconds(partial(list, map(msgspec.json.decode, encoded)))
        bare = _seconds(lambda: [decode_envelope(line) for line in path.read_bytes().splitlines()[1:]])
        rounds.append((opened - start, requested - opened, listed - requested, listed - start, decoded, bare, again))
    best = [1000 * min(times) for times in zip(*rounds, strict=True)]
    opening, asking, listing, whole, decoded, bare, again = best
    times = [f"{one:9.1f}" for one in (opening, asking, listing, whole, decoded)]
    print(f"{schedule + ', ' + ending:18}", *times, f"{whole / decoded:8.1f}x {bare:9.1f} {again:9.1f}", flush=True)


def _seconds(job: Callable[[], object]) -> float:
    """Of the processor; what the job gives back is let go only after the clock is read."""
    gc.collect()
    start = time.process_time()
    given = job()
    seconds = time.process_time() - start
    del given
    return seconds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
