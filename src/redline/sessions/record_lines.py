"""How a session went, line by line: records, branches and batches of a log; windows and branches of a transcript."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from redline.agents.readers import RecordedConversation
from redline.engine.state import State
from redline.providers import find_format
from redline.record import records
from redline.record.log import ROOT
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.timeline import Branch, Timeline
from redline.sessions.request_diff import line_of

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
    """A batch of the present branch, to roll back to."""

    number: int
    boundary: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class RecordHistory:
    """Every line, each after the one it was made on; the branches, and the batches of the present one."""

    lines: tuple[RecordLine, ...]
    branches: tuple[Branch, ...] = ()
    batches: tuple[BatchLine, ...] = ()


def history_to_json(history: RecordHistory) -> dict[str, Any]:
    """A history as plain values."""
    return {
        "records": [{**asdict(line), "from": line.index} for line in history.lines],
        "branches": [asdict(one) for one in history.branches],
        "batches": [asdict(one) for one in history.batches],
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
    told, counts = list[RecordLine](), {ROOT: 0}
    for one in log.records:
        if not isinstance(one.record, records.BESIDE):
            before, added = counts.get(one.parent, 0), len(records.messages_in(one.record))
            counts[one.number] = before + added
            kind, says, time_ms = _told(one.record)
            index = before if added else one.record.index if isinstance(one.record, records.PinSet) else None
            told.append(RecordLine(one.number, one.parent, kind, says, time_ms, index, is_current=one.number in current))

    def with_words(line: RecordLine) -> RecordLine:
        record = timeline.records.stored[line.number].record
        if not isinstance(record, records.MessageAdded):
            return line
        message = state.format.read(record.payload)
        return replace(line, says=f"{message.role}: {line_of(message)}", to=(line.index or 0) + 1)

    lines = _folded(told, forks) if is_folded else map(with_words, told)
    batches = state.batches
    shown = tuple(
        BatchLine(number, boundary, number == batches.current)
        for number, boundary in zip(batches.numbers, batches.boundaries, strict=False)
    )
    return RecordHistory(tuple(lines), tuple(timeline.branches()), shown)


def _folded(lines: Iterable[RecordLine], forks: set[int]) -> Iterator[RecordLine]:
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


def _told(record: records.Record) -> tuple[str, str, float | None]:  # noqa: C901 - one case for each kind of record
    """The kind of a record, what it says in a line, and when it was."""
    match record:
        case records.MessageAdded():
            return "message", "a message", record.timestamp_ms
        case records.ViewChanged():
            shown = sum(end - start for start, end in record.indices)
            what = "a summary takes the place of earlier messages" if record.is_compaction else "the view changed"
            batch = f", batch from message {record.boundary}" if record.boundary is not None else ""
            return "view", f"{what}: {shown:,} messages visible{batch}", None
        case records.RolledBack(batch):
            return "rollback", f"rolled back to batch {batch}", None
        case records.StrikesApplied():
            time_ms = record.now if record.now is not None else record.marked_at
            says = f"request to {record.sent_to.model}" if record.sent_to is not None and record.sent_to.model else "request"
            if not record.strikes:
                return "request", says, time_ms
            folds, strikes = ([one for one in record.strikes if one.is_fold == is_fold] for is_fold in (True, False))
            told = (
                f"{len(own):,} {deed}, {sum(one.tokens_saved for one in own):,} tokens fewer"
                for deed, own in (("folded", folds), ("struck", strikes))
                if own
            )
            return "strikes", f"{says}: {'; '.join(told)}", time_ms
        case records.StrikesLifted(lifts):
            return "lift", f"{len(lifts):,} strikes lifted: {lifts[0].because}" if lifts else "no strike lost its ground", None
        case records.StrikeUndone(number):
            return "undo", f"strike {number} undone", None
        case records.PinSet(index, is_pinned):
            return "pin", f"message {index} {'pinned' if is_pinned else 'unpinned'}", None
        case records.ForkedFrom(origin, why):
            return "origin", f"goes on from {origin}" + (f": {why}" if why else ""), None
        case records.HeadMoved():
            return "head", "went back to here", None
        case records.SessionNamed(session):
            return "session", f"session {session}", None
        case records.EditingStopped(why):
            return "left_alone", f"left alone from here on: {why}", None
        case records.CacheKeptWarm(now):
            return "touch", "the provider was asked to keep its cache", now
        case records.RecallOffered(tool):
            return "recall", f"the model is given the tool {tool}", None
        case records.TurnsHidden(after):
            return "hidden", f"turns with the proxy from message {after} on, not shown to the client", None
        case records.UsageReported():
            sent, read = f"{record.input_tokens:,} tokens sent", f"{record.cache_read_tokens:,} read from the cache"
            return "usage", f"{sent}, {read}, {record.output_tokens:,} answered", None
        case records.LogIndexed() | records.Checkpoint() | records.Described() | records.CacheBroke():
            return "note", "a note of Redline's own", None


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
