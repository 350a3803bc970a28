"""The proof that a repaired file is sound: read again, it says what was promised, and every provider rule is kept."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from redline.errors import ExecutionError
from redline.formats import find_format, read_messages
from redline.laws import History, problems_of
from redline.mending.repaired_window import gaps_in_last_window, last_window
from redline.transcripts import Reader
from redline.transcripts.source import Source
from redline.values.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["prove"]

_UNPROVEN = "The repaired file would still be refused"


def prove(path: Path, reader: Reader, promised: Sequence[Sequence[Message]]) -> None:
    """Raise unless every conversation of the file says in its last window what was promised of it, and that is legal."""
    conversations = reader.read(Source(path)).conversations if path.read_bytes().strip() else ()
    for gap in (gap for conversation in conversations for gap in gaps_in_last_window(conversation)):
        raise ExecutionError(f"{_UNPROVEN}: {gap}. Nothing was written.")
    windows = [window for window in map(last_window, conversations) if window]
    expected = [messages for messages in promised if messages]
    if len(windows) != len(expected):
        raise ExecutionError(f"{_UNPROVEN}: it holds {len(windows)} conversations, not {len(expected)}. Nothing was written.")
    for window, messages in zip(windows, expected, strict=True):
        # In the format of what was promised: a plain list that lost a message may look like one of another format.
        format = messages[0].format
        found = read_messages([entry.message.native for entry in window], format)
        for problem in problems_of(History.of(found, find_format(format)), is_stored=True):
            raise ExecutionError(f"{_UNPROVEN}: {problem}. Nothing was written.")
        if _said_in(found) != _said_in(messages):
            raise ExecutionError(f"{_UNPROVEN}: read again, it does not say what it should. Nothing was written.")


def _said_in(messages: Sequence[Message]) -> list[tuple[str, str | None]]:
    """What is said by whom: an agent may write one message in several records, and results in another order."""
    parts = ((message.role, part) for message in messages for part in message.parts)
    said: list[tuple[str, str | None]] = []
    for are_results, run in groupby(parts, key=lambda pair: isinstance(pair[1], ToolResult)):
        words = [(role, _words_of(part)) for role, part in run]
        said += sorted(words, key=str) if are_results else words
    return said


def _words_of(part: Part) -> str | None:
    match part:
        case Text() | Reasoning():
            return part.text
        case ToolCall():
            return part.id
        case ToolResult():
            return part.call_id
        case _:
            return type(part).__name__
