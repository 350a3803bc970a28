"""Every session on this computer, or at the places that are named, and a row of numbers for each, kept from call to call."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import chain
from pathlib import Path

import msgspec

from redline.errors import RedlineError
from redline.inspection.catalog_cache import CatalogCache
from redline.inspection.catalog_row import CatalogRow, FoundSession
from redline.inspection.session_files import SessionInput, find_sessions
from redline.replay.engines import process_pool
from redline.transcripts.places import SessionPlace, session_places

__all__ = ["Catalog", "agent_name", "work_out"]

_LEAST_BYTES = 4 << 20
"""Less than this is read before other processes have started."""
_MOST_PATH = 500
_MOST_MODELS = 20
_MOST_MODEL_NAME = 100


class Catalog:
    """The sessions that arguments name and that agents keep at their places.

    `sessions` is quick and reads no file; `rows` reads those that are new or have changed, in `jobs` processes (as many as
    there are cores, if not given), and remembers the rest.
    """

    def __init__(self, arguments: Iterable[str] = (), *, places: Iterable[SessionPlace] = (), jobs: int | None = None) -> None:
        self._arguments, self._places = tuple(arguments), tuple(places)
        self._jobs = jobs or os.cpu_count() or 1
        self._cache = CatalogCache()

    def sessions(self) -> list[FoundSession]:
        """What is there now, newest first: where it is, how large, and whose by the place it is at."""
        kept = (
            FoundSession.of(SessionInput(str(path), str(path), is_found=True), place.agent)
            for place in self._places
            for path in place.files()
        )
        named = map(FoundSession.of, find_sessions(self._arguments))
        found = {one.key: one for one in chain(named, kept)}
        return sorted(found.values(), key=lambda one: (-(one.modified_ms or 0.0), one.session.name))

    def is_known(self, found: FoundSession) -> bool:
        """Whether its row is there without reading it."""
        return self._cache.row_of(found) is not None

    def rows(self, sessions: Iterable[FoundSession] | None = None) -> Iterator[CatalogRow]:
        """A row for each of them, or for all: those that are known first, the others as they are worked out."""
        unknown = []
        for one in self.sessions() if sessions is None else sessions:
            row = self._cache.row_of(one)
            if row is None:
                unknown.append(one)
            else:
                yield row
        try:
            for one, row in self._work_out(unknown):
                self._cache.add(one, row)
                yield row
        finally:
            self.save()

    def row_of(self, session: SessionInput, agent: str = "") -> CatalogRow:
        """The row of one session. What was worked out is kept on disk by `save`."""
        found = FoundSession.of(session, agent)
        row = self._cache.row_of(found)
        if row is None:
            row = work_out(found)
            self._cache.add(found, row)
        return row

    def save(self) -> None:
        """Keep the rows for the next call, where that is possible."""
        self._cache.save()

    def _work_out(self, sessions: Sequence[FoundSession]) -> Iterator[tuple[FoundSession, CatalogRow]]:
        jobs = min(self._jobs, len(sessions))
        if jobs <= 1 or sum(one.bytes for one in sessions) < _LEAST_BYTES:
            for one in sessions:
                yield one, work_out(one)
            return
        import redline.inspection.summary  # noqa: F401 - once, rather than in every process

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


def work_out(found: FoundSession) -> CatalogRow:
    """Read a session and add it up. What cannot be read is a row that says why."""
    from redline.inspection.stores import is_observed  # these two take longer to load than a listing from the cache
    from redline.inspection.summary import inspect_transcript

    session = found.session
    try:
        with session.on_disk() as here:
            one = inspect_transcript(here.read())
            is_log = here.is_log
            observed = is_log and is_observed(here.place)
    except RedlineError as problem:
        return _row(found, session.error_text(problem))
    except OSError as problem:
        return _row(found, f"{session.name} cannot be read: {problem.strerror}. Check the path and its permissions.")
    except Exception as bug:  # one session must not keep the user from all others
        what = session.error_text(f"{type(bug).__name__}, {bug}")
        return _row(found, f"{session.name} cannot be read ({what}). This is a bug in Redline.")
    is_subagent = one.is_subagent or (one.format == "claude-code" and Path(session.place).name.startswith("agent-"))
    return msgspec.structs.replace(
        _row(found),
        agent=_AGENTS["redline"] if is_log else found.agent or _AGENTS.get(one.format, one.format),
        format=one.format,
        project=_text(one.project[:_MOST_PATH]) if one.project else None,
        first_words=_text(one.first_words),
        started_ms=one.started_ms,
        ended_ms=one.ended_ms,
        conversations=one.conversations,
        messages=one.messages,
        requests=one.requests,
        tokens=one.tokens["total"],
        cost_usd=one.cost_usd,
        problems=len(one.problems),
        models=tuple(_text(model[:_MOST_MODEL_NAME]) for model in one.models[:_MOST_MODELS]),
        is_log=is_log,
        is_observed=observed,
        is_subagent=is_subagent,
    )


_AGENTS = {place.format: place.agent for place in session_places()} | {"opencode": "opencode", "openhands": "OpenHands"}
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
