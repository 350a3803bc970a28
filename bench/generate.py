"""Session files of any size, invented but shaped like the real ones, the same on every run."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

__all__ = ["chat_history", "write_claude_code_session"]

_WORDS = [
    "return",
    "value",
    "import",
    "self",
    "error",
    "parse",
    "token",
    "config",
    "test",
    "path",
    "build",
    "module",
    "async",
    "await",
    "result",
    "index",
    "def",
    "class",
    "const",
    "function",
    "0x3f",
    "1024",
    "true",
    "false",
    "null",
    "foo_bar",
    "getUser()",
    "->",
    "==",
    "!=",
    "{",
    "}",
    "[",
    "]",
    ";",
    "//",
    "#",
    "größe",
    "文件",
    "✓",
]
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def write_claude_code_session(path: Path, size_bytes: int, seed: int = 7) -> int:
    """Write a Claude Code file of about this size; the number of lines is returned."""
    lines = 0
    with path.open("wb") as file:
        for record in _records(random.Random(seed)):
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            lines += 1
            if file.tell() >= size_bytes:
                break
    return lines


def chat_history(seed: int = 7) -> Iterator[dict[str, Any]]:
    """An OpenAI chat history without end: a call and its result in turn, a minute apart, among them reads of twenty files."""
    rng = random.Random(seed)
    time_ms = _START.timestamp() * 1000
    yield {"role": "user", "content": "go", "timestamp": time_ms}
    for number in range(10**9):
        name, arguments = rng.choice(
            [
                ("terminal-execute", {"command": _text(rng, 60)}),
                ("filesystem-read", {"filePath": f"src/{rng.randrange(20)}.py"}),
            ]
        )
        time_ms += 30_000
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        yield {"role": "assistant", "content": "", "tool_calls": [call], "timestamp": time_ms}
        time_ms += 30_000
        answer = _text(rng, int(100 * 100 ** rng.random()))
        yield {"role": "tool", "tool_call_id": f"c{number}", "content": answer, "timestamp": time_ms}


def _records(rng: random.Random) -> Iterator[dict[str, object]]:
    parent: str | None = None
    for number in range(10**9):
        asked, answered = f"{rng.getrandbits(128):032x}", f"{rng.getrandbits(128):032x}"
        yield _line(rng, number * 2, asked, parent, "assistant", _call(rng, number))
        yield _line(rng, number * 2 + 1, answered, asked, "user", _result(rng, number))
        parent = answered


def _line(
    rng: random.Random, number: int, uuid: str, parent: str | None, kind: str, message: dict[str, object]
) -> dict[str, object]:
    line: dict[str, object] = {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/project",
        "sessionId": "5f0c0000-0000-4000-8000-000000000000",
        "version": "2.1.39",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": (_START + timedelta(seconds=11 * number)).isoformat().replace("+00:00", "Z"),
    }
    if kind == "user":
        line["toolUseResult"] = {"durationMs": rng.randrange(9000)}
    return line


def _call(rng: random.Random, number: int) -> dict[str, object]:
    block = {"type": "tool_use", "id": f"toolu_{number:08d}", "name": "Bash", "input": {"command": _text(rng, 60)}}
    usage = {
        "input_tokens": 3,
        "output_tokens": 120,
        "cache_read_input_tokens": 40_000,
        "cache_creation_input_tokens": 900,
    }
    return {
        "id": f"msg_{number:08d}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "usage": usage,
    }


def _result(rng: random.Random, number: int) -> dict[str, object]:
    size = int(100 * 500 ** rng.random())
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number:08d}", "content": _text(rng, size)}
    return {"role": "user", "content": [block]}


def _text(rng: random.Random, size: int) -> str:
    words = rng.choices(_WORDS, k=size // 6 + 1)
    return " ".join(words)[:size]
