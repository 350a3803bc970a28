"""Tables, titles and progress for people: with rich where it is installed, as plain text where it is not."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["columns_of_terminal", "progress", "show_figures", "show_rows", "show_title"]

Item = TypeVar("Item")

_NARROWEST = 14
"""Words need some room, or they are folded into a column of letters."""


def show_title(title: str) -> None:
    """A heading above a table."""
    click.echo(f"\n{click.style(title, bold=True)}")


def show_rows(headings: Sequence[str], rows: Sequence[Sequence[object]], *, left_out: int = 0) -> None:
    """A table that fits the terminal; numbers stand to the right. `left_out` says how many rows are not shown."""
    console = _console()
    if console is None:
        _show_plain(headings, rows)
    else:
        _show_rich(console, headings, rows)
    if left_out > 0:
        click.echo(f"… and {left_out:,} more")


def show_figures(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table of figures, each row named in its first column. A line break in a heading folds it.

    Nothing is cut: columns for which the terminal has no room stand in a table of their own below.
    """
    heads = list(zip_longest(*(heading.split("\n")[::-1] for heading in headings), fillvalue=""))[::-1]
    lines = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[place]) for line in [*heads, *lines]) for place in range(len(headings))]
    for number, columns in enumerate(_that_fit(widths, columns_of_terminal())):
        shown = [_figures(line, columns, widths) for line in [*heads, *lines]]
        click.echo("\n" * min(number, 1) + click.style("\n".join(shown[: len(heads)]), bold=True))
        click.echo("─" * max(map(len, shown)))
        click.echo("\n".join(shown[len(heads) :]))


def columns_of_terminal() -> int:
    """How many letters a line has."""
    return shutil.get_terminal_size().columns


def progress(items: Sequence[Item], what: str, *, shown: bool) -> Iterator[Item]:
    """The items one by one, with a bar on standard error while they last."""
    if not shown or not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(items, label=what, file=sys.stderr) as bar:
        yield from bar


def _console() -> "Console | None":
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(soft_wrap=False, highlight=False)


def _show_rich(console: "Console", headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_header=any(headings), pad_edge=False, padding=(0, 1))
    for place, heading in enumerate(headings):
        is_number = bool(rows) and all(isinstance(row[place], int) for row in rows)
        narrowest = None if is_number else min(_NARROWEST, max((len(str(row[place])) for row in rows), default=1))
        table.add_column(
            heading, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number, min_width=narrowest
        )
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console.print(table)


def _show_plain(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = [tuple(headings)] if any(headings) else []
    table += [tuple(_cell(value) for value in row) for row in rows]
    widths = [max(len(str(row[place])) for row in table) for place in range(len(headings))] if table else []
    limit = columns_of_terminal()
    for row in table:
        click.echo("  ".join(_aligned(row, widths)).rstrip()[:limit])


def _aligned(row: Iterable[object], widths: Iterable[int]) -> Iterator[str]:
    for value, width in zip(row, widths, strict=True):
        text = str(value)
        yield text.rjust(width) if text.replace(",", "").isdigit() else text.ljust(width)


def _that_fit(widths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Columns side by side, the first among them each time, as many as there is room for but one at least."""
    chosen, used = [0], widths[0]
    for place in range(1, len(widths)):
        if used + 1 + widths[place] > limit and len(chosen) > 1:
            yield chosen
            chosen, used = [0], widths[0]
        chosen.append(place)
        used += 1 + widths[place]
    yield chosen


def _figures(line: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> str:
    name, *figures = columns
    return " ".join([line[name].ljust(widths[name]), *(line[place].rjust(widths[place]) for place in figures)]).rstrip()


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
