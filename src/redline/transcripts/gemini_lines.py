"""A Gemini CLI session as lines: records are added, written again, rewound and replaced; what holds in the end is found."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from redline.transcripts.base import BadRecord, Position
from redline.transcripts.document import in_file, parse_line
from redline.transcripts.gemini_records import GeminiRecord, LocatedRecord, read_record
from redline.transcripts.heads import fields_of, head_decoder
from redline.transcripts.source import Line, Source, index_lines
from redline.values import payloads

__all__ = ["Abandoned", "LineHistory", "replay_lines"]

_COPIED_RESULT = "_response"
"""How the ids of records end that Gemini CLI makes of the results of a call when it resumes a session."""


class Abandoned(NamedTuple):
    """Records that were taken back: rewound, or lost from a list that replaced all before."""

    after: str | None
    """The id of the record before them; None if they were the first."""
    records: list[LocatedRecord]


class LineHistory:
    """What the lines of a file come to, line by line as Gemini CLI itself reads them."""

    def __init__(self) -> None:
        self.description: dict[str, Any] = {}
        """The fields of the session, as they were last set."""
        self.earlier: list[tuple[Position, list[LocatedRecord]]] = []
        """The windows before a summary took their place, each with the line that did so."""
        self.abandoned: list[Abandoned] = []
        self._live: dict[str, LocatedRecord] = {}
        self.problems: list[BadRecord] = []

    @property
    def records(self) -> list[LocatedRecord]:
        """The records that go on."""
        return list(self._live.values())

    def put(self, position: Position, record: GeminiRecord) -> None:
        """A record comes last, or takes the place of an earlier one with its id."""
        if record.id:
            self._live[record.id] = position, record

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
            self.abandoned.append(Abandoned(before[-1] if before else None, taken))


def replay_lines(source: Source) -> LineHistory:
    """The history that a file of lines comes to. A line that is no record is listed, and the rest is read."""
    history = LineHistory()
    index = index_lines(source, _decode_line)
    for position, line in index.records:
        if line.rewind_to is not None:
            history.rewind(line.rewind_to)
        elif line.record is not None:
            history.put(position, line.record)
        else:
            history.description |= line.fields
            if line.has_messages and line.is_update:
                history.replace(position, _records_in(source, position, "$set"))
            elif line.has_messages:
                for place, record in _records_in(source, position):
                    history.put(place, record)
    history.problems = index.problems
    return history


# --- one line

_DESCRIPTION_FIELDS = ("sessionId", "projectHash", "startTime", "kind", "summary", "directories")
"""The fields of a session that are kept."""


class _GeminiLine(msgspec.Struct, frozen=True):
    """What a line does: it rewinds, says something, or sets fields of the session, its messages among them."""

    rewind_to: str | None = None
    record: GeminiRecord | None = None
    fields: dict[str, Any] = {}
    is_update: bool = False
    has_messages: bool = False


class _GeminiLineKind(msgspec.Struct):
    id: str | None = None
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")
    update: Raw = msgspec.field(default=Raw(b"null"), name="$set")


_decode_kind = head_decoder(_GeminiLineKind)


def _decode_line(line: Line) -> _GeminiLine:
    kind = _decode_kind(line)
    if kind.rewind_to is not None:
        return _GeminiLine(rewind_to=kind.rewind_to)
    if kind.id is not None:
        return _GeminiLine(record=read_record(line))
    is_update = bytes(kind.update) != b"null"
    fields = fields_of(bytes(kind.update)) if is_update else fields_of(line)
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
        try:
            yield in_file(position, line), read_record(bytes(raw))
        except ValueError:  # an item that is no object; Gemini CLI passes it over, too
            continue
