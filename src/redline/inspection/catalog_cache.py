"""Rows that were worked out before, kept in one file of the cache folder: what is damaged or of another version is ignored."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from redline.inspection.cache_folder import read_cached, write_cached
from redline.inspection.catalog_row import CatalogRow, FoundSession
from redline.values.package import package_version

__all__ = ["CatalogCache", "is_text", "is_there"]

_FILE = "sessions.json"
_SHAPE = 2
"""Counts up when rows are worked out in another way."""
_MOST_ROWS = 50_000


class _KeptRow(msgspec.Struct, array_like=True, frozen=True):
    stamp: tuple[int, ...]
    row: CatalogRow


class _KeptRows(msgspec.Struct):
    version: str
    rows: dict[str, _KeptRow]


class CatalogCache:
    """Rows by the place of their session and the state its file was in."""

    def __init__(self) -> None:
        self._rows: dict[str, _KeptRow] | None = None
        self._has_news = False

    def row_of(self, found: FoundSession) -> CatalogRow | None:
        """The row of a session that has not changed since it was worked out."""
        kept = self._kept().get(found.key) if found.stamp else None
        if kept is None or kept.stamp != found.stamp:
            return None
        session, row = found.session, kept.row
        if (session.place, session.name) == (row.place, row.name):
            return row
        return msgspec.structs.replace(row, place=session.place, name=session.name)

    def add(self, found: FoundSession, row: CatalogRow) -> None:
        """Keep a row. Why a file could not be opened is not kept: permissions change without leaving a trace in it."""
        if found.stamp and is_text(found.key + row.name) and (not row.problem or os.access(found.session.file, os.R_OK)):
            self._kept()[found.key] = _KeptRow(found.stamp, row)
            self._has_news = True

    def forget(self, is_meant: Callable[[str], bool]) -> None:
        """Drop the rows of all places that are meant; `save` takes them from the disk."""
        kept = self._kept()
        for key in [key for key in kept if is_meant(key)]:
            del kept[key]
            self._has_news = True

    def save(self) -> None:
        """Write all rows whose sessions are still there, if there is anything new."""
        if not self._has_news:
            return
        self._has_news = False
        rows = {key: kept for key, kept in list(self._kept().items()) if is_there(key)}
        newest = dict(list(rows.items())[-_MOST_ROWS:])
        write_cached(_FILE, msgspec.json.encode(_KeptRows(f"{_SHAPE}, {package_version()}", newest)))

    def _kept(self) -> dict[str, _KeptRow]:
        if self._rows is None:
            try:
                read = msgspec.json.decode(read_cached(_FILE) or b"", type=_KeptRows)
                self._rows = read.rows if read.version == f"{_SHAPE}, {package_version()}" else {}
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._rows = {}
        return self._rows


def is_there(key: str) -> bool:
    """Whether the file is there, or the database that a session is in; of a server nobody asks."""
    return "://" in key or Path(key).exists() or Path(key.rpartition("#")[0]).is_file()


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8: names of files need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
