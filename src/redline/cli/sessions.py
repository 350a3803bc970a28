"""`redline sessions`: the agent sessions on this computer, newest first, each with a short name that every command takes."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import click

from redline.agents.readers import SessionPlace, session_places
from redline.cli.arguments import SESSION
from redline.cli.loaded_session import EXIT_OK, EXIT_UNREADABLE
from redline.cli.output import Column, complain, counted, progress, say, say_json, show_rows
from redline.cli.session_table import ORDERS, row_as_json, show_sessions, sorted_rows
from redline.sessions.catalog.catalog import Catalog, name_rows
from redline.sessions.catalog.catalog_row import CatalogRow

_USUAL_LIMIT = 20
_FEW = 3
"""So many files are read without a word."""


@click.command("sessions")
@click.argument("places", nargs=-1, type=SESSION, metavar="[PLACE]...")
@click.option("--agent", default="", metavar="NAME", help="Only those of an agent: claude, codex, opencode, redline, …")
@click.option("--project", default="", metavar="TEXT", help="Only those whose project has this in its path; . for this folder.")
@click.option("--search", default="", metavar="WORDS", help="Only those with all of these in first words, project or path.")
@click.option("--sort", type=click.Choice(list(ORDERS)), default="date", show_default=True, help="Newest or largest first.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help=f"How many are listed; {_USUAL_LIMIT} without it.")
@click.option("--all", "is_all", is_flag=True, help="All of them, with those of sub-agents and those without messages.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each session, one a line; all without --limit.")
def command(
    places: tuple[str, ...], agent: str, project: str, search: str, sort: str, limit: int | None, is_all: bool, as_json: bool
) -> int:
    """List the sessions of agents on this computer, and Redline's own: when, whose, what about, how large, how dear.

    It looks where each agent keeps its sessions, or at each PLACE: a file, a folder, an address (sqlite:///chats.db). Each
    session has a short name, which stays the same from listing to listing; every command that takes a SESSION takes it. So
    does the beginning of a session's own name (four letters or more), or a number: 1 is the newest session on this computer.

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
    found = everything if is_all else [one for one in everything if not one.is_subagent]
    most = limit or (len(found) if is_all or as_json else _USUAL_LIMIT)
    needs_all = bool(sort != "date" or project or search or is_all or as_json)
    rows = list(
        catalog.newest_rows(
            found,
            enough=len(found) if needs_all else most,
            is_wanted=wanted.is_shown,
            watched=lambda rows, batch: progress(
                rows, "reading", shown=sum(not catalog.is_known(one) for one in batch) > _FEW, length=len(batch)
            ),
        )
    )
    matching = sorted_rows(filter(wanted.is_shown, rows), sort)
    names = name_rows(matching[:most])
    if as_json:
        for row in matching[:most]:
            say_json(row_as_json(row, names))
    elif matching:
        show_sessions(matching[:most], names)
        if left_out := len(matching) - len(matching[:most]) + len(found) - len(rows):
            say(f"… and {left_out:,} more: --all lists them, `redline search WORD` finds words in them")
        folded = [row.is_subagent for row in rows if wanted.is_folded(row)]
        of_agents = sum(folded) + (0 if project or search else len(everything) - len(found))
        kinds = {"of sub-agents": of_agents, "without messages": folded.count(False)}
        if any(kinds.values()):
            say(f"Not listed: {', '.join(f'{count:,} {kind}' for kind, count in kinds.items() if count)} (--all lists them)")
        if any(row.hook_folds for row in matching[:most]):
            say("What hooks saved is as they measured it, in characters; its tokens are estimated, once for each output.")
        say(f"`redline show {names[matching[0].place]}` shows one, `redline serve` all of them")
    else:
        _show_nothing(rows, looked_at)
    return _complain_of(rows, {one.session.place for one in found if not one.session.is_found})


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


def _complain_of(rows: Sequence[CatalogRow], named: Set[str]) -> int:
    """Say what could not be read; of what nobody named only the first, as folders are full of other `.json` files."""
    should_be = (row for row in rows if row.place in named or (row.bytes and not row.place.endswith(".json")))
    unreadable = [row for row in should_be if row.problem]
    told = [row for number, row in enumerate(unreadable) if number == 0 or row.place in named]
    for row in told:
        complain(row.problem)
    if len(unreadable) > len(told):
        complain(f"{counted(len(unreadable) - len(told), 'more file')} cannot be read; `redline inspect FOLDER` names them")
    return EXIT_UNREADABLE if any(row.place in named for row in unreadable) else EXIT_OK
