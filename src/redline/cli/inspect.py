"""`redline inspect`: what sessions hold, as a page for one, a table for many, JSON for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

import click

from redline.cli.on_each import FINE, on_each
from redline.cli.output import Column, say_json, show_rows, show_title
from redline.cli.places import damage_words, place_of_message, place_words
from redline.cli.session_argument import SESSION
from redline.cli.session_table import ORDERS, show_sessions, sorted_rows
from redline.errors import TranscriptError
from redline.inspection import Inspection, inspect_transcript
from redline.inspection.catalog import Catalog, name_rows, row_of
from redline.inspection.catalog_row import CatalogRow, FoundSession
from redline.inspection.read_session import read_session
from redline.inspection.session_files import SessionInput, find_sessions

__all__ = ["command"]

_MOST_SHOWN = 10


@click.command("inspect")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--sort", type=click.Choice(list(ORDERS)), default="date", show_default=True, help="Newest or largest first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each session, one a line.")
def command(sessions: tuple[str, ...], sort: str, as_json: bool) -> int:
    """Show what sessions hold: messages, tools, tokens, open calls, branches, large parts, repeated reads.

    SESSION is a session file of any agent that Redline knows, a Redline log, an address (sqlite:///chats.db#name), a folder,
    or - for standard input. One session is shown as a page, several as a table.

    Exit code 0, or 2 if a session could not be read; the others are still shown.

    \b
    Examples:
      redline inspect session.jsonl
      redline inspect ~/.codex/sessions --sort tokens
      redline inspect sqlite:///chats.db
      cat session.jsonl | redline inspect -
    """
    inputs = find_sessions(sessions)
    catalog, rows, pages = Catalog(), list[CatalogRow](), dict[str, Inspection]()

    def take(session: SessionInput) -> int:
        if as_json or len(inputs) == 1:
            read = read_session(session)
            page, paid = inspect_transcript(read.as_transcript()), read.paid()
            page.path, page.cost_usd = session.name, paid.usd if paid is not None else None
            pages[session.place] = page
            rows.append(row_of(FoundSession.of(session), page, paid))
            return FINE
        row = catalog.row_of(session)
        if row.problem:
            raise TranscriptError(row.problem)
        rows.append(row)
        return FINE

    code = on_each(inputs, take, has_bar=not as_json)
    catalog.save()
    ordered = sorted_rows(rows, sort)
    if as_json:
        for row in ordered:
            say_json(asdict(pages[row.place]))
    elif pages:
        _show_page(*pages.values())
    elif ordered:
        show_sessions(ordered, name_rows(ordered), has_total=True)
    return code


def _show_page(one: Inspection) -> None:
    """Everything about one session, table below table."""
    show_title(one.path)
    show_rows((Column("", least=24), Column("", "note", least=30)), list(_summary(one)))
    if any(one.tokens.values()):
        show_title("Tokens by kind")
        show_rows(("kind", "tokens"), [(kind, count) for kind, count in one.tokens.items() if count])
    if one.tools:
        show_title("Tools")
        rows = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in one.tools.items()]
        show_rows(("tool", "calls", "results", "errors", "tokens"), rows[:_MOST_SHOWN], left_out=len(rows) - _MOST_SHOWN)
    if one.largest:
        show_title("Largest parts")
        show_rows(
            ("tokens", "kind", "tool", "where"),
            [
                (part.tokens, part.kind, part.tool or "", place_words(part.line, part.offset, part.member))
                for part in one.largest
            ],
        )
    if one.repeated_reads:
        show_title("Files read more than once")
        reads = [(read.path, read.reads, read.tokens) for read in one.repeated_reads]
        show_rows(("file", "reads", "tokens"), reads[:_MOST_SHOWN], left_out=len(reads) - _MOST_SHOWN)
    if one.problems:
        show_title("Problems")
        lines = []
        for problem in one.problems[:_MOST_SHOWN]:
            if problem["law"] is None:
                lines.append((damage_words(problem["line"], problem["column"], problem["found"]),))
                continue
            place = place_of_message(problem["index"], problem["line"])
            lines.append((f"{problem['conversation']}, {place}: {problem['found']} ({problem['law']})",))
        show_rows((Column("", "note"),), lines, left_out=len(one.problems) - _MOST_SHOWN)


def _summary(one: Inspection) -> Iterator[tuple[str, object]]:
    """The rows of the first table; a line more here is a line more on the page."""
    yield "written by", f"{one.format} (messages: {one.message_format or 'none'})"
    if one.started_ms is not None and one.ended_ms is not None:
        yield "from, to", f"{_date(one.started_ms)}, {_date(one.ended_ms)}"
    if one.project:
        yield "project", one.project
    if one.first_words:
        yield "first words", one.first_words
    yield "conversations", f"{one.conversations:,}"
    yield "messages", f"{one.messages:,}" if one.messages == one.records else f"{one.messages:,} (in {one.records:,} records)"
    yield "tool calls / results", f"{one.tool_calls:,} / {one.tool_results:,}"
    for name in ("unanswered_calls", "orphan_results", "branches", "subagents", "compactions", "attachments"):
        if count := getattr(one, name):
            yield name.replace("_", " "), f"{count:,}"
    yield "tokens", f"{one.tokens['total']:,}"
    if one.reported_tokens:
        yield "largest prompt reported", f"{one.reported_tokens:,}"


def _date(time_ms: float) -> str:
    """In UTC; nothing for a time that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return ""
