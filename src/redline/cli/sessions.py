"""`redline sessions`: the agent sessions on this computer, newest first, each with a number that every command takes."""

import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
import msgspec

from redline.cli.on_each import FINE, UNREADABLE
from redline.cli.output import Column, columns_of_terminal, complain, counted, progress, say, say_json, show_rows
from redline.cli.places import folder_name
from redline.cli.printable import printable
from redline.cli.session_argument import SESSION
from redline.inspection.catalog import Catalog
from redline.inspection.catalog_row import CatalogRow, FoundSession
from redline.inspection.short_names import ListedSession, save_listing
from redline.log.addresses import masked
from redline.transcripts.places import SessionPlace, session_places

__all__ = ["command"]

_USUAL_LIMIT = 20
_READ_AT_ONCE = 60
"""Where only the newest are shown, so many files are read before it is known whether that is enough."""
_FEW = 3
"""So many files are read without a word."""
_WIDE = 110
_LONGEST_TITLE = 80

_ORDERS: dict[str, Callable[[CatalogRow], object]] = {
    "date": lambda row: -(row.time_ms or 0.0),
    "project": lambda row: (row.project is None, row.project),
    "messages": lambda row: -row.messages,
    "tokens": lambda row: -row.tokens,
    "cost": lambda row: -(row.cost_usd or 0.0),
    "problems": lambda row: -row.problems,
    "size": lambda row: -row.bytes,
}


@click.command("sessions")
@click.argument("places", nargs=-1, type=SESSION, metavar="[PLACE]...")
@click.option("--agent", default="", metavar="NAME", help="Only those of an agent: claude, codex, opencode, redline, …")
@click.option("--project", default="", metavar="TEXT", help="Only those whose project has this in its path; . for this folder.")
@click.option("--search", default="", metavar="WORDS", help="Only those with all of these in first words, project or path.")
@click.option("--sort", type=click.Choice(list(_ORDERS)), default="date", show_default=True, help="Newest or largest first.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help=f"How many are listed; {_USUAL_LIMIT} without it.")
@click.option("--all", "is_all", is_flag=True, help="All of them, with those of sub-agents and those without messages.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each session, one a line; all without --limit.")
def command(
    places: tuple[str, ...], agent: str, project: str, search: str, sort: str, limit: int | None, is_all: bool, as_json: bool
) -> int:
    """List the sessions of agents on this computer, and Redline's own: when, whose, what about, how large, how dear.

    It looks where each agent keeps its sessions, or at each PLACE: a file, a folder, an address (sqlite:///chats.db). The
    numbers it prints are names: `redline inspect 3` means the third session of the last listing, and so do all commands
    that take a SESSION. The beginning of a session's own name (four letters or more) will do, too.

    Cost is what was reported as used, at list prices. Read files are remembered in ~/.cache/redline; REDLINE_CACHE=off
    keeps nothing.

    Exit code 0, or 2 if a PLACE could not be read; the others are still listed.

    \b
    Examples:
      redline sessions
      redline sessions --project . --agent claude
      redline sessions --search "login test" --sort cost
      redline sessions ~/old-sessions --all
    """
    wanted = _Wanted(agent, str(Path.cwd()) if project == "." else project, search, is_all)
    looked_at = () if places else tuple(place for place in session_places() if wanted.is_agent(place.agent, place.format))
    catalog = Catalog(places, places=looked_at)
    everything = catalog.sessions()
    found = everything if is_all else [one for one in everything if not _is_of_subagent(one)]
    most = limit or (len(found) if is_all or as_json else _USUAL_LIMIT)
    needs_all = bool(sort != "date" or project or search or is_all or as_json)
    rows = list(_read(catalog, found, wanted, enough=len(found) if needs_all else most))
    matching = sorted((row for row in rows if wanted.is_shown(row)), key=lambda row: row.name)
    matching.sort(key=_ORDERS[sort])  # type: ignore[arg-type]  # of one order all keys are of one type
    if as_json:
        for row in matching[:most]:
            say_json(_as_json(row))
    elif matching:
        _show(matching[:most], left_out=len(matching) - len(matching[:most]) + len(found) - len(rows))
        passed_over = 0 if project or search else len(everything) - len(found)
        _show_folded([row for row in rows if wanted.is_folded(row)], passed_over=passed_over)
        _show_hint(matching[:most])
    else:
        _show_nothing(rows, looked_at)
    named = {one.session.place for one in found if not one.session.is_found}
    return _complain_of([row for row in rows if row.problem and (row.place in named or _should_be_session(row))], named)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which sessions are listed."""

    agent: str
    project: str
    words: str
    is_all: bool

    def is_agent(self, *names: str) -> bool:
        """Whether the agent that was asked for has one of these names; spelling does not matter."""
        return any(_plain(self.agent) in _plain(name) for name in names)

    def is_shown(self, row: CatalogRow) -> bool:
        """Whether it is asked for, and not folded away."""
        return self._matches(row) and not self.is_folded(row)

    def is_folded(self, row: CatalogRow) -> bool:
        """Whether it is asked for, but what is in it is another session's, or nothing."""
        return self._matches(row) and not self.is_all and (row.is_subagent or not row.messages)

    def _matches(self, row: CatalogRow) -> bool:
        if row.problem:
            return False
        project = (row.project or "").casefold()
        told = f"{row.first_words} {row.project} {row.name}".casefold()
        is_told = all(word in told for word in self.words.casefold().split())
        return is_told and self.project.casefold() in project and self.is_agent(row.agent, row.format)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _is_of_subagent(found: FoundSession) -> bool:
    """By the name that Claude Code gives to such files: there are many, and they need not be read."""
    return found.session.is_found and Path(found.session.place).name.startswith("agent-")


def _read(catalog: Catalog, found: Sequence[FoundSession], wanted: _Wanted, *, enough: int) -> Iterator[CatalogRow]:
    """The rows of the newest files, until enough of them are to be shown."""
    shown, step = 0, max(_READ_AT_ONCE, 2 * enough)
    for start in range(0, len(found), step):
        batch = found[start : start + step]
        is_slow = sum(not catalog.is_known(one) for one in batch) > _FEW
        for row in progress(catalog.rows(batch), "reading", shown=is_slow, length=len(batch)):
            shown += wanted.is_shown(row)
            yield row
        if shown >= enough:
            return


def _show(rows: Sequence[CatalogRow], *, left_out: int) -> None:
    """A line a session. Columns that are empty in every line are left out."""
    is_wide, now_ms = columns_of_terminal() >= _WIDE, time.time() * 1000
    agents = [f"{row.agent} (observed)" if row.is_observed else row.agent for row in rows]
    columns: dict[Column, Sequence[object]] = {
        Column("#", "number"): list(range(1, len(rows) + 1)),
        Column("when", "words", least=7): [_when(row.time_ms, now_ms) for row in rows],
        Column("agent", "words", least=7): agents if is_wide else [name.split(" ")[0] for name in agents],
        Column("project", least=8): [folder_name(row.project or "") for row in rows],
        Column("first words", "words", least=20): [_words(row) for row in rows],
        Column("messages" if is_wide else "msgs", "number"): [_short(row.messages) for row in rows],
        Column("tokens", "number"): [_short(row.tokens) for row in rows],
        Column("cost", "number"): [_dollars(row.cost_usd) for row in rows],
        Column("problems" if is_wide else "prob.", "number"): [row.problems or "" for row in rows],
    }
    kept = {column: values for column, values in columns.items() if any(values)}
    show_rows(tuple(kept), list(zip(*kept.values(), strict=True)))
    if left_out:
        say(f"… and {left_out:,} more: --all lists them, --search WORDS finds some")


def _words(row: CatalogRow) -> str:
    return f"{row.conversations:,} sessions: {row.first_words}" if row.conversations > 1 else row.first_words


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


def _show_folded(folded: Sequence[CatalogRow], *, passed_over: int) -> None:
    of_agents = sum(row.is_subagent for row in folded)
    kinds = {"of sub-agents": of_agents + passed_over, "without messages": len(folded) - of_agents}
    if any(kinds.values()):
        say(f"Not listed: {', '.join(f'{count:,} {kind}' for kind, count in kinds.items() if count)} (--all lists them)")


def _show_hint(rows: Sequence[CatalogRow]) -> None:
    """How to go on; the numbers are kept for it."""
    listed = [ListedSession(_lasting_place(row), _title(row)) for row in rows]
    if save_listing(listed):
        say(f"`redline show {min(3, len(rows))}` shows one, `redline serve` all of them")
    else:
        say(
            "The numbers cannot be kept, since there is no cache folder to write to: name a session by its path (--json has it)"
        )


def _lasting_place(row: CatalogRow) -> str:
    """Where it is, from any folder, and without a password."""
    return masked(row.place) if "://" in row.place else str(Path(row.place).absolute())


def _title(row: CatalogRow) -> str:
    told = (row.agent, folder_name(row.project or ""), row.first_words)
    return printable(", ".join(filter(None, told)))[:_LONGEST_TITLE]


def _show_nothing(rows: Sequence[CatalogRow], looked_at: Sequence[SessionPlace]) -> None:
    """Why nothing is listed; what could not be read is named elsewhere."""
    if readable := sum(not row.problem for row in rows):
        say(f"None of {counted(readable, 'session file')} is what was asked for.")
    elif rows:
        return
    elif looked_at:
        say("There is no session of any agent here. Looked at:")
        show_rows((Column(""), Column("", "note")), [(place.agent, place.folder) for place in looked_at])
    else:
        known = ", ".join(place.agent for place in session_places())
        say(f"No agent of that name keeps sessions at a place that Redline knows: {known}.")


def _should_be_session(row: CatalogRow) -> bool:
    """Folders are full of other `.json` files, and agents make files in which nothing is said yet."""
    return bool(row.bytes) and not row.place.endswith(".json")


def _complain_of(unreadable: Sequence[CatalogRow], named: Set[str]) -> int:
    """Say what could not be read; of what the user did not name, only the first."""
    told = [row for number, row in enumerate(unreadable) if number == 0 or row.place in named]
    for row in told:
        complain(row.problem)
    if len(unreadable) > len(told):
        complain(f"{counted(len(unreadable) - len(told), 'more file')} cannot be read; `redline inspect FOLDER` names them")
    return UNREADABLE if any(row.place in named for row in unreadable) else FINE


def _as_json(row: CatalogRow) -> dict[str, object]:
    fields = msgspec.structs.asdict(row)
    del fields["place"], fields["problem"]
    return {"path": fields.pop("name"), **fields}
