"""Records as a graph in text, oldest first: the present path down the left side, everything else in columns beside it."""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from redline.inspection.record_lines import RecordLine
from redline.log.log import ROOT

__all__ = ["graph_lines"]

_MOST_COLUMNS = 12
"""Further ways share the last column."""


def graph_lines(lines: Sequence[RecordLine]) -> Iterator[tuple[str, RecordLine | None]]:
    """Each record after the drawing that is left of it; lines that only draw have none."""
    to_come = Tally(line.parent for line in lines if not line.is_current)
    is_path_open = Tally(line.is_current for line in lines)[True]
    ends: list[int | None] = [None]
    """By column, the record that its next one is made on; the first is the present path, None where nothing goes on."""
    columns: dict[int, int] = {}
    for line in lines:
        column = 0 if line.is_current else _column_of(line.parent, ends)
        if column is None:
            column = _free_column(ends)
            if line.parent != ROOT and ends[columns.get(line.parent, 0)] is not None:
                yield _turn(ends, columns.get(line.parent, 0), column), None
        to_come[line.parent] -= not line.is_current
        is_path_open -= line.is_current
        ends[column], columns[line.number] = line.number, column
        yield _drawn(ends, column, "●" if line.is_current else "○"), line
        if column and not to_come[line.number]:
            ends[column] = None
        if not is_path_open:
            ends[0] = None
        while len(ends) > 1 and ends[-1] is None:
            ends.pop()


def _column_of(parent: int, ends: Sequence[int | None]) -> int | None:
    """The column beside the path that a record goes on in."""
    return next((place for place, end in enumerate(ends) if place and end == parent), None)


def _free_column(ends: list[int | None]) -> int:
    for place in range(1, len(ends)):
        if ends[place] is None:
            return place
    if len(ends) < _MOST_COLUMNS:
        ends.append(None)
    return len(ends) - 1


def _drawn(ends: Sequence[int | None], column: int, sign: str) -> str:
    return " ".join(sign if place == column else " " if end is None else "│" for place, end in enumerate(ends))


def _turn(ends: Sequence[int | None], start: int, column: int) -> str:
    """A line from one column to another further right."""
    drawn = list(" ".join(" " if end is None else "│" for end in ends).ljust(2 * len(ends) - 1))
    for place in range(2 * start + 1, 2 * column):
        drawn[place] = "─" if drawn[place] == " " else "┼"
    drawn[2 * start], drawn[2 * column] = "├", "╮"
    return "".join(drawn)
