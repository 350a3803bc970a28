"""Which sessions are served: found again and again, each known by an id, with a row of numbers that are worked out in time."""

import threading
import time
from collections import OrderedDict
from hashlib import blake2b
from pathlib import Path
from typing import Any

from redline.errors import ValidationError
from redline.inspection.catalog import Catalog
from redline.inspection.catalog_row import CatalogRow, FoundSession
from redline.inspector.opened import OpenedSession
from redline.transcripts import session_places

__all__ = ["ServedSessions"]

_MOST_OPEN = 8
_LIVE_MS = 120_000
_PATIENCE_S = 2.0
"""So long a list of what is there is good for."""


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
        path = Path(one.session.place).resolve()
        return any(path.is_relative_to(root) for root in self._roots)

    def work_out_rows(self) -> bool:
        """Work out the numbers of what is new or has grown; whether there was anything to do."""
        with self._lock:
            missing = [one for one in self._found.values() if self._row(one) is None]
        for row in self._catalog.rows(missing):
            with self._lock:
                self._rows[row.place] = row
        return bool(missing)

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
        is_complete = True
        for number, (key, one) in enumerate(found.items(), 1):
            row = self._row(one)
            is_complete = is_complete and row is not None
            if row is not None and row.problem:
                if not one.session.is_found:
                    unreadable.append({"name": row.name, "problem": row.problem})
                continue
            shown.append(_shown(key, number, one, row or self._rows.get(one.session.place)))
        return {"sessions": shown, "is_complete": is_complete, "unreadable": unreadable}

    def open(self, key: str) -> OpenedSession:
        """A session by its id, up to date."""
        with self._lock:
            session = self._opened.get(key)
            if session is None:
                if key not in self._found:
                    raise ValidationError("There is no such session here. It may have been moved; look at the list again.")
                source = self._found[key].session
                row = self._rows.get(source.place)
                is_observed = row is not None and row.is_observed
                session = OpenedSession(key, source, "it was only observed" if is_observed else "")
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


def _shown(key: str, number: int, one: FoundSession, row: CatalogRow | None) -> dict[str, Any]:
    changed_ms = one.modified_ms
    shown: dict[str, Any] = {
        "id": key,
        "number": number,
        "name": Path(one.session.name).stem if "://" not in one.session.name else one.session.name,
        "path": one.session.name,
        "agent": one.agent,
        "bytes": one.bytes,
        "is_live": changed_ms is not None and time.time() * 1000 - changed_ms < _LIVE_MS,
        "is_pending": row is None,
        "ended_ms": changed_ms,
    }
    if row is None:
        return {**shown, "title": "", "project": None, "messages": None, "tokens": None, "cost_usd": None, "problems": None}
    return {
        **shown,
        "agent": row.agent,
        "format": row.format,
        "project": row.project,
        "title": row.first_words,
        "started_ms": row.started_ms,
        "ended_ms": row.time_ms,
        "conversations": row.conversations,
        "messages": row.messages,
        "requests": row.requests,
        "tokens": row.tokens,
        "cost_usd": row.cost_usd,
        "problems": row.problems,
        "models": row.models,
        "is_log": row.is_log,
        "is_subagent": row.is_subagent,
        "has_run_only_observed": row.is_observed,
    }
