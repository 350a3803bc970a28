"""Session files of any size, invented but shaped like the real ones, the same on every run."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from redline.providers import FORMATS
from redline.values.messages import Part, Role, Text, ToolCall, ToolResult

__all__ = ["history", "write_claude_code_session"]

_CODE_WORDS = [
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
]
_WORDS = [*_CODE_WORDS, "größe", "文件", "✓"]
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


def history(format: str, most_chars: int, seed: int = 7, *, open_calls: bool = False) -> Iterator[dict[str, Any]]:
    """A history without end in a format: calls of three tools with a few words each, and half a minute later the result.

    Results have 100 to `most_chars` characters, evenly on a logarithmic scale: with 10,000 a message has 1 kB on average, with
    50,000 it has 4 kB, as in recorded sessions. With `open_calls`, every tenth call gets no result: the user speaks instead.
    """
    rng, time_ms = random.Random(seed), _START.timestamp() * 1000
    for number, (role, parts) in enumerate(_turns(rng, most_chars)):
        if open_calls and role == "tool" and number % 20 == 2:
            role, parts = "user", (Text("Stop that."),)
        for payload in FORMATS[format].compose(role, parts).payloads:
            yield {**payload, "timestamp": time_ms + 30_000 * number}


def _turns(rng: random.Random, most_chars: int) -> Iterator[tuple[Role, tuple[Part, ...]]]:
    yield "user", (Text("go"),)
    for number in range(10**9):
        file = f"src/{rng.randrange(20)}.py"
        name, arguments = rng.choice(
            [
                ("terminal-execute", {"command": rng.choice(_COMMANDS).format(file=file, line=rng.randrange(10**6))}),
                ("filesystem-read", {"filePath": file}),
                ("filesystem-edit", {"filePath": file, "text": _code(rng, 400)}),
            ]
        )
        yield "assistant", (Text(_code(rng, 80)), ToolCall(f"call_{number}", name, arguments))
        size = int(100 * (most_chars / 100) ** rng.random())
        yield "tool", (ToolResult(f"call_{number}", (Text(_code(rng, size)),), name),)


_COMMANDS = (
    "cd /home/dev/project && python -m pytest -q tests -k {line} 2>&1 | tail -20",
    "git status --short && git diff --stat HEAD~{line}",
    "sed -n '1,{line}p' {file}",
    "cat {file} | head -{line}",
    "rg -n 'def parse_{line}' src | head -50",
    "python - <<'EOF'\nimport json\nprint(json.dumps({line}))\nEOF",
)


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


def _code(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(_CODE_WORDS, k=size // 6 + 1))[:size]


def _text(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(_WORDS, k=size // 6 + 1))[:size]
