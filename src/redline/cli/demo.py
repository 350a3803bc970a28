"""`redline demo`: a sample session from crash to request, with every change and its reason."""

import tempfile
from dataclasses import asdict
from pathlib import Path

import click
import msgspec

from redline.cli.output import Column, say, say_json, show_rows, show_title
from redline.cli.sample_session import write_sample_session
from redline.conversation import Conversation
from redline.engine.request import Request
from redline.inspection import Inspection, inspect_transcript
from redline.laws import Problem
from redline.lists.check import check
from redline.rules.historical_reads import HistoricalReads
from redline.rules.stale_terminal import StaleTerminal
from redline.transcripts import read_transcript
from redline.values.words import EN

__all__ = ["command"]

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
    rules = (
        StaleTerminal(placeholder=EN.stale_terminal),
        HistoricalReads(project_root=_PROJECT, placeholder=EN.historical_read),
    )
    request = talk.request(now=(said[-1][1] or 0.0) + _LATER_MS, rules=rules)
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
    _show_steps(found, before, request)
    show_title("4. What is sent now is legal")
    say(f"  problems found: {len(after)}; messages in the record: {len(talk.all_messages)}, all as they were said.")


def _show_steps(found: Inspection, problems: list[Problem], request: Request) -> None:
    """What was recorded, what is wrong with it, and what is struck and repaired, with each reason."""
    show_title("1. A session that crashed (inspect)")
    tools = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in found.tools.items()]
    show_rows(("tool", "calls", "results", "errors", "tokens"), tools)
    say(f"{found.messages} messages, {found.tokens['total']:,} tokens, {found.unanswered_calls} call without a result.")
    show_title("2. The provider would refuse it (check)")
    show_rows((Column("", "note"),), [(f"  {problem}",) for problem in problems])
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
