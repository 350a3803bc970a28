"""Bodies and answers of the four APIs as they cross the wire, into the editor of transport and proxy."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import dropwhile
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped, histories
from fuzz.targets.http import BugLog, raw_bytes
from fuzz.targets.message_lists import decoded_case, is_ahead
from fuzz.targets.target import Target, Trial
from redline.providers.answers import AnswerReader
from redline.providers.apis import find_api
from redline.testing.endpoints import stream_answer
from redline.tokens import Estimate
from redline.transport.editing import Call, WireEditor

__all__ = ["ANSWERS", "PATHS", "WIRE", "exchanges"]

PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}
_USAGE = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
ANSWERS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
        "content": [{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}}],
    },
    "openai_chat": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    },
    "openai_responses": {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5",
        "usage": _USAGE,
        "output": [
            {
                "type": "message",
                "id": "o",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hello"}],
            }
        ],
    },
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        "modelVersion": "gemini-2.5-pro",
    },
}


@cache
def exchanges() -> Sequence[dict[str, Any]]:
    """Requests with their answers, in one piece and streamed. Bodies are texts, so that any bytes can be in them."""
    found = []
    for number, (name, messages) in enumerate(histories()):
        if name not in PATHS:
            continue
        field = {"openai_responses": "input", "gemini": "contents"}.get(name, "messages")
        body = {"model": "claude-sonnet-4-5", "stream": bool(number % 2), field: messages, "tools": [], "system": "be short"}
        answer = json.dumps(ANSWERS[name])
        if number % 2:
            answer = b"".join(stream_answer(name, ANSWERS[name], body)).decode()
        headers = {"host": "localhost", "x-api-key": "k" * 20, "anthropic-beta": "a, b", "content-type": "application/json"}
        content_type = "text/event-stream" if number % 2 else "application/json"
        asked = {"method": "POST", "path": PATHS[name], "headers": headers, "body": json.dumps(body)}
        found.append({**asked, "answer": answer, "content_type": content_type, "encoding": "", "status": 200})
    return found


@cache
def _seeds() -> Sequence[bytes]:
    return [dumped(one) for one in exchanges()]


@contextmanager
def _opened(_: Sandbox) -> Iterator[Trial]:
    bugs = BugLog()

    def trial(case: bytes) -> None:
        given = decoded_case(case)
        headers = given.get("headers")
        named = {_header(name).lower(): _header(one) for name, one in headers.items()} if isinstance(headers, dict) else {}
        call = Call(str(given.get("method")), str(given.get("path")), named, raw_bytes(given.get("body")))
        with redline.Editor(policy="bold", clock=lambda: 1_770_000_000_000.0, counter=Estimate()) as editor:
            wire = WireEditor(editor)
            edited = wire.edit(call)
            bugs.raise_first()
            if edited.failure:
                raise BrokenProperty(f"an edit failed: {edited.failure}")
            if edited.is_changed:
                _check(edited.body, call)
            reader = AnswerReader(
                "anthropic" if edited.read is None else edited.read.format,
                str(given.get("content_type")),
                str(given.get("encoding")),
            )
            reader.feed(raw_bytes(given.get("answer")))
            wire.answered(edited, reader.finish())
            wire.refused(edited, 400)
            if wire.edit(call).is_changed and edited.is_changed:
                raise BrokenProperty("what the provider refused is changed again")
            bugs.raise_first()

    yield trial


def _header(value: object) -> str:
    """As a server hands it over: bytes, decoded."""
    return raw_bytes(value).decode("latin-1")


def _check(body: bytes, call: Call) -> None:
    """A body that was changed is JSON, and its messages are legal."""
    api = find_api(call.method, call.path)
    if api is None:
        raise BrokenProperty("a call that asks no model was changed")
    read = api.read(body, call.path)
    said = list(dropwhile(is_ahead, read.messages))  # what is ahead of them, and unknown fields, are the client's
    if problems := [one for one in redline.check(said, format=read.format) if one.law != "known_fields"]:
        raise BrokenProperty(f"a changed body breaks {problems[0].law}")


WIRE = Target("wire", _seeds, _opened)
