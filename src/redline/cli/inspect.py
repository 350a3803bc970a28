"""`redline inspect`: what sessions hold, as a page for one, a table for many, JSON for programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import PurePath

import click

from redline.cli.on_each import FINE, on_each
from redline.cli.output import Column, columns_of_terminal, counted, say, say_json, show_rows, show_title
from redline.cli.places import damage_words, folder_name, place_of_message, place_words
from redline.cli.session_argument import SESSION
from redline.inspection import Inspection, inspect_transcript
from redline.inspection.session_files import SESSION_SUFFIXES, SessionInput, find_sessions

__all__ = ["command"]

_MOST_SHOWN = 10

_COLUMNS: dict[Column, Callable[[Inspection], object]] = {
    Column("session", least=13): lambda one: _short_name(one.path),
    Column("date", "words", least=10): lambda one: _date(one.ended_ms),
    Column("project", least=9): lambda one: folder_name(one.project or ""),
    Column("first words", "words", least=11): lambda one: one.first_words,
    Column("messages", "number"): lambda one: one.messages,
    Column("tokens", "number"): lambda one: one.tokens["total"],
    Column("problems", "number"): lambda one: len(one.problems),
}
"""The columns of the table of sessions."""

_WIDE = 110
_WIDE_COLUMNS: dict[Column, Callable[[Inspection], object]] = {
    Column("calls", "number"): lambda one: one.tool_calls,
    Column("open", "number"): lambda one: one.unanswered_calls,
    Column("agent"): lambda one: one.format,
}
"""Further ones, for terminals of so many letters or more."""

_ORDERS: dict[str, Callable[[Inspection], object]] = {
    "date": lambda one: -(one.ended_ms or 0.0),
    "name": lambda one: one.path,
    "project": lambda one: one.project or "~",
    "messages": lambda one: -one.messages,
    "tokens": lambda one: -one.tokens["total"],
    "problems": lambda one: -len(one.problems),
}


@click.command("inspect")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--sort", type=click.Choice(list(_ORDERS)), default="date", show_default=True, help="Newest or largest first.")
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
    found: list[Inspection] = []

    def take(session: SessionInput) -> int:
        inspection = inspect_transcript(session.read())
        inspection.path = session.name
        found.append(inspection)
        return FINE

    code = on_each(inputs, take, has_bar=not as_json)
    found.sort(key=lambda one: one.path)
    found.sort(key=_ORDERS[sort])  # type: ignore[arg-type]  # of one order all keys are of one type
    if as_json:
        for one in found:
            say_json(asdict(one))
    elif len(inputs) == 1 and found:
        _show_page(found[0])
    elif found:
        _show_table(found)
    return code


def _show_table(found: Sequence[Inspection]) -> None:
    """A row a session, and a row of sums. Columns that are empty in every row are left out."""
    offered = _COLUMNS if columns_of_terminal() < _WIDE else {**_COLUMNS, **_WIDE_COLUMNS}
    columns = {column: [value(one) for one in found] for column, value in offered.items()}
    shown = {column: values for column, values in columns.items() if any(values)}
    sums = [sum(value for value in values if isinstance(value, int)) for values in shown.values()]
    total = [sums[place] if column.kind == "number" else "" for place, column in enumerate(shown)]
    total[0] = counted(len(found), "session")
    show_rows(tuple(shown), list(zip(*shown.values(), strict=True)), total=total)
    if broken := sum(bool(one.problems) for one in found):
        say(f"{broken:,} with problems: `redline check SESSION` names them.")


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
        yield "from, to", f"{_date(one.started_ms, with_time=True)}, {_date(one.ended_ms, with_time=True)}"
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


def _date(time_ms: float | None, *, with_time: bool = False) -> str:
    """In UTC; nothing for a time that no calendar has."""
    try:
        date = datetime.fromtimestamp((time_ms or 0.0) / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return "" if time_ms is None else date.strftime("%Y-%m-%d %H:%M UTC" if with_time else "%Y-%m-%d")


def _short_name(name: str) -> str:
    """The file's name without its ending; of a database, its conversation too."""
    last = PurePath(name.rsplit("/", 1)[-1] or name)
    return last.stem if last.suffix in SESSION_SUFFIXES else str(last)
