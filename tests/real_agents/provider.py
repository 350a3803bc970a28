"""A provider that plays a script with whatever agent asks it, tells side calls from it, and keeps every request."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from redline.formats import find_format
from redline.formats.usage import Usage
from redline.testing.endpoints import Endpoint, endpoint_at
from redline.testing.prefix_cache import PrefixCache
from redline.testing.streams import stream_answer
from redline.values.messages import Message, Part, Text, ToolCall
from tests.real_agents.task import SCRIPTS, Step

__all__ = ["Asked", "ScriptedProvider", "listening"]

Spelling = Callable[[Step, set[str]], tuple[str, dict[str, Any]]]
"""How an agent's tools are called: from a step and the names of the tools that were offered, a name and its arguments."""

_MARK = re.compile(r"\[script:([\w-]+)\]")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, with what was made of it."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    status: int
    script: str = ""
    """The script that was followed; empty for a side call."""
    complaint: str = ""


@dataclass
class ScriptedProvider:
    """Goes through the script that the last prompt names, one call for each request, and says that it is done."""

    spell: Spelling
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    cache: PrefixCache = field(default_factory=PrefixCache)
    _done: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def answer(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the whole answer to a request, which is kept."""
        with self._lock:
            status, answer, script, complaint = self._answer(method, path, body)
            self.asked.append(Asked(method, path, headers, body, status, script, complaint))
        return status, answer

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], str, str]:
        endpoint = endpoint_at(path) if method == "POST" else None
        if endpoint is None:
            return *_beside(method, path, body), "", ""
        if complaint := endpoint.complaint(body):
            return 400, endpoint.refusal(complaint), "", complaint
        messages = find_format(endpoint.format).read_request(body)
        tools = set(_names(body))
        script = _script(messages) if tools else ""
        parts = self._next(script, tools) if script else (Text(_side_answer(body)),)
        fresh, read, written = self.cache.count(endpoint.format, body, messages)
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        return 200, _answer_of(endpoint, model, parts, Usage(fresh, 20, read, written)), script, ""

    def _next(self, script: str, tools: set[str]) -> tuple[Part, ...]:
        steps = SCRIPTS[script]
        number = self._done[script] % (len(steps) + 1)
        self._done[script] += 1
        if number == len(steps):
            return (Text(f"The script {script} is done."),)
        name, arguments = self.spell(steps[number], tools)
        return Text(f"Step {number + 1}."), ToolCall(f"call_{sum(self._done.values()):04}", name, arguments)


@contextmanager
def listening(spell: Spelling) -> Iterator[ScriptedProvider]:
    """A scripted provider on this machine for as long as the block lasts."""
    provider = ScriptedProvider(spell)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Encoding") == "gzip":
                raw = gzip.decompress(raw)
            body = json.loads(raw) if raw.startswith(b"{") else {}
            path = self.path.partition("?")[0]
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = provider.answer(self.command, path, headers, body)
            endpoint = endpoint_at(path)
            if endpoint and status == 200 and (body.get("stream") or path.endswith(endpoint.stream_path or " ")):
                self._stream(endpoint, answer, body)
                return
            said = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said)

        def _stream(self, endpoint: Endpoint, answer: dict[str, Any], body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in stream_answer(endpoint.format, answer, body):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = do_HEAD = do_PUT = _take  # noqa: N815  # the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Nothing: what was asked is kept."""

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


def _script(messages: list[Message]) -> str:
    """The script that was asked for last."""
    said = [part.text for message in messages if message.role == "user" for part in message.parts if isinstance(part, Text)]
    marks = _MARK.findall("\n".join(said))
    return marks[-1] if marks else ""


def _names(body: dict[str, Any]) -> Iterator[str]:
    """The tools that a request offers, in the shape of any of the APIs; Codex offers some of them as an item of its input."""
    lists = [body.get("tools") or []]
    lists += [
        item["tools"] for item in body.get("input") or [] if isinstance(item, dict) and item.get("type") == "additional_tools"
    ]
    for tool in (tool for tools in lists for tool in tools):
        match tool:
            case {"functionDeclarations": list(declared)}:
                yield from (one["name"] for one in declared)
            case {"function": {"name": str(name)}} | {"name": str(name)}:
                yield name


def _side_answer(body: dict[str, Any]) -> str:
    """A title, a topic, a choice of model: agents ask for them in JSON, and take what they know from it."""
    return json.dumps(
        {"title": "A task", "reasoning": "simple", "model_choice": "flash", "complexity_reasoning": "x", "complexity_score": 1}
    )


def _answer_of(endpoint: Endpoint, model: str, parts: tuple[Part, ...], usage: Usage) -> dict[str, Any]:
    return endpoint.answer(model, parts, usage)


def _beside(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """What is asked beside the conversation: whether the provider is there, its models, how long a text is."""
    if method == "HEAD":
        return 200, {}
    if path.endswith(("/count_tokens", ":countTokens")):
        count = len(json.dumps(body)) // 4
        return 200, {"input_tokens": count, "totalTokens": count}
    if method == "GET" and path.endswith("/responses"):
        return 426, {"error": {"message": "no socket here"}}
    if method == "GET" and path.endswith("/models"):
        return 200, {"data": [], "models": [], "object": "list", "has_more": False}
    return 404, {"error": {"type": "not_found_error", "message": f"no {path} here"}}
