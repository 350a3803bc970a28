"""What people and programs see: lines, pages, tables, JSON and progress. All output of the commands passes through here."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Literal, TypeVar

import click

from redline.cli.printable import as_json, printable, shortened, width_of, wrapped

__all__ = [
    "Column",
    "Line",
    "Styled",
    "columns_of_terminal",
    "complain",
    "counted",
    "is_colored",
    "is_drawn_in_color",
    "progress",
    "say",
    "say_json",
    "say_text",
    "show_figures",
    "show_page",
    "show_rows",
    "show_title",
]

Item = TypeVar("Item")

_CLEAR_LINE = "\r\x1b[2K"
_bars: list[str] = []
"""The bars that are on the screen: a line that is said takes the place of one, until it is drawn again."""

Kind = Literal["number", "name", "words", "note"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and what happens to what is too long for it."""

    heading: str
    kind: Kind = "name"
    """Numbers are never cut; names lose their middle, words their end; a note goes on in the next line."""
    least: int = 12
    """How narrow it may become."""


def say(text: str = "", *, color: str | None = None, is_bold: bool = False, is_error: bool = False) -> None:
    """One line, on standard output or standard error. Control characters in it are shown, not sent; so are line breaks."""
    shown = printable(text)
    if _bars:
        click.echo(_CLEAR_LINE, nl=False, err=True)
    click.echo(click.style(shown, fg=color, bold=is_bold) if color or is_bold else shown, err=is_error)


@dataclass(frozen=True, slots=True)
class Styled:
    """A piece of a line, and how it looks where there are colors."""

    text: str
    color: str | None = None
    is_bold: bool = False
    is_dim: bool = False
    is_struck: bool = False

    def drawn(self) -> str:
        """The text, safe for a terminal, with its style."""
        text = printable(self.text)
        if not (self.color or self.is_bold or self.is_dim or self.is_struck):
            return text
        return click.style(
            text,
            fg=self.color,
            bold=self.is_bold or None,
            dim=self.is_dim or None,
            strikethrough=self.is_struck or None,
        )


Line = tuple[Styled, ...]
"""A line in pieces."""


def show_page(lines: Iterable[Line], *, is_paged: bool) -> None:
    """Lines on standard output, through the user's pager where they are more than the terminal has."""
    drawn = ("".join(piece.drawn() for piece in line) + "\n" for line in lines)
    if not is_paged or not sys.stdout.isatty():
        for line in drawn:
            click.echo(line, nl=False)
        return
    first = list(islice(drawn, shutil.get_terminal_size().lines - 1))
    if len(first) < shutil.get_terminal_size().lines - 1:
        click.echo("".join(first), nl=False)
        return
    click.echo_via_pager(chain(first, drawn), color=None if is_drawn_in_color(is_paged=True) else False)


def is_drawn_in_color(*, is_paged: bool) -> bool:
    """Whether standard output shows colors and struck text: a terminal that may, and a pager that passes them on."""
    context = click.get_current_context(silent=True)
    if not sys.stdout.isatty() or not is_colored() or (context is not None and context.color is False):
        return False
    pager, options = os.environ.get("PAGER", "").split(), os.environ.get("LESS", "")
    is_less = not pager or pager[0].rpartition("/")[2] == "less"
    is_raw = re.search(r"(^|\s)-?\w*[rR]|--RAW|--raw", " ".join([options, *pager[1:]])) is not None
    return not is_paged or (is_less and (is_raw or not (options or pager[1:])))


def complain(problem: object) -> None:
    """What is wrong, in one line on standard error."""
    say(f"redline: {problem}", is_error=True)


def counted(number: int, what: str) -> str:
    """So many of something: `1 session`, `1,200 sessions`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def say_json(value: object, *, indent: int | None = None) -> None:
    """A value as JSON on standard output, in one line unless it is indented."""
    is_ascii = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    click.echo(as_json(value, indent=indent, is_ascii=is_ascii))


def say_text(text: str) -> None:
    """A whole text on standard output, line by line; control characters in it are shown, as in a line that is said."""
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def show_title(title: str) -> None:
    """A heading above a table."""
    say()
    say(title, is_bold=True)


def show_rows(
    headings: Sequence[str | Column],
    rows: Sequence[Sequence[object]],
    *,
    total: Sequence[object] | None = None,
    left_out: int = 0,
) -> None:
    """A table that fits the terminal; a heading alone is a column of names, or of numbers if it holds nothing else.

    Columns for which there is no room are in a table of their own below, with the first column again. `total` is a last row
    under a line; `left_out` says how many rows are not shown.
    """
    columns = []
    for place, heading in enumerate(headings):
        is_number = bool(rows) and all(isinstance(row[place], int) for row in rows)
        columns.append(heading if isinstance(heading, Column) else Column(heading, "number" if is_number else "name"))
    lines = [[_cell(value) for value in row] for row in [*rows, *([total] if total else [])]]
    limit = columns_of_terminal()
    natural = [
        max([width_of(column.heading), *(width_of(line[place]) for line in lines)]) for place, column in enumerate(columns)
    ]
    least = [
        width if column.kind == "number" else min(width, column.least) for column, width in zip(columns, natural, strict=True)
    ]
    gap = 2 if sum(least) + 2 * (len(columns) - 1) <= limit else 1
    widths = [max(low, min(width, limit)) for width, low in zip(natural, least, strict=True)]
    while (
        sum(widths) + gap * (len(widths) - 1) > limit and widths != least
    ):  # what may be shortened gives way, the widest first
        widest = max((place for place in range(len(widths)) if widths[place] > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    for number, chosen in enumerate(_side_by_side(widths, limit, gap)):
        if number:
            say()
        _show_table(columns, lines, _Layout(chosen, widths, gap), has_total=total is not None)
    if left_out > 0:
        say(f"… and {left_out:,} more")


def show_figures(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table of figures, each row named in its first column. A line break in a heading folds it.

    Nothing is cut: columns for which the terminal has no room are in a table of their own below.
    """
    heads = list(zip_longest(*(heading.split("\n")[::-1] for heading in headings), fillvalue=""))[::-1]
    lines = [[_cell(value) for value in row] for row in rows]
    widths = [max(width_of(line[place]) for line in [*heads, *lines]) for place in range(len(headings))]
    for number, (first, *others) in enumerate(_side_by_side(widths, columns_of_terminal(), 1)):
        shown = [
            " ".join([_left(line[first], widths[first]), *(_right(line[place], widths[place]) for place in others)]).rstrip()
            for line in [*heads, *lines]
        ]
        if number:
            say()
        for line in shown[: len(heads)]:
            say(line, is_bold=True)
        say("─" * max(map(width_of, shown)))
        for line in shown[len(heads) :]:
            say(line)


def columns_of_terminal() -> int:
    """How many letters a line has: as COLUMNS says, as wide as the terminal, or 80 where there is none."""
    return shutil.get_terminal_size().columns


def is_colored() -> bool:
    """Whether the user, by NO_COLOR or a terminal that knows none, leaves us any color."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def progress(items: Iterable[Item], what: str, *, shown: bool, length: int | None = None) -> Iterator[Item]:
    """The items one by one, with a bar on standard error while they last, if that is a terminal that may be drawn on.

    `length` is how many there are, where they cannot say it themselves.
    """
    context = click.get_current_context(silent=True)
    if not shown or not sys.stderr.isatty() or (context and context.color is False):
        yield from items
        return
    with click.progressbar(items, length=length, label=what, file=sys.stderr) as bar:
        _bars.append(what)
        try:
            yield from bar
        finally:
            _bars.pop()


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a table is laid out on the screen."""

    chosen: Sequence[int]
    """The columns that are shown side by side."""
    widths: Sequence[int]
    gap: int


def _side_by_side(widths: Sequence[int], limit: int, gap: int) -> Iterator[list[int]]:
    """Columns side by side, the first among them each time, as many as there is room for but one at least."""
    chosen, used = [0], widths[0]
    for place in range(1, len(widths)):
        if used + gap + widths[place] > limit and len(chosen) > 1:
            yield chosen
            chosen, used = [0], widths[0]
        chosen.append(place)
        used += gap + widths[place]
    yield chosen


def _show_table(columns: Sequence[Column], lines: Sequence[Sequence[str]], layout: _Layout, *, has_total: bool) -> None:
    width = sum(layout.widths[place] for place in layout.chosen) + layout.gap * (len(layout.chosen) - 1)
    if any(column.heading for column in columns):
        (head,) = _lines_of([column.heading for column in columns], columns, layout)
        say(head, is_bold=True)
        say("─" * width)
    for number, cells in enumerate(lines):
        if has_total and number == len(lines) - 1:
            say("─" * width)
        for line in _lines_of(cells, columns, layout):
            say(line)


def _lines_of(cells: Sequence[str], columns: Sequence[Column], layout: _Layout) -> Iterator[str]:
    """A row as lines: one, or more where a note is folded."""
    folded: list[list[str]] = []
    for place in layout.chosen:
        cell, width = cells[place], layout.widths[place]
        match columns[place].kind:
            case "number":
                folded.append([_right(cell, width)])
            case "note":
                folded.append([_left(line, width) for line in wrapped(cell, width)])
            case kind:
                folded.append([_left(shortened(cell, width, at_end=kind == "words"), width)])
    blank = [" " * layout.widths[place] for place in layout.chosen]
    for pieces in zip_longest(*folded):
        yield (" " * layout.gap).join(piece or empty for piece, empty in zip(pieces, blank, strict=True)).rstrip()


def _left(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _right(text: str, width: int) -> str:
    return " " * (width - width_of(text)) + text


def _cell(value: object) -> str:
    return printable(f"{value:,}" if isinstance(value, int) else str(value))
