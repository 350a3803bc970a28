"""Gemini CLI session files: lines that add to, rewind and replace a history; in older versions one JSON value."""

from contextlib import suppress
from typing import Any, ClassVar

from redline.formats.gemini import Gemini
from redline.transcripts.base import Entry, RecordedBranch, RecordedCompaction, RecordedConversation, Transcript
from redline.transcripts.detect import take_sample
from redline.transcripts.document import open_document
from redline.transcripts.gemini_lines import Abandoned, LineHistory, replay_lines
from redline.transcripts.gemini_records import entries_of, read_record
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import text_in
from redline.transcripts.source import Source

__all__ = ["GeminiCli", "is_document"]

_SESSION = frozenset({"sessionId", "projectHash"})
_RECORD = frozenset({"id", "timestamp", "content"})
_LONGEST_PATH = 4096


class GeminiCli:
    """Reads `~/.gemini/tmp/*/chats/**/*.jsonl`, and the `session-*.json` of older versions."""

    name: ClassVar[str] = "gemini-cli"

    def recognizes(self, sample: Sample) -> bool:
        """A session of a project that is known by its hash; where that line is lost, a record of the model."""
        return is_document(sample) or any(
            record.keys() >= _SESSION or (record.get("type") == "gemini" and record.keys() >= _RECORD)
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation; notices for the screen (`info`, `error`, …) are no part of it."""
        if is_document(take_sample(source)):
            document = open_document(source)
            index = document.index_items(document.fields.get("messages"), read_record)
            conversation = RecordedConversation(
                id=document.text_of("sessionId") or source.path.stem,
                format=Gemini.name,
                entries=tuple(entries_of(source, index.records)),
            )
            return Transcript(source.path, self.name, (conversation,), tuple(index.problems))
        history = replay_lines(source)
        # What goes on comes after the windows that a summary replaced; where nothing goes on, these are branches, too.
        goes_on = any(record.is_message for _, record in history.records)
        entries: list[Entry] = []
        compactions: list[RecordedCompaction] = []
        for line, records in history.earlier if goes_on else ():
            entries.extend(entries_of(source, records))
            compactions.append(RecordedCompaction(len(entries), line))
        entries.extend(entries_of(source, history.records))
        last_entry = {entry.id: number for number, entry in enumerate(entries)}
        abandoned = [*history.abandoned, *(Abandoned(None, records) for _, records in history.earlier if not goes_on)]
        conversation = RecordedConversation(
            id=text_in(history.description.get("sessionId")) or source.path.stem,
            format=Gemini.name,
            entries=tuple(entries),
            branches=tuple(
                RecordedBranch(last_entry.get(taken.after), tuple(entries_of(source, taken.records))) for taken in abandoned
            ),
            compactions=tuple(compactions),
            metadata=_metadata(source, history),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(history.problems))


def is_document(sample: Sample) -> bool:
    """Whether a session of Gemini CLI is one JSON value with a list of messages in it."""
    return isinstance(sample.document, dict) and sample.document.keys() >= {*_SESSION, "messages"}


def _metadata(source: Source, history: LineHistory) -> dict[str, Any]:
    """What is told about the session; the project is named in a file beside the folder of its chats."""
    told, path = history.description, source.path.resolve()
    folders = told.get("directories")
    known = {
        "title": told.get("summary"),
        "kind": told.get("kind"),
        "cwd": folders[0] if isinstance(folders, list) and folders else None,
    }
    chats = next((folder for folder in path.parents if folder.name == "chats"), None)
    if chats is not None:
        known["parent"] = path.parent.name if path.parent != chats else None
        with suppress(OSError, ValueError):
            root = (chats.parent / ".project_root").read_text(encoding="utf-8")[:_LONGEST_PATH].strip()
            known["cwd"] = root or known["cwd"]
    return {key: value for key, value in known.items() if value and isinstance(value, str)}
