"""The proof that a repaired file is sound: read again, it says what was promised, and every provider rule is kept."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from redline.errors import ExecutionError
from redline.formats import find_format, read_messages
from redline.laws import History, problems_of
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.source import Source
from redline.values.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Payload

__all__ = ["prove"]

_UNPROVEN = "The repaired file would still be refused"


def prove(path: Path, reader: Reader, promised: Sequence[Sequence[Message]]) -> None:
    """Raise unless every conversation of the file says in its last window what was promised of it, and that is legal."""
    conversations = reader.read(Source(path)).conversations if path.read_bytes().strip() else ()
    found = [messages for messages in map(_goes_on, conversations) if messages]
    expected = [messages for messages in promised if messages]
    if len(found) != len(expected):
        raise ExecutionError(f"{_UNPROVEN}: it holds {len(found)} conversations, not {len(expected)}. Nothing was written.")
    for natives, messages in zip(found, expected, strict=True):
        _prove(natives, messages)


def _prove(natives: Sequence[Payload], expected: Sequence[Message]) -> None:
    """In the format of what was promised: a plain list that lost a message may look like one of another format."""
    format = expected[0].format
    found = read_messages(natives, format)
    for problem in problems_of(History.of(found, find_format(format)), is_stored=True):
        raise ExecutionError(f"{_UNPROVEN}: {problem}. Nothing was written.")
    if _gist(found) != _gist(expected):
        raise ExecutionError(f"{_UNPROVEN}: read again, it does not say what it should. Nothing was written.")


def _goes_on(conversation: RecordedConversation) -> list[Payload]:
    return [entry.message.native for entry in conversation.windows[-1]] if conversation.windows else []


def _gist(messages: Sequence[Message]) -> list[tuple[str, str | None]]:
    """What is said, in whatever spelling: an agent may write one message in several records, and results in another order."""
    gist: list[tuple[str, str | None]] = []
    said = ((message.role, part) for message in messages for part in message.parts)
    for are_results, run in groupby(said, key=lambda one: isinstance(one[1], ToolResult)):
        told = [(role, _told(part)) for role, part in run]
        gist += sorted(told, key=str) if are_results else told
    return gist


def _told(part: Part) -> str | None:
    match part:
        case Text() | Reasoning():
            return part.text
        case ToolCall():
            return part.id
        case ToolResult():
            return part.call_id
        case _:
            return type(part).__name__
