"""The table of sessions that `sessions`, `inspect` and `ls` print: one row type, one set of columns."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from redline.cli.output import Column, columns_of_terminal, counted, say, show_rows
from redline.cli.places import folder_name
from redline.inspection.catalog import by_time
from redline.inspection.catalog_row import CatalogRow

__all__ = ["ORDERS", "row_as_json", "show_sessions", "sorted_rows"]

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


def sorted_rows(rows: Iterable[CatalogRow], order: str) -> list[CatalogRow]:
    """The rows in one of the orders; what is equal by name."""
    by_name = sorted(rows, key=lambda row: row.name)
    return sorted(by_name, key=ORDERS[order])  # type: ignore[arg-type]  # of one order all keys are of one type


def show_sessions(
    rows: Sequence[CatalogRow], names: Mapping[str, str], *, has_total: bool = False, is_store: bool = False
) -> None:
    """A line a session, by its place's name. Columns that are empty in every line are left out.

    `has_total` adds a line of sums. Of a `store`, size, format and what people said of conversations are told, too.
    """
    is_wide, now_ms = columns_of_terminal() >= _WIDE, time.time() * 1000
    agents = [f"{row.agent} (observed)" if row.is_observed else row.agent for row in rows]
    columns: dict[Column, Sequence[object]] = {
        Column("name", least=8): [names[row.place] for row in rows],
        Column("when", "words", least=7): [_when(row.time_ms, now_ms) for row in rows],
        Column("agent", "words", least=7): agents if is_wide else [name.split(" ")[0] for name in agents],
        Column("project", least=8): [folder_name(row.project or "") for row in rows],
        Column("first words", "words", least=16): [_words(row) for row in rows],
        Column("messages" if is_wide else "msgs", "number"): [_short(row.messages) for row in rows],
        Column("tokens", "number"): [row.tokens and _short(row.tokens) for row in rows],
        Column("cost", "number"): [_dollars(row.cost_usd) for row in rows],
        Column("saved", "number"): [_saved(row) for row in rows],
        Column("problems" if is_wide else "prob.", "number"): [row.problems or "" for row in rows],
    }
    if is_store:
        columns |= {
            Column("bytes", "number"): [_short(row.bytes) for row in rows],
            Column("format", least=6): [row.format for row in rows],
            Column("user", least=6): [row.user for row in rows],
            Column("tags", least=6): [", ".join(row.tags) for row in rows],
        }
    kept = {column: values for column, values in columns.items() if any(values)}
    sums = {
        "name": counted(len(rows), "session"),
        "msgs": _short(sum(row.messages for row in rows)),
        "tokens": _short(sum(row.tokens for row in rows)),
        "cost": _dollars(sum(row.cost_usd or 0.0 for row in rows)),
        "prob.": str(sum(row.problems for row in rows)),
    }
    sums |= {"messages": sums["msgs"], "problems": sums["prob."]}
    if any(row.first_words for row in rows):
        sums["first words"] = sums.pop("name")
    total = [sums.get(column.heading, "") for column in kept] if has_total else None
    show_rows(tuple(kept), list(zip(*kept.values(), strict=True)), total=total)
    if has_total and (broken := sum(bool(row.problems) for row in rows)):
        say(f"{broken:,} with problems: `redline check SESSION` names them.")


def row_as_json(row: CatalogRow, names: Mapping[str, str]) -> dict[str, object]:
    """A row for programs, without what may hold a password."""
    fields = msgspec.structs.asdict(row)
    del fields["place"], fields["problem"]
    return {"name": names[row.place], "path": fields.pop("name"), **fields}


def _words(row: CatalogRow) -> str:
    """The user's first words, after the number of sessions in the file and of races between writers."""
    several = f"{row.conversations:,} sessions: " if row.conversations > 1 else ""
    races = f"({counted(row.races, 'race')}) " if row.races else ""
    return f"{several}{races}{row.first_words}"


def _when(time_ms: float | None, now_ms: float) -> str:
    """How long ago, for a week; then the date, where the user is."""
    if time_ms is None:
        return ""
    minutes = int((now_ms - time_ms) / 60_000)
    if 0 <= minutes < 1:
        return "now"
    for size, unit, most in ((1, "min", 60), (60, "h", 24 * 60), (24 * 60, "d", 7 * 24 * 60)):
        if 0 <= minutes < most:
            return f"{minutes // size} {unit}"
    try:
        said, now = datetime.fromtimestamp(time_ms / 1000), datetime.fromtimestamp(now_ms / 1000)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{said:%b} {said.day}" if said.year == now.year else f"{said:%Y-%m-%d}"


def _saved(row: CatalogRow) -> str:
    """What strikes saved, a loss with its sign; of requests that were only observed nothing was saved."""
    if not row.saved_usd or row.is_observed:
        return ""
    return f"{'-' if row.saved_usd < 0 else ''}{_dollars(abs(row.saved_usd))}"


def _short(number: int) -> str:
    """Three digits or so: 950, 12.3k, 4.5M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number / size:.0f}{unit}"
    return str(number)


def _dollars(cost: float | None) -> str:
    if cost is None:
        return ""
    return f"${cost:,.0f}" if cost >= 100 else f"${cost:.2f}" if cost >= 0.005 else "<$0.01"
