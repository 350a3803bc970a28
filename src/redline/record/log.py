"""What a log is: records are appended, each to the one it was made on, and read again; what it says of itself and of damage."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, get_args

import msgspec

from redline.errors import ValidationError
from redline.record.addresses import masked
from redline.record.records import VERSION, Record

ROOT = -1
"""The parent of a record that follows no other."""
INDEX = "sessions.index"
"""The name of the log that says which session began which log; it is no conversation."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A record in its place."""

    number: int
    """Counts up from 0 over the whole log, branches included; permanent."""
    parent: int
    """The number of the record it was made on. Two records with the same parent are the beginnings of two branches."""
    record: Record


class Log(Protocol):
    """The append-only record of one conversation. Several processes may have it open and append to it."""

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Store the records, all or none, the first after `parent`, each further one after the one before it.

        Returns the number of the last when they are stored as safely as the log promises. Other processes may have appended
        meanwhile: numbers need not follow on `parent`.
        """

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """Every record with a higher number than `after`, in order, those of other processes included."""

    def close(self) -> None:
        """Let go of files and connections. What was appended is stored already."""


# --- logs that outlive their process

Durability = Literal["fsync", "os"]
"""When `append` returns: with the records on the disk, or in the hands of the operating system.

`"os"` survives a process that is killed; a machine that loses power may lose the last appends, never earlier ones.
"""

Redact = Callable[[bytes], bytes]
"""From JSON that is about to be written to the JSON that is written in its place."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says about itself, once, when it is created."""

    format: Literal["redline-log"] = "redline-log"
    version: int = VERSION
    """Of the Redline that created it; each record names its own besides."""
    conversation: str
    """The name of the conversation."""
    origin: str | None = None
    """What the conversation goes on from: the address of a log, its password masked, or a session file of another agent."""
    message_format: str | None = None
    """The provider format of its messages, if it was known from the beginning."""

    def __post_init__(self) -> None:
        """No header is ever made with a password, and none that was is read with it."""
        if isinstance(self.origin, str):
            msgspec.structs.force_setattr(self, "origin", masked(self.origin))


class Torn(msgspec.Struct, frozen=True):
    """A place in a log that does not hold what was written there."""

    place: str
    size_bytes: int
    kept_in: str | None = None
    """The file that the bytes were moved to. None: they are left where they are."""
    why: str = ""
    """Why bytes that are as they were written cannot be read; empty if they are damaged."""

    def __str__(self) -> str:
        kept = f"were moved to {self.kept_in}" if self.kept_in else "are left as they are"
        what = f"cannot be read: {self.why.rstrip('.')}" if self.why else "is damaged or incomplete"
        return f"{self.place} {what}; its {self.size_bytes:,} bytes {kept}."


class DurableLog(Log, Protocol):
    """A log in a file or a database."""

    @property
    def header(self) -> Header:
        """What it says about itself."""

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far, in the order it was met."""

    @property
    def unfinished(self) -> bytes:
        """What crashes left of appends that were never acknowledged, as far as it was kept."""

    @property
    def set_aside(self) -> str | None:
        """The file with damaged records that were cut off the log's end, also by an earlier process; None if there is none."""


def check_durability(durability: str) -> None:
    """Refuse what is none of the two."""
    if durability not in get_args(Durability):
        raise ValidationError(f"There is no durability {durability!r}. Write 'fsync' (the default) or 'os'.")


def check_parent(parent: int, next_number: int) -> None:
    """Refuse a parent that the log does not have."""
    if not ROOT <= parent < next_number:
        raise ValidationError(f"There is no record {parent} to append after; the log has {next_number} records.")
