"""Real inputs to begin with: conversations of every format, and session files of every agent, as the tests build them."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from redline.providers import FORMATS
from redline.testing import asks, conversation, says
from redline.testing.builders import Turn
from redline.values.messages import Media, Reasoning, Text, ToolCall, ToolResult
from tests.agents.transcripts import hostile
from tests.corpus import corpus_path, corpus_rows

__all__ = ["dumped", "histories", "recorded_sessions", "session_files"]

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
_MOST_BYTES = 10_000


def dumped(value: Any) -> bytes:
    """A seed that is one JSON value."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _turns() -> Iterator[list[Turn]]:
    output = "a line of output\n" * 20
    yield [says("user", "hi")]
    yield [says("system", "be short"), says("user", "hi"), says("assistant", "hello"), says("user", "and?")]
    yield [
        says("user", "fix it"),
        *asks("Read", {"file_path": "/srv/a.py"}, "print(1)\n" * 9, id="c1", text="I look."),
        *asks("Bash", {"command": "cd /srv && cat a.py | head; pytest -q"}, output, id="c2"),
        *asks("Read", {"file_path": "/srv/a.py"}, "print(2)\n" * 9, id="c3"),
        *asks("terminal-execute", {"command": "make"}, output, id="c4"),
        *asks("Edit", {"file_path": "/srv/a.py", "old_string": "a", "new_string": "b"}, "ok", id="c5"),
        says("assistant", "done"),
    ]
    calls = (ToolCall("p1", "read", {"path": "a"}), ToolCall("p2", "bash", {"command": "ls"}))
    results = (ToolResult("p1", (Text("a"),), "read"), ToolResult("p2", (Text("no"),), "bash", True))
    yield [says("user", "both"), ("assistant", (Text("yes"), *calls)), ("tool", results), says("assistant", "ok")]
    yield [
        ("user", (Text("see"), Media("image/png", _PIXEL))),
        says("assistant", "a pixel"),
        *asks("read", {"path": "x"}, None),
    ]
    yield [says("user", "think"), ("assistant", (Reasoning("hm"), Text("so"))), says("user", "go on")]


@cache
def histories() -> tuple[tuple[str, list[Any]], ...]:
    """Conversations with the names of their formats."""
    return tuple((name, conversation(name, turns)) for name in FORMATS for turns in _turns())


@cache
def session_files() -> tuple[bytes, ...]:
    """A session of each kind that a reader knows."""
    lines = (("\n".join(map(json.dumps, records)) + "\n").encode() for records in hostile.LINES.values())
    return (*lines, *(json.dumps(document).encode() for document in hostile.DOCUMENTS.values()))


@cache
def recorded_sessions() -> tuple[bytes, ...]:
    """Small sessions that people and agents made, where they are at hand."""
    paths = [corpus_path(row) for row in corpus_rows()]
    return tuple(path.read_bytes() for path in paths if path.is_file() and path.stat().st_size <= _MOST_BYTES)
