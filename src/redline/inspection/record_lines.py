"""How a session went, line by line: records, branches and batches of a log; windows and branches of a transcript."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redline.engine.state import State
from redline.formats import Format, find_format
from redline.inspection.request_diff import line_of
from redline.log.log import ROOT, Stored
from redline.log.reading import ReadOnlyLog, StoredLog
from redline.log.records import (
    BESIDE,
    CacheTouched,
    Checkpoint,
    Described,
    HeadMoved,
    HistoryStarted,
    LeftAlone,
    MessageAdded,
    Originated,
    PinSet,
    Record,
    RolledBack,
    SessionJoined,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.log.timeline import Branch, RecordTree, Timeline
from redline.transcripts import RecordedConversation

__all__ = ["BatchLine", "RecordHistory", "RecordLine", "history_of_log", "history_of_transcript", "shown_history"]


_PLAIN = frozenset({"message", "request", "touch", "usage"})
"""What changes neither the way nor what is sent of it."""


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A record, or a run of messages that follow each other."""

    number: int
    """Of the record; of a run, its last."""
    parent: int
    type: str
    says: str
    time_ms: float | None = None
    index: int | None = None
    """Of the message; of a run, its first."""
    to: int | None = None
    """Of a run, the index after its last message."""
    is_current: bool = True
    """Whether it is on the present path."""


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A batch that one can roll back to."""

    number: int
    boundary: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class RecordHistory:
    """Every line, each after the one it was made on; the branches, and the batches of the present one."""

    lines: tuple[RecordLine, ...]
    branches: tuple[Branch, ...] = ()
    batches: tuple[BatchLine, ...] = ()


def shown_history(history: RecordHistory) -> dict[str, Any]:
    """A history as plain values."""
    return {
        "records": [
            {
                "number": line.number,
                "parent": line.parent,
                "type": line.type,
                "says": line.says,
                "time_ms": line.time_ms,
                "index": line.index,
                "from": line.index,
                "to": line.to,
                "is_current": line.is_current,
            }
            for line in history.lines
        ],
        "branches": [
            {
                "number": one.number,
                "after": one.after,
                "messages": one.messages,
                "is_current": one.is_current,
                "is_race": one.is_race,
            }
            for one in history.branches
        ],
        "batches": [{"number": one.number, "boundary": one.boundary, "is_current": one.is_current} for one in history.batches],
    }


def history_of_log(log: StoredLog, *, is_folded: bool = True) -> RecordHistory:
    """A log as its records tell it, checkpoints left out; with its messages one by one if they are not folded."""
    timeline = Timeline(ReadOnlyLog(log.records))
    path = timeline.path()
    current = {one.number for one in path}
    format = log.header.message_format if log.header else None
    state = State(find_format(format) if format else None)
    state.apply_all([one.record for one in path])
    forks = {number for number, children in timeline.records.children.items() if len(children) > 1}
    told = _lines(log.records, current)
    lines = _folded(told, forks) if is_folded else _with_words(told, timeline.records, state.format)
    batches = state.batches
    shown = tuple(
        BatchLine(number, boundary, number == batches.current)
        for number, boundary in zip(batches.numbers, batches.boundaries, strict=False)
    )
    return RecordHistory(tuple(lines), tuple(timeline.branches()), shown)


def _with_words(lines: Iterator[RecordLine], records: RecordTree, format: Format) -> Iterator[RecordLine]:
    """Every message as its role and its first words."""
    for line in lines:
        record = records.stored[line.number].record
        if isinstance(record, MessageAdded):
            message = format.read(record.payload)
            line = replace(line, says=f"{message.role}: {line_of(message)}", to=(line.index or 0) + 1)
        yield line


def _lines(stored: Sequence[Stored], current: set[int]) -> Iterator[RecordLine]:
    counts = {ROOT: 0}
    for one in stored:
        if isinstance(one.record, BESIDE):
            continue
        before = counts.get(one.parent, 0)
        counts[one.number] = before + _messages_in(one.record)
        kind, says, time_ms = _told(one.record)
        index = before if _messages_in(one.record) else _index_in(one.record)
        yield RecordLine(one.number, one.parent, kind, says, time_ms, index, is_current=one.number in current)


def _folded(lines: Iterator[RecordLine], forks: set[int]) -> Iterator[RecordLine]:
    """What merely follows each other as one line, unless something else was made on a part of it."""
    run: list[RecordLine] = []
    for line in lines:
        goes_on = run and line.type in _PLAIN and line.parent == run[-1].number and run[-1].number not in forks
        if run and not goes_on:
            yield _run(run)
            run = []
        if line.type in _PLAIN:
            run.append(line)
        else:
            yield line
    if run:
        yield _run(run)


def _run(run: list[RecordLine]) -> RecordLine:
    messages = [line for line in run if line.type == "message"]
    if not messages:
        return replace(run[-1], parent=run[0].parent)
    first, to = messages[0], (messages[-1].index or 0) + 1
    requests = sum(line.type == "request" for line in run)
    if len(messages) == 1 and not requests:
        return replace(first, number=run[-1].number, parent=run[0].parent, to=to)
    says = f"{len(messages):,} message{'s' if len(messages) > 1 else ''}"
    if requests:
        says += f", {requests:,} request{'s' if requests > 1 else ''}"
    return RecordLine(run[-1].number, run[0].parent, "messages", says, first.time_ms, first.index, to, run[-1].is_current)


def _messages_in(record: Record) -> int:
    return len(record.appended) if isinstance(record, ViewChanged) else int(isinstance(record, MessageAdded))


def _index_in(record: Record) -> int | None:
    return record.index if isinstance(record, PinSet) else None


def _told(record: Record) -> tuple[str, str, float | None]:  # noqa: C901 - one case for each kind of record
    """The kind of a record, what it says in a line, and when it was."""
    match record:
        case MessageAdded():
            return "message", "a message", record.timestamp_ms
        case ViewChanged():
            return "view", _view_words(record), None
        case RolledBack(batch):
            return "rollback", f"rolled back to batch {batch}", None
        case StrikesApplied():
            time_ms = record.now if record.now is not None else record.marked_at
            return "strikes" if record.strikes else "request", _strike_words(record), time_ms
        case StrikesLifted(lifts):
            return "lift", f"{len(lifts):,} strikes lifted: {lifts[0].because}" if lifts else "no strike lost its ground", None
        case StrikeUndone(number):
            return "undo", f"strike {number} undone", None
        case PinSet(index, is_pinned):
            return "pin", f"message {index} {'pinned' if is_pinned else 'unpinned'}", None
        case Originated(origin, why):
            return "origin", f"goes on from {origin}" + (f": {why}" if why else ""), None
        case HeadMoved():
            return "head", "went back to here", None
        case SessionJoined(session):
            return "session", f"session {session}", None
        case LeftAlone(why):
            return "left_alone", f"left alone from here on: {why}", None
        case CacheTouched(now):
            return "touch", "the provider was asked to keep its cache", now
        case UsageReported():
            return "usage", _usage_words(record), None
        case HistoryStarted() | Checkpoint() | Described():
            return "note", "a note of Redline's own", None


def _view_words(record: ViewChanged) -> str:
    shown = sum(end - start for start, end in record.indices)
    what = "a summary takes the place of earlier messages" if record.is_compaction else "the view changed"
    batch = f", batch from message {record.boundary}" if record.boundary is not None else ""
    return f"{what}: {shown:,} messages visible{batch}"


def _strike_words(record: StrikesApplied) -> str:
    model = f" to {record.sent_to.model}" if record.sent_to is not None and record.sent_to.model else ""
    if not record.strikes:
        return f"request{model}"
    saved = sum(strike.tokens_saved for strike in record.strikes)
    return f"request{model}: {len(record.strikes):,} struck, {saved:,} tokens fewer"


def _usage_words(record: UsageReported) -> str:
    return (
        f"{record.input_tokens:,} tokens sent, {record.cache_read_tokens:,} read from the cache, "
        f"{record.output_tokens:,} answered"
    )


# --- transcripts of agents


def history_of_transcript(conversation: RecordedConversation, *, is_folded: bool = True) -> RecordHistory:
    """What an agent's file tells: messages between compactions, branches off the path, sub-agents."""
    lines: list[RecordLine] = []
    starts = {compaction.before: compaction for compaction in conversation.compactions}
    cuts = sorted({0, *starts, *(branch.after + 1 for branch in conversation.branches if branch.after is not None)})
    ends = [*cuts[1:], len(conversation.entries)]
    for start, end in zip(cuts, ends, strict=True):
        if start in starts:
            lines.append(_line(lines, "view", "compacted: a summary takes the place of what came before", start))
        if end > start and is_folded:
            lines.append(_line(lines, "messages", _messages(end - start), start, end))
        for index in range(start, end) if not is_folded else ():
            entry = conversation.entries[index]
            says = f"{entry.message.role}: {line_of(entry.message)}"
            lines.append(replace(_line(lines, "message", says, index, index + 1), time_ms=entry.timestamp_ms))
    ends_at = {line.to: line.number for line in lines if line.to is not None}
    for branch in conversation.branches:
        parent = ends_at.get(branch.after + 1, ROOT) if branch.after is not None else ROOT
        says = f"{_messages(len(branch.entries))} off the path"
        lines.append(RecordLine(len(lines), parent, "branch", says, is_current=False))
    for subagent in conversation.subagents:
        lines.append(RecordLine(len(lines), ROOT, "subagent", f"sub-agent {subagent.id}: {_messages(len(subagent.entries))}"))
    return RecordHistory(tuple(lines))


def _line(lines: Sequence[RecordLine], kind: str, says: str, index: int, to: int | None = None) -> RecordLine:
    return RecordLine(len(lines), len(lines) - 1 if lines else ROOT, kind, says, None, index, to)


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"
