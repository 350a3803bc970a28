"""A provider on this machine: refuses what the real ones refuse, and otherwise says what it was told to say."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from threading import Thread
from typing import Any

import msgspec

from redline.providers import find_format
from redline.providers.limits.table import RequestLimits, limits_of
from redline.providers.usage import Usage
from redline.testing.builders import Turn
from redline.testing.endpoints import Endpoint, endpoint_at
from redline.testing.limit_refusals import limit_refusal
from redline.testing.provider_cache import ProviderCache
from redline.tokens import count_message, default_counter
from redline.values.messages import Message, Text
from redline.values.payloads import canonical, decode

_REASONING = ("thinking", "redacted_thinking")


class PrefixCache:
    """Remembers the beginnings of all requests, message by message, for ever.

    OpenAI and Gemini keep what was sent of themselves. Anthropic keeps it up to the last block that is marked with
    `cache_control`, and says what it wrote.
    """

    def __init__(self) -> None:
        self._beginnings: set[bytes] = set()

    def count(
        self,
        format: str,
        body: dict[str, Any],
        messages: Sequence[Message],
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - for caches that look at them
    ) -> tuple[int, int, int]:
        """The tokens of a request that are new, read and written; its beginnings are kept for the next one."""
        sums = list(accumulate((count_message(one, default_counter()).total for one in messages), initial=0))
        kept = len(messages)
        is_marked_only = find_format(format).takes_cache_breakpoints
        if is_marked_only and not body.get("cache_control"):  # marks in the system prompt and the tools are not counted
            is_marked = ('"cache_control":{' in canonical(decode(message.native)).decode() for message in messages)
            kept = max((place + 1 for place, found in enumerate(is_marked) if found), default=0)
        beginnings = _beginnings(format, body, messages[:kept])
        read = max((place for place, beginning in enumerate(beginnings) if beginning in self._beginnings), default=0)
        self._beginnings.update(beginnings)
        written = sums[kept] - sums[read] if is_marked_only else 0
        return sums[-1] - sums[read] - written, sums[read], written


def _beginnings(format: str, body: dict[str, Any], messages: Sequence[Message]) -> list[bytes]:
    """A digest for each number of messages, from none on. All that comes before the messages is in each."""
    system = find_format(format).system_field
    digest = hashlib.sha256(canonical(_unmarked([body.get("model"), body.get(str(system)), body.get("tools")])))
    found = [digest.digest()]
    for message in messages:
        digest.update(canonical(_unmarked(decode(message.native))))
        found.append(digest.digest())
    return found


def _unmarked(value: Any) -> Any:
    """Marks move on from request to request, and what they mark stays what it is."""
    if isinstance(value, dict):
        return {name: _unmarked(held) for name, held in value.items() if name != "cache_control"}
    return [_unmarked(held) for held in value] if isinstance(value, list) else value


class _Before(msgspec.Struct, frozen=True):
    """What comes before a block of reasoning."""

    digest: str
    """Of all but reasoning."""
    earlier: tuple[str, ...]
    """The signatures of the reasoning that was sent."""


class ReasoningBinder:
    """Signs the reasoning of Anthropic's Messages API, and refuses a request in which it is bound to something else.

    Reasoning may be left out from the front on, but not where the model still waits for the results of its calls.
    """

    def __init__(self) -> None:
        self._made: dict[str, _Before] = {}
        """By signature, what came before the block when it was made."""
        self._before_call: dict[str, str] = {}
        """By id of a call, the signature of the reasoning that led to it."""

    def complaint(self, body: dict[str, Any]) -> str | None:
        """Why the request is refused; None if it is not."""
        past = _Past(body)
        for place, message in enumerate(body["messages"]):
            for number, block in enumerate(_blocks(message)):
                if block.get("type") in _REASONING and not self._fits(block, past.now()):
                    return f"messages.{place}.content.{number}: `thinking` block is bound to a different conversation"
                past.add(message["role"], block)
        sent = past.now().earlier
        for block in _blocks(body["messages"][-1]):
            call = block["tool_use_id"] if block.get("type") == "tool_result" else None
            if call in self._before_call and self._before_call[call] not in sent:
                return f"Expected `thinking` before the call {call} that is being answered"
        return None

    def sign(self, body: dict[str, Any], content: list[dict[str, Any]]) -> None:
        """Sign the reasoning in an answer to a request."""
        past = _Past(body)
        for message in body["messages"]:
            for block in _blocks(message):
                past.add(message["role"], block)
        signature = ""
        for block in content:
            if block["type"] in _REASONING:
                signature = block["signature"] = f"signature-{len(self._made)}"
                self._made[signature] = past.now()
            elif block["type"] == "tool_use" and signature:
                self._before_call[block["id"]] = signature
            past.add("assistant", block)

    def _fits(self, block: dict[str, Any], now: _Before) -> bool:
        """Whether all that came before it when it was made is there, but for reasoning that was left out from the front on."""
        made = self._made.get(str(block.get("signature")))
        if made is None or made.digest != now.digest:
            return False
        return made.earlier[len(made.earlier) - len(now.earlier) :] == now.earlier


class _Past:
    """Collects what comes before a place in a request."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._digest = hashlib.sha256(canonical([body.get("system"), body.get("tools")]))
        self._earlier: tuple[str, ...] = ()

    def add(self, role: str, block: dict[str, Any]) -> None:
        if block.get("type") in _REASONING:
            self._earlier += (str(block.get("signature")),)
            return
        said = {key: value for key, value in block.items() if key != "cache_control"}
        self._digest.update(canonical([role, said]))

    def now(self) -> _Before:
        return _Before(self._digest.copy().hexdigest(), self._earlier)


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = message["content"]
    yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


Reply = Turn | Callable[[Sequence[Message]], Turn]
"""What the model says; or what works it out from the messages that it was sent."""


@dataclass(frozen=True, slots=True)
class ProviderExchange:
    """One request, and how it was answered."""

    body: dict[str, Any]
    status: int
    answer: dict[str, Any]
    """As it would be in one piece, also where it was streamed."""
    is_streamed: bool = False


@dataclass
class FakeProvider:
    """Listens at `url` as Anthropic, OpenAI (both APIs) and Gemini do."""

    replies: Sequence[Reply] = ()
    """What the model says, one for each request that is accepted; then it says that it is done."""
    url: str = ""
    binder: ReasoningBinder | None = None
    """Signs reasoning and refuses it where it is bound to something else, as the newest Claude models do."""
    exchanges: list[ProviderExchange] = field(default_factory=list)
    """Every request so far, oldest first."""
    cache: PrefixCache | ProviderCache = field(default_factory=PrefixCache)
    """What the answers report as read from the cache."""
    limits: RequestLimits | None = None
    """How much a request may hold; None for what the provider takes of the model that is asked."""

    @property
    def statuses(self) -> list[int]:
        """How the requests so far were answered."""
        return [exchange.status for exchange in self.exchanges]

    def exchange(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None, size: int = 0
    ) -> ProviderExchange:
        """Take a request of so many bytes, and keep it. The names of headers are in lower case."""
        endpoint = endpoint_at(path)
        status, answer = (
            self._answer(endpoint, path, body, headers, size) if endpoint else (404, {"error": {"message": f"No {path} here"}})
        )
        is_streamed = endpoint is not None and (bool(body.get("stream")) or path.endswith(endpoint.stream_path or " "))
        done = ProviderExchange(body, status, answer, status == 200 and is_streamed)
        self.exchanges.append(done)
        return done

    def _answer(
        self, endpoint: Endpoint, path: str, body: dict[str, Any], headers: Mapping[str, str] | None, size: int
    ) -> tuple[int, dict[str, Any]]:
        """The status, and what the provider would say."""
        binder = self.binder if endpoint.binds_reasoning else None
        if complaint := endpoint.complaint(body) or (binder.complaint(body) if binder else None):
            return 400, endpoint.provider.error(400, complaint)
        messages = find_format(endpoint.format).read_request(body)
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        limits = limits_of(endpoint.format, model) if self.limits is None else self.limits
        tokens = sum(count_message(one, default_counter()).total for one in messages)
        if refused := limit_refusal(endpoint.provider, body, messages, limits, size=size, tokens=tokens):
            return refused
        number = self.statuses.count(200)
        reply = self.replies[number] if number < len(self.replies) else ("assistant", (Text("Done."),))
        _, parts = reply(messages) if callable(reply) else reply
        fresh, read, written = self.cache.count(endpoint.format, {**body, "model": model}, messages, headers)
        said = count_message(Message("assistant", parts, {}, endpoint.format), default_counter()).total
        answer = endpoint.answer(model, parts, Usage(fresh, said, read, written))
        for held in (answer, *answer.get("output", ())):  # no two answers, and no two items, have one id
            held |= {name: f"{held[name]}_{number}" for name in ("id", "responseId") if name in held}
        if binder:
            binder.sign(body, answer["content"])
        return 200, answer


@contextmanager
def fake_provider(
    replies: Sequence[Reply] = (),
    *,
    binds_reasoning: bool = False,
    limits: RequestLimits | None = None,
    cache: ProviderCache | None = None,
) -> Iterator[FakeProvider]:
    """A provider on this machine for as long as the block lasts; point your SDK's base URL to its `url`.

    It answers a request that breaks a law of its format with status 400, in the provider's own shape. With `binds_reasoning`
    it signs the reasoning in its answers and refuses it, as Anthropic, where something before it was changed. It streams where
    it is asked to, in the provider's own events, and reports as read from its cache what an earlier request began with, too;
    with a `ProviderCache` as the real ones do. A request that is too much for the model is refused in the provider's own words;
    `limits` are those of a server that takes something else.
    """
    provider = FakeProvider(
        replies,
        binder=ReasoningBinder() if binds_reasoning else None,
        cache=PrefixCache() if cache is None else cache,
        limits=limits,
    )

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a connection ends with its answer, so that none outlives the provider

        def do_POST(self) -> None:
            given = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(given)
            path = self.path.partition("?")[0]
            headers = {name.lower(): value for name, value in self.headers.items()}
            done = provider.exchange(path, body if isinstance(body, dict) else {}, headers, len(given))
            endpoint = endpoint_at(path) if done.is_streamed else None
            self.send_response(done.status)
            if endpoint:
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.end_headers()
                for event in endpoint.stream(done.answer, done.body):
                    self.wfile.write(event)
                return
            said = json.dumps(done.answer).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Nothing: what was asked is in `exchanges`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
