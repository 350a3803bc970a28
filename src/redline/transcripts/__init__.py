"""The session files of other agents, read as they are: one reader a file, and one call that finds the right one.

The way of a record from the disk to a message, in the order to read these files:

    source       opens the file and indexes its lines by offset; `document` and `foreign_database` do so
                 for a file that is one JSON value, and for a SQLite file
    detect       takes a sample of the beginning
    reader       what a reader is: it recognises its own samples, and reads the file
    claude_code  and its neighbours: decode the head of each record (`heads`), find out which records are
                 the conversation, and make entries of them
    base         what comes out: a transcript of conversations of entries, each of which decodes its
                 message when it is asked for
"""

import os
from dataclasses import replace

from redline.errors import TranscriptError
from redline.files import check_path, is_folder
from redline.transcripts.base import (
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
from redline.transcripts.claude_code import ClaudeCode
from redline.transcripts.cline import Cline
from redline.transcripts.codex import Codex
from redline.transcripts.copilot_cli import CopilotCli
from redline.transcripts.detect import take_sample
from redline.transcripts.document import items_of
from redline.transcripts.folders import read_folder
from redline.transcripts.gemini_cli import GeminiCli
from redline.transcripts.inspect_ai import InspectAi
from redline.transcripts.mini_swe_agent import MiniSweAgent
from redline.transcripts.neovate import Neovate
from redline.transcripts.opencode import OpenCode
from redline.transcripts.opencode_database import OpenCodeDatabase
from redline.transcripts.openhands import OpenHands
from redline.transcripts.pi import Pi
from redline.transcripts.places import SessionPlace, session_places
from redline.transcripts.plain import Plain
from redline.transcripts.reader import Reader, Sample
from redline.transcripts.source import Source
from redline.transcripts.swe_agent import SweAgent
from redline.transcripts.tau2_bench import Tau2Bench
from redline.transcripts.tau_bench import TauBench

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

READERS: tuple[Reader, ...] = (
    ClaudeCode(),
    Codex(),
    CopilotCli(),
    Pi(),
    Neovate(),
    OpenHands(),
    OpenCode(),
    OpenCodeDatabase(),
    Cline(),
    GeminiCli(),
    MiniSweAgent(),
    SweAgent(),
    Tau2Bench(),
    TauBench(),
    InspectAi(),
    Plain(),
)
"""Asked in this order; plain lists of messages come last, because they fit almost anything."""


def read_transcript(path: str | os.PathLike[str]) -> Transcript:
    """The conversations in a session file of any agent that Redline knows. The file is indexed, and never written.

    Instead of a file, the folder may be named in which Gemini CLI keeps a project's sessions, or opencode its database.
    """
    place = check_path("A session file", path)
    if is_folder(place):
        return read_folder(place, read_transcript)
    source = Source(place)
    sample = take_sample(source)
    for reader in READERS:
        if reader.recognizes(sample):
            transcript = reader.read(source)
            return replace(transcript, problems=(*transcript.problems, *sample.damage)) if sample.damage else transcript
    if sample.damage:
        raise TranscriptError(_unknown_damaged(source, sample))
    known = ", ".join(reader.name for reader in READERS)
    raise TranscriptError(f"{source.path} is not a session file that Redline knows ({known}).")


def _unknown_damaged(source: Source, sample: Sample) -> str:
    """That messages could be read, and not whose they are."""
    held = sample.document.values() if isinstance(sample.document, dict) else [sample.document]
    count = max(len(items) if isinstance(items, list) else len(items_of(items)) for items in held)
    return (
        f"{source.path} is damaged: {count:,} records could be read, but no longer told whose session they are "
        f"({sample.damage[0]}). Take the list of messages out of it into a file of its own, as `[…]`, and name "
        "that; or restore the file from a backup."
    )
