"""Requests into the proxy, and whatever an upstream may answer: streams cut anywhere, heads that are none, its own pages."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped
from fuzz.targets.http import Answered, BugLog, HttpCase, ask, raw_bytes
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, Trial
from fuzz.targets.wire import exchanges
from redline.proxy.accounts import Accounts
from redline.proxy.relay import Relay
from redline.proxy.settings import ProxySettings, parse_upstreams
from redline.tokens import Estimate
from redline.transport.editing import WireEditor

__all__ = ["PROXY"]

_OWN_PATHS = ("/redline/status", "/redline/metrics", "/redline/health", "/redline/none", "/t/token/s/label/v1/models", "*")
_OWN_STATUSES = (400, 401, 403, 404, 405, 426, 502, 504)


@cache
def _seeds() -> Sequence[bytes]:
    """Exchanges whose answer is the whole of what the upstream sends, its head too; and the proxy's own pages."""
    found: list[dict[str, Any]] = []
    for one in exchanges():
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {one['content_type']}\r\nContent-Length: {len(one['answer'])}\r\n\r\n"
        asked = {name: one[name] for name in ("method", "path", "headers", "body")}
        found.append({**asked, "head": head, "answer": one["answer"], "cut": None, "stays": True})
    found += [{"method": "GET", "path": path, "headers": {"host": "127.0.0.1"}, "body": ""} for path in _OWN_PATHS]
    return [dumped(one) for one in found]


@contextmanager
def _opened(sandbox: Sandbox) -> Iterator[Trial]:
    """A relay whose upstream answers what the case says, all in one event loop."""
    bugs, answers = BugLog(), list[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        content = answers[-1]
        for start in range(0, len(content), 97):
            writer.write(content[start : start + 97])
        writer.close()

    with asyncio.Runner() as runner:
        upstream = runner.run(asyncio.start_server(answer, "127.0.0.1", 0))
        port = upstream.sockets[0].getsockname()[1]
        sandbox.ports.add(port)
        url = f"http://127.0.0.1:{port}"
        addresses = parse_upstreams([f"{name}={url}" for name in ("anthropic", "openai", "gemini")])
        store = sandbox.kept / "store"
        store.mkdir()
        settings = ProxySettings(str(store), upstreams=addresses, deadline_ms=5_000.0)
        relay = Relay(
            settings, lambda: WireEditor(redline.Editor(counter=Estimate(), policy="bold")), Accounts(store / "accounts")
        )
        runner.run(_start(relay))

        def trial(case: bytes) -> None:
            given = decoded_case(case)
            request = HttpCase.of(given)
            cut = given.get("cut")
            content = raw_bytes(given.get("head")) + raw_bytes(given.get("answer"))
            answers[:] = [content[:cut] if isinstance(cut, int) else content]
            stays = given.get("stays") is not False
            answered = runner.run(asyncio.wait_for(ask(relay, request, stays=stays), 8))
            bugs.raise_first()
            _check(answered, stays=stays)

        yield trial


async def _start(relay: Relay) -> None:
    """Have it open what requests need; it is never told to stop, since the process ends with it."""
    started = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if started.is_set():
            await asyncio.Event().wait()
        return {"type": "lifespan.startup"}

    async def send(_: Any) -> None:
        started.set()

    _TASKS.append(asyncio.ensure_future(relay({"type": "lifespan"}, receive, send)))
    await started.wait()


_TASKS: list["asyncio.Future[None]"] = []
"""So that a task is not collected while it runs."""


def _check(answered: Answered, *, stays: bool) -> None:
    """A client that waits is answered once, with what the upstream said or with an error in the provider's shape."""
    if stays and len(answered.statuses) != 1:
        raise BrokenProperty(f"{len(answered.statuses)} answers")
    if b"redline proxy" in answered.body and answered.statuses:
        if answered.statuses[0] not in _OWN_STATUSES:
            raise BrokenProperty(f"the proxy itself answers {answered.statuses[0]}")
        if "error" not in json.loads(answered.body):
            raise BrokenProperty("an error of the proxy has another shape")


PROXY = Target("proxy", _seeds, _opened)
