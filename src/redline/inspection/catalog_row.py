"""A session as it was found, without reading it, and as a row of numbers, after it was read."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from redline.errors import RedlineError
from redline.inspection.session_files import JOURNAL, SessionInput, stamp_of, stored_sessions
from redline.log.addresses import masked, parse_address

__all__ = ["CatalogRow", "FoundSession", "lasting_place"]


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
        if session.problem:
            return cls(session, agent)
        if session.conversation:
            stored = stored_sessions(str(session.file)).get(session.conversation)
            return cls(session, agent, stored.bytes, float(stored.modified_ms), stored[1:]) if stored else cls(session, agent)
        stamp = _stamp_of_files(session.place)
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


def _stamp_of_files(place: str) -> tuple[int, ...]:
    """Size and time of the file that a session is in, and of its journal where it has one; nothing for a server."""
    try:
        kind, path, _ = parse_address(place)
    except (ValueError, RedlineError):
        return ()
    if kind == "postgresql":
        return ()
    has_journal = kind == "sqlite" or path.endswith(".db")
    return stamp_of(Path(path)) + (stamp_of(Path(path + JOURNAL)) if has_journal else ())
