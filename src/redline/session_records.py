"""An agent's session as records: what was said, where its history was replaced, where a model was asked, what that used."""

from collections.abc import Iterator, Sequence

from redline.log.records import Destination, MessageAdded, Record, StrikesApplied, UsageReported, ViewChanged
from redline.transcripts import Entry, RecordedConversation
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["NO_MODEL", "message_record", "session_records"]

NO_MODEL = "<synthetic>"
"""What Claude Code writes as the model of messages that no model said."""


def session_records(recorded: RecordedConversation, entries: Sequence[Entry], messages: Sequence[Message]) -> Iterator[Record]:
    """The whole conversation in the order in which it happened, windows before a compaction included.

    A request is a `StrikesApplied` without strikes, before each answer; some agents record one answer in several messages.
    """
    starts = {compaction.before for compaction in recorded.compactions} - {0}
    time_ms, is_answering, is_empty = 0.0, False, True
    for place, (entry, message) in enumerate(zip(entries, messages, strict=True)):
        if place in starts:
            yield ViewChanged((), is_compaction=True)
            is_answering, is_empty = False, True
        is_answer = message.role == "assistant"
        is_asked = is_answer and entry.model != NO_MODEL and not is_answering and not is_empty
        if is_asked:
            time_ms = max(time_ms, entries[place - 1].timestamp_ms or entry.timestamp_ms or 0.0)
            yield StrikesApplied((), now=time_ms, sent_to=Destination(entry.model or ""))
        yield message_record(entry, message)
        if is_asked:
            yield from _usage_of_answer(entries, messages, place)
        is_answering, is_empty = is_answer, False


def _usage_of_answer(entries: Sequence[Entry], messages: Sequence[Message], place: int) -> Iterator[UsageReported]:
    """What the provider reported for the answer that begins at a place, if it is recorded with any of its messages."""
    while place < len(entries) and messages[place].role == "assistant":
        usage = entries[place].usage
        if usage is not None and usage.input_tokens:
            yield UsageReported.of(usage)
            return
        place += 1


def message_record(entry: Entry, message: Message | None = None) -> MessageAdded:
    """A message as it is added."""
    return MessageAdded(payloads.encoded((message or entry.message).native), entry.timestamp_ms)
