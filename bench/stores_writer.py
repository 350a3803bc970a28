"""A process of `bench.stores`: it keeps many conversations open, appends to them in turns, and writes down what it was told."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import redline
from redline.errors import LogError

__all__ = ["THREADS"]

THREADS = 16
"""Its conversations take turns with them, as those of a server do."""


def main(address: str, conversations: int, turns: int, report: Path) -> None:
    """Append; a line in the report for each, written when the append has returned."""
    lock = threading.Lock()
    with redline.Store(address) as store, report.open("w") as file, ThreadPoolExecutor(THREADS) as threads:
        names = [f"{report.name}-{number}" for number in range(conversations)]
        talks = list(threads.map(lambda name: store.open(name, format="openai_chat"), names))

        def append(work: tuple[redline.Conversation, str]) -> None:
            talk, text = work
            started, error = time.perf_counter(), ""
            try:
                talk.add({"role": "user", "content": text})
            except LogError as problem:
                error = str(problem)
            line = json.dumps({"text": text, "error": error, "ms": (time.perf_counter() - started) * 1000})
            with lock:
                file.write(line + "\n")
                file.flush()

        for turn in range(turns):
            said = [(talk, f"{name} says {turn}") for talk, name in zip(talks, names, strict=True)]
            list(threads.map(append, said))
        for talk in talks:
            talk.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
