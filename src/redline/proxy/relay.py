"""The proxy's one endpoint: takes every request, has it edited if it asks a model, and relays what the provider answers."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import aiohttp
import msgspec

from redline.providers.answers import Answer
from redline.providers.apis import OPENAI, PROVIDERS, Provider, find_api, provider_of
from redline.proxy.accounts import Accounts, metrics_text, status_report
from redline.proxy.edit_threads import EditOutcome, EditThreads, StoreHealth
from redline.proxy.exchange import Exchange
from redline.proxy.held_answers import HeldAnswer
from redline.proxy.http import (
    ClientGoneError,
    Incoming,
    Receive,
    Scope,
    Send,
    headers_for_client,
    headers_for_upstream,
    plain_headers,
)
from redline.proxy.settings import ProxySettings, Target, parse_target
from redline.proxy.unstruck_usage import UnstruckUsage
from redline.proxy.upstream_client import UpstreamClient, pieces_of, why_unreachable
from redline.servers.listening import TOKEN_HEADER
from redline.servers.ownership import CHALLENGE_HEADER, PROOF_HEADER, proofs
from redline.transport.editing import CACHE_TOUCH, REFUSALS, Call, WireEditor

if TYPE_CHECKING:
    from redline.proxy.telemetry import ProxyTelemetry

_log = logging.getLogger("redline.proxy")

_MOST_HELD = 256 * 1024 * 1024
"""A body up to this is held, so that it can be edited and sent again; the rest of a larger one passes through as it comes."""
_PATIENCE = 20
"""So many deadlines an edit may take where the provider refused what was sent without waiting for it."""
_DRAIN_SECONDS = 1.0
"""At the end, requests that the server has cancelled get this long to be counted."""
_RECORDED_SECONDS = 3.0
_LAST_TURNS = 20
"""A client may have the last byte of an answer a few turns of the event loop before the request has ended here."""
_MOST_WAITING = 1_000
"""Exchanges that wait for the accounts, or for the editor; beyond that a store that hangs would cost memory without end."""
_NO_TOKEN = f"A token is needed: send it as {TOKEN_HEADER}, or in the base URL as /t/TOKEN."
_JSON = "application/json"


class Relay:
    """An ASGI application."""

    def __init__(
        self,
        settings: ProxySettings,
        open_editor: Callable[[], WireEditor],
        accounts: Accounts,
        observer: "ProxyTelemetry | None" = None,
    ) -> None:
        self.settings = settings
        self.accounts = accounts
        self._observer = observer
        self.open_requests = 0
        self._access = settings.access
        self.health = StoreHealth(settings.store)
        self._threads = EditThreads(open_editor, self.health, deadline_s=settings.deadline_ms / 1000)
        self._accounting_pool = ThreadPoolExecutor(1, "redline-accounts")
        self._answer_pool = ThreadPoolExecutor(1, "redline-answers")
        self._unrecorded, self._untold = threading.Semaphore(_MOST_WAITING), threading.Semaphore(_MOST_WAITING)
        self._client: UpstreamClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the server's notice that it starts or ends."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        target = parse_target(scope["raw_path"].decode("latin-1"))
        headers = plain_headers(scope["headers"])
        if problem := self._access.host_problem(headers):
            await _answer_problem(send, OPENAI, 403, problem)
        elif problem := self._access.page_problem(headers, headers.get(TOKEN_HEADER, ""), target.token):
            await _answer_problem(send, provider_of(target.path, headers), 403, problem)
        elif not target.path.startswith("/"):
            await _answer_problem(send, OPENAI, 400, f"No provider has the path {target.path[:100]!r}.")
        elif target.path.startswith("/redline/"):
            await self._answer_status(scope, send, target, headers)
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
        await asyncio.get_running_loop().run_in_executor(self._accounting_pool, self._threads.open)
        checking = asyncio.ensure_future(self.health.check())  # which says in the log what is wrong, before the first request
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await checking
        end = time.monotonic() + _DRAIN_SECONDS
        while self.open_requests and time.monotonic() < end:
            await asyncio.sleep(0.01)
        await self._client.close()
        self._threads.close()
        await asyncio.to_thread(self._accounting_pool.shutdown)
        await asyncio.to_thread(self._answer_pool.shutdown, cancel_futures=bool(self.health.problem))
        if self._observer is not None:
            await asyncio.to_thread(self._observer.close)
        self.accounts.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer_status(self, scope: Scope, send: Send, target: Target, headers: dict[str, str]) -> None:
        """The proxy's own pages; whoever challenges it gets the proof of whose proxy it is with every answer."""
        proven: list[tuple[bytes, bytes]] = []
        if challenge := headers.get(CHALLENGE_HEADER, ""):
            proven = [(PROOF_HEADER.encode(), proofs(self.settings.keys, challenge, self.settings.port).encode())]
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        is_known = self._access.takes_token(headers.get(TOKEN_HEADER, ""), target.token, bearer)
        page = target.path.removeprefix("/redline/")
        if not is_known and page != "health":
            await _answer_problem(send, OPENAI, 401, _NO_TOKEN)
        elif page not in ("status", "metrics", "health"):
            await _answer(send, 404, "text/plain", b"Not Found", proven)
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, "text/plain", b"Method Not Allowed", [*proven, (b"allow", b"GET, HEAD")])
        elif page == "health":
            # What is wrong may name places, and this path asks for no token.
            why = "Nothing can be edited or recorded; requests pass. /redline/status says why."
            is_well = not await self.health.check()
            said = {"status": "ok"} if is_well else {"status": "unavailable", "why": why}
            await _answer(send, 200 if is_well else 503, _JSON, json.dumps(said).encode(), proven)
        else:
            await self.recorded()
            await asyncio.gather(asyncio.to_thread(self.accounts.refresh), self.health.check())
            problem, open_requests = self.health.problem, self.open_requests
            if page == "status":
                whole_problem = self._threads.editor.whole_problem if self._threads.editor is not None else ""
                report = status_report(self.settings, self.accounts, problem, open_requests, whole_problem)
                await _answer(send, 200, _JSON, json.dumps(report).encode(), proven)
            else:
                text = metrics_text(self.accounts, problem, open_requests)
                await _answer(send, 200, "text/plain; version=0.0.4; charset=utf-8", text.encode(), proven)

    async def _relay_until_gone(
        self, scope: Scope, incoming: Incoming, send: Send, target: Target, headers: dict[str, str]
    ) -> None:
        """Relay, and stop the moment the client goes: nobody pays for what nobody reads."""
        api = find_api(scope["method"], target.path)
        provider = (api.provider if api else provider_of(target.path, headers)).name
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
            self._record_later(exchange)
        if not relaying.cancelled() and (bug := relaying.exception()):
            _log.error("A request could not be relayed", exc_info=bug)

    async def _relay(self, scope: Scope, incoming: Incoming, send: Send, exchange: Exchange, headers: dict[str, str]) -> None:
        """One request, one answer."""
        try:
            body = await incoming.read(_MOST_HELD)
        except ClientGoneError:
            exchange.cut = "client"
            return
        call = await self._edited(scope, incoming, exchange, headers, body)
        outcome = exchange.outcome
        if await self._answer_over_limit(send, exchange):
            return
        try:
            response: aiohttp.ClientResponse | HeldAnswer
            response = first = await self._ask(scope, incoming, exchange, outcome)
            if first.status in REFUSALS and outcome.edited is not None:
                response = await self._within_learned_limits(scope, incoming, exchange, first)
                outcome = exchange.outcome
            if outcome.is_changed and response.status in REFUSALS:
                response.close()
                status = response.status
                response = await self._ask(scope, incoming, exchange, EditOutcome(body))
                exchange.refused = status if response.status < 400 else 0  # what fails either way may not be our doing
            if outcome.fallback and call is not None and response.status in REFUSALS:
                late = await self._threads.edit(call, patience=_PATIENCE)
                if late.is_changed and not late.fallback:  # it may have been refused because it was sent without its repair
                    response.close()
                    exchange.outcome, response = late, await self._ask(scope, incoming, exchange, late)
        except (aiohttp.ClientError, OSError, TimeoutError) as problem:
            if isinstance(problem.__cause__, ClientGoneError):
                exchange.cut = "client"
                return
            exchange.status = 504 if isinstance(problem, TimeoutError) else 502
            exchange.unreachable = why_unreachable(problem)
            said = f"{exchange.provider} cannot be reached: {exchange.unreachable}."
            await _answer_problem(send, PROVIDERS[exchange.provider], exchange.status, said)
            return
        try:
            await self._pass_on(response, send, exchange)
        finally:
            response.close()  # does nothing to a connection whose answer was read to its end

    async def _within_learned_limits(
        self, scope: Scope, incoming: Incoming, exchange: Exchange, response: aiohttp.ClientResponse
    ) -> "aiohttp.ClientResponse | HeldAnswer":
        """The answer to a smaller body, where the provider said that the body was over one of its limits; else the error."""
        held = await HeldAnswer.of(response)
        smaller = await self._threads.shrink(exchange.outcome, held.status, held.text)
        if smaller is None:
            return held
        again = await self._ask(scope, incoming, exchange, smaller)
        if again.status in REFUSALS:
            again.close()
            return held
        held.close()
        exchange.outcome = smaller
        return again

    async def _edited(
        self, scope: Scope, incoming: Incoming, exchange: Exchange, headers: dict[str, str], body: bytes
    ) -> Call | None:
        """Have a body edited, or note it as it came; the call, where its path is of interest to the editor."""
        exchange.outcome = EditOutcome(body)
        if not (body and incoming.is_whole and (exchange.format or exchange.path.endswith(CACHE_TOUCH))):
            return None
        query = scope["query_string"].decode("latin-1")
        call = Call(exchange.method, exchange.path, headers, body, exchange.project, query=query)
        exchange.outcome = await self._threads.edit(call)
        return call

    async def _answer_over_limit(self, send: Send, exchange: Exchange) -> bool:
        """Refuse a request for which there is no money left, in the provider's own shape, before anything of it is sent."""
        if not self.settings.limits.stops or not exchange.format:
            return False
        await self.recorded()  # all requests that have ended before are counted
        asking = asyncio.get_running_loop().run_in_executor(self._accounting_pool, self.accounts.over_limit, exchange)
        try:
            exchange.over_limit = await asyncio.wait_for(asking, _RECORDED_SECONDS)
        except TimeoutError:
            exchange.over_limit = "the accounts do not answer, so that the limit on dollars cannot be kept. Try again."
        if not exchange.over_limit:
            return False
        provider = PROVIDERS[exchange.provider]
        exchange.status = provider.limit_status
        await _answer_problem(send, provider, exchange.status, exchange.over_limit)
        edited, editor = exchange.outcome.edited, self._threads.editor
        if edited is not None and editor is not None:  # what was struck for it was not sent
            self._answer_pool.submit(editor.withdraw, edited)
        return True

    async def _ask(self, scope: Scope, incoming: Incoming, exchange: Exchange, outcome: EditOutcome) -> aiohttp.ClientResponse:
        """The provider's response, as soon as its headers are there."""
        upstream = self.settings.upstreams[exchange.provider]
        named = [value for name, value in scope["headers"] if name == b"content-length"]
        has_body = bool(outcome.body or named or not incoming.is_whole)
        assert self._client is not None, "the server starts the application before it hands it requests"
        return await self._client.send(
            exchange.method,
            upstream.url(exchange.path, scope["query_string"].decode("latin-1")),
            headers_for_upstream(scope["headers"], is_decoded=outcome.is_changed, is_read=bool(self._unstruck_tokens(outcome))),
            pieces_of(outcome.body, None if incoming.is_whole else incoming.rest()) if has_body else None,
            length=len(outcome.body) if incoming.is_whole else int(named[0]) if named else None,
            proxy=upstream.proxy,
        )

    async def _pass_on(self, response: "aiohttp.ClientResponse | HeldAnswer", send: Send, exchange: Exchange) -> None:
        """The answer, piece by piece as it comes; `send` waits where the client is slow, and so does the reading."""
        if not 200 <= response.status < 600:
            exchange.status, said = 502, f"{exchange.provider} answered {response.status}, which cannot be passed on"
            await _answer_problem(send, PROVIDERS[exchange.provider], exchange.status, said)
            return
        exchange.status = response.status
        exchange.content_type = response.headers.get("content-type", "")
        exchange.content_encoding = response.headers.get("content-encoding", "")
        is_kept = bool(exchange.format) and response.status < 400
        headers, rewriter = headers_for_client(response.raw_headers), None
        if (more := self._unstruck_tokens(exchange.outcome)) and is_kept and not exchange.content_encoding:
            rewriter = UnstruckUsage(exchange.format, more, is_stream="event-stream" in exchange.content_type)
            headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        if response.status == 304:  # the length is that of a body which is not sent, and the server would wait for it
            headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        try:
            async for chunk in response.content.iter_any():
                if is_kept:
                    exchange.keep(chunk)
                passed = chunk if rewriter is None else rewriter.feed(chunk)
                await send({"type": "http.response.body", "body": passed, "more_body": True})
        except (aiohttp.ClientError, OSError):
            exchange.cut = "upstream"
            return  # without the end of the answer, so that the client sees that it is cut off
        rest = b"" if rewriter is None else rewriter.finish()
        await send({"type": "http.response.body", "body": rest, "more_body": False})

    def _unstruck_tokens(self, outcome: EditOutcome) -> int:
        """Tokens told to the agent on top of those sent: what strikes took out, with `--report-usage unstruck`."""
        request = outcome.edited.request if outcome.edited is not None and outcome.is_changed else None
        return request.bill.saved.total if request is not None and self.settings.report_usage == "unstruck" else 0

    async def recorded(self) -> None:
        """Wait until the requests that have ended by now are in the accounts; for a moment, since a store may hang."""
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
        counted = asyncio.get_running_loop().run_in_executor(self._accounting_pool, lambda: None)
        await asyncio.wait({counted}, timeout=_RECORDED_SECONDS)

    def _record_later(self, exchange: Exchange) -> None:
        """Hand an exchange to the accounts, in a thread of theirs, one after the other; then tell the editor, in another."""
        if not self._unrecorded.acquire(blocking=False):
            _log.warning("The accounts are behind; a request is not counted")
            return
        edited, waiting = exchange.outcome.edited, self._threads.editor
        if edited is not None and waiting is not None:
            waiting.answering(edited)

        def record() -> None:
            try:
                answer, editor = self.accounts.record_exchange(exchange, self._observer), self._threads.open()
                if editor is not None and not self.health.problem and self._untold.acquire(blocking=False):
                    self._answer_pool.submit(self._tell_editor, exchange, editor, answer)
                elif edited is not None and waiting is not None:
                    waiting.answered(edited, None)
            except Exception:  # nobody waits for this: unless it is logged here, it is lost
                _log.exception("A request could not be counted")
            finally:
                self._unrecorded.release()

        self._accounting_pool.submit(record)

    def _tell_editor(self, exchange: Exchange, editor: WireEditor, answer: Answer | None) -> None:
        """Report what became of an edit, in a thread. A store that does not answer holds this up, and nothing else."""
        try:
            edited = exchange.outcome.edited
            if edited is not None and exchange.refused:
                editor.refused(edited, exchange.refused, answer, exchange.broke)
            elif edited is not None:
                editor.answered(edited, answer, exchange.broke)
        except Exception:  # the answer is with the client already: nothing of ours may matter to it
            _log.exception("The editor could not be told of an answer")
        finally:
            self._untold.release()


async def _answer_problem(send: Send, provider: Provider, status: int, message: str) -> None:
    await _answer(send, status, _JSON, msgspec.json.encode(provider.error(status, f"redline proxy: {message}")))


async def _answer(send: Send, status: int, kind: str, body: bytes, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
