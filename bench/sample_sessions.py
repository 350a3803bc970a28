"""Sessions for pictures: invented, but as an agent would leave them; the same on every run."""

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

__all__ = ["write_sample_sessions"]

_START = datetime(2026, 11, 16, 9, 12, tzinfo=UTC)
_MODEL = "claude-sonnet-5"
_FILES = ("dates/parser.py", "dates/zones.py", "dates/formats.py", "tests/test_parser.py", "tests/test_zones.py", "README.md")

_TITLES = (
    ("calendar", "Times in Lord Howe are off by half an hour in winter. Find out why, and add a test.", 46),
    ("calendar", "The parser takes 2026-02-30 for a date. It must say which part is wrong.", 18),
    ("shop-api", "Orders with more than 500 lines time out. Profile it first.", 31),
    ("shop-api", "Write the migration for the new price table, with a way back.", 12),
    ("notes", "Why does the search not find words with an umlaut?", 9),
    ("notes", "Move the settings page to the new form components.", 24),
    ("infra", "The nightly backup has been failing since Tuesday.", 14),
)


def write_sample_sessions(folder: Path) -> Path:
    """Several sessions of Claude Code in a folder; the path of the longest is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (project, task, turns) in enumerate(_TITLES):
        rng = random.Random(number + 3)
        begun = _START - timedelta(hours=7 * number)
        records = _session(rng, project, task, turns, begun)
        path = folder / f"{number:02}-{project}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        ended = datetime.fromisoformat(records[-1]["timestamp"]).timestamp()
        os.utime(path, (ended, ended))
    return folder / "00-calendar.jsonl"


class _Writer:
    """Writes lines as Claude Code does: each names the one before it."""

    def __init__(self, project: str, begun: datetime) -> None:
        self.records: list[dict[str, Any]] = []
        self._cwd, self.now, self.sent = f"/home/ada/{project}", begun, 14_000
        self.is_cold = True
        """Whether the cache of the provider has expired."""

    def say(self, role: str, content: Any, seconds: float, **more: Any) -> None:
        """One line, so many seconds after the one before."""
        self.now += timedelta(seconds=seconds)
        parent = self.records[-1]["uuid"] if self.records else None
        self.records.append(
            {
                "type": role,
                "uuid": f"u{len(self.records):05}",
                "parentUuid": parent,
                "sessionId": "5f0c0000-0000-4000-8000-000000000000",
                "cwd": self._cwd,
                "timestamp": self.now.isoformat().replace("+00:00", "Z"),
                "message": {"role": role, "content": content, **more},
            }
        )
        self.sent += len(json.dumps(content)) // 4

    def ask(self, number: int, words: str, tool: str, arguments: dict[str, Any], result: str, *, failed: bool = False) -> None:
        """The assistant says what it is about to do, calls a tool, and gets what it gave."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": words}] if words else []
        blocks.append({"type": "tool_use", "id": f"toolu_{number:04}", "name": tool, "input": arguments})
        read = 0 if self.is_cold else self.sent - 900
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": self.sent - read,
            "output_tokens": 160,
        }
        self.is_cold = False
        self.say("assistant", blocks, 9, id=f"msg_{number:04}", model=_MODEL, usage=usage)
        self.say(
            "user", [{"type": "tool_result", "tool_use_id": f"toolu_{number:04}", "content": result, "is_error": failed}], 6
        )


def _session(rng: random.Random, project: str, task: str, turns: int, begun: datetime) -> list[dict[str, Any]]:
    writer = _Writer(project, begun)
    writer.say("user", task, 0)
    for number in range(turns):
        if number and number % 17 == 0:
            writer.say("assistant", [{"type": "text", "text": _report(number)}], 8, id=f"msg_r{number}", model=_MODEL)
            writer.say("user", "Good. Go on, and run all tests at the end.", 1100)
            writer.is_cold = True
        _step(rng, writer, number)
    writer.say("assistant", [{"type": "text", "text": _report(turns)}], 10, id="msg_z", model=_MODEL)
    return writer.records


def _step(rng: random.Random, writer: _Writer, number: int) -> None:
    file = rng.choice(_FILES)
    match number % 5:
        case 0:
            writer.ask(number, f"I read `{file}` first.", "Read", {"file_path": file}, _source(rng, 160))
        case 1:
            result = "\n".join(f"{rng.choice(_FILES)}:{rng.randrange(300)}: offset = zone.utcoffset(moment)" for _ in range(24))
            writer.ask(number, "", "Grep", {"pattern": "utcoffset", "path": "dates"}, result)
        case 2:
            old, new = "offset = zone.utcoffset(None)", "offset = zone.utcoffset(moment)"
            edit = {
                "file_path": file,
                "old_string": f"{old}\nreturn moment - offset",
                "new_string": f"{new}\nreturn moment - offset",
            }
            writer.ask(
                number, "The offset is taken without the moment: that is the half hour.", "Edit", edit, f"{file} was changed."
            )
        case 3:
            failed = number % 10 == 3
            writer.ask(
                number, "Now the tests.", "Bash", {"command": "pytest -q"}, _test_output(rng, failed=failed), failed=failed
            )
        case _:
            command = f"git diff --stat && python -m dates {rng.randrange(2000, 2030)}-07-01 --zone Australia/Lord_Howe"
            writer.ask(number, "", "Bash", {"command": command}, _source(rng, 70))


def _source(rng: random.Random, lines: int) -> str:
    names = ("moment", "zone", "offset", "fold", "text", "parts", "found")
    calls = ("utcoffset", "split", "replace", "fromutc")
    body = [f"{rng.choice(names)} = {rng.choice(names)}.{rng.choice(calls)}({rng.choice(names)})" for _ in range(lines)]
    return "\n".join(f"{number:>4}\t    {line}" for number, line in enumerate(body, 1))


def _test_output(rng: random.Random, *, failed: bool) -> str:
    lines = [
        f"tests/test_{rng.choice(('parser', 'zones', 'formats'))}.py::test_{rng.randrange(400):03} PASSED" for _ in range(180)
    ]
    if failed:
        lines += [
            "FAILED tests/test_zones.py::test_lord_howe - AssertionError: 10:30 != 11:00",
            "1 failed, 180 passed in 4.31s",
        ]
    else:
        lines.append("181 passed in 4.02s")
    return "\n".join(lines)


def _report(number: int) -> str:
    return f"""## Where this stands

After {number} steps:

- `zones.py` takes the **offset of the moment**, not of the zone.
- A test for Lord Howe in winter, and one for the hour that comes twice.

```python
offset = zone.utcoffset(moment)
return moment - offset
```

| zone | before | now |
|---|---|---|
| Lord Howe | 10:30 | 11:00 |"""
