"""The sessions that the inspector serves: found, listed, searched, opened, and watched for changes."""

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from redline.agents.readers import session_places
from redline.errors import RedlineError, ValidationError
from redline.inspector.opened import OpenedSession
from redline.sessions.catalog.catalog import Catalog, name_rows, with_hook_savings
from redline.sessions.catalog.catalog_row import CatalogRow, FoundSession, lasting_place
from redline.sessions.catalog.last_listing import known_names
from redline.store.search import TextIndex
from redline.values import payloads

_MOST_OPEN = 8
_LIVE_MS = 120_000
_PATIENCE_S = 2.0
"""So long a list of what is there is good for."""
_SETTLED_S = 30.0
"""What grows is indexed again once it has been left alone for so long."""
_BREATH_S = 0.02
_LEAST_TEXT = 2


class SessionRegistry:
    """The sessions at the places that were named, or on this computer. Nothing else can be opened."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._catalog = Catalog(places, places=() if places else session_places())
        self._roots = [Path(place).resolve() for place in places if "://" not in place and Path(place).is_dir()]
        self._lock = threading.Lock()
        self._found: dict[str, FoundSession] = {}
        self._rows: dict[str, CatalogRow] = {}
        self._opened: OrderedDict[str, OpenedSession] = OrderedDict()
        self._looked_at = 0.0
        self._indexing = threading.Thread()

    def look(self) -> bool:
        """See what is there now; whether anything came, went or grew."""
        inside = []
        for one in self._catalog.sessions():  # a link in a folder may lead out of what is served
            is_safe = not one.session.is_found or not self._roots or "://" in one.session.place
            if is_safe or any(one.session.file.resolve().is_relative_to(root) for root in self._roots):
                inside.append(one)
        found = {blake2b(one.key.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest(): one for one in inside}
        with self._lock:
            is_changed = {key: one.stamp for key, one in found.items()} != {key: one.stamp for key, one in self._found.items()}
            self._found, self._looked_at = found, time.monotonic()
            return is_changed

    def work_out_rows(self) -> bool:
        """Work out the numbers of what is new or has grown; whether there was anything to do."""
        with self._lock:
            missing = [one for one in self._found.values() if self._row(one) is None]
        for row in self._catalog.rows(missing):
            with self._lock:
                self._rows[row.place] = row
        if missing:
            name_rows([row for row in self._rows.values() if not row.problem])
        if not self._indexing.is_alive():
            self._indexing = threading.Thread(target=self._index, name="redline-index", daemon=True)
            self._indexing.start()
        return bool(missing)

    def _index(self) -> None:
        """Bring the index of what was said up to date, beside everything else."""
        with self._lock:
            found = list(self._found.values())
        with TextIndex() as index:
            for _ in index.update(found, settled_s=_SETTLED_S):
                time.sleep(_BREATH_S)  # whoever looks at a session goes first

    def search(self, text: str) -> dict[str, Any]:
        """The sessions in which a text was said, by their ids; and for how many nobody knows, or not yet."""
        with self._lock:
            ids = {one.key: key for key, one in self._found.items() if one.stamp}
        with TextIndex() as index:
            matches = index.search(text.strip()) if len(text.strip()) >= _LEAST_TEXT else []
            missing = len(ids.keys() - index.keys())
        found = {ids[one.key]: {"matches": one.matches, "excerpt": one.excerpt} for one in matches if one.key in ids}
        return {"found": found, "missing": missing, "is_complete": not self._indexing.is_alive()}

    def _row(self, one: FoundSession) -> CatalogRow | None:
        row = self._rows.get(one.session.place)
        return row if row is not None and row.bytes == one.bytes and row.modified_ms == one.modified_ms else None

    def rows(self) -> dict[str, Any]:
        """What the list of sessions shows."""
        if time.monotonic() > self._looked_at + _PATIENCE_S:
            self.look()
        with self._lock:
            found = dict(self._found)
        shown, unreadable = [], []
        names = {one.place: one.name for one in known_names()}
        is_complete = True
        for key, one in found.items():
            row = self._row(one)
            is_complete = is_complete and row is not None
            if row is not None and row.problem:
                if not one.session.is_found:
                    unreadable.append({"name": row.name, "problem": row.problem})
                continue
            known = row or self._rows.get(one.session.place)
            told = known or CatalogRow(
                place="", name=one.session.name, agent=one.agent, bytes=one.bytes, modified_ms=one.modified_ms
            )
            fields = msgspec.structs.asdict(with_hook_savings(told))
            del fields["place"], fields["problem"]
            extra = {
                "id": key,
                "short_name": names.get(lasting_place(one.session.place), ""),
                "path": told.name,
                "name": Path(told.name).stem if "://" not in told.name else told.name,
                "title": told.first_words,
                "ended_ms": told.time_ms,
                "is_live": one.modified_ms is not None and time.time() * 1000 - one.modified_ms < _LIVE_MS,
                "is_pending": known is None,
            }
            shown.append(fields | extra)
        return {"sessions": shown, "is_complete": is_complete, "unreadable": unreadable}

    def open(self, key: str) -> OpenedSession:
        """A session by its id, up to date."""
        with self._lock:
            session = self._opened.get(key)
            if session is None:
                if key not in self._found:
                    raise ValidationError("There is no such session here. It may have been moved; look at the list again.")
                source = self._found[key].session
                session = OpenedSession(key, source)
                self._opened[key] = session
                while len(self._opened) > _MOST_OPEN:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(key)
        session.asked_at = time.monotonic()
        session.refresh()
        return session

    def recent(self, within_s: float) -> list[OpenedSession]:
        """Those that somebody looked at within so many seconds."""
        with self._lock:
            return [one for one in self._opened.values() if one.asked_at > time.monotonic() - within_s]


_LOOK_S = 0.5
"""How often the sessions that are looked at are looked for growth."""
_LIST_S = 3.0
"""How often new sessions are looked for."""
_TELL_S = 1.0
"""How often the list is told anew while its numbers are worked out."""
_WATCHED_S = 120.0
_SIGN_OF_LIFE_S = 15.0
_MOST_WAITING = 100


class Events:
    """Tells every listener what changed. While nobody listens, nothing is watched."""

    def __init__(self, sessions: SessionRegistry) -> None:
        self._sessions = sessions
        self._listeners: set[asyncio.Queue[bytes]] = set()
        self._watching: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def stream(self) -> AsyncIterator[bytes]:
        """The events from now on, and a sign of life now and then."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self._listeners.add(queue)
        try:
            yield b"retry: 1000\n\n"
            while not self._is_closed:
                try:
                    yield await asyncio.wait_for(queue.get(), _SIGN_OF_LIFE_S)
                except TimeoutError:
                    yield b": alive\n\n"
        finally:
            self._listeners.discard(queue)

    def start(self) -> None:
        """Begin to watch."""
        self._watching = [asyncio.create_task(self._watch_opened()), asyncio.create_task(self._watch_list())]

    async def close(self) -> None:
        """Let all listeners go."""
        self._is_closed = True
        self._tell(b": closed\n\n")
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    def _tell(self, event: bytes) -> None:
        for queue in self._listeners:
            with contextlib.suppress(asyncio.QueueFull):  # who does not read misses some, and asks again later
                queue.put_nowait(event)

    async def _watch_opened(self) -> None:
        """What somebody looks at, for as long as they listen."""
        known: dict[str, str] = {}
        while True:
            for session in self._sessions.recent(_WATCHED_S) if self._listeners else ():
                before = known.get(session.id, session.version)
                with contextlib.suppress(RedlineError, OSError):  # whoever asks for it is told
                    await asyncio.to_thread(session.refresh)
                if session.version != before:
                    self._tell(_event("session", {"id": session.id, "version": session.version}))
                known[session.id] = session.version
            await asyncio.sleep(_LOOK_S)

    async def _watch_list(self) -> None:
        """Which sessions there are, and their numbers; once, and then for as long as somebody listens."""
        is_first = True
        while True:
            if self._listeners or is_first:
                is_new = await asyncio.to_thread(self._sessions.look)
                working = asyncio.create_task(asyncio.to_thread(self._sessions.work_out_rows))
                while not (await asyncio.wait([working], timeout=_TELL_S))[0]:
                    self._tell(_event("sessions", {}))
                if working.result() or is_new:
                    self._tell(_event("sessions", {}))
                is_first = False
            await asyncio.sleep(_LIST_S)


def _event(name: str, data: dict[str, object]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + payloads.encode(data) + b"\n\n"
