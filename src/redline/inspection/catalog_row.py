"""A session as it was found, without reading it, and as a row of numbers, after it was read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redline.errors import RedlineError
from redline.inspection.session_files import SessionInput
from redline.log.addresses import parse_address

__all__ = ["CatalogRow", "FoundSession"]

_JOURNAL = "-wal"
"""What SQLite writes before it goes into the database itself."""


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
    problems: int = 0
    """Records that could not be read, and what a provider would refuse."""
    models: tuple[str, ...] = ()
    """The one that answered most often first."""
    bytes: int = 0
    is_log: bool = False
    is_observed: bool = False
    """A log of requests that were only recorded: they were sent as they came."""
    is_subagent: bool = False
    problem: str = ""
    """Why it cannot be read; then there are no numbers."""

    @property
    def time_ms(self) -> float | None:
        """When something last happened in it."""
        return self.modified_ms if self.ended_ms is None else self.ended_ms


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session that is there, and what the file system says of it."""

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
        seen = [] if session.problem else list(_status_of_files(session.place))
        if not seen:
            return cls(session, agent)
        stamp = tuple(number for one in seen for number in (one.st_size, one.st_mtime_ns))
        modified_ms = max(one.st_mtime_ns for one in seen) / 1e6
        return cls(session, agent, sum(one.st_size for one in seen), modified_ms, stamp)

    @property
    def key(self) -> str:
        """Its place, spelled in one way."""
        return self.session.place if "://" in self.session.place else str(Path(self.session.place).absolute())


def _status_of_files(place: str) -> Iterator[os.stat_result]:
    """The file that a session is in, and its journal where it has one; nothing for a server."""
    try:
        kind, path, _ = parse_address(place)
        if kind == "postgresql":
            return
        yield Path(path).stat()
        if kind == "sqlite" or path.endswith(".db"):
            yield Path(path + _JOURNAL).stat()
    except (OSError, ValueError, RedlineError):
        return
