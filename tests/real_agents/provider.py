"""A provider that plays a script with whatever agent asks it, tells side calls from it, and keeps every request."""

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from redline.providers import find_format
from redline.providers.usage import Usage
from redline.testing.endpoints import Endpoint, endpoint_at, stream_answer
from redline.testing.provider import PrefixCache
from redline.values.messages import Message, Part, Text, ToolCall
from tests.real_agents.task import SCRIPTS, Step

__all__ = ["Asked", "ScriptedProvider", "listening"]

Spelling = Callable[[Step, set[str]], tuple[str, dict[str, Any]]]
"""How an agent's tools are called: from a step and the names of the tools that were offered, a name and its arguments."""

_FACTOR = int(os.environ.get("SCRIPTED_USAGE_FACTOR", "1"))
"""So many times as many tokens are reported as were sent, so that a short task fills a window."""
_CODE_MODE = "exec"
"""The one tool that Codex gives its newest models: a program that calls the others."""
_MARK = re.compile(r"\[script:([\w-]+)\]")


_SUMMARY = re.compile(r"create a detailed summary of", re.IGNORECASE)
"""How agents ask for what they go on with after a compaction."""
_SIDE_ANSWER = json.dumps({"title": "A task", "reasoning": "simple", "model_choice": "flash"})
"""A title, a topic, a choice of model: agents ask for it in JSON, and take what they know."""


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
        complaint = endpoint.complaint(body) or ""
        if complaint and not _is_usual(complaint):
            return 400, endpoint.provider.error(400, complaint), "", complaint
        messages = find_format(endpoint.format).read_request(body)
        tools = set(_names(body))
        script = _script(messages) if tools else ""
        if script and _SUMMARY.search(_last_words(messages)):
            goes_on = f" It goes on with [script:{script}]." if _FACTOR > 1 else ""
            script, parts = "", (Text(f"<summary>All that was asked for so far is done.{goes_on}</summary>"),)
        else:
            parts = self._next(script, tools) if script else (Text(_SIDE_ANSWER),)
        fresh, read, written = self.cache.count(endpoint.format, body, messages)
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        answer = endpoint.answer(model, parts, Usage(fresh * _FACTOR, 20, read * _FACTOR, written * _FACTOR))
        return 200, _with_own_ids(answer, len(self.asked)), script, ""

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


def _user_words(messages: list[Message]) -> list[str]:
    return [part.text for message in messages if message.role == "user" for part in message.parts if isinstance(part, Text)]


def _last_words(messages: list[Message]) -> str:
    return (_user_words(messages) or [""])[-1]


def _script(messages: list[Message]) -> str:
    """The script that was asked for last."""
    marks = _MARK.findall("\n".join(_user_words(messages)))
    return marks[-1] if marks else ""


def _names(body: dict[str, Any]) -> Iterator[str]:
    """The tools that a request offers, in the shape of any of the APIs; Codex offers some of them as an item of its input."""
    lists = [body.get("tools") or []]
    lists += [
        item["tools"] for item in body.get("input") or [] if isinstance(item, dict) and item.get("type") == "additional_tools"
    ]
    for tool in (tool for tools in lists for tool in tools):
        match tool:
            case {"type": "namespace", "tools": list(inner)}:
                yield from (one["name"] for one in inner)
            case {"functionDeclarations": list(declared)}:
                yield from (one["name"] for one in declared)
            case {"function": {"name": str(name)}} | {"name": str(name)}:
                yield name


def _with_own_ids(answer: dict[str, Any], number: int) -> dict[str, Any]:
    """With ids that no other answer has: Claude Code takes answers of one id for pieces of one message. Gemini sends none."""
    for item in (answer, *answer.get("output", ())):
        if "id" in item:
            item["id"] = f"{item['id']}_{number:04}"
        if item.get("name") == _CODE_MODE:  # not a function with arguments: a tool that takes any text
            item.update(type="custom_tool_call", id=f"ctc_{number:04}", input=json.loads(item.pop("arguments"))["input"])
    for candidate in answer.get("candidates", ()):
        for part in candidate["content"]["parts"]:
            part.get("functionCall", {}).pop("id", None)
    return answer


def _is_usual(complaint: str) -> bool:
    """Gemini CLI looks for loops in the last contents of a session, whoever spoke first in them."""
    return complaint.startswith("contents.0: the assistant speaks first")


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
