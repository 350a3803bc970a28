"""`redline search`: words in all sessions on this computer, or in the session files, folders and stores that are named."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from redline.agents.readers import session_places
from redline.cli.arguments import open_store
from redline.cli.formatting import date_and_time, folder_name
from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK, EXIT_UNREADABLE
from redline.cli.output import complain, counted, progress, say, say_json
from redline.cli.session_table import row_as_json
from redline.errors import ValidationError
from redline.sessions.catalog.catalog import Catalog, by_time, name_rows
from redline.sessions.catalog.catalog_row import FoundSession
from redline.sessions.catalog.session_files import is_object_address
from redline.store import Store, StoredConversation
from redline.store.search import MOST_TEXT_BYTES, SearchQuery, TextIndex, TextMatch, scan_session

_TIME = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"))
_FEW = 3
"""So many files are read without a word."""


@click.command("search")
@click.argument("words", nargs=-1, metavar="[PLACE]... [TEXT]")
@click.option("--tool", default="", metavar="NAME", help="A tool of this name was called.")
@click.option(
    "--path", default="", metavar="PATH", help="A call reads, writes, lists or searches it: whole, its end, or a folder."
)
@click.option("--since", type=_TIME, metavar="TIME", help="Something was said then or later: 2026-01-31 or 2026-01-31T09:30.")
@click.option("--until", type=_TIME, metavar="TIME", help="Something was said then or before.")
@click.option("--min-messages", type=click.IntRange(min=0), default=0, metavar="N", help="It has at least so many messages.")
@click.option(
    "--larger-than",
    "min_bytes",
    type=click.IntRange(min=0),
    default=0,
    metavar="BYTES",
    help="Its records take as much or more.",
)
@click.option("--user", default="", metavar="USER", help="It is this user's; of a store.")
@click.option("--tag", default="", metavar="TAG", help="It has this tag; of a store.")
@click.option("--problems", is_flag=True, help="A provider would refuse its messages as they are: calls without answers, say.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="How many are looked for; all without it.")
@click.option("--after", metavar="NAME", help="Go on after this one, the last of the page before; of a store.")
@click.option("--forget", is_flag=True, help="Delete the index of what was said in sessions; the next search makes it again.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each conversation, one a line.")
def command(words: tuple[str, ...], limit: int | None, after: str | None, forget: bool, as_json: bool, **wanted: Any) -> int:
    """Find the sessions that have TEXT, whatever its case, and all else that is asked for.

    Without a PLACE, all agent sessions on this computer are searched, and Redline's store. PLACE is a session file, a folder
    of them, or a store: a folder of Redline's logs, sqlite:///chats.db or postgresql://user@host/database. All that was ever
    said is looked through: other branches, sub-agents and what was summed up, too. Secrets are left out of what is shown.

    What session files say is indexed in ~/.cache/redline/text.db, for you alone: up to 128 MB of text, that of the newest
    sessions; older ones are read each time. --forget deletes it, REDLINE_CACHE=off keeps none.

    Exit code 0 if something was found, 1 if nothing was, 2 if a conversation could not be read.

    \b
    Examples:
      redline search "login fails"
      redline search ~/.claude/projects/my-project migration
      redline search chats/ "login fails" --limit 5
      redline search sqlite:///chats.db --tool Bash --since 2026-01-31
    """
    if forget:
        with TextIndex() as index:
            say(f"{index.delete():,} bytes deleted. The next search makes the index again.")
        return EXIT_OK
    has_more, places, text = any(wanted.values()), words[:-1], words[-1] if words else ""
    # One word alone is a text, unless it is an address, or a path and no text is needed.
    if len(words) == 1 and ("://" in text or (Path(text).expanduser().exists() and (has_more or "/" in text))):
        places, text = words, ""
    if not words and not has_more:
        raise click.UsageError("say what to look for")
    what = "message" if text or wanted["tool"] or wanted["path"] or not wanted["problems"] else "problem"
    stores = list(_stores(places, has_more=has_more))
    files = [place for place in places if "://" not in place or is_object_address(place)]
    catalog = Catalog(files, places=() if places else session_places())
    folders = [store for store in stores if "://" not in store.name]
    searched = {str(Path(store.address_of(name)).absolute()) for store in folders for name in store.names()}
    found = [one for one in catalog.sessions() if one.key not in searched]  # but for those that a store searches
    if after is not None and (len(stores) != 1 or found):
        raise click.UsageError("--after is for one store. Name it")
    is_unreadable, count = False, 0
    for hit in chain(
        _in_stores(stores, text, limit=limit, after=after, **wanted), _in_sessions(catalog, found, text, **wanted)
    ):
        if hit.problem:
            complain(hit.problem)
            is_unreadable = True
            continue
        count += 1
        if as_json:
            say_json({"conversation": hit.conversation, "excerpt": hit.excerpt, "matches": hit.matches})
        else:
            times = f" ({counted(hit.matches, what)})" if hit.matches else ""
            say(f"{hit.name}  {date_and_time(hit.time_ms)}{times}  {hit.about}{hit.excerpt}".rstrip())
        if count == limit:
            break
    if not count and not is_unreadable and not as_json:
        say("Nothing was found.", is_error=True)
    return EXIT_UNREADABLE if is_unreadable else EXIT_OK if count else EXIT_FOUND


class _Hit(NamedTuple):
    """A session or conversation that has what is looked for, or the problem that keeps it from being read."""

    name: str = ""
    time_ms: float | None = None
    matches: int = 0
    about: str = ""
    excerpt: str = ""
    conversation: object = None
    problem: str = ""


def _stores(places: Sequence[str], *, has_more: bool) -> Iterator[Store]:
    """The databases and the folders of Redline's logs among the places; without places, the proxy's where it is none of files.

    The logs of a folder are session files, too, and found as such where only a text is looked for.
    """
    for place in places:
        if "://" in place and not is_object_address(place):
            yield open_store(place)
        elif Path(place).is_dir() and (store := Store(place)).names():
            yield store
    if not places:
        with contextlib.suppress(ValidationError):  # nothing was recorded yet
            store = open_store(None)
            if has_more or "://" in store.name:
                yield store


def _in_stores(stores: Sequence[Store], text: str, **wanted: Any) -> Iterator[_Hit]:
    for store in stores:
        with store:
            for one in store.search(text, **wanted):
                told = one.conversation
                if told.problem:
                    yield _Hit(problem=f"{told.name} cannot be read: {told.problem}")
                else:
                    words = one.excerpt or told.title
                    yield _Hit(told.name, told.last_ms, one.matches, "", words, msgspec.to_builtins(told))


def _in_sessions(
    catalog: Catalog, found: Sequence[FoundSession], text: str, since: datetime | None, until: datetime | None, **wanted: Any
) -> Iterator[_Hit]:
    """Sessions in files. No user or tag is known of them."""
    since_ms, until_ms = (None if time is None else time.timestamp() * 1000 for time in (since, until))
    query = SearchQuery(text, since_ms=since_ms, until_ms=until_ms, **wanted)
    for one in found:
        if one.session.problem and not one.session.is_found:
            yield _Hit(problem=one.session.problem)
    if query.user or query.tag:
        return
    matches = _matches(found, query.text) if query.text else {one.key: TextMatch(one.key, 0, "") for one in found}
    rows = sorted((row for row in catalog.rows([one for one in found if one.key in matches]) if not row.problem), key=by_time)
    names, by_place = name_rows(rows), {one.session.place: one for one in found}
    for row in rows:
        known = StoredConversation(
            name=row.name, messages=row.messages, bytes=row.bytes, first_ms=row.started_ms, last_ms=row.ended_ms
        )
        match = matches[by_place[row.place].key]
        if not query.may_match(known) or (query.problems and not row.problems):
            continue
        if query.tool or query.path:
            said = (entry.message for conversation in by_place[row.place].session.read() for entry in conversation.walk())
            hits = query.found_in(said)
            if not all(hits):
                continue
            match = TextMatch(match.key, len(hits[0]), hits[0][0])
        about = f"{folder_name(row.project)}: " if row.project else ""
        told = match.excerpt or row.first_words
        yield _Hit(
            names[row.place], row.time_ms, match.matches or row.problems * query.problems, about, told, row_as_json(row, names)
        )


def _matches(found: Sequence[FoundSession], text: str) -> dict[str, TextMatch]:
    """What sessions have of a text, by their keys: from the index, after it was brought up to date; else read one by one."""
    with TextIndex() as index:
        indexed = index.keys()
        is_slow = sum(one.key not in indexed for one in found) > _FEW
        for _ in progress(index.update(found), "reading", shown=is_slow, length=len(found)):
            pass
        matches = {match.key: match for match in index.search(text)}
        indexed = index.keys()
        is_full = index.is_available
    others = [one for one in found if one.key not in indexed]
    if is_full and (older := sum(bool(one.stamp) for one in others)):
        most = f"{MOST_TEXT_BYTES >> 20} MB of text"
        complain(f"{counted(older, 'older session')} read one by one: the index holds {most}, that of the newest sessions")
    scanned = (scan_session(one, text) for one in progress(others, "reading", shown=len(others) > _FEW))
    return matches | {match.key: match for match in scanned if match is not None}
