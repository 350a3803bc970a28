"""`redline demo`: a sample session from crash to request, with every change and its reason."""

import tempfile
from pathlib import Path

import click

from redline.cli.output import show_rows, show_title
from redline.cli.sample_session import write_sample_session
from redline.conversation import Conversation
from redline.engine.request import Request
from redline.inspection import inspect_transcript
from redline.placeholders import EN
from redline.rules.historical_reads import HistoricalReads
from redline.rules.stale_terminal import StaleTerminal
from redline.transcripts import RecordedConversation, read_transcript
from redline.view.laws import check

__all__ = ["command"]

_LATER_MS = 30 * 60_000


@click.command("demo")
def command() -> None:
    """Build a sample session that crashed in the middle of a tool call, and show what the model would see."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_sample_session(Path(folder) / "session.jsonl")
        _show_session(path)
        (recorded,) = read_transcript(path)
        _show_request(recorded)


def _show_session(path: Path) -> None:
    found = inspect_transcript(path)
    show_title("1. A session that crashed (inspect)")
    rows = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in found.tools.items()]
    show_rows(("tool", "calls", "results", "errors", "tokens"), rows)
    click.echo(f"{found.messages} messages, {found.tokens['total']:,} tokens, {found.unanswered_calls} call without a result.")


def _show_request(recorded: RecordedConversation) -> None:
    messages = [entry.message for entry in recorded.entries]
    show_title("2. The provider would refuse it (check)")
    for problem in check([message.native for message in messages], format=recorded.format):
        click.echo(f"  {problem}")
    talk = Conversation(format=recorded.format, project_root="/home/dev/shop")
    for entry, message in zip(recorded.entries, messages, strict=True):
        talk.add(message.native, timestamp_ms=entry.timestamp_ms)
    last = recorded.entries[-1].timestamp_ms or 0.0
    rules = (
        StaleTerminal(placeholder=EN.stale_terminal),
        HistoricalReads(project_root="/home/dev/shop", placeholder=EN.historical_read),
    )
    request = talk.request(now=last + _LATER_MS, rules=rules)
    _show_strikes(request)
    remaining = check(request.messages, format=recorded.format)
    show_title("4. What is sent now is legal")
    click.echo(f"  problems found: {len(remaining)}; messages in the record: {len(talk.all_messages)}, all as they were said.")


def _show_strikes(request: Request) -> None:
    show_title("3. What the model would see half an hour later, and why (request)")
    rows = [
        (strike.index, strike.tool or "", strike.rule, strike.tokens_before, strike.tokens_after, strike.because)
        for strike in request.strikes
    ]
    show_rows(("message", "tool", "rule", "before", "after", "because"), rows)
    for change in request.repairs:
        click.echo(f"Repaired, message {change.index}: {change.what}.")
    stats = request.stats
    share = 1 - stats.tokens_after / stats.tokens_before
    click.echo(f"Tokens: {stats.tokens_before:,} before, {stats.tokens_after:,} after ({share:.0%} fewer in every request).")
