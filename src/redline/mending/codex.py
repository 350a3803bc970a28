"""Codex session files, mended: lines of items go, change or are added, inside the history of a compaction too."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from msgspec import Raw

from redline.formats.openai_responses import OpenAIResponses
from redline.mending.leaf import placeholder, why_placeholder, would_be_replaced
from redline.mending.line_edits import LineEdits
from redline.mending.mender import Mended
from redline.mending.rows import write_rows
from redline.mending.window import Step, Window
from redline.repair import Item, Strategy
from redline.transcripts import Entry, Reader, RecordedConversation
from redline.transcripts.base import Position
from redline.transcripts.codex import Codex
from redline.transcripts.heads import fields_of, is_object
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["CodexMender"]

_FORMAT = OpenAIResponses()


class CodexMender:
    """Mends `~/.codex/sessions/**/rollout-*.jsonl`."""

    formats: ClassVar[tuple[str, ...]] = ("codex",)
    name: ClassVar[str] = "Codex"
    reader: ClassVar[Reader] = Codex()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The items with only the bytes changed that must; the events for the screen stay as they are."""
        edits = LineEdits(source)
        entries = conversation.windows[-1] if conversation.windows else ()
        count = _inherited(entries, conversation)
        window = Window(
            conversation, strategy, [_as_written(source, entry, number < count) for number, entry in enumerate(entries)]
        )
        if not window.is_legal:
            split = _end_of_history(window.steps, count)
            _rewrite_history(window, window.steps[:split], count, edits)
            write_rows(window, window.steps[split:], edits, _Items(source), first=count)
        if not window.repaired and would_be_replaced(conversation):
            return Mended(edits, [_add_placeholder(source, window, edits)])
        return Mended(edits, window.repaired)


class _Items:
    """A record is a line that wraps an item."""

    in_list = False

    def __init__(self, source: Source) -> None:
        self._source = source

    def rewritten(self, position: Position, message: Message) -> bytes:
        return cast("bytes", payloads.replace(self._source.read(position), ("payload",), _verbatim(message)))

    def added(self, item: Item, beside: Position) -> bytes:
        """No clock is asked: the time is that of the line beside it."""
        time = self._source.decode(beside).get("timestamp")
        return payloads.encode({"timestamp": time, "type": "response_item", "payload": _verbatim(item.message)})


def _add_placeholder(source: Source, window: Window, edits: LineEdits) -> Message:
    """Nothing is left of the window, and the one before the compaction would be taken for it: an item holds its place."""
    message, last = placeholder(_FORMAT), window.positions[-1][0]
    edits.add_last(_Items(source).added(Item(message, None), last), why_placeholder(message, last.line))
    return message


def _as_written(source: Source, entry: Entry, is_inherited: bool) -> Message:
    """The message over the bytes of its line, so that a change to it leaves the rest as it is spelled."""
    payload = None if is_inherited else fields_of(source.read(entry.positions[0])).get("payload")
    return _FORMAT.read(bytes(payload)) if payload is not None and is_object(payload) else entry.message


def _verbatim(message: Message) -> object:
    return Raw(message.native) if isinstance(message.native, bytes) else message.native


# --- the history that a compaction put in place of all before: several messages in one line


def _inherited(entries: Sequence[Entry], conversation: RecordedConversation) -> int:
    """How many messages of the window stand in the line of the compaction that began it."""
    if not conversation.compactions:
        return 0
    line = conversation.compactions[-1].position
    return sum(1 for entry in entries if entry.positions == (line,))


def _end_of_history(steps: Sequence[Step], count: int) -> int:
    """The number of steps that are written there: all up to the last that stays there."""
    inherited = [number for number, step in enumerate(steps) if step.stays and cast("int", step.item.source) < count]
    return inherited[-1] + 1 if inherited else 0


def _rewrite_history(window: Window, steps: Sequence[Step], count: int, edits: LineEdits) -> None:
    before, after = window.messages[:count], [step.item.message for step in steps]
    if len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True)):
        return
    (position,) = window.positions[0]
    history: list[Any] = [_verbatim(message) for message in after]
    line = payloads.replace(edits.read(position), ("payload", "replacement_history"), history)
    changed = next(number for number in range(count) if number >= len(after) or before[number] is not after[number])
    edits.replace(position, cast("bytes", line), window.fix("change", changed, position))
