"""What `redline proxy` adds to a request, beside what a bare pass-through on the same stack adds: time, and memory for streams.

python -m bench.proxy [ROUNDS] [NAME=COMMAND …]
python -m bench.proxy growth [REQUESTS]

Everything runs on this machine: a provider that answers at once, a bare pass-through (raw ASGI on uvicorn, aiohttp), and the
proxy. Each round sends one request, longer by two messages than the one before, directly and through both, one after the other.
Proxies of others are measured beside them: their commands take the port as {port} and the provider as {upstream}, for example
'headroom=env ANTHROPIC_TARGET_API_URL={upstream} headroom proxy --port {port} --no-rate-limit'. Give them no network.

`growth` prints what the proxy's process holds after so many requests, of which every second one is the first of a session, with
a label, a session and a key that nobody has sent before.
"""

import asyncio
import contextlib
import http.client
import json
import os
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zlib import crc32

__all__ = ["HEADERS", "SIZES", "RunningServer", "make_bodies", "running_servers"]

SIZES = {"10 kB": 10_000, "500 kB": 500_000, "5 MB": 5_000_000}
_ROUNDS = 41
_WARM_UP = 6
_STREAMS = 100
_OWN_SERVERS = 3
_EVENTS = 30
_GROWTH_REQUESTS = 10_000
_GROWTH_SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 1)
_RESULT_CHARS = 6_000
_USAGE = {"input_tokens": 5, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 9}


def main(arguments: Sequence[str]) -> None:
    """Print both tables; or be one of the servers that they need."""
    match arguments:
        case ["provider"]:
            asyncio.run(_serve_provider())
        case ["bare", url]:
            _serve_bare(url)
        case ["growth", *most]:
            _print_growth(int(most[0]) if most else _GROWTH_REQUESTS)
        case _:
            others = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
            rounds = next((int(argument) for argument in arguments if argument.isdigit()), _ROUNDS)
            with running_servers(others) as servers:
                _print_latencies(servers, rounds)
            _print_memory()


# --- the servers


@dataclass
class RunningServer:
    """A process that listens."""

    name: str
    port: int
    process: "subprocess.Popen[str]"
    times: list[float] = field(default_factory=list)

    def connect(self) -> http.client.HTTPConnection:
        """A connection that waits for nothing before it sends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @property
    def resident_mb(self) -> float:
        """What its process holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu_s(self) -> float:
        """What its process has taken of the processors."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running_servers(others: Mapping[str, str] = MappingProxyType({})) -> Iterator[list[RunningServer]]:
    """The provider, the bare pass-through, the proxy and those of others, each in a process of its own."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        provider = _start(stack, "direct", "bench.proxy", "provider")
        url = f"http://127.0.0.1:{provider.port}"
        bare = _start(stack, "bare", "bench.proxy", "bare", url)
        options = ["proxy", "--port", "0", "--store", f"{folder}/store", "--policy", "documents"]
        redline = _start(stack, "redline", "redline", *options, "--upstream", f"anthropic={url}")
        yield [provider, bare, redline, *(_start_other(stack, name, command, url) for name, command in others.items())]


def _start_other(stack: contextlib.ExitStack, name: str, command: str, upstream: str) -> RunningServer:
    """A proxy of others, once it answers; they take their time."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    words = shlex.split(command.format(port=port, upstream=upstream))
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    server = RunningServer(name, port, process)
    for _ in range(1_200):
        with contextlib.suppress(OSError), contextlib.closing(server.connect()):
            return server
        time.sleep(0.1)
    raise SystemExit(f"{name} did not start: {command}")


def _start(stack: contextlib.ExitStack, name: str, *command: str) -> RunningServer:
    """A module as a process; the first line that it prints ends in its port, or has it within an address."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None
    stack.callback(process.stdout.close)
    address = next(word for word in process.stdout.readline().split() if word.startswith("http://"))
    server = RunningServer(name, int(address.rpartition(":")[2]), process)
    for _ in range(200):
        with contextlib.suppress(OSError), contextlib.closing(server.connect()):
            return server
        time.sleep(0.05)
    raise SystemExit(f"{name} did not start")


async def _serve_provider() -> None:
    """Answers every request at once: whole, in events, or with an event and then silence, as its path says."""
    answer = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-opus-4-6",
        "stop_reason": "end",
    }
    whole = json.dumps({**answer, "usage": _USAGE}).encode()
    start = (
        b"event: message_start\ndata: %s\n\n"
        % json.dumps({"type": "message_start", "message": {**answer, "usage": _USAGE}}).encode()
    )
    delta = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"text":"some words"}}\n\n'
    stream_head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
                if b"?hold" in head:
                    writer.write(stream_head + b"%x\r\n%s\r\n" % (len(start), start))
                    await reader.read()
                elif b"?stream" in head or _STREAMED.search(body[:200] + body[-200:]):
                    writer.write(stream_head)
                    for event in (start, *[delta] * _EVENTS):
                        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                        await asyncio.sleep(0)
                    writer.write(b"0\r\n\r\n")
                else:
                    head_out = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(whole)
                    writer.write(head_out + whole)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def _serve_bare(url: str) -> None:
    """The least that a proxy on this stack can do: read the body, send it, pass on the answer as it comes."""
    import aiohttp
    import uvicorn

    session: aiohttp.ClientSession | None = None

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal session
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        session = session or aiohttp.ClientSession(
            auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None), connector=aiohttp.TCPConnector(limit=0)
        )
        chunks: list[bytes] = []
        while True:
            message = await receive()
            chunks.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        relaying = asyncio.ensure_future(relay(session, scope, b"".join(chunks), send))
        leaving = asyncio.ensure_future(receive())
        await asyncio.wait({relaying, leaving}, return_when=asyncio.FIRST_COMPLETED)
        relaying.cancel()
        leaving.cancel()

    async def relay(session: aiohttp.ClientSession, scope: Any, body: bytes, send: Any) -> None:
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"] if name not in (b"host",)]
        target = f"{url}{scope['path']}?{scope['query_string'].decode()}"

        async def pieces() -> Any:
            view = memoryview(body)
            for at in range(0, len(body), 1 << 18):
                yield view[at : at + (1 << 18)]

        async with session.request(scope["method"], target, headers=headers, data=pieces()) as answer:
            kept = [(name, value) for name, value in answer.raw_headers if name.lower() != b"transfer-encoding"]
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        ws="none",
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])


# --- time


def _print_latencies(servers: Sequence[RunningServer], rounds: int) -> None:
    print(f"\nTime from the first byte sent to the last received, p50 of {rounds} in ms; added: less what it takes directly\n")
    names = [server.name for server in servers]
    print(
        f"{'':34}"
        + "".join(f"{name:>9}" for name in names)
        + "".join(f"{'+' + name:>10}" for name in names[1:])
        + f"{'ratio':>8}"
    )
    for size, wanted in SIZES.items():
        for is_stale in (False, True):
            for query in ("whole", "stream"):
                bodies = list(make_bodies(wanted, rounds + _WARM_UP, is_stale=is_stale, name=f"{size} {query} {is_stale}"))
                direct, *others = _measure(servers, bodies, query)
                added = [one - direct for one in others]
                title = f"{size}, {query}, {'with strikes' if is_stale else 'nothing to strike'}"
                times = "".join(f"{one:9.2f}" for one in (direct, *others)) + "".join(f"{one:10.2f}" for one in added)
                print(f"{title:34}{times}{added[1] / added[0]:7.2f}x", flush=True)
    with urllib.request.urlopen(f"http://127.0.0.1:{servers[2].port}/redline/status") as answer:
        totals = json.load(answer)["totals"]
    print(f"\nredline: {totals['requests']} requests, {totals['struck_tokens']:,} tokens struck, {totals['retreats']} retreats")


def _measure(servers: Sequence[RunningServer], bodies: Sequence[bytes], query: str) -> list[float]:
    """The median of each server, in ms; they take turns, each beginning as often as the others."""
    connections = {server.name: server.connect() for server in servers}
    place_of = {server.name: place for place, server in enumerate(servers)}
    for server in servers:
        server.times.clear()
    for number, body in enumerate(bodies):
        for place in range(len(servers)):
            server = servers[(number + place) % len(servers)]
            start = time.perf_counter()
            connections[server.name].request("POST", f"/v1/messages?{query}", body, HEADERS)
            answer = connections[server.name].getresponse()
            answer.read()
            assert answer.status == 200 or place_of[server.name] >= _OWN_SERVERS  # others may not take what streams here
            if answer.status != 200:
                server.times.append(float("nan"))
            elif number >= _WARM_UP:
                server.times.append(time.perf_counter() - start)
        time.sleep(0.01)
    for connection in connections.values():
        connection.close()
    return [statistics.median(server.times) * 1000 for server in servers]


_STREAMED = re.compile(rb'"stream": ?true')
"""Proxies of others do not pass on what follows the path."""
HEADERS = {
    "content-type": "application/json",
    "x-api-key": "sk-bench-of-this-machine-0123456789abcdef",
    "anthropic-version": "2023-06-01",
}


def make_bodies(size: int, count: int, *, is_stale: bool, name: str, **more: object) -> Iterator[bytes]:
    """A history of so many bytes that grows by a call and its result; of one file over and over, or each of its own. One of
    another name has no message in common with it: it would be taken for what is left of this one after a compaction."""
    chars, tag = min(_RESULT_CHARS, size // 10), f"{crc32(name.encode()):08x}"
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Look into {name}"}]
    number, length = 0, 0

    def turn() -> None:
        nonlocal number, length
        number += 1
        path = f"/p/{0 if is_stale else number}.py"
        call = {"type": "tool_use", "id": f"toolu_{tag}_{number}", "name": "Read", "input": {"file_path": path}}
        text = f"{number}\tdef something(x): return 'words'\n" * (chars // 40)
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text}]})
        length += len(text) + 300

    while length < size:
        turn()
    for _ in range(count):
        yield json.dumps({"model": "claude-opus-4-6", "max_tokens": 100, "messages": messages, **more}).encode()
        turn()


# --- memory


def _print_memory() -> None:
    """Of servers that are started anew, so that large bodies of before are not in it."""
    print(f"\nMemory for {_STREAMS} open streams of 10 kB requests, MB\n")
    print(f"{'':12}{'at start':>10}{'streaming':>10}{'more':>8}")
    found: dict[str, float] = {}
    with running_servers() as fresh:
        body = next(make_bodies(10_000, 1, is_stale=False, name="memory"))
        for server in fresh[1:]:
            warm = server.connect()
            warm.request("POST", "/v1/messages?whole", body, HEADERS)
            warm.getresponse().read()
            before = server.resident_mb
            with contextlib.ExitStack() as stack:
                for _ in range(_STREAMS):
                    connection = stack.enter_context(contextlib.closing(server.connect()))
                    connection.request("POST", "/v1/messages?hold", body, HEADERS)
                    stack.enter_context(contextlib.closing(connection.getresponse()))
                time.sleep(0.5)
                found[server.name] = server.resident_mb
            warm.close()
            print(f"{server.name:12}{before:10.1f}{found[server.name]:10.1f}{found[server.name] - before:8.1f}", flush=True)
    print(f"redline / bare: {found['redline'] / found['bare']:.2f}x")


def _print_growth(requests: int) -> None:
    """Memory of the proxy while clients come and go that it has never seen."""
    print(f"\nMemory of the proxy over {requests:,} requests of 10 kB, two of each label, session and key, MB\n")
    places = {round(share * requests) for share in _GROWTH_SHARES}
    with running_servers() as servers, contextlib.closing(servers[2].connect()) as connection:
        print(f"{'at start':>12}{servers[2].resident_mb:10.1f}", flush=True)
        for number in range(0, requests, 2):
            name = f"session {number}"
            headers = HEADERS | {"x-api-key": f"sk-bench-{number:032}", "x-session-id": name}
            for at, body in enumerate(make_bodies(10_000, 2, is_stale=True, name=name), number + 1):
                connection.request("POST", f"/s/label-{number}/v1/messages", body, headers)
                assert connection.getresponse().read()
                if at in places:
                    print(f"{at:12,}{servers[2].resident_mb:10.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
