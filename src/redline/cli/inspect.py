"""`redline inspect`: what session files hold, as a page for one file, a table for many, JSON for programs."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from redline.cli.output import progress, show_rows, show_title
from redline.cli.session_files import session_files
from redline.errors import RedlineError
from redline.inspection import Inspection, inspect_transcript

__all__ = ["command"]

_UNREADABLE = 2
_MOST_SHOWN = 10


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each file, one a line.")
def command(files: tuple[Path, ...], as_json: bool) -> None:
    """Show what session files hold: messages, tools, tokens, open calls, branches, large parts, repeated reads.

    FILES are session files of any agent Redline knows, or folders of them. An unreadable file is one line on standard
    error and exit code 2; the others are still shown.
    """
    paths = list(session_files(files))
    found: list[Inspection] = []
    failed = False
    for path in progress(paths, "reading", shown=len(paths) > 1 and not as_json):
        try:
            inspection = inspect_transcript(path)
        except RedlineError as problem:
            failed = True
            click.echo(f"redline: {problem}", err=True)
            continue
        if as_json:
            click.echo(json.dumps(asdict(inspection), ensure_ascii=False))
        found.append(inspection)
    if not as_json:
        _show(found, is_alone=len(paths) == 1)
    sys.exit(_UNREADABLE if failed else 0)


def _show(found: list[Inspection], *, is_alone: bool) -> None:
    if is_alone and found:
        _show_page(found[0])
    elif found:
        _show_table(found)


def _show_table(found: list[Inspection]) -> None:
    """A row a file. Columns in which nothing was found in any file are left out, so that the table fits."""
    columns: dict[str, list[object]] = {
        "file": [Path(one.path).name for one in found],
        "format": [one.format for one in found],
        "conv.": [one.conversations for one in found],
        "messages": [one.messages for one in found],
        "calls": [one.tool_calls for one in found],
        "open": [one.unanswered_calls for one in found],
        "orphans": [one.orphan_results for one in found],
        "branches": [one.branches for one in found],
        "compacted": [one.compactions for one in found],
        "problems": [len(one.problems) for one in found],
        "tokens": [one.tokens["total"] for one in found],
    }
    told = {name: values for name, values in columns.items() if any(values)}
    show_rows(tuple(told), list(zip(*told.values(), strict=True)))


def _show_page(one: Inspection) -> None:
    show_title(one.path)
    show_rows(("", ""), list(_summary(one)))
    show_title("Tokens by kind")
    show_rows(("kind", "tokens"), [(kind, count) for kind, count in one.tokens.items() if count])
    if one.tools:
        show_title("Tools")
        rows = [(name, use.calls, use.results, use.errors, use.tokens) for name, use in one.tools.items()]
        show_rows(("tool", "calls", "results", "errors", "tokens"), rows[:_MOST_SHOWN], left_out=len(rows) - _MOST_SHOWN)
    show_title("Largest parts")
    show_rows(
        ("tokens", "kind", "tool", "where"),
        [(p.tokens, p.kind, p.tool or "", _place(p.line, p.offset)) for p in one.largest],
    )
    if one.repeated_reads:
        show_title("Files read more than once")
        reads = [(read.path, read.reads, read.tokens) for read in one.repeated_reads]
        show_rows(("file", "reads", "tokens"), reads[:_MOST_SHOWN], left_out=len(reads) - _MOST_SHOWN)
    if one.problems:
        show_title("Problems")
        lines = [(_problem(problem),) for problem in one.problems]
        show_rows(("",), lines[:_MOST_SHOWN], left_out=len(lines) - _MOST_SHOWN)


def _summary(one: Inspection) -> Iterator[tuple[str, object]]:
    yield "format", f"{one.format} (messages: {one.message_format or 'none'})"
    yield "conversations", one.conversations
    yield "messages", one.messages if one.messages == one.records else f"{one.messages:,} (in {one.records:,} records)"
    yield "tool calls / results", f"{one.tool_calls:,} / {one.tool_results:,}"
    for name in ("unanswered_calls", "orphan_results", "branches", "subagents", "compactions", "attachments"):
        if count := getattr(one, name):
            yield name.replace("_", " "), count
    yield "tokens", one.tokens["total"]
    if one.reported_tokens:
        yield "largest prompt reported", one.reported_tokens


def _place(line: int | None, offset: int) -> str:
    return f"line {line}" if line is not None else f"byte {offset:,}"


def _problem(problem: dict[str, object]) -> str:
    if problem["law"] is None:
        return f"line {problem['line']}, column {problem['column']}: {problem['found']}"
    return f"{problem['conversation']}, message {problem['index']}: {problem['found']} ({problem['law']})"
