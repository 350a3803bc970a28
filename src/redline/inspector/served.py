"""Which sessions are served: found again and again, each by an id, with the catalog's row, and searched by what was said."""

import threading
import time
from collections import OrderedDict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.inspection.catalog import Catalog, name_rows
from redline.inspection.catalog_row import CatalogRow, FoundSession, lasting_place
from redline.inspection.short_names import known_names
from redline.inspector.opened import OpenedSession
from redline.store.text_index import TextIndex
from redline.transcripts import session_places

__all__ = ["ServedSessions"]

_MOST_OPEN = 8
_LIVE_MS = 120_000
_PATIENCE_S = 2.0
"""So long a list of what is there is good for."""
_SETTLED_S = 30.0
"""What grows is indexed again once it has been left alone for so long."""
_BREATH_S = 0.02
_LEAST_TEXT = 2


class ServedSessions:
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
        found = {_id_of(one): one for one in self._catalog.sessions() if self._is_inside(one)}
        with self._lock:
            is_changed = {key: one.stamp for key, one in found.items()} != {key: one.stamp for key, one in self._found.items()}
            self._found, self._looked_at = found, time.monotonic()
            return is_changed

    def _is_inside(self, one: FoundSession) -> bool:
        """Whether a file that was found in a folder lies in it: a link may lead out of what is served."""
        if not one.session.is_found or not self._roots or "://" in one.session.place:
            return True
        path = one.session.file.resolve()
        return any(path.is_relative_to(root) for root in self._roots)

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
            name = names.get(lasting_place(one.session.place), "")
            shown.append(_shown(key, one, row or self._rows.get(one.session.place), name))
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


def _id_of(one: FoundSession) -> str:
    return blake2b(one.key.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _shown(key: str, one: FoundSession, row: CatalogRow | None, short_name: str) -> dict[str, Any]:
    """A line of the list: the row of the catalog, and what only the page wants to know."""
    told = row or CatalogRow(place="", name=one.session.name, agent=one.agent, bytes=one.bytes, modified_ms=one.modified_ms)
    fields = msgspec.structs.asdict(told)
    del fields["place"], fields["problem"]
    changed_ms = one.modified_ms
    return {
        **fields,
        "id": key,
        "short_name": short_name,
        "path": told.name,
        "name": Path(told.name).stem if "://" not in told.name else told.name,
        "title": told.first_words,
        "ended_ms": told.time_ms,
        "is_live": changed_ms is not None and time.time() * 1000 - changed_ms < _LIVE_MS,
        "is_pending": row is None,
    }
