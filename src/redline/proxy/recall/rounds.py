"""The turns of one answer: while the model calls Redline's own tool it is answered here and asked again; the client waits."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import aiohttp
import msgspec

from redline.errors import RedlineError
from redline.providers import find_format
from redline.providers.answers import AnswerReader
from redline.providers.apis import PROVIDERS
from redline.providers.compression import decompress
from redline.providers.offered_tool import RECALL_TOOL
from redline.proxy.edit_threads import EditOutcome
from redline.proxy.exchange import Exchange
from redline.proxy.http import Send, headers_for_client
from redline.proxy.recall.answer_filter import AnswerFilter, Event
from redline.proxy.recall.anthropic import MessagesFilter
from redline.proxy.recall.gemini import ContentFilter
from redline.proxy.recall.openai_chat import ChunksFilter
from redline.proxy.recall.openai_responses import ResponsesFilter
from redline.proxy.recall.sse import EventReader, encode_event
from redline.proxy.unstruck_usage import UnstruckUsage
from redline.proxy.upstream_client import why_unreachable
from redline.transport.editing import Call, Edited, HiddenAnswer
from redline.values import payloads
from redline.values.messages import Text, ToolCall, ToolResult

_log = logging.getLogger("redline.proxy")

MOST_ROUNDS = 8
"""So often in one answer the model is asked again."""
_MOST_BYTES = 32 << 20
_RECALL_S = 20.0
"""So long the record may take; then the model is told so."""
_UNDECODED = (b"content-length", b"content-encoding")
_FILTERS: dict[str, type[AnswerFilter]] = {
    "anthropic": MessagesFilter,
    "openai_chat": ChunksFilter,
    "openai_responses": ResponsesFilter,
    "gemini": ContentFilter,
}


@dataclass(frozen=True, slots=True)
class Asking:
    """What the relay does for a turn."""

    edit: Callable[[Call], Awaitable[EditOutcome]]
    send: Callable[[EditOutcome], Awaitable[aiohttp.ClientResponse]]
    record: Callable[[Exchange], None]
    """Counts a turn that is over."""
    recall: Callable[[Edited, dict[str, Any]], tuple[str, bool]]
    hide_turns: Callable[[Edited, Edited, HiddenAnswer], None]
    """Both block."""


class _Turn(NamedTuple):
    """What the model said in a turn, as messages that its API takes back."""

    messages: tuple[dict[str, Any], ...]
    own: tuple[ToolCall, ...]
    """Its calls of the tool."""
    has_others: bool


class RecallRounds:
    """Relays one answer. `exchange` is that of the turn under way; those before it are counted as they end."""

    def __init__(self, asking: Asking, exchange: Exchange, send: Send) -> None:
        edited = exchange.outcome.edited
        assert edited is not None, "only a body that offers the tool comes here"
        assert edited.read is not None, "it was read to be edited"
        self._asking, self._exchange, self._send, self._first = asking, exchange, send, edited
        self._body = edited.read
        self._format = find_format(exchange.format)
        self._filter = _FILTERS[exchange.format](RECALL_TOOL)
        self._said: list[bytes] = []
        """The turns so far with their results."""
        self._shown: list[dict[str, Any]] = []
        """What of them the client was shown."""
        self._wholes: list[Event] = []
        """Whole answers, of a client that wants no stream."""
        self._has_begun = False

    async def relay(self, response: aiohttp.ClientResponse) -> None:
        """The answer of all turns as one; every response but the given one is closed here."""
        first = response
        try:
            while await self._relay_turn(response):
                if response is not first:
                    response.close()
                response = await self._ask_again()
                if response.status != 200:
                    await self._refuse(response.status, await response.content.read(_MOST_BYTES), response)
                    return
        except (aiohttp.ClientError, OSError, TimeoutError) as problem:
            exchange = self._exchange
            exchange.status = 504 if isinstance(problem, TimeoutError) else 502
            exchange.unreachable = why_unreachable(problem)
            said = f"redline proxy: {exchange.provider} cannot be reached: {exchange.unreachable}."
            await self._fail(exchange.status, PROVIDERS[exchange.provider].error(exchange.status, said))
        finally:
            if response is not first:
                response.close()

    # --- one turn

    async def _relay_turn(self, response: aiohttp.ClientResponse) -> bool:
        """Pass on what the client may see of a turn. Whether the model is to be asked again."""
        exchange = self._exchange
        exchange.status = response.status
        exchange.content_type = response.headers.get("content-type", "")
        exchange.content_encoding = response.headers.get("content-encoding", "")
        is_stream = "event-stream" in exchange.content_type.lower()
        passed = await (self._pass_stream(response) if is_stream else self._take_whole(response))
        if not passed:
            return False
        turn = self._turn()
        is_done = not self._filter.is_hiding or turn is None or not turn.own or not self._filter.has_ended
        if is_done or turn is None or turn.has_others or self._filter.turn > MOST_ROUNDS:
            if not is_done and turn is not None and not turn.has_others:
                said = f"redline proxy: the model asked {MOST_ROUNDS + 1} times in a row for what was left out."
                exchange.recalls = len(turn.own)
                await self._fail(502, PROVIDERS[exchange.provider].error(502, said))
                return False
            await self._finish(is_stream=is_stream, turn=turn)
            return False
        exchange.recalls = len(turn.own)
        self._said += [payloads.encode(one) for one in turn.messages]
        self._shown += self._visible(turn.messages)
        self._said += await self._answers(turn.own)
        return True

    async def _pass_stream(self, response: aiohttp.ClientResponse) -> bool:
        """Events as they come. False if the stream was cut off, or reported an error: then the client has it."""
        reader, exchange = EventReader(), self._exchange
        await self._begin(response, is_stream=True)
        try:
            async for chunk in _decoded(response, exchange.content_encoding):
                exchange.keep(chunk)
                out = [piece for raw, event in reader.feed(chunk) for piece in self._passed(raw, event)]
                if out:
                    await self._send({"type": "http.response.body", "body": b"".join(out), "more_body": True})
        except (aiohttp.ClientError, OSError, RedlineError):
            exchange.cut = "upstream"
            return False
        finally:
            exchange.content_encoding = ""
        out = [piece for raw, event in reader.finish() for piece in self._passed(raw, event)]
        if self._filter.is_broken or not self._filter.has_ended:
            await self._send({"type": "http.response.body", "body": b"".join(out), "more_body": False})
            return False
        if out:
            await self._send({"type": "http.response.body", "body": b"".join(out), "more_body": True})
        return True

    def _passed(self, raw: bytes, event: Any) -> list[bytes]:
        """What the client is sent for one event; the mark of the end, `[DONE]`, which is no JSON, comes last."""
        if not isinstance(event, dict):
            if b"[DONE]" in raw:
                self._done = raw
                return []
            return [raw] if self._filter.turn == 1 else []
        return [raw if shown is event or shown == event else encode_event(shown) for shown in self._filter.take(event)]

    _done = b""

    async def _take_whole(self, response: aiohttp.ClientResponse) -> bool:
        """Keep an answer that is not streamed: the client gets the last, merged with those before."""
        exchange = self._exchange
        try:
            body = b"".join([chunk async for chunk in _decoded(response, exchange.content_encoding)])
        except (aiohttp.ClientError, OSError):
            exchange.cut = "upstream"
            if not self._has_begun:
                await self._begin(response, is_stream=False)  # without its end, so that the client sees that it is cut off
            return False
        exchange.content_encoding = ""
        exchange.keep(body)
        self._response = response
        try:
            answer = payloads.decode(body)
        except (ValueError, RecursionError):
            answer = None
        self._wholes.append(answer if isinstance(answer, dict) else {})
        self._body_bytes = body
        turn = self._turn()
        self._filter.is_hiding, self._filter.has_ended = bool(turn and turn.own), not _is_cut_short(self._wholes[-1])
        return True

    def _turn(self) -> _Turn | None:
        exchange = self._exchange
        reader = AnswerReader(exchange.format, exchange.content_type, "", _MOST_BYTES)
        for chunk in exchange.chunks:
            reader.feed(chunk)
        answer = reader.finish()
        if answer is None or not answer.messages:
            return None
        read = [self._format.read(payloads.encode(one)) for one in answer.messages]
        calls = [call for one in read for call in one.calls]
        own = tuple(call for call in calls if call.name == RECALL_TOOL)
        return _Turn(answer.messages, own, len(own) < len(calls))

    def _visible(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages without calls of the tool; what has nothing left is left out."""
        found = list[dict[str, Any]]()
        for message in map(self._format.read, map(payloads.encode, messages)):
            gone = [call for call in message.calls if call.name == RECALL_TOOL]
            left = self._format.remove(message, gone) if gone else message
            if left is not None:
                found.append(payloads.decode(left.native))
        return found

    async def _answers(self, calls: Sequence[ToolCall]) -> list[bytes]:
        """What the model is answered, as messages."""
        edited, results = self._exchange.outcome.edited or self._first, list[ToolResult]()
        for call in calls:
            try:
                working = asyncio.to_thread(self._asking.recall, edited, call.arguments)
                text, is_error = await asyncio.wait_for(working, _RECALL_S)
            except TimeoutError:
                text, is_error = "The record does not answer now. Go on without it.", True
            except Exception:  # a mistake of ours: the model goes on without
                _log.exception("A recall could not be answered")
                text, is_error = "It could not be read. Go on without it.", True
            results.append(ToolResult(call.id, (Text(text),), RECALL_TOOL, is_error=is_error))
        return [payloads.encode(one) for one in self._format.compose("tool", results).payloads]

    async def _ask_again(self) -> aiohttp.ClientResponse:
        """The next turn: the client's request with all that was said since. The turn before it is counted."""
        exchange = self._exchange
        exchange.end = time.perf_counter()
        self._asking.record(replace(exchange))
        pieces = [*enumerate(self._body.messages), *((None, one) for one in self._said)]
        headers = {name: held for name, held in self._first.call.headers.items() if name != "content-encoding"}
        call = replace(self._first.call, body=self._body.splice(pieces), headers=headers, is_next_turn=True)
        exchange.chunks, exchange.kept_bytes, exchange.recalls = [], 0, 0
        exchange.start, exchange.refused = time.perf_counter(), 0
        exchange.outcome = replace(await self._asking.edit(call), is_changed=True)
        self._filter.next_turn()
        return await self._asking.send(exchange.outcome)

    # --- the client

    async def _begin(self, response: aiohttp.ClientResponse, *, is_stream: bool, length: int | None = None) -> None:
        """Status and headers, once."""
        if self._has_begun:
            return
        self._has_begun = True
        headers = headers_for_client(response.raw_headers)
        if is_stream or length is not None:
            headers = [(name, held) for name, held in headers if name.lower() not in _UNDECODED]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": response.status, "headers": headers})

    async def _finish(self, *, is_stream: bool, turn: _Turn | None) -> None:
        """The end of the answer, and what of it the client was not shown."""
        if turn is not None and self._filter.has_ended:
            self._exchange.recalls = len(turn.own)
            await self._note_hidden(turn)
        if is_stream:
            out = b"".join(encode_event(event) for event in self._filter.end()) + self._done
            await self._send({"type": "http.response.body", "body": out, "more_body": False})
            return
        body = self._body_bytes
        if self._filter.turn > 1 or self._filter.is_hiding:
            body = payloads.encode(self._filter.join(self._wholes))
        await self._begin(self._response, is_stream=False, length=len(body))
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _note_hidden(self, turn: _Turn) -> None:
        """Record the hidden turns before the client can come back with its answer."""
        calls, before = list[tuple[int, bytes]](), 0
        for message in map(self._format.read, map(payloads.encode, turn.messages)):
            for call in message.calls:
                if call.name == RECALL_TOOL:
                    native = payloads.decode(message.native)
                    held = native if self._format.items_are_messages else payloads.value_at(native, call.at[:2])
                    calls.append((before, payloads.encode(held)))
                before += call.name != RECALL_TOOL
        results = await self._answers(turn.own) if calls else []
        shown = (*self._shown, *self._visible(turn.messages))
        if self._filter.turn > 1 or calls:
            hidden = HiddenAnswer(shown, tuple(calls), tuple(results))
            noting = asyncio.to_thread(
                self._asking.hide_turns, self._first, self._exchange.outcome.edited or self._first, hidden
            )
            with contextlib.suppress(TimeoutError):  # the client may come back as soon as it has the end of the answer
                await asyncio.wait_for(asyncio.shield(noting), _RECALL_S)

    async def _refuse(self, status: int, body: bytes, response: aiohttp.ClientResponse) -> None:
        """The provider does not take a later turn: its answer, as it is if nothing was sent yet."""
        exchange = self._exchange
        exchange.status = status
        try:
            told = payloads.decode(decompress(body, response.headers.get("content-encoding", ""), most_bytes=_MOST_BYTES))
        except (RedlineError, ValueError, RecursionError):
            told = None
        is_error = isinstance(told, dict) and "error" in told
        said = f"redline proxy: {exchange.provider} answered {status}"
        await self._fail(status if status >= 400 else 502, told if is_error else PROVIDERS[exchange.provider].error(502, said))

    async def _fail(self, status: int, error: Event) -> None:
        """An error in the provider's own shape: as the answer, or in the middle of the stream."""
        if self._has_begun:
            out = encode_event(self._filter.failure(error))
            await self._send({"type": "http.response.body", "body": out, "more_body": False})
            return
        body = msgspec.json.encode(error)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def telling_unstruck(send: Send, usage: UnstruckUsage) -> Send:
    """A `send` that puts the usage without strikes into the answer."""

    async def telling(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, held) for name, held in message["headers"] if name.lower() != b"content-length"]
            await send({**message, "headers": headers})
            return
        body = usage.feed(message["body"])
        await send({**message, "body": body if message.get("more_body") else body + usage.finish()})

    return telling


async def _decoded(response: aiohttp.ClientResponse, encoding: str) -> AsyncIterator[bytes]:
    """The bytes of an answer, not compressed; the provider was asked not to, so that waiting for all of it is rare."""
    if encoding.strip().lower() in ("", "identity"):
        async for chunk in response.content.iter_any():
            yield chunk
    else:
        yield decompress(await response.content.read(), encoding, most_bytes=_MOST_BYTES)


def _is_cut_short(answer: Event) -> bool:
    """Whether a whole answer ends in the middle of what the model wanted to say."""
    choice: dict[str, Any] = next(iter(answer.get("choices") or answer.get("candidates") or []), {})
    reason = answer.get("stop_reason") or choice.get("finish_reason") or choice.get("finishReason") or answer.get("status")
    return str(reason) in ("max_tokens", "length", "MAX_TOKENS", "incomplete", "content_filter", "refusal", "failed")
