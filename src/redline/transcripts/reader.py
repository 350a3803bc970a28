"""What a reader of one agent's session files offers, and the sample of a file it recognises its own by.

To add one: a file beside this with a class like `Reader`, a line in `READERS`, and a test file of its name. Begin with a
copy of the nearest: `tau_bench` (a list of runs in one JSON value), `cline` (a session in one JSON value), `codex` (a line for
each message), `pi` (lines that are a tree) or `opencode_database` (SQLite).
"""

from typing import Any, ClassVar, Protocol

import msgspec

from redline.transcripts.base import BadRecord, Transcript
from redline.transcripts.source import Source

__all__ = ["Reader", "Sample"]


class Sample(msgspec.Struct, frozen=True):
    """The beginning of a file, parsed as far as it goes: enough to tell whose it is."""

    name: str
    """The file's name."""
    records: tuple[dict[str, Any], ...]
    """The first objects of a file of lines."""
    document: Any = None
    """For a file that is one JSON value: the top level, what lies deeper as raw JSON."""
    damage: tuple[BadRecord, ...] = ()
    """What of a torn or damaged document could not be read; `document` is the rest."""
    is_archive: bool = False
    """A zip file."""
    tables: frozenset[str] = frozenset()
    """The tables of a SQLite file."""


class Reader(Protocol):
    """Reads the session files of one agent."""

    name: ClassVar[str]
    """The agent, as `Transcript.format` gives it."""

    def recognizes(self, sample: Sample) -> bool:
        """Whether the file was written by this agent."""
        ...

    def read(self, source: Source) -> Transcript:
        """The conversations of the file, as an index; what cannot be read is listed in it, not raised."""
        ...
