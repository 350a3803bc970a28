"""`redline demo`: a sample session from crash to request, with every change and its reason."""

import json
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from redline.agents.readers import read_transcript
from redline.cli.output import Column, say, say_json, show_rows, show_title
from redline.conversation.conversation import Conversation
from redline.conversation.lists import check
from redline.sessions import inspect_transcript

_LATER_MS = 30 * 60_000
_PROJECT = "/home/dev/shop"


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs.")
def command(as_json: bool) -> None:
    """Build a sample session that crashed in the middle of a tool call, and show what the model would see.

    Nothing is kept, and nothing is sent anywhere. Exit code 0.

    \b
    Examples:
      redline demo
      redline demo --json
    """
    with tempfile.TemporaryDirectory() as folder:
        transcript = read_transcript(write_sample_session(Path(folder) / "session.jsonl"))
        found = inspect_transcript(transcript)
        (recorded,) = transcript
        said = [(entry.message.native, entry.timestamp_ms) for entry in recorded.entries]
    talk = Conversation(format=recorded.format, project_root=_PROJECT)
    for message, said_ms in said:
        talk.add(message, timestamp_ms=said_ms)
    request = talk.request(now=(said[-1][1] or 0.0) + _LATER_MS, rules=("stale_terminal", "historical_reads"))
    before = check([message for message, _ in said], format=recorded.format)
    after = check(request.messages, format=recorded.format)
    if as_json:
        say_json(
            {
                "inspection": {**asdict(found), "path": "sample"},
                "problems": [asdict(problem) for problem in before],
                "strikes": [msgspec.to_builtins(strike) for strike in request.strikes],
                "repairs": [{"index": change.index, "what": change.what} for change in request.repairs],
                "tokens_before": request.stats.tokens_before,
                "tokens_after": request.stats.tokens_after,
                "problems_after": [asdict(problem) for problem in after],
            }
        )
        return
    show_title("1. A session that crashed (inspect)")
    tools = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in found.tools.items()]
    show_rows(("tool", "calls", "results", "errors", "tokens"), tools)
    say(f"{found.messages} messages, {found.tokens['total']:,} tokens, {found.unanswered_calls} call without a result.")
    show_title("2. The provider would refuse it (check)")
    show_rows((Column("", "note"),), [(f"  {problem}",) for problem in before])
    show_title("3. What the model would see half an hour later, and why (request)")
    strikes = [
        (strike.index, strike.tool or "", strike.rule, strike.tokens_before, strike.tokens_after, strike.because)
        for strike in request.strikes
    ]
    because = Column("because", "note", least=24)
    show_rows(("message", "tool", Column("rule", least=16), "before", "after", because), strikes)
    for change in request.repairs:
        say(f"Repaired, message {change.index}: {change.what}.")
    stats = request.stats
    share = 1 - stats.tokens_after / stats.tokens_before
    say(f"Tokens: {stats.tokens_before:,} before, {stats.tokens_after:,} after ({share:.0%} fewer in every request).")
    show_title("4. What is sent now is legal")
    say(f"  problems found: {len(after)}; messages in the record: {len(talk.all_messages)}, all as they were said.")


# --- the session: invented, but shaped like real ones: files read again and again, stale output, a crash at the end

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SOURCE = "\n".join(
    f"def handler_{number}(request):\n    order = load_order(request.args['id'])\n    return render(order, total=order.sum())"
    for number in range(40)
)
_TESTS = "\n".join(f"tests/test_orders.py::test_total_{number} {'FAILED' if number == 7 else 'PASSED'}" for number in range(90))
_LOG = "\n".join(
    f"2026-03-02 09:{number % 60:02d}:11 INFO worker-{number % 4} order {number} processed in {number % 37} ms"
    for number in range(400)
)
_FILE = {"file_path": "/home/dev/shop/orders.py"}
_STEPS: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("Bash", {"command": "pytest -q"}, _TESTS),
    *(
        step
        for number in range(7)
        for step in (
            ("Read", _FILE, _SOURCE.replace("order.sum()", f"order.sum({number})")),
            ("Edit", {**_FILE, "old_string": "order.sum()", "new_string": "order.total"}, "ok"),
            ("Bash", {"command": "pytest -q tests/test_orders.py"}, _TESTS),
        )
    ),
    ("Bash", {"command": "make deploy"}, "Error: deploy key is missing"),
    ("Bash", {"command": "tail -n 400 worker.log"}, _LOG),
    ("Bash", {"command": "systemctl restart worker"}, None),
)
"""Tool, arguments, answer. None: the session crashed before it came."""


def write_sample_session(path: Path) -> Path:
    """Write the session as a Claude Code file."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "The total of test_total_7 is wrong. Fix it and deploy."}]
    for number, (name, arguments, answer) in enumerate(_STEPS):
        call = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": name, "input": arguments}
        thought = {"type": "text", "text": f"Step {number + 1}."}
        messages.append({"role": "assistant", "id": f"msg_{number:04d}", "content": [thought, call]})
        if answer is not None:
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number:04d}", "content": answer}
            content = [{**result, "is_error": True} if answer.startswith("Error") else result]
            messages.append({"role": "user", "content": content})
    lines, names = [], [f"{number:08d}-0000-4000-8000-000000000000" for number in range(len(messages))]
    for number, message in enumerate(messages):
        line = {
            "parentUuid": names[number - 1] if number else None,
            "isSidechain": False,
            "sessionId": "sample",
            "version": "2.1.39",
            "type": message["role"],
            "message": message,
            "uuid": names[number],
            "timestamp": (_START + timedelta(seconds=55 * number)).isoformat().replace("+00:00", "Z"),
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path
