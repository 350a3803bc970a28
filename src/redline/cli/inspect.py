"""`redline inspect`: what sessions hold, as a page for one, a table for many, JSON for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC

import click

from redline.cli.arguments import SESSION
from redline.cli.formatting import damage_words, moment_of, place_of_message, place_words
from redline.cli.loaded_session import EXIT_OK, for_each_session
from redline.cli.output import Column, say_json, show_rows, show_table, show_title
from redline.cli.session_table import ORDERS, show_sessions, sorted_rows
from redline.errors import TranscriptError
from redline.sessions import Inspection, inspect_transcript
from redline.sessions.catalog.catalog import Catalog, name_rows, row_of
from redline.sessions.catalog.catalog_row import CatalogRow, FoundSession
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.read_session import read_session

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
            return EXIT_OK
        row = catalog.row_of(session)
        if row.problem:
            raise TranscriptError(row.problem)
        rows.append(row)
        return EXIT_OK

    code = for_each_session(inputs, take, has_bar=not as_json)
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
    show_table("Tokens by kind", ("kind", "tokens"), [(kind, count) for kind, count in one.tokens.items() if count])
    tools = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in one.tools.items()]
    show_table("Tools", ("tool", "calls", "results", "errors", "tokens"), tools, most=_MOST_SHOWN)
    largest = [
        (part.tokens, part.kind, part.tool or "", place_words(part.line, part.offset, part.member)) for part in one.largest
    ]
    show_table("Largest parts", ("tokens", "kind", "tool", "where"), largest)
    reads = [(read.path, read.reads, read.tokens) for read in one.repeated_reads]
    show_table("Files read more than once", ("file", "reads", "tokens"), reads, most=_MOST_SHOWN)
    lines = []
    for problem in one.problems:
        if problem["law"] is None:
            lines.append((damage_words(problem["line"], problem["column"], problem["found"]),))
            continue
        place = place_of_message(problem["index"], problem["line"])
        lines.append((f"{problem['conversation']}, {place}: {problem['found']} ({problem['law']})",))
    show_table("Problems", (Column("", "note"),), lines, most=_MOST_SHOWN)


def _summary(one: Inspection) -> Iterator[tuple[str, object]]:
    """The rows of the first table; a line more here is a line more on the page."""
    yield "written by", f"{one.format} (messages: {one.message_format or 'none'})"
    if one.started_ms is not None and one.ended_ms is not None:
        moments = (moment_of(time_ms, UTC) for time_ms in (one.started_ms, one.ended_ms))
        yield "from, to", ", ".join(f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "" for moment in moments)
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
