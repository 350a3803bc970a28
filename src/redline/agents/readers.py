"""The session files of other agents, read as they are: one call finds the reader that knows the file."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from redline.agents.registry import KNOWN_AGENTS, known_agents
from redline.agents.transcripts import (
    Attachment,
    BadRecord,
    Entry,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    RecordedGap,
    Transcript,
    Usage,
)
from redline.agents.transcripts.detect import Reader, Sample, SessionDir, take_sample
from redline.agents.transcripts.document import items_of
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from redline.files import check_path, is_folder

__all__ = [
    "READERS",
    "Attachment",
    "BadRecord",
    "Entry",
    "Position",
    "Reader",
    "RecordedBranch",
    "RecordedCompaction",
    "RecordedConversation",
    "RecordedGap",
    "Sample",
    "SessionPlace",
    "Transcript",
    "Usage",
    "read_transcript",
    "session_places",
]

READERS: tuple[Reader, ...] = tuple(reader for agent in KNOWN_AGENTS for reader in agent.readers)
"""Asked in this order; plain lists of messages come last, because they fit almost anything."""


def _readers() -> Iterator[Reader]:
    """`READERS`, and those of other packages."""
    return (reader for agent in known_agents() for reader in agent.readers)


def read_transcript(path: str | os.PathLike[str]) -> Transcript:
    """The conversations in a session file of any agent that Redline knows. The file is indexed, and never written.

    Instead of a file, the folder may be named in which Gemini CLI keeps a project's sessions, or opencode its database.
    """
    place = check_path("A session file", path)
    if is_folder(place):
        for reader in _readers():
            if (found := reader.read_folder(place, read_transcript)) is not None:
                return found
        raise TranscriptError(
            f"{place} is a folder, not a session file, and Gemini CLI or opencode keep no sessions there. Name a file in it."
        )
    source = Source(place)
    sample = take_sample(source)
    for reader in _readers():
        if reader.recognizes(sample):
            transcript = reader.read(source)
            return replace(transcript, problems=(*transcript.problems, *sample.damage)) if sample.damage else transcript
    if not sample.damage:
        known = ", ".join(reader.name for reader in _readers())
        raise TranscriptError(f"{source.path} is not a session file that Redline knows ({known}).")
    held = sample.document.values() if isinstance(sample.document, dict) else [sample.document]
    count = max(len(items) if isinstance(items, list) else len(items_of(items)) for items in held)
    raise TranscriptError(
        f"{source.path} is damaged: {count:,} records could be read, but no longer told whose session they are "
        f"({sample.damage[0]}). Take the list of messages out of it into a file of its own, as `[…]`, and name "
        "that; or restore the file from a backup."
    )


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """A folder, and what session files in it are called."""

    agent: str
    """The agent in words."""
    format: str
    folder: Path
    pattern: str
    """For `Path.glob`, below the folder."""

    def files(self) -> Iterator[Path]:
        """The session files that are there now, in the order of their names; none where there is no such folder."""
        return iter(sorted(path for path in self.folder.glob(self.pattern) if path.is_file()))


_OWN_STORE = SessionDir("Redline", ".redline", "*.jsonl")
"""The store of `redline proxy`."""


def session_places(home: Path | None = None, environ: Mapping[str, str] | None = None) -> tuple[SessionPlace, ...]:
    """Where each agent keeps its sessions, installed or not, and Redline its own (format `redline`).

    Those of this user and environment, unless others are given.
    """
    base = Path.home() if home is None else home
    variables = os.environ if environ is None else environ
    known = {reader.name: reader.session_dir for reader in _readers() if reader.session_dir} | {"redline": _OWN_STORE}
    places = []
    for format, known_dir in sorted(known.items(), key=lambda item: item[1].agent.casefold()):
        moved = (Path(variables[name]) / below for name, below in known_dir.moved_by if variables.get(name))
        folder, pattern = next(moved, base / known_dir.folder), known_dir.pattern
        if (file := variables.get(known_dir.file_variable, "")) not in ("", ":memory:"):
            folder, pattern = (folder / file).parent, escape(Path(file).name)
        places.append(SessionPlace(known_dir.agent, format, folder, pattern))
    return tuple(places)
