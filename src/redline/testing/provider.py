"""A provider on this machine: refuses what the real ones refuse, and otherwise says what it was told to say."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from redline.formats import find_format
from redline.formats.usage import Usage
from redline.testing.binding import ReasoningBinder
from redline.testing.builders import Turn
from redline.testing.endpoints import Endpoint, endpoint_at
from redline.testing.prefix_cache import PrefixCache
from redline.testing.streams import stream_answer
from redline.tokens import count_message, default_counter
from redline.values.messages import Message, Text

__all__ = ["FakeProvider", "ProviderExchange", "Reply", "fake_provider"]

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
    cache: PrefixCache = field(default_factory=PrefixCache)
    """What the answers report as read from the cache."""

    @property
    def statuses(self) -> list[int]:
        """How the requests so far were answered."""
        return [exchange.status for exchange in self.exchanges]

    def exchange(self, path: str, body: dict[str, Any]) -> ProviderExchange:
        """Take a request, and keep it."""
        endpoint = endpoint_at(path)
        status, answer = self._answer(endpoint, path, body) if endpoint else (404, {"error": {"message": f"No {path} here"}})
        is_streamed = endpoint is not None and (bool(body.get("stream")) or path.endswith(endpoint.stream_path or " "))
        done = ProviderExchange(body, status, answer, status == 200 and is_streamed)
        self.exchanges.append(done)
        return done

    def _answer(self, endpoint: Endpoint, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status, and what the provider would say."""
        binder = self.binder if endpoint.format == "anthropic" else None
        if complaint := endpoint.complaint(body) or (binder.complaint(body) if binder else None):
            return 400, endpoint.refusal(complaint)
        messages = find_format(endpoint.format).read_request(body)
        number = self.statuses.count(200)
        reply = self.replies[number] if number < len(self.replies) else ("assistant", (Text("Done."),))
        _, parts = reply(messages) if callable(reply) else reply
        fresh, read, written = self.cache.count(endpoint.format, body, messages)
        said = count_message(Message("assistant", parts, {}, endpoint.format), default_counter()).total
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        answer = endpoint.answer(model, parts, Usage(fresh, said, read, written))
        answer |= {name: f"{answer[name]}_{number}" for name in ("id", "responseId") if name in answer}
        if binder:
            binder.sign(body, answer["content"])
        return 200, answer


@contextmanager
def fake_provider(replies: Sequence[Reply] = (), *, binds_reasoning: bool = False) -> Iterator[FakeProvider]:
    """A provider on this machine for as long as the block lasts; point your SDK's base URL to its `url`.

    It answers a request that breaks a law of its format with status 400, in the provider's own shape. With `binds_reasoning`
    it signs the reasoning in its answers and refuses it, as Anthropic, where something before it was changed. It streams where
    it is asked to, in the provider's own events, and reports as read from its cache what an earlier request began with, too.
    """
    provider = FakeProvider(replies, binder=ReasoningBinder() if binds_reasoning else None)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a connection ends with its answer, so that none outlives the provider

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            done = provider.exchange(path, body if isinstance(body, dict) else {})
            endpoint = endpoint_at(path) if done.is_streamed else None
            self.send_response(done.status)
            if endpoint:
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.end_headers()
                for event in stream_answer(endpoint.format, done.answer, done.body):
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
