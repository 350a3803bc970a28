"""opencode session exports: one JSON value, a message for each step of the model, calls and results in one part."""

from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import RecordedConversation, Transcript
from redline.transcripts.document import open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.opencode_messages import read_history, read_message
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source

__all__ = ["OpenCode"]


class OpenCode:
    """Reads what `opencode export` writes."""

    name: ClassVar[str] = "opencode"

    def recognizes(self, sample: Sample) -> bool:
        """Messages beside the description of a session in a project."""
        if not isinstance(sample.document, dict) or "messages" not in sample.document:
            return False
        return {"id", "directory", "time"} <= fields_of(bytes(sample.document.get("info", b"null"))).keys()

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), read_message)
        described = document.fields.get("info", Raw(b"{}"))
        session = _decode_session(bytes(described)) if is_object(described) else _Session()
        history = read_history(source, index.records)
        known = {"cwd": session.directory, "version": session.version, "pruned": history.pruned}
        conversation = RecordedConversation(
            id=session.id or source.path.stem,
            format=AiSdk.name,
            entries=history.entries,
            compactions=history.compactions,
            metadata={key: value for key, value in known.items() if value},
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _Session(msgspec.Struct):
    id: str | None = None
    directory: str | None = None
    version: str | None = None


_decode_session = head_decoder(_Session)
