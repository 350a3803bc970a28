"""Every session on this computer, or at the places that are named, and a row of numbers for each, kept from call to call."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redline.agents.opencode.database import OpenCodeDatabase
from redline.agents.readers import READERS, SessionPlace, session_places
from redline.errors import RedlineError, ValidationError
from redline.hooks.accounts import HookSavings, read_hook_accounts
from redline.sessions.catalog.catalog_row import CatalogCache, CatalogRow, FoundSession, lasting_place
from redline.sessions.catalog.last_listing import SessionName, full_name, is_number, known_names, name_sessions, place_named
from redline.sessions.catalog.session_files import SessionInput, find_sessions, is_object_address, sessions_in_file
from redline.sessions.replay.engines import process_pool

if TYPE_CHECKING:
    from redline.sessions.replay.paid import PaidSession
    from redline.sessions.summary import Inspection

_LEAST_BYTES = 4 << 20
"""Less than this is read before other processes have started."""
_READ_AT_ONCE = 60
"""Where only the newest are asked for, so many files are read before it is known whether that is enough."""
_MOST_DIGITS = 12
_LONGEST_TITLE = 80
_NAME = re.compile(r"[\w.-]{4,}")
"""What a session may be called by, rather than where it is."""
_MOST_PATH = 500
_MOST_MODELS = 20
_MOST_MODEL_NAME = 100


class Catalog:
    """The sessions that arguments name and that agents keep at their places. `sessions` is quick and reads no file; `rows`
    reads what is new or has changed, in `jobs` processes (as many as there are cores, if not given), and remembers the rest."""

    def __init__(self, arguments: Iterable[str] = (), *, places: Iterable[SessionPlace] = (), jobs: int | None = None) -> None:
        self._arguments, self._places = tuple(arguments), tuple(places)
        self._jobs = jobs or os.cpu_count() or 1
        self._cache = CatalogCache()

    def sessions(self) -> list[FoundSession]:
        """What is there now, newest first: where it is, how large, and whose by the place it is at."""
        kept = (
            FoundSession.of(session, place.agent)
            for place in self._places
            for path in map(str, place.files())
            for session in (
                sessions_in_file(path, is_found=True)
                if place.format == OpenCodeDatabase.name
                else (SessionInput(path, path, is_found=True),)
            )
        )
        named = map(FoundSession.of, find_sessions(self._arguments))
        found = {one.key: one for one in chain(named, kept)}
        return sorted(found.values(), key=lambda one: (-(one.modified_ms or 0.0), one.session.name))

    def is_known(self, found: FoundSession) -> bool:
        """Whether the cache has the row of a session."""
        return self._cache.row_of(found) is not None

    def rows(self, sessions: Iterable[FoundSession] | None = None) -> Iterator[CatalogRow]:
        """A row for each of them, or for all: those that are known first, the others as they are worked out."""
        unknown = []
        for one in self.sessions() if sessions is None else sessions:
            row = self._cache.row_of(one)
            if row is None:
                unknown.append(one)
            else:
                yield with_hook_savings(row)
        try:
            for one, row in self._work_out(unknown):
                self._cache.add(one, row)
                yield with_hook_savings(row)
        finally:
            self.save()

    def newest_rows(
        self,
        sessions: Sequence[FoundSession],
        *,
        enough: int,
        is_wanted: Callable[[CatalogRow], bool] = lambda row: row.is_listed,
        watched: Callable[[Iterator[CatalogRow], Sequence[FoundSession]], Iterable[CatalogRow]] = lambda rows, _: rows,
    ) -> Iterator[CatalogRow]:
        """The rows of the first of these sessions, read many at a time until enough of them are wanted. `watched` is given the
        rows of each batch and its sessions, and passes the rows on."""
        wanted, step = 0, max(_READ_AT_ONCE, 2 * enough)
        for start in range(0, len(sessions), step):
            batch = sessions[start : start + step]
            for row in watched(self.rows(batch), batch):
                wanted += is_wanted(row)
                yield row
            if wanted >= enough:
                return

    def place_of(self, name: str) -> str | None:
        """The place of a session by its number, 1 for the newest, by its short name, or by the beginning of its own name; else
        None. A number beyond the sessions there are, or a beginning that several have, is a ValidationError."""
        if not is_number(name):
            known = place_named(name, known_names()) if _NAME.fullmatch(name) else None
            if known is None and _NAME.fullmatch(name):
                places = (lasting_place(one.session.place) for one in self.sessions())
                known = place_named(name, [SessionName(full_name(place)[: len(name)], place) for place in places])
            return known
        number = int(name[:_MOST_DIGITS])
        found = [one for one in self.sessions() if not one.is_subagent]
        rows = sorted((row for row in self.newest_rows(found, enough=number) if row.is_listed), key=by_time)
        if not 1 <= number <= len(rows):
            raise ValidationError(
                f"There is no session {name[:_MOST_DIGITS]}: 1 is the newest of {len(rows):,} on this computer. "
                "`redline sessions` lists them."
            )
        return rows[number - 1].place

    def row_of(self, session: SessionInput, agent: str = "") -> CatalogRow:
        """The row of one session. What was worked out is kept on disk by `save`."""
        found = FoundSession.of(session, agent)
        row = self._cache.row_of(found)
        if row is None:
            row = work_out(found)
            self._cache.add(found, row)
        return with_hook_savings(row)

    def save(self) -> None:
        """Keep the rows for the next call, where that is possible."""
        self._cache.save()

    def _work_out(self, sessions: Sequence[FoundSession]) -> Iterator[tuple[FoundSession, CatalogRow]]:
        jobs = min(self._jobs, len(sessions))
        if jobs <= 1 or sum(one.bytes for one in sessions) < _LEAST_BYTES:
            for one in sessions:
                yield one, work_out(one)
            return
        import redline.sessions.summary  # noqa: F401 - once, rather than in every process

        pool = process_pool(jobs)
        try:
            waiting = {pool.submit(work_out, one): one for one in sessions}
            for done in as_completed(waiting):
                one = waiting[done]
                try:
                    yield one, done.result()
                except BrokenProcessPool:
                    unstamped = replace(one, stamp=())  # it may be another time
                    yield unstamped, _row(one, f"{one.session.name} cannot be read: the process that did so was ended.")
        finally:
            pool.shutdown(cancel_futures=True)


def with_hook_savings(row: CatalogRow) -> CatalogRow:
    """The row with what the agent's hook has saved by now; it is no part of the session, and so of no cached row."""
    saved = read_hook_accounts().of_place(row.place) if not row.is_log else HookSavings()
    if (saved.folds, saved.saved_tokens) == (row.hook_folds, row.hook_saved_tokens):
        return row
    return msgspec.structs.replace(row, hook_folds=saved.folds, hook_saved_tokens=saved.saved_tokens)


def by_time(row: CatalogRow) -> tuple[float, str]:
    """Sorts the newest first; those of one time by name."""
    return -(row.time_ms or 0.0), row.name


def name_rows(rows: Sequence[CatalogRow]) -> dict[str, str]:
    """The short name of each row, by its place."""

    def title(row: CatalogRow) -> str:
        folder = re.split(r"[\\/]", (row.project or "").rstrip("\\/"))[-1]
        told = " ".join(", ".join(filter(None, (row.agent, folder, row.first_words))).split())
        return "".join(letter if letter.isprintable() else "?" for letter in told)[:_LONGEST_TITLE]

    names = name_sessions((row.lasting_place, title(row)) for row in rows)
    return {row.place: names[row.lasting_place] for row in rows}


def work_out(found: FoundSession) -> CatalogRow:
    """Read a session and add it up. What cannot be read is a row that says why."""
    from redline.sessions.read_session import read_session  # these take longer to load than a listing from the cache
    from redline.sessions.summary import inspect_transcript

    session = found.session
    try:
        read = read_session(session)
        return row_of(found, inspect_transcript(read.as_transcript()), read.paid())
    except RedlineError as problem:
        return _row(found, session.error_text(problem))
    except OSError as problem:
        return _row(found, f"{session.name} cannot be read: {problem.strerror}. Check the path and its permissions.")
    except Exception as bug:  # one session must not keep the user from all others
        what = session.error_text(f"{type(bug).__name__}, {bug}")
        return _row(found, f"{session.name} cannot be read ({what}). This is a bug in Redline.")


def row_of(found: FoundSession, one: "Inspection", paid: "PaidSession | None") -> CatalogRow:
    """The row of a session that was read and added up, with its cost. A number of one name in both needs no line here."""
    from redline.sessions.read_session import is_dry_run

    session, is_log = found.session, one.format == "redline"
    prefix = next((reader.subagent_prefix for reader in READERS if reader.name == one.format), "")
    is_subagent = one.is_subagent or (bool(prefix) and Path(session.place).name.startswith(prefix))
    row = _row(found)
    of_one_name = {name: getattr(one, name) for name in row.__struct_fields__ if hasattr(one, name)}
    named_otherwise = {
        "agent": _AGENTS["redline"] if is_log else found.agent or _AGENTS.get(one.format, one.format),
        "project": _text(one.project[:_MOST_PATH]) if one.project else None,
        "first_words": _text(one.first_words),
        "tokens": one.tokens["total"],
        "cost_usd": paid.usd if paid is not None else None,
        "saved_usd": paid.saved_usd if paid is not None and is_log else None,
        "problems": len(one.problems),
        "models": tuple(_text(model[:_MOST_MODEL_NAME]) for model in one.models[:_MOST_MODELS]),
        "is_log": is_log,
        "is_observed": is_log and not is_object_address(session.place) and is_dry_run(session.place),
        "is_subagent": is_subagent,
    }
    return msgspec.structs.replace(row, **of_one_name | named_otherwise)


_AGENTS = {reader.name: reader.agent for reader in READERS if reader.agent}
_AGENTS |= {place.format: place.agent for place in session_places()}
"""The agent in words, by the format of its files."""


def agent_name(format: str) -> str:
    """The agent that writes files of a format, as its makers write it; the format where nobody knows."""
    return _AGENTS.get(format, format)


def _row(found: FoundSession, problem: str = "") -> CatalogRow:
    """A row without numbers."""
    return CatalogRow(
        place=found.session.place,
        name=found.session.name,
        agent=found.agent,
        bytes=found.bytes,
        modified_ms=found.modified_ms,
        problem=_text(problem),
    )


def _text(words: str) -> str:
    """What of it can be written as UTF-8: a session may hold half an emoji."""
    return words.encode("utf-8", "replace").decode()
