"""Gemini CLI session files, mended: records go, change or are added, and each result is left in one place only."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import msgspec

from redline.formats.gemini import Gemini
from redline.mending.fixes import Fix
from redline.mending.fresh_uuid import fresh_uuid
from redline.mending.gemini_edits import GeminiEdits, results_at, without_results
from redline.mending.leaf import placeholder, why_placeholder
from redline.mending.mender import Mended
from redline.mending.rows import write_rows
from redline.mending.window import Window
from redline.repair import Item, Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.base import Position
from redline.transcripts.detect import take_sample
from redline.transcripts.document import open_document
from redline.transcripts.gemini_cli import GeminiCli, is_document
from redline.transcripts.gemini_lines import replay_lines
from redline.transcripts.gemini_records import LocatedRecord, ids_given_after, read_record
from redline.transcripts.shapes import objects_in, text_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["GeminiCliMender"]

_WHY_ONCE = "a result that is in two records is left in one: Gemini CLI sends both when it resumes the session"


class GeminiCliMender:
    """Mends `~/.gemini/tmp/*/chats/**/*.jsonl`, and the JSON documents of older versions."""

    formats: ClassVar[tuple[str, ...]] = ("gemini-cli",)
    name: ClassVar[str] = "Gemini CLI"
    reader: ClassVar[Reader] = GeminiCli()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The records that go on, with only those changed that must."""
        in_document = is_document(take_sample(source))
        records = _records(source, in_document=in_document)
        places = [position for position, _ in records]
        edits = GeminiEdits(source, places, in_document=in_document)
        window = Window(conversation, strategy)
        if not any(record.is_message for _, record in records):
            return Mended(edits, window.messages)
        rows = _Records(source, conversation.id, records, in_list=in_document)
        _tell_results_apart(window)
        if not window.is_legal:
            write_rows(window, window.steps, edits, rows)
        if in_document:
            _number_by_record(window, places, edits)
        _leave_results_once(records, edits, in_list=in_document)
        if not window.repaired and len(conversation.windows) > 1:
            return Mended(edits, [_add_placeholder(rows, places[-1], edits)])
        return Mended(edits, window.repaired)


def _records(source: Source, *, in_document: bool) -> list[LocatedRecord]:
    """The records that go on, notices for the screen among them."""
    if not in_document:
        return replay_lines(source).records
    document = open_document(source)
    return document.index_items(document.fields.get("messages"), read_record).records


def _tell_results_apart(window: Window) -> None:
    """Give the results in the record of a model a position of their own, so that they can change without its words."""
    for number in range(1, len(window.positions)):
        if window.positions[number] == window.positions[number - 1]:
            window.positions[number] = (results_at(window.positions[number][0]),)


def _leave_results_once(records: Sequence[LocatedRecord], edits: GeminiEdits, *, in_list: bool) -> None:
    """Take out of the records of the model what records of users hold: those are what was sent."""
    for number, ((position, record), given) in enumerate(zip(records, ids_given_after(records), strict=True)):
        if record.inline & given and edits.stays(position):
            fix = Fix("change", _WHY_ONCE, position.line, number if in_list else None)
            edits.replace(position, without_results(edits.read(position), given), fix)


def _number_by_record(window: Window, places: Sequence[Position], edits: GeminiEdits) -> None:
    """In a document, speak of records by their number in its list."""
    place_of = {position: number for number, position in enumerate(places)}
    numbers = [place_of[msgspec.structs.replace(position, member=places[0].member)] for (position,) in window.positions]
    edits.fixes = [
        fix if fix.message is None or fix.message < 0 else msgspec.structs.replace(fix, message=numbers[fix.message])
        for fix in edits.fixes
    ]


def _add_placeholder(rows: "_Records", last: Position, edits: GeminiEdits) -> Message:
    """Nothing is left, and the window before the summary would be taken for the session: a record holds its place."""
    message = placeholder(Gemini())
    edits.add_behind(last, rows.added(Item(message, None), last), why_placeholder(message, last.line))
    return message


class _Records:
    """A record is a message with an id and a time."""

    def __init__(self, source: Source, session: str, records: Iterable[LocatedRecord], *, in_list: bool) -> None:
        self.in_list = in_list
        self._source, self._session = source, session
        self._taken = {record.id for _, record in records}

    def rewritten(self, position: Position, message: Message) -> bytes:
        """Results that must change get a record of their own; the words of the model keep all else that is told of them."""
        if position.member is not None:
            return self.added(Item(message, None), position)
        record = payloads.replace(self._source.read(position), ("content",), _parts(message))
        stored = payloads.decode(record)
        calls = {call.id for call in message.calls}
        gone: list[payloads.Path] = [
            ("toolCalls", number)
            for number, call in enumerate(stored["toolCalls"] if isinstance(stored.get("toolCalls"), list) else ())
            if not (isinstance(call, dict) and text_in(call.get("id")) in calls)
        ]
        if "thoughts" in stored and not any(part.get("thought") for part in objects_in(_parts(message))):
            gone.append(("thoughts",))
        return payloads.encoded(payloads.remove(record, gone))

    def added(self, item: Item, beside: Position) -> bytes:
        """No clock is asked: the time is that of the record beside it, and the id is made from what it is about."""
        neighbour, message = self._source.decode(beside), item.message
        seeds = (self._session, neighbour.get("id"), *(result.call_id for result in message.results))
        fresh = fresh_uuid(seeds, self._taken.__contains__)
        self._taken.add(fresh)
        kind = "gemini" if message.role == "assistant" else "user"
        return payloads.encode({"id": fresh, "timestamp": neighbour.get("timestamp"), "type": kind, "content": _parts(message)})


def _parts(message: Message) -> Any:
    return payloads.decode(message.native)["parts"]
