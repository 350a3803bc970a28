"""What proxies add to a request and what memory they take, for one client and for fifty, beside a bare pass-through.

python -m bench.peers.proxies FILE [ROUNDS] [NAME=COMMAND …]        commands as in `bench.proxy`
"""

import contextlib
import http.client
import json
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from bench.proxy import HEADERS, SIZES, RunningServer, make_bodies, running_servers

__all__ = ["main"]

_ROUNDS = 15
_WARM_UP = 3
_CLIENTS = 50
_CROWD_ROUNDS = 2

Times = list[float | None]
"""In seconds; None where the answer was an error."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and write the rows."""
    others = dict(argument.split("=", 1) for argument in arguments[1:] if "=" in argument)
    rounds = next((int(argument) for argument in arguments[1:] if argument.isdigit()), _ROUNDS)
    with running_servers(others) as servers:
        rows = list[dict[str, Any]]()
        for size, streams, clients in product(SIZES, (False, True), (1, _CLIENTS)):
            more = {"stream": True} if streams else {}
            cpu = {server.name: -server.cpu_s for server in servers}
            times = _alone(servers, size, rounds, more) if clients == 1 else _crowd(servers, size, more)
            sent = rounds + _WARM_UP if clients == 1 else clients * (1 + _CROWD_ROUNDS)
            for server in servers:
                row = _row(server, size, times[server.name], streams=streams, clients=clients)
                rows.append({**row, "cpu_ms": (cpu[server.name] + server.cpu_s) * 1000 / sent})
            Path(arguments[0]).write_text(json.dumps(rows, indent=1))


def _row(server: RunningServer, size: str, times: Times, *, streams: bool, clients: int) -> dict[str, Any]:
    row = {"server": server.name, "size": size, "streams": streams, "clients": clients, "mb": server.resident_mb}
    good = [one for one in times if one is not None]
    if len(good) > 1:
        low, middle, high = statistics.quantiles(good, n=4)
        row |= {"low": low * 1000, "median": middle * 1000, "high": high * 1000}
    return {**row, "failed": len(times) - len(good)}


def _alone(servers: Sequence[RunningServer], size: str, rounds: int, more: dict[str, Any]) -> dict[str, Times]:
    """One request at a time, longer by two messages than the one before; the servers take turns."""
    times: dict[str, Times] = {server.name: [] for server in servers}
    bodies = make_bodies(SIZES[size], rounds + _WARM_UP, is_stale=True, name=f"{size} {more}", **more)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(contextlib.closing(server.connect())) for server in servers]
        for number, body in enumerate(bodies):
            for place in range(len(servers)):
                at = (number + place) % len(servers)
                spent = _seconds(connections[at], body)
                if number >= _WARM_UP:
                    times[servers[at].name].append(spent)
    return times


def _crowd(servers: Sequence[RunningServer], size: str, more: dict[str, Any]) -> dict[str, Times]:
    """All clients at once, a conversation each, one server after the other; the first round is not timed."""
    times: dict[str, Times] = {server.name: [] for server in servers}
    rounds = zip(
        *(
            make_bodies(SIZES[size], _CROWD_ROUNDS + 1, is_stale=True, name=f"{size} {more} {client}", **more)
            for client in range(_CLIENTS)
        ),
        strict=True,
    )
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for number, bodies in enumerate(rounds):
            for server in servers:
                with contextlib.ExitStack() as stack:  # those of before were closed meanwhile
                    connections = [stack.enter_context(contextlib.closing(server.connect())) for _ in bodies]
                    spent = list(pool.map(_seconds, connections, bodies))
                times[server.name] += spent if number else []
    return times


def _seconds(connection: http.client.HTTPConnection, body: bytes) -> float | None:
    """From the first byte sent to the last received; None where the answer is an error."""
    start = time.perf_counter()
    try:
        connection.request("POST", "/v1/messages", body, HEADERS)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):  # it gave up, or took more than a minute
        connection.close()
        return None
    return time.perf_counter() - start if answer.status == 200 else None


if __name__ == "__main__":
    main(sys.argv[1:])
