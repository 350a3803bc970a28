"""What proxies add to a request and what memory they take, for one client and for fifty, beside a bare pass-through.

python -m bench.peers.proxies FILE [ROUNDS] [NAME=COMMAND …]        commands as in `bench.proxy`
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.proxy import HEADERS, SIZES, RunningServer, make_bodies, running_servers

__all__ = ["main"]

_ROUNDS = 15
_WARM_UP = 3
_CLIENTS = 50
_CROWD_ROUNDS = 3


def main(arguments: Sequence[str]) -> None:
    """Measure, and write the rows."""
    others = dict(argument.split("=", 1) for argument in arguments[1:] if "=" in argument)
    rounds = next((int(argument) for argument in arguments[1:] if argument.isdigit()), _ROUNDS)
    with running_servers(others) as servers:
        rows = [row for size in SIZES for streams in (False, True) for row in _rows(servers, size, rounds, streams=streams)]
    Path(arguments[0]).write_text(json.dumps(rows, indent=1))


def _rows(servers: Sequence[RunningServer], size: str, rounds: int, *, streams: bool) -> Iterator[dict[str, Any]]:
    more = {"stream": True} if streams else {}
    for clients in (1, _CLIENTS):
        count = rounds + _WARM_UP if clients == 1 else clients * _CROWD_ROUNDS
        bodies = list(make_bodies(SIZES[size], count, is_stale=True, name=f"{size} {streams} {clients}", **more))
        times = _alone(servers, bodies) if clients == 1 else _crowd(servers, bodies)
        for server in servers:
            row = {"server": server.name, "size": size, "streams": streams, "clients": clients, "mb": server.resident_mb}
            good = [one for one in times[server.name] if one is not None]
            if len(good) > 1:
                low, middle, high = statistics.quantiles(good, n=4)
                row |= {"low": low * 1000, "median": middle * 1000, "high": high * 1000}
            yield {**row, "failed": len(times[server.name]) - len(good)}


def _alone(servers: Sequence[RunningServer], bodies: Sequence[bytes]) -> dict[str, list[float | None]]:
    """One request at a time, longer by two messages than the one before; the servers take turns."""
    times: dict[str, list[float | None]] = {server.name: [] for server in servers}
    for number, body in enumerate(bodies):
        for place in range(len(servers)):
            server = servers[(number + place) % len(servers)]
            spent = _seconds(server, body)
            if number >= _WARM_UP:
                times[server.name].append(spent)
    return times


def _crowd(servers: Sequence[RunningServer], bodies: Sequence[bytes]) -> dict[str, list[float | None]]:
    """All clients at once, a conversation each, one server after the other."""
    times: dict[str, list[float | None]] = {server.name: [] for server in servers}
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for begin in range(0, len(bodies), _CLIENTS):
            for server in servers:
                sent = pool.map(_seconds, [server] * _CLIENTS, bodies[begin : begin + _CLIENTS])
                times[server.name] += list(sent)
    return times


def _seconds(server: RunningServer, body: bytes) -> float | None:
    """From the first byte sent to the last received; None where the answer is an error."""
    connection = server.connect()
    try:
        start = time.perf_counter()
        connection.request("POST", "/v1/messages", body, HEADERS)
        answer = connection.getresponse()
        answer.read()
        return time.perf_counter() - start if answer.status == 200 else None
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
