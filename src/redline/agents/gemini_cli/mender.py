"""Gemini CLI session files, mended: records go, change or are added, and each result is left in one place only."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from redline.agents.gemini_cli.reader import GeminiCli, LocatedRecord, ids_given_after, read_history
from redline.agents.mending import Edits, Fix, LineEdits, ListEdits, MendedConversation, Mender, Splice
from redline.agents.mending.window import RepairedWindow, edit_records, make_uuid
from redline.agents.transcripts import Position, RecordedConversation
from redline.agents.transcripts.heads import fields_in, objects_in, text_in
from redline.agents.transcripts.source import Source
from redline.repair import Strategy
from redline.values import payloads
from redline.values.messages import Message

_WHY_ONCE = "a result that is in two records is left in one: Gemini CLI sends both when it resumes the session"


class GeminiCliMender(Mender):
    """Mends `~/.gemini/tmp/*/chats/**/*.jsonl`, and the JSON documents of older versions."""

    formats: ClassVar[tuple[str, ...]] = ("gemini-cli",)
    name: ClassVar[str] = "Gemini CLI"
    looks_at: ClassVar[str] = "~/.gemini/tmp/PROJECT/chats/"
    resumes_by: ClassVar[str] = "gemini --resume SESSION-ID"
    reader = GeminiCli()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The records that go on, notices for the screen among them, with only those changed that must."""
        history = read_history(source)
        records, in_document = history.records, history.in_document
        places = [position for position, _ in records]
        edits = _GeminiEdits(source, places, in_document=in_document)
        window = RepairedWindow(conversation, strategy)
        if not any(record.is_message for _, record in records):
            return MendedConversation(edits, window.messages)
        for number in range(1, len(window.positions)):
            if window.positions[number] == window.positions[number - 1]:
                window.positions[number] = (_results_of(window.positions[number][0]),)
        writer = _GeminiWriter(source, conversation.id, records)
        if not window.is_legal:
            rewrite, create = writer.rewrite, writer.create
            edit_records(window, window.repaired, edits=edits, rewrite=rewrite, create=create, in_list=in_document)
        if in_document:
            _number_by_record(window, places, edits)
        # What records of users hold too is removed from the records of the model: those of users are what was sent.
        for number, ((position, record), given) in enumerate(zip(records, ids_given_after(records), strict=True)):
            if record.inline & given and edits.stays(position):
                fix = Fix("change", _WHY_ONCE, position.line, number if in_document else None)
                edits.replace(position, _without_results(edits.read(position), given), fix)
        if window.result or len(conversation.windows) < 2:
            return MendedConversation(edits, window.result)
        # The window before the summary would be taken for the session.
        placeholder, fix = window.make_placeholder(places[-1])
        edits.add_after(places[-1], writer.create(placeholder, places[-1]), fix)
        return MendedConversation(edits, [placeholder])


def _results_of(position: Position) -> Position:
    """The results in the record of a model, as something that can change apart from its words."""
    return replace(position, member="results")


def _number_by_record(window: RepairedWindow, places: Sequence[Position], edits: Edits) -> None:
    """Name records by their number in the list of the document, in which notices and results are counted otherwise."""
    place_of = {position: number for number, position in enumerate(places)}
    numbers = [place_of[replace(position, member=places[0].member)] for (position,) in window.positions]
    edits.fixes = [
        fix if fix.message is None or fix.message < 0 else replace(fix, message=numbers[fix.message]) for fix in edits.fixes
    ]


def _without_results(record: bytes, call_ids: frozenset[str] | None = None) -> bytes:
    """The record of a model without the results of its calls; where ids are given, of those that answer only these."""
    paths: list[payloads.Path] = []
    calls = payloads.decode(record).get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict) or "result" not in call:
            continue
        parts = objects_in(call["result"] if isinstance(call["result"], list) else [call["result"]])
        answers = [fields_in(part["functionResponse"]) for part in parts if "functionResponse" in part]
        answered = {text_in(answer.get("id")) for answer in answers} or {text_in(call.get("id"))}
        if call_ids is None or answered <= call_ids:
            paths.append(("toolCalls", number, "result"))
    return payloads.encoded(payloads.remove(record, paths))


class _GeminiEdits(Edits):
    """Changes to records of which all are given, and to the results that the record of a model holds beside its words."""

    def __init__(self, source: Source, records: Sequence[Position], *, in_document: bool) -> None:
        super().__init__(source)
        self._records, self._in_document = records, in_document

    def splices(self) -> Iterator[Splice]:
        """In a document, items of its list; in a file of lines, a last one that sets all that is left, as the agent does it."""
        written = {position: self._written(position) for position in self._records}
        changed = [position for position, pieces in written.items() if pieces != [self._source.read(position)]]
        if not changed:
            return
        noted = Fix("change", "noted where it was decided")
        if not self._in_document:
            lines = LineEdits(self._source)
            left = b",".join(piece for pieces in written.values() for piece in pieces)
            lines.add_last(b'{"$set":{"messages":[' + left + b"]}}", noted)
            yield from lines.splices()
            return
        items = ListEdits(self._source, self._records)
        for position in changed:
            if written[position]:
                items.replace(position, b", ".join(written[position]), noted)
            else:
                items.remove(position, noted)
        yield from items.splices()

    def _written(self, position: Position) -> list[bytes]:
        """What comes in the place of a record: what is before it, itself, what is after it, and the same of its results."""
        results = _results_of(position)
        own, apart = self.changed.get(position, self._source.read(position)), self.changed.get(results)
        if own is not None and results in self.changed:
            own = _without_results(own)
        return [
            *self._before.get(position, ()),
            *([] if own is None else [own]),
            *self._after.get(position, ()),
            *self._before.get(results, ()),
            *([] if apart is None else [apart]),
            *self._after.get(results, ()),
        ]


class _GeminiWriter:
    """A record is a message with an id and a time."""

    def __init__(self, source: Source, session: str, records: Iterable[LocatedRecord]) -> None:
        self._source, self._session = source, session
        self._uuids = {record.id for _, record in records}

    def rewrite(self, message: Message, position: Position) -> bytes:
        """Results that must change get a record of their own; the words of the model keep all other fields of theirs."""
        if position.member is not None:
            return self.create(message, position)
        record = payloads.replace(self._source.read(position), ("content",), _parts(message))
        stored = payloads.decode(record)
        call_ids = {call.id for call in message.calls}
        gone: list[payloads.Path] = [
            ("toolCalls", number)
            for number, call in enumerate(stored["toolCalls"] if isinstance(stored.get("toolCalls"), list) else ())
            if not (isinstance(call, dict) and text_in(call.get("id")) in call_ids)
        ]
        if "thoughts" in stored and not any(part.get("thought") for part in objects_in(_parts(message))):
            gone.append(("thoughts",))
        return payloads.encoded(payloads.remove(record, gone))

    def create(self, message: Message, beside: Position) -> bytes:
        """No clock is asked: the time is that of the record beside it, and the id is made from what it is about."""
        neighbour = self._source.decode(beside)
        seeds = (self._session, neighbour.get("id"), *(result.call_id for result in message.results))
        uuid = make_uuid(seeds, self._uuids.__contains__)
        self._uuids.add(uuid)
        kind = "gemini" if message.role == "assistant" else "user"
        return payloads.encode({"id": uuid, "timestamp": neighbour.get("timestamp"), "type": kind, "content": _parts(message)})


def _parts(message: Message) -> Any:
    return payloads.decode(message.native)["parts"]
