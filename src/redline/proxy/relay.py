"""The proxy's one endpoint: takes every request, has it edited if it asks a model, and relays what the provider answers."""

import asyncio
import logging
import time
from collections.abc import Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from starlette.applications import Starlette

from redline.listening import TOKEN_HEADER
from redline.ownership import CHALLENGE_HEADER, PROOF_HEADER, proofs
from redline.proxy.access import Target, parse_target
from redline.proxy.accounts import Accounts
from redline.proxy.edit_threads import CallEditor, EditOutcome, EditThreads, EncodedCall
from redline.proxy.exchange import Exchange, SettlementObserver, settle, tell_editor
from redline.proxy.headers import headers_for_client, headers_for_upstream, plain_headers
from redline.proxy.incoming import ClientGoneError, Incoming, Receive, Scope, Send
from redline.proxy.problems import problem_body, why_unreachable
from redline.proxy.settings import ProxySettings
from redline.proxy.status import status_app
from redline.proxy.store_health import StoreHealth
from redline.proxy.upstream_client import Outgoing, UpstreamClient
from redline.proxy.upstreams import provider_of
from redline.wire import find_api
from redline.wire.editing import CACHE_TOUCH, REFUSALS, Call

__all__ = ["Relay"]

_log = logging.getLogger("redline.proxy")

_MOST_HELD = 64 * 1024 * 1024
"""A body up to this is held, so that it can be edited and sent again; the rest of a larger one passes through as it comes."""
_PATIENCE = 20
"""So many deadlines an edit may take where the provider refused what was sent without waiting for it."""
_LAST_WORDS_S = 1.0
"""At the end, requests that the server has cancelled get this long to be counted."""
_SETTLED_S = 3.0
_LAST_TURNS = 20
"""A client may have the last byte of an answer a few turns of the event loop before the request has ended here."""
_MOST_UNSETTLED = 1_000
"""Exchanges that wait for the accounts; beyond that a store that hangs would cost memory without end."""


class Relay:
    """An ASGI application."""

    def __init__(
        self,
        settings: ProxySettings,
        open_editor: Callable[[], CallEditor],
        accounts: Accounts,
        observer: SettlementObserver | None = None,
    ) -> None:
        self.settings = settings
        self.accounts = accounts
        self._observer = observer
        self.open_requests = 0
        self._access = settings.access
        self.health = StoreHealth(settings.store)
        self._threads = EditThreads(open_editor, self.health, deadline_s=settings.deadline_ms / 1000)
        self._clerk = ThreadPoolExecutor(1, "redline-accounts")
        self._teller = ThreadPoolExecutor(1, "redline-answers")
        self._unsettled, self._untold = 0, 0
        self._client: UpstreamClient | None = None
        self._status: Starlette = status_app(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the server's notice that it starts or ends."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        target = parse_target(scope["raw_path"].decode("latin-1"))
        headers = plain_headers(scope["headers"])
        if problem := self._access.host_problem(headers):
            await _answer_problem(send, "", 403, problem)
        elif problem := self._access.page_problem(headers, headers.get(TOKEN_HEADER, ""), target.token):
            await _answer_problem(send, provider_of(target.path, headers), 403, problem)
        elif not target.path.startswith("/"):
            await _answer_problem(send, "", 400, f"No provider has the path {target.path[:100]!r}.")
        elif target.path.startswith("/redline/"):
            await self._answer_status(scope, receive, send, target, headers)
        elif not self._access.takes_token(headers.get(TOKEN_HEADER, ""), target.token):
            await _answer_problem(send, provider_of(target.path, headers), 401, _NO_TOKEN)
        elif headers.get("upgrade", "").lower() == "websocket":
            await _answer_problem(send, provider_of(target.path, headers), 426, "WebSockets are not relayed. Use HTTP.")
        else:
            await self._relay_until_gone(scope, Incoming(receive), send, target, headers)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open what requests need, and close it at the end."""
        await receive()
        self._client = UpstreamClient()
        await asyncio.get_running_loop().run_in_executor(self._clerk, self._threads.open)
        checking = asyncio.ensure_future(self.health.check())  # which says in the log what is wrong, before the first request
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await checking
        end = time.monotonic() + _LAST_WORDS_S
        while self.open_requests and time.monotonic() < end:
            await asyncio.sleep(0.01)
        await self._client.close()
        self._threads.close()
        await asyncio.to_thread(self._clerk.shutdown)
        await asyncio.to_thread(self._teller.shutdown, cancel_futures=bool(self.health.problem))
        if self._observer is not None:
            await asyncio.to_thread(self._observer.close)
        self.accounts.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer_status(self, scope: Scope, receive: Receive, send: Send, target: Target, headers: dict[str, str]) -> None:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        is_known = self._access.takes_token(headers.get(TOKEN_HEADER, ""), target.token, bearer)
        if not is_known and target.path != "/redline/health":
            await _answer_problem(send, "", 401, _NO_TOKEN)
            return
        proof = proofs(self.settings.keys, headers.get(CHALLENGE_HEADER, ""), self.settings.port).encode()

        async def send_proven(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and CHALLENGE_HEADER in headers:
                message["headers"].append((PROOF_HEADER.encode(), proof))
            await send(message)

        await self._status({**scope, "path": target.path, "raw_path": target.path.encode()}, receive, send_proven)

    async def _relay_until_gone(
        self, scope: Scope, incoming: Incoming, send: Send, target: Target, headers: dict[str, str]
    ) -> None:
        """Relay, and stop the moment the client goes: nobody pays for what nobody reads."""
        api = find_api(scope["method"], target.path)
        provider = api.provider if api else provider_of(target.path, headers)
        exchange = Exchange(scope["method"], target.path, provider, api.name if api else "", target.label, self.settings.run)
        relaying = asyncio.ensure_future(self._relay(scope, incoming, send, exchange, headers))
        leaving = asyncio.ensure_future(incoming.gone())
        self.open_requests += 1
        try:
            await asyncio.wait({relaying, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not relaying.done():
                exchange.cut = "client"
        finally:
            relaying.cancel()
            leaving.cancel()
            await asyncio.wait({relaying, leaving})
            self.open_requests -= 1
            exchange.end = time.perf_counter()
            self._settle_later(exchange)
        if not relaying.cancelled() and (bug := relaying.exception()):
            _log.error("A request could not be relayed", exc_info=bug)

    async def _relay(self, scope: Scope, incoming: Incoming, send: Send, exchange: Exchange, headers: dict[str, str]) -> None:
        """One request, one answer."""
        try:
            body = await incoming.read(_MOST_HELD)
        except ClientGoneError:
            exchange.cut = "client"
            return
        outcome, encoded = EditOutcome(body), None
        if body and incoming.is_whole and (exchange.format or exchange.path.endswith(CACHE_TOUCH)):
            query = scope["query_string"].decode("latin-1")
            call = Call(exchange.method, exchange.path, headers, body, exchange.project, query=query)
            encoded = EncodedCall(call, headers.get("content-encoding", "").strip().lower())
            outcome = await self._threads.edit(encoded)
        exchange.outcome = outcome
        try:
            response = await self._ask(scope, incoming, exchange, outcome)
            if outcome.is_changed and response.status in REFUSALS:
                response.close()
                status = response.status
                response = await self._ask(scope, incoming, exchange, EditOutcome(body))
                exchange.refused = status if response.status < 400 else 0  # what fails either way may not be our doing
            if outcome.retreat and encoded is not None and response.status in REFUSALS:
                late = await self._threads.edit(encoded, patience=_PATIENCE)
                if late.is_changed and not late.retreat:  # it may have been refused because it was sent without its repair
                    response.close()
                    exchange.outcome, response = late, await self._ask(scope, incoming, exchange, late)
        except (aiohttp.ClientError, OSError, TimeoutError) as problem:
            if isinstance(problem.__cause__, ClientGoneError):
                exchange.cut = "client"
                return
            exchange.status = 504 if isinstance(problem, TimeoutError) else 502
            exchange.unreachable = why_unreachable(problem)
            said = f"{exchange.provider} cannot be reached: {exchange.unreachable}."
            await _answer_problem(send, exchange.provider, exchange.status, said)
            return
        try:
            if 200 <= response.status < 600:
                await self._pass_on(response, send, exchange)
            else:
                exchange.status, said = 502, f"{exchange.provider} answered {response.status}, which cannot be passed on"
                await _answer_problem(send, exchange.provider, exchange.status, said)
        finally:
            response.close()  # does nothing to a connection whose answer was read to its end

    async def _ask(self, scope: Scope, incoming: Incoming, exchange: Exchange, outcome: EditOutcome) -> aiohttp.ClientResponse:
        """The provider's response, as soon as its headers are there."""
        upstream = self.settings.upstreams[exchange.provider]
        named = [value for name, value in scope["headers"] if name == b"content-length"]
        has_body = bool(outcome.body or named or not incoming.is_whole)
        outgoing = Outgoing(
            exchange.method,
            upstream,
            upstream.url(exchange.path, scope["query_string"].decode("latin-1")),
            headers_for_upstream(scope["headers"], is_decoded=outcome.is_changed),
            outcome.body if has_body else None,
            None if incoming.is_whole else incoming.rest(),
            len(outcome.body) if incoming.is_whole else int(named[0]) if named else None,
        )
        assert self._client is not None, "the server starts the application before it hands it requests"
        return await self._client.send(outgoing)

    async def _pass_on(self, response: aiohttp.ClientResponse, send: Send, exchange: Exchange) -> None:
        """The answer, piece by piece as it comes; `send` waits where the client is slow, and so does the reading."""
        exchange.status = response.status
        exchange.content_type = response.headers.get("content-type", "")
        exchange.content_encoding = response.headers.get("content-encoding", "")
        is_kept = bool(exchange.format) and response.status < 400
        headers = headers_for_client(response.raw_headers)
        if response.status == 304:  # the length is that of a body which is not sent, and the server would wait for it
            headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        try:
            async for chunk in response.content.iter_any():
                if is_kept:
                    exchange.keep(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except (aiohttp.ClientError, OSError):
            exchange.cut = "upstream"
            return  # without the end of the answer, so that the client sees that it is cut off
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def settled(self) -> None:
        """Wait until the requests that have ended by now are in the accounts; for a moment, since a store may hang."""
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
        counted = asyncio.get_running_loop().run_in_executor(self._clerk, _do_nothing)
        await asyncio.wait({counted}, timeout=_SETTLED_S)

    def _settle_later(self, exchange: Exchange) -> None:
        """Hand it to the accounts, in a thread of theirs, one after the other; then the editor is told, in another."""
        if self._unsettled >= _MOST_UNSETTLED:
            _log.warning("The accounts are behind; a request is not counted")
            return
        self._unsettled += 1
        loop = asyncio.get_running_loop()
        edited, waiting = exchange.outcome.edited if exchange.outcome else None, self._threads.opened
        if edited is not None and waiting is not None:
            waiting.answering(edited)

        def work() -> None:
            try:
                answer, editor = settle(exchange, self.accounts, self._observer), self._threads.open()
                if editor is not None and not self.health.problem and self._untold < _MOST_UNSETTLED:
                    self._untold += 1
                    self._teller.submit(tell_editor, exchange, editor, answer).add_done_callback(told)
                elif edited is not None and waiting is not None:
                    waiting.answered(edited, None)
            except Exception:  # nobody waits for this: unless it is logged here, it is lost
                _log.exception("A request could not be counted")

        def told(_: object) -> None:
            self._untold -= 1

        def settled(_: object) -> None:
            self._unsettled -= 1

        loop.run_in_executor(self._clerk, work).add_done_callback(settled)


def _do_nothing() -> None:
    """What is done after all that was asked for before it."""


_NO_TOKEN = f"A token is needed: send it as {TOKEN_HEADER}, or in the base URL as /t/TOKEN."


async def _answer_problem(send: Send, provider: str, status: int, message: str) -> None:
    body = problem_body(provider, status, message)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
