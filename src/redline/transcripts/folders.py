"""The folder in which an agent keeps the sessions of a project, or all of them: read as one transcript."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from redline.errors import TranscriptError
from redline.transcripts.base import BadRecord, RecordedConversation, Transcript
from redline.transcripts.gemini_cli import GeminiCli

__all__ = ["read_folder"]

_DATABASES = "opencode*.db"
_CHATS = "session-*.json*"
_LONGEST_NAME = 100


def read_folder(folder: Path, read_file: Callable[[Path], Transcript]) -> Transcript:
    """The database in opencode's folder, or every session of Gemini CLI with its sub-agents. Other folders are refused.

    A session of Gemini CLI that cannot be read is listed among the problems.
    """
    databases = _files(folder, _DATABASES)
    if len(databases) == 1:
        return read_file(databases[0])
    chats = next((place for place in (folder, folder / "chats") if _files(place, _CHATS)), None)
    if chats is None:
        raise TranscriptError(
            f"{folder} is a folder, not a session file, and Gemini CLI or opencode keep no sessions there. Name a file in it."
        )
    problems: list[BadRecord] = []

    def conversations(files: list[Path]) -> Iterator[RecordedConversation]:
        for path in files:
            try:
                transcript = read_file(path)
            except TranscriptError as refused:
                problems.append(BadRecord(str(path), 1, 1, str(refused)))
                continue
            problems.extend(transcript.problems)
            yield from transcript

    sessions: list[RecordedConversation] = []
    for session in conversations(_files(chats, _CHATS)):
        # Sub-agents are in a folder named after the session; an id that could lead elsewhere has none.
        is_plain = session.id.replace("-", "").isalnum() and len(session.id) <= _LONGEST_NAME
        subagents = tuple(conversations(_files(chats / session.id, "*.jsonl"))) if is_plain else ()
        sessions.append(replace(session, subagents=subagents))
    return Transcript(chats, GeminiCli.name, tuple(sessions), tuple(problems))


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())
