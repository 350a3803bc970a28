"""Gemini CLI session files: lines that add to, rewind and replace a history; in older versions one JSON value."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Raw

from redline.agents.transcripts import (
    BadRecord,
    Entry,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    Transcript,
    Usage,
)
from redline.agents.transcripts.detect import Reader, Sample, SessionDir, take_sample
from redline.agents.transcripts.document import fields_of, head_decoder, in_file, open_document, parse_line
from redline.agents.transcripts.heads import ItemHead, TokenCount, fields_in, known_fields, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import Line, Source, index_lines
from redline.errors import TranscriptError
from redline.providers.gemini.messages import Gemini
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = Gemini()
_SESSION = frozenset({"sessionId", "projectHash"})
_RECORD = frozenset({"id", "timestamp", "content"})
_DESCRIPTION_FIELDS = ("sessionId", "projectHash", "startTime", "kind", "summary", "directories")
"""The fields of a session that are kept."""
_MODEL = "gemini"
_COPIED_RESULT = "_response"
"""How the ids of records end that Gemini CLI makes of the results of a call when it resumes a session."""
_LONGEST_PATH = 4096
_CHATS = "session-*.json*"
_LONGEST_NAME = 100


class GeminiCli(Reader):
    """Reads `~/.gemini/tmp/*/chats/**/*.jsonl`, and the `session-*.json` of older versions."""

    name: ClassVar[str] = "gemini-cli"
    session_dir = SessionDir("Gemini CLI", ".gemini/tmp", "*/chats/**/*.json*", (("GEMINI_CLI_HOME", ".gemini/tmp"),))

    def recognizes(self, sample: Sample) -> bool:
        """A session of a project that is known by its hash; where that line is lost, a record of the model."""
        return _is_document(sample) or any(
            record.keys() >= _SESSION or (record.get("type") == _MODEL and record.keys() >= _RECORD)
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation; notices for the screen (`info`, `error`, …) are no part of it."""
        history = read_history(source)
        # What goes on comes after the windows that a summary replaced; where nothing goes on, these are branches, too.
        goes_on = any(record.is_message for _, record in history.records)
        entries: list[Entry] = []
        compactions: list[RecordedCompaction] = []
        for line, records in history.earlier if goes_on else ():
            entries.extend(_entries_of(source, records))
            compactions.append(RecordedCompaction(len(entries), line))
        entries.extend(_entries_of(source, history.records))
        last_entry = {entry.id: number for number, entry in enumerate(entries)}
        abandoned = [*history.abandoned, *(_Abandoned(None, records) for _, records in history.earlier if not goes_on)]
        conversation = RecordedConversation(
            id=text_in(history.description.get("sessionId")) or source.path.stem,
            format=_FORMAT.name,
            entries=tuple(entries),
            branches=tuple(
                RecordedBranch(last_entry.get(taken.after), tuple(_entries_of(source, taken.records))) for taken in abandoned
            ),
            compactions=tuple(compactions),
            metadata={} if history.in_document else _metadata(source, history.description),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(history.problems))

    def read_folder(self, folder: Path, read_file: Callable[[Path], Transcript]) -> Transcript | None:
        """Every session of a project with its sub-agents. One that cannot be read is listed among the problems."""
        chats = next((place for place in (folder, folder / "chats") if _files(place, _CHATS)), None)
        if chats is None:
            return None
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
        return Transcript(chats, self.name, tuple(sessions), tuple(problems))


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _metadata(source: Source, told: dict[str, Any]) -> dict[str, Any]:
    """The description of the session; the project is named in a file beside the folder of its chats."""
    path, folders, root, parent = source.path.resolve(), told.get("directories"), "", ""
    if chats := next((folder for folder in path.parents if folder.name == "chats"), None):
        parent = path.parent.name if path.parent != chats else ""
        with suppress(OSError, ValueError):
            root = (chats.parent / ".project_root").read_text(encoding="utf-8")[:_LONGEST_PATH].strip()
    cwd = root or (folders[0] if isinstance(folders, list) and folders else "")
    known = known_fields(title=told.get("summary"), kind=told.get("kind"), cwd=cwd, parent=parent)
    return {key: value for key, value in known.items() if isinstance(value, str)}


class _GeminiRecord(msgspec.Struct, frozen=True):
    """What an index keeps of a record."""

    id: str
    """Empty where it has none: Gemini CLI passes such a record over in a file of lines."""
    kind: str | None = None
    """`user`, `gemini`, or a notice for the screen: `info`, `error`, …"""
    said_ms: float | None = None
    answered_ms: float | None = None
    model: str | None = None
    usage: Usage | None = None
    given: frozenset[str] = frozenset()
    """The ids of the calls that a user's record answers."""
    inline: frozenset[str] = frozenset()
    """The ids of the calls whose results are in the record of the model that made them; empty for one without an id."""

    @property
    def is_message(self) -> bool:
        """Whether it is sent."""
        return self.kind in ("user", _MODEL)


LocatedRecord = tuple[Position, _GeminiRecord]


def read_record(line: Line) -> _GeminiRecord:
    """The index of one record. Anything but an object is a ValueError."""
    head = _decode_head(line)
    answered = [call for call in head.tool_calls if call.result not in (None, [])]
    tokens, usage = head.tokens, None
    if tokens is not None and tokens.input:
        usage = Usage(max(0, tokens.input - tokens.cached), tokens.output + tokens.thoughts, tokens.cached)
    return _GeminiRecord(
        id=head.id or "",
        kind=head.type,
        said_ms=parse_time_ms(head.timestamp),
        answered_ms=parse_time_ms(answered[-1].timestamp) if answered else None,
        model=head.model,
        usage=usage,
        given=frozenset(_ids_in(head.content) if head.type == "user" else ()),
        inline=frozenset(call_id for call in answered for call_id in _ids_in(call.result) or [call.id or ""]),
    )


def ids_given_after(records: Sequence[LocatedRecord]) -> list[frozenset[str]]:
    """For each record the calls that users' records answer before the model speaks again: its own results are copies."""
    given: list[frozenset[str]] = []
    since: frozenset[str] = frozenset()
    for _, record in reversed(records):
        given.append(since - {""})
        since = frozenset() if record.kind == _MODEL else since | record.given
    return given[::-1]


def _entries_of(source: Source, records: Sequence[LocatedRecord]) -> Iterator[Entry]:
    """The messages of records, each result once where the record of the model holds a copy of it."""
    for (position, record), given in zip(records, ids_given_after(records), strict=True):
        if not record.is_message:
            continue
        is_model = record.kind == _MODEL
        model, usage = (record.model, record.usage) if is_model else (None, None)
        load = partial(_load_said, source, position, is_model=is_model)
        yield Entry(load, (position,), record.said_ms, record.id, model, usage)
        if is_model and record.inline - given:
            load = partial(_load_results, source, position, given)
            yield Entry(load, (position,), record.answered_ms, record.id)


class _GeminiTokens(msgspec.Struct):
    input: TokenCount = 0
    """With what came from the cache."""
    output: TokenCount = 0
    cached: TokenCount = 0
    thoughts: TokenCount = 0
    """Beside the output, which they are paid as."""


class _GeminiPart(msgspec.Struct, rename="camel"):
    """Not looked into further before it is asked for."""

    function_response: ItemHead | None = None


class _GeminiCall(msgspec.Struct, rename="camel"):
    id: str | None = None
    timestamp: str | None = None
    result: list[_GeminiPart | str] | _GeminiPart | str | None = None


class _GeminiHead(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    tokens: _GeminiTokens | None = None
    content: list[_GeminiPart | str] | _GeminiPart | str | None = None
    tool_calls: list[_GeminiCall] = msgspec.field(default_factory=list)


_decode_head = head_decoder(_GeminiHead)


def _ids_in(content: list[_GeminiPart | str] | _GeminiPart | str | None) -> list[str]:
    parts = content if isinstance(content, list) else [content]
    return [part.function_response.id or "" for part in parts if isinstance(part, _GeminiPart) and part.function_response]


class _Abandoned(NamedTuple):
    """Records that were taken back: rewound, or lost from a list that replaced all before."""

    after: str | None
    """The id of the record before them; None if they were the first."""
    records: list[LocatedRecord]


class _LineHistory:
    """The records that the lines of a file come to, line by line as Gemini CLI itself reads them."""

    def __init__(self) -> None:
        self.description: dict[str, Any] = {}
        """The fields of the session, as they were last set."""
        self.earlier: list[tuple[Position, list[LocatedRecord]]] = []
        """The windows before a summary took their place, each with the line that did so."""
        self.abandoned: list[_Abandoned] = []
        self.problems: list[BadRecord] = []
        self.in_document = False
        """Whether the file is no file of lines, but one JSON value."""
        self._live: dict[str, LocatedRecord] = {}

    @property
    def records(self) -> list[LocatedRecord]:
        """The records that go on."""
        return list(self._live.values())

    def put(self, position: Position, record: _GeminiRecord, key: str = "") -> None:
        """A record comes last, or takes the place of an earlier one with its id, or with the key that is given instead."""
        if key or record.id:
            self._live[key or record.id] = position, record

    def rewind(self, to: str) -> None:
        """A record and all after it are taken back; all of them, if there is none with this id."""
        ids = list(self._live)
        self._abandon(ids[ids.index(to) :] if to in self._live else ids)

    def replace(self, line: Position, records: Iterable[LocatedRecord]) -> None:
        """All records give way to others, some of which may be known ones, written again."""
        now = {record.id: (position, record) for position, record in records if record.id}
        lost = [name for name, (_, record) in self._live.items() if name not in now and record.is_message]
        new = [name for name in now if name not in self._live and not name.endswith(_COPIED_RESULT)]
        if lost and new:
            self.earlier.append((line, self.records))
        elif lost:
            self._abandon(lost)
        self._live = now

    def _abandon(self, ids: list[str]) -> None:
        before = list(self._live)[: list(self._live).index(ids[0])] if ids else []
        taken = [self._live.pop(name) for name in ids]
        if taken:
            self.abandoned.append(_Abandoned(before[-1] if before else None, taken))


def read_history(source: Source) -> _LineHistory:
    """The records of a session file of either kind."""
    if not _is_document(take_sample(source)):
        return replay_lines(source)
    history, document = _LineHistory(), open_document(source)
    history.in_document, history.description = True, {"sessionId": document.text_of("sessionId")}
    index = document.index_items(document.fields.get("messages"), read_record)
    for number, (position, record) in enumerate(index.records):
        history.put(position, record, key=str(number))
    history.problems = index.problems
    return history


def _is_document(sample: Sample) -> bool:
    return sample.fields.keys() >= {*_SESSION, "messages"}


class _GeminiLine(msgspec.Struct):
    """What a line does: it rewinds, says something, or sets fields of the session, its messages among them."""

    rewind_to: str | None = None
    record: _GeminiRecord | None = None
    fields: dict[str, Any] = {}
    is_update: bool = False
    has_messages: bool = False


class _GeminiLineHead(msgspec.Struct):
    id: str | None = None
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")
    update: Raw = msgspec.field(default=Raw(b"null"), name="$set")


_decode_line = head_decoder(_GeminiLineHead)


def replay_lines(source: Source) -> _LineHistory:
    """The history that a file of lines comes to. A line that is no record is listed, and the rest is read."""
    history = _LineHistory()
    index = index_lines(source, _read_line)
    for position, line in index.records:
        if line.rewind_to is not None:
            history.rewind(line.rewind_to)
        elif line.record is not None:
            history.put(position, line.record)
        history.description |= line.fields
        if line.has_messages and line.is_update:
            history.replace(position, _records_in(source, position, "$set"))
        elif line.has_messages:
            for place, record in _records_in(source, position):
                history.put(place, record)
    history.problems = index.problems
    return history


def _read_line(line: Line) -> _GeminiLine:
    head = _decode_line(line)
    if head.rewind_to is not None:
        return _GeminiLine(rewind_to=head.rewind_to)
    if head.id is not None:
        return _GeminiLine(record=read_record(line))
    is_update = bytes(head.update) != b"null"
    fields = fields_of(bytes(head.update)) if is_update else fields_of(line)
    described: dict[str, Any] = dict.fromkeys(name for name in fields if name in _DESCRIPTION_FIELDS)
    for name in described:
        with suppress(ValueError, RecursionError):
            described[name] = payloads.decode(bytes(fields[name]))
    return _GeminiLine(fields=described, is_update=is_update, has_messages="messages" in fields)


def _records_in(source: Source, line: Position, *path: str) -> Iterator[LocatedRecord]:
    """The records in a list of messages inside a line, and where they are in the file."""
    document = parse_line(source.read(line))
    fields = document.fields
    for name in path:
        fields = fields_of(bytes(fields[name]))
    for position, raw in document.positions_of(fields.get("messages")):
        with suppress(ValueError):  # an item that is no object; Gemini CLI passes it over, too
            yield in_file(position, line), read_record(bytes(raw))


def _load_said(source: Source, position: Position, *, is_model: bool) -> Message:
    """A record that was written again when the session was resumed has thoughts and calls among its content, too."""
    record = source.decode(position)
    parts = _parts(record.get("content"))
    if is_model and not any(part.get("functionCall") or part.get("thought") for part in parts):
        thoughts = objects_in(record.get("thoughts"))
        words = [(text_in(thought.get("subject")), text_in(thought.get("description"))) for thought in thoughts]
        calls = objects_in(record.get("toolCalls"))
        parts = [
            *({"text": "\n".join(filter(None, told)), "thought": True} for told in words),
            *parts,
            *({"functionCall": {name: call.get(name) for name in ("id", "name", "args")}} for call in calls),
        ]
    return _FORMAT.read({"role": "model" if is_model else "user", "parts": parts})


def _load_results(source: Source, position: Position, copied: frozenset[str]) -> Message:
    """What the calls of a record gave back, each result once: after a resume every call has those of its neighbours."""
    parts: list[dict[str, Any]] = []
    given = set(copied)
    for call in objects_in(source.decode(position)["toolCalls"]):
        result = call.get("result")
        if isinstance(result, str):  # plain words are wrapped the way Gemini CLI wraps them
            response = {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}
            result = {"functionResponse": response}
        answers = _parts(result)
        copies = [part for part in answers if _answered_id(part) in given]
        if len(copies) < sum("functionResponse" in part for part in answers) or not copies:
            parts += [part for part in answers if part not in copies]
            given.update(filter(None, map(_answered_id, answers)))
    return _FORMAT.read({"role": "user", "parts": parts})


def _answered_id(part: dict[str, Any]) -> str:
    return text_in(fields_in(part.get("functionResponse")).get("id"))


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content is a text, a part, or a list of either."""
    pieces = content if isinstance(content, list) else [content]
    return [{"text": piece} if isinstance(piece, str) else piece for piece in pieces if piece and isinstance(piece, str | dict)]
