"""The first look at a session file, a sample of its beginning, and what a reader of one agent's files offers."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Raw

from redline.agents.transcripts import BadRecord, Position, Transcript
from redline.agents.transcripts.document import open_document
from redline.agents.transcripts.foreign_database import DATABASE_MAGIC, ForeignDatabase
from redline.agents.transcripts.source import Source, decode_line
from redline.errors import TranscriptError


class Sample(msgspec.Struct, frozen=True):
    """The beginning of a file, parsed as far as it goes: enough to tell whose it is."""

    name: str
    records: tuple[dict[str, Any], ...]
    """The first objects of a file of lines."""
    document: Any = None
    """For a file that is one JSON value: the top level, what lies deeper as raw JSON."""
    damage: tuple[BadRecord, ...] = ()
    """What of a torn or damaged document could not be read; `document` is the rest."""
    is_archive: bool = False
    tables: frozenset[str] = frozenset()

    @property
    def fields(self) -> dict[str, Raw]:
        """The top level of a document that is an object; empty for any other file."""
        return self.document if isinstance(self.document, dict) else {}


class SessionDir(NamedTuple):
    """The folder in which an agent keeps its session files."""

    agent: str
    """The agent in words."""
    folder: str
    """Below the home folder."""
    pattern: str
    """The names of session files, for `Path.glob`."""
    moved_by: tuple[tuple[str, str], ...] = ()
    """Environment variables that name another place, and the folder below it; the first that is set counts."""
    file_variable: str = ""
    """A variable that names the session file itself: a path, or a file in the folder."""


class Reader(ABC):
    """Reads the session files of one agent."""

    name: ClassVar[str]
    """The agent, as `Transcript.format` gives it."""
    agent: ClassVar[str] = ""
    """The agent in words, where `session_dir` does not say it."""
    session_dir: ClassVar[SessionDir | None] = None
    """Where the agent keeps its sessions on this machine, as in November 2026."""
    subagent_prefix: ClassVar[str] = ""
    """How the names of files begin that hold the session of a sub-agent; empty where their names do not tell."""
    why_not_mended: ClassVar[str] = ""
    """Why its sessions are not repaired, and the way round, after the name of the file."""

    @abstractmethod
    def recognizes(self, sample: Sample) -> bool:
        """Whether the file was written by this agent."""

    @abstractmethod
    def read(self, source: Source) -> Transcript:
        """The conversations of the file, as an index; what cannot be read is listed in it, not raised."""

    def read_folder(self, folder: Path, read_file: Callable[[Path], Transcript]) -> Transcript | None:  # noqa: ARG002
        """The sessions in a folder of the agent, as one transcript; None for any other folder."""
        return None


ZIP_MAGIC = b"PK\x03\x04"
_HEAD_BYTES = 1024 * 1024
_MOST_LINES = 40
_BLANK_BYTES = 64
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\Z)")
_DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*(?:\{|\Z)|\{\s*\n)")
"""How a document begins that is written over several lines; records of a file of lines do not."""


def take_sample(source: Source) -> Sample:
    """The sample that readers recognise their own files by. A file that is none of the four is a TranscriptError."""
    name = source.path.name
    if source.read(Position(0, len(DATABASE_MAGIC))) == DATABASE_MAGIC:
        return Sample(name, (), tables=ForeignDatabase(source.path).tables())
    if source.read(Position(0, len(ZIP_MAGIC))) == ZIP_MAGIC:
        return Sample(name, (), is_archive=True)
    line_count, records = _first_lines(source)
    is_list = _LIST.match(source.read(Position(0, _BLANK_BYTES))) is not None
    if line_count > 1 and len(records) * 2 >= line_count and not is_list:  # a few bad lines do not make it anything else
        return Sample(name, records)
    try:
        document = open_document(source)
    except TranscriptError:
        if not records:
            raise
        return Sample(name, records)
    if records and document.salvaged and not _DOCUMENT.match(source.read(Position(0, _BLANK_BYTES))):
        return Sample(name, records)
    cuts = document.salvaged.cuts if document.salvaged else ()
    damage = tuple(BadRecord(str(source.path), cut.line, cut.column, cut.lost) for cut in cuts)
    return Sample(name, records if line_count == 1 else (), document.value, damage)


def _first_lines(source: Source) -> tuple[int, tuple[dict[str, Any], ...]]:
    """How many lines begin within the first megabyte, blank ones aside, and those of them that are objects."""
    count, read = 0, 0
    records: list[dict[str, Any]] = []
    for line in islice(source.lines(), _MOST_LINES):
        if bytes(line[:_BLANK_BYTES]).strip():
            count += 1
            with suppress(ValueError):  # comments, torn lines and the like are passed over
                records.append(decode_line(line))
        read += len(line)
        if read > _HEAD_BYTES:
            break
    return count, tuple(records)
