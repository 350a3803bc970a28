"""What people and programs see: lines, pages, tables, JSON and progress. All output of the commands passes through here."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from typing import Literal, TypeVar

import click

from redline.cli.formatting import printable, shortened, width_of, wrapped

Item = TypeVar("Item")
Line = Sequence[tuple[str, str]]
"""A line in pieces, each with its style: `""`, `"bold"`, `"dim red"`, `"strikethrough"`."""

_CLEAR_LINE = "\r\x1b[2K"
_bars: list[str] = []
"""The bars that are on the screen: a line that is said takes the place of one, until it is drawn again."""
_NEVER_CUT = 1_000_000
_LOOKS = ("bold", "dim", "strikethrough")
_RULED = "    \n    \n ── \n    \n ── \n    \n    \n    \n"
"""A table of `rich` with a rule under its headings and above its total, and no other."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and what happens to what is too long for it."""

    heading: str
    kind: Literal["number", "name", "words", "note"] = "name"
    """Numbers are never cut; names lose their middle, words their end; a note goes on in the next line."""
    least: int = 12
    """How narrow it may become."""


def say(text: str = "", style: str = "", *, is_error: bool = False) -> None:
    """One line, on standard output or standard error. Control characters in it are shown, not sent; so are line breaks."""
    if _bars:
        click.echo(_CLEAR_LINE, nl=False, err=True)
    click.echo(_styled(text, style), err=is_error)


def complain(problem: object) -> None:
    """What is wrong, in one line on standard error."""
    say(f"redline: {problem}", is_error=True)


def say_wrapped(text: str, widest: int = _NEVER_CUT) -> None:
    """A paragraph, on as many lines as the terminal needs."""
    for line in wrapped(printable(text), min(columns_of_terminal(), widest)):
        say(line)


def say_text(text: str) -> None:
    """A whole text on standard output, line by line; control characters in it are shown, as in a line that is said."""
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def show_title(title: str) -> None:
    """A heading above a table."""
    say()
    say(title, "bold")


def counted(number: int, what: str) -> str:
    """So many of something: `1 session`, `1,200 sessions`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def say_json(value: object, *, indent: int | None = None) -> None:
    """A value as JSON on standard output, in one line unless it is indented."""
    is_ascii = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    click.echo(as_json(value, indent=indent, is_ascii=is_ascii))


def as_json(value: object, *, indent: int | None = None, is_ascii: bool = False) -> str:
    """JSON that reads back to the same value, with the characters that `printable` escapes escaped as JSON does."""
    import json  # here, as everything that help would wait for

    from redline.sessions.words import is_visible

    try:
        text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
        text.encode()
    except UnicodeEncodeError:  # half an emoji
        text = json.dumps(value, indent=indent)
    return re.sub(r"[^ -~\n]", lambda found: found[0] if is_visible(found[0]) else json.dumps(found[0])[1:-1], text)


def show_page(lines: Iterable[Line], *, is_paged: bool) -> None:
    """Lines on standard output, through the user's pager where they are more than the terminal has."""
    drawn = ("".join(_styled(text, style) for text, style in line) + "\n" for line in lines)
    height = _terminal_size().lines - 1
    first = list(islice(drawn, height)) if is_paged and sys.stdout.isatty() else []
    if len(first) == height:
        click.echo_via_pager(chain(first, drawn), color=None if is_drawn_in_color(is_paged=True) else False)
        return
    for line in chain(first, drawn):
        click.echo(line, nl=False)


def is_drawn_in_color(*, is_paged: bool) -> bool:
    """Whether standard output shows colors and struck text: a terminal that may, and a pager that passes them on."""
    context = click.get_current_context(silent=True)
    if not sys.stdout.isatty() or not is_colored() or (context is not None and context.color is False):
        return False
    pager, options = os.environ.get("PAGER", "").split(), os.environ.get("LESS", "")
    is_less = not pager or pager[0].rpartition("/")[2] == "less"
    is_raw = re.search(r"(^|\s)-?\w*[rR]|--RAW|--raw", " ".join([options, *pager[1:]])) is not None
    return not is_paged or (is_less and (is_raw or not (options or pager[1:])))


def is_colored() -> bool:
    """Whether the user, by NO_COLOR or a terminal that knows none, leaves us any color."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns_of_terminal() -> int:
    """How many letters a line has: as COLUMNS says, as wide as the terminal, or 80 where there is none."""
    return _terminal_size().columns


def _terminal_size() -> os.terminal_size:
    from shutil import get_terminal_size

    return get_terminal_size()


def show_rows(
    headings: Sequence[str | Column],
    rows: Sequence[Sequence[object]],
    *,
    total: Sequence[object] | None = None,
    left_out: int = 0,
    gap: int | None = None,
) -> None:
    """A table that fits the terminal; a heading alone is a column of names, or of numbers if it holds nothing else.

    Columns for which there is no room are in a table of their own below, with the first column again. `total` is a last row
    under a line; `left_out` says how many rows are not shown.
    """
    columns = []
    for place, heading in enumerate(headings):
        is_number = bool(rows) and all(isinstance(row[place], int) for row in rows)
        columns.append(heading if isinstance(heading, Column) else Column(heading, "number" if is_number else "name"))
    lines = [
        [printable(f"{value:,}" if isinstance(value, int) else str(value)) for value in row]
        for row in [*rows, *([total] if total else [])]
    ]
    widths = [
        max(map(width_of, [*column.heading.split("\n"), *(line[place] for line in lines)]))
        for place, column in enumerate(columns)
    ]
    least = [
        width if column.kind == "number" else min(width, column.least) for column, width in zip(columns, widths, strict=True)
    ]
    limit, spaces = columns_of_terminal(), len(columns) - 1
    gap = gap or (2 if sum(least) + 2 * spaces <= limit else 1)
    widths = [max(low, min(width, limit)) for width, low in zip(widths, least, strict=True)]
    while sum(widths) + gap * spaces > limit and widths != least:  # what may be shortened gives way, the widest first
        widest = max((place for place in range(len(widths)) if widths[place] > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    groups, used = [[0]], widths[0]
    for place in range(1, len(columns)):
        if used + gap + widths[place] > limit and len(groups[-1]) > 1:
            groups.append([0])
            used = widths[0]
        groups[-1].append(place)
        used += gap + widths[place]
    for number, chosen in enumerate(groups):
        if number:
            say()
        cells = [(columns[place], widths[place], [line[place] for line in lines]) for place in chosen]
        _draw(cells, gap, has_total=total is not None)
    if left_out > 0:
        say(f"… and {left_out:,} more")


def show_table(
    title: str, headings: Sequence[str | Column], rows: Sequence[Sequence[object]], *, most: int = _NEVER_CUT, left_out: int = 0
) -> None:
    """A table under its title, unless it is empty; of many rows the first, and how many more there are."""
    if rows:
        show_title(title)
        show_rows(headings, rows[:most], left_out=left_out or len(rows) - most)


def show_figures(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table of figures, each row named in its first column; nothing is cut. A line break in a heading folds it."""
    first, *others = headings
    show_rows((Column(first, least=_NEVER_CUT), *(Column(heading, "number") for heading in others)), rows, gap=1)


def _draw(columns: Sequence[tuple[Column, int, Sequence[str]]], gap: int, *, has_total: bool) -> None:
    """Columns side by side, each with its width and its cells; `rich` is imported here, as most of what is said is no table."""
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    headings = [list(map(printable, column.heading.split("\n"))) for column, _, _ in columns]
    high = max(map(len, headings)) if any(map(any, headings)) else 0
    table = Table(box=Box(_RULED), show_edge=False, pad_edge=False, show_header=high > 0, padding=(0, gap - 1, 0, 0))
    fitted: list[list[Text]] = []
    for (column, width, cells), heading in zip(columns, headings, strict=True):
        justify: Literal["right", "left"] = "right" if column.kind == "number" else "left"
        table.add_column(Text("\n".join(["" for _ in range(high - len(heading))] + heading)), width=width, justify=justify)
        if column.kind == "note":
            fitted.append([Text("\n".join(wrapped(cell, width))) for cell in cells])
        else:
            fitted.append([Text(shortened(cell, width, at_end=column.kind == "words")) for cell in cells])
    *rows, last = zip(*fitted, strict=True)
    for row in rows:
        table.add_row(*row)
    if has_total:
        table.add_section()
    table.add_row(*last)
    drawn = StringIO()
    Console(file=drawn, width=sum(width + gap for _, width, _ in columns) - gap, color_system=None).print(table)
    for number, line in enumerate(drawn.getvalue().splitlines()):
        say(line.rstrip(), "bold" if number < high else "")


def progress(items: Iterable[Item], what: str, *, shown: bool, length: int | None = None) -> Iterator[Item]:
    """The items one by one, with a bar on standard error if that is a terminal; `length` where they cannot tell it."""
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


def _styled(text: str, style: str) -> str:
    """The text, safe for a terminal, in its style."""
    if not style:
        return printable(text)
    words = style.split()
    color = next((word for word in words if word not in _LOOKS), None)
    return click.style(printable(text), fg=color, **{look: True for look in _LOOKS if look in words})
