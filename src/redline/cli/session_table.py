"""The table of sessions that `sessions`, `inspect` and `ls` print: one row type, one set of columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from redline.cli.formatting import compact, folder_name, how_long_ago
from redline.cli.output import Column, columns_of_terminal, counted, say, show_rows
from redline.sessions.catalog.catalog import by_time
from redline.sessions.catalog.catalog_row import CatalogRow

ORDERS: dict[str, Callable[[CatalogRow], object]] = {
    "date": by_time,
    "name": lambda row: row.name,
    "project": lambda row: (row.project is None, row.project),
    "messages": lambda row: -row.messages,
    "tokens": lambda row: -row.tokens,
    "cost": lambda row: -(row.cost_usd or 0.0),
    "problems": lambda row: -row.problems,
    "size": lambda row: -row.bytes,
}
"""What rows are sorted by: the newest or the largest come first."""

_WIDE = 110


class _SessionColumn(NamedTuple):
    """A column: how it is shown, its cell for a row, and its sum. `narrow` is its heading where there is little room."""

    column: Column
    cell: Callable[[CatalogRow], object]
    narrow: str = ""
    total: Callable[[Sequence[CatalogRow]], str] = lambda _: ""
    is_of_stores: bool = False


def _sum_of(field: str, words: Callable[[Any], str]) -> Callable[[Sequence[CatalogRow]], str]:
    return lambda rows: words(sum(getattr(row, field) or 0 for row in rows))


def _dollars(cost: float | None) -> str:
    """Whole dollars of much, cents of little; a loss has its sign."""
    if cost is None:
        return ""
    size = abs(cost)
    return ("-" if cost < 0 else "") + (f"${size:,.0f}" if size >= 100 else f"${size:.2f}" if size >= 0.005 else "<$0.01")


_COLUMNS = (
    _SessionColumn(Column("when", "words", least=7), lambda row: how_long_ago(row.time_ms)),
    _SessionColumn(Column("agent", "words", least=7), lambda row: f"{row.agent} (observed)" if row.is_observed else row.agent),
    _SessionColumn(Column("project", least=8), lambda row: folder_name(row.project or "")),
    _SessionColumn(
        Column("first words", "words", least=16),
        lambda row: (
            (f"{row.conversations:,} sessions: " if row.conversations > 1 else "")
            + (f"({counted(row.races, 'race')}) " if row.races else "")  # between writers
            + row.first_words
        ),
    ),
    _SessionColumn(Column("messages", "number"), lambda row: compact(row.messages), "msgs", _sum_of("messages", compact)),
    _SessionColumn(Column("tokens", "number"), lambda row: row.tokens and compact(row.tokens), "", _sum_of("tokens", compact)),
    _SessionColumn(Column("cost", "number"), lambda row: _dollars(row.cost_usd), "", _sum_of("cost_usd", _dollars)),
    _SessionColumn(Column("saved", "number"), lambda row: "" if row.is_observed else _dollars(row.saved_usd or None)),
    _SessionColumn(
        Column("hooks saved", "number"),
        lambda row: row.hook_saved_tokens and f"{compact(row.hook_saved_tokens)} tok.",
        "hooks",
        _sum_of("hook_saved_tokens", lambda tokens: f"{compact(tokens)} tok." if tokens else ""),
    ),
    _SessionColumn(Column("problems", "number"), lambda row: row.problems or "", "prob.", _sum_of("problems", str)),
    _SessionColumn(Column("bytes", "number"), lambda row: compact(row.bytes), is_of_stores=True),
    _SessionColumn(Column("format", least=6), lambda row: row.format, is_of_stores=True),
    _SessionColumn(Column("user", least=6), lambda row: row.user, is_of_stores=True),
    _SessionColumn(Column("tags", least=6), lambda row: ", ".join(row.tags), is_of_stores=True),
)
"""After the name, in their order. A column more is one entry here, of what a `CatalogRow` holds."""


def sorted_rows(rows: Iterable[CatalogRow], order: str) -> list[CatalogRow]:
    """The rows in one of the orders; what is equal by name."""
    by_name = sorted(rows, key=lambda row: row.name)
    return sorted(by_name, key=ORDERS[order])  # type: ignore[arg-type]  # of one order all keys are of one type


def show_sessions(
    rows: Sequence[CatalogRow], names: Mapping[str, str], *, has_total: bool = False, is_store: bool = False
) -> None:
    """A line a session, by its place's name, without empty columns; of a store also sizes, formats and what people said."""
    is_wide = columns_of_terminal() >= _WIDE
    cells: list[list[object]] = [[names[row.place] for row in rows]]
    columns, total = [Column("name", least=8)], [counted(len(rows), "session")]
    for one in _COLUMNS:
        found = [one.cell(row) for row in rows]
        if not any(found) or (one.is_of_stores and not is_store):
            continue
        if not is_wide and one.column.heading == "agent":
            found = [str(agent).split(" ")[0] for agent in found]
        heading = one.column.heading if is_wide or not one.narrow else one.narrow
        columns.append(Column(heading, one.column.kind, one.column.least))
        cells.append(found)
        total.append(one.total(rows))
        if heading == "first words":
            total[-1], total[0] = total[0], ""
    show_rows(columns, list(zip(*cells, strict=True)), total=total if has_total else None)
    if has_total and (broken := sum(bool(row.problems) for row in rows)):
        say(f"{broken:,} with problems: `redline check SESSION` names them.")


def row_as_json(row: CatalogRow, names: Mapping[str, str]) -> dict[str, object]:
    """A row for programs, without what may hold a password."""
    fields = msgspec.structs.asdict(row)
    del fields["place"], fields["problem"]
    return {"name": names[row.place], "path": fields.pop("name"), **fields}
