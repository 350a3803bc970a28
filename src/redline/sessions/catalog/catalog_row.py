"""A session as it was found, its row of numbers, and the rows that are kept in the cache folder."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from redline.errors import RedlineError
from redline.files import read_cached, write_cached
from redline.plugins import package_version
from redline.record.addresses import masked
from redline.record.opening import stamp_of_log
from redline.sessions.catalog.session_files import SessionInput, stored_sessions
from redline.tools.paths import is_unicode


class CatalogRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a session holds. All numbers are over the whole file: branches, sub-agents and earlier windows included."""

    place: str
    """The path, or the address of the conversation; it may hold a password, and is not for showing."""
    name: str
    """What to call it in output."""
    agent: str
    """In words; empty where it cannot be told."""
    format: str = ""
    project: str | None = None
    """The folder that the agent worked in."""
    first_words: str = ""
    started_ms: float | None = None
    ended_ms: float | None = None
    """When the last message was said; `modified_ms` is when the file last changed."""
    modified_ms: float | None = None
    conversations: int = 0
    messages: int = 0
    requests: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    """What the requests cost whose usage is recorded, at list prices."""
    saved_usd: float | None = None
    """What strikes saved of that, net; where requests were only observed, what they would have saved."""
    hook_folds: int = 0
    """Outputs that the agent's own hook made smaller before they were first sent, by the accounts in `~/.redline`."""
    hook_saved_tokens: int = 0
    """What these made each request smaller that holds them: characters as the hook measured them, tokens estimated."""
    problems: int = 0
    """Records that could not be read, and what a provider would refuse."""
    models: tuple[str, ...] = ()
    """The one that answered most often first."""
    bytes: int = 0
    is_log: bool = False
    is_observed: bool = False
    """A log of requests that were only recorded: they were sent as they came."""
    is_subagent: bool = False
    user: str = ""
    """Whose it is, its tags and its races: as its store says."""
    tags: tuple[str, ...] = ()
    races: int = 0
    problem: str = ""
    """Why it cannot be read; then there are no numbers."""

    @property
    def time_ms(self) -> float | None:
        """When something last happened in it."""
        return self.modified_ms if self.ended_ms is None else self.ended_ms

    @property
    def is_listed(self) -> bool:
        """Whether a list shows it to whoever asks for nothing else: it holds messages, and they are no sub-agent's."""
        return bool(self.messages) and not (self.is_subagent or self.problem)

    @property
    def lasting_place(self) -> str:
        """Where it is, from any folder, and without a password."""
        return lasting_place(self.place)


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session at its place, with the size and times that the file system gives."""

    session: SessionInput
    agent: str = ""
    """Whose place it is at; empty for one that was named."""
    bytes: int = 0
    modified_ms: float | None = None
    stamp: tuple[int, ...] = ()
    """Sizes and times: another one if the file changed. Empty where that cannot be told."""

    @classmethod
    def of(cls, session: SessionInput, agent: str = "") -> "FoundSession":
        """As it is now."""
        if session.problem:
            return cls(session, agent)
        if session.conversation:
            stored = stored_sessions(str(session.file)).get(session.conversation)
            return cls(session, agent, stored.bytes, float(stored.modified_ms), stored[1:]) if stored else cls(session, agent)
        stamp: tuple[int, ...] | None = None  # size and time of its file, and of its journal; nothing for a server
        with suppress(ValueError, RedlineError):
            stamp = stamp_of_log(session.place)
        return cls(session, agent, sum(stamp[::2]), max(stamp[1::2]) / 1e6, stamp) if stamp else cls(session, agent)

    @property
    def key(self) -> str:
        """Its place, spelled in one way."""
        return self.session.place if "://" in self.session.place else str(Path(self.session.place).absolute())

    @property
    def is_subagent(self) -> bool:
        """By the name that Claude Code gives to such files: there are many, and they need not be read."""
        return self.session.is_found and Path(self.session.place).name.startswith("agent-")


def lasting_place(place: str) -> str:
    """A path or an address that is good in any folder, without a password."""
    return masked(place) if "://" in place else str(Path(place).absolute())


_FILE = "sessions.json"
_WORKED_OUT_IN = ("catalog_row.py", "catalog.py", "../summary.py", "../words.py", "../replay/paid.py")
"""Where rows get their numbers: when one of these files changes, rows are worked out anew."""
_MOST_ROWS = 50_000


class _KeptRow(msgspec.Struct, array_like=True, frozen=True):
    stamp: tuple[int, ...]
    row: CatalogRow


class _KeptRows(msgspec.Struct):
    version: str
    rows: dict[str, _KeptRow]


@lru_cache(maxsize=1)
def _version() -> str:
    """The release, and a digest of the fields of a row and of the code that fills them: nobody has to count a version up."""
    digest = blake2b(repr([(field.name, field.type) for field in msgspec.structs.fields(CatalogRow)]).encode(), digest_size=8)
    for name in _WORKED_OUT_IN:
        with suppress(OSError):
            digest.update(Path(__file__).parent.joinpath(name).read_bytes())
    return f"{package_version()} {digest.hexdigest()}"


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
        if found.stamp and is_unicode(found.key + row.name) and (not row.problem or os.access(found.session.file, os.R_OK)):
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
        write_cached(_FILE, msgspec.json.encode(_KeptRows(_version(), newest)))

    def _kept(self) -> dict[str, _KeptRow]:
        if self._rows is None:
            try:
                read = msgspec.json.decode(read_cached(_FILE) or b"", type=_KeptRows)
                self._rows = read.rows if read.version == _version() else {}
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._rows = {}
        return self._rows


def is_there(key: str) -> bool:
    """Whether the file is there, or the database that a session is in; of a server nobody asks."""
    return "://" in key or Path(key).exists() or Path(key.rpartition("#")[0]).is_file()
