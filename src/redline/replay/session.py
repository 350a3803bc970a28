"""A recorded conversation as the requests its agent made: what was sent when, how large it was, what was reported."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from redline.messages import Message
from redline.tokens import Counter, Estimate, Remembered, calibrate, count_message
from redline.transcripts import Entry, RecordedConversation, Transcript, Usage

__all__ = ["RecordedRequest", "Session", "sessions_in"]

_OWN_WORDS_OF_THE_AGENT = "<synthetic>"
"""What Claude Code writes as the model of messages that no model said."""


class RecordedRequest(msgspec.Struct, frozen=True, gc=False):
    """One request of the agent: the messages from `start` up to `end`, which the assistant's message at `end` answers."""

    start: int
    """Where its window starts: after a compaction, the summary."""
    end: int
    time_ms: float
    """When the last message before it was said; a request never comes before the one before it."""
    model: str | None = None
    usage: Usage | None = None
    """As the provider reported it."""


@dataclass(frozen=True)
class Session:
    """A conversation as it was sent."""

    id: str
    agent: str
    messages: Sequence[Message]
    """All of the active path, with their times; a window is a part of it."""
    tokens: tuple[float, ...]
    """The size of each message, estimated, and corrected by what was reported."""
    prefix_tokens: float
    """What is sent before the messages every time (system prompt, tools), as far as the reported usage shows it."""
    requests: tuple[RecordedRequest, ...]
    scale: float = 1.0
    """How many tokens were reported for each that was estimated."""
    project_root: str = ""


def sessions_in(transcript: Transcript, counter: Counter | None = None) -> Iterator[Session]:
    """Every conversation of a session file in which a model was asked something, sub-agents after their parent."""
    counter = counter or Remembered(Estimate())
    for conversation in _with_subagents(transcript.conversations):
        session = _session(conversation, transcript.format, counter)
        if session.requests:
            yield session


def _with_subagents(conversations: Iterable[RecordedConversation]) -> Iterator[RecordedConversation]:
    for conversation in conversations:
        yield conversation
        yield from _with_subagents(conversation.subagents)


def _session(conversation: RecordedConversation, agent: str, counter: Counter) -> Session:
    entries = tuple(conversation.entries)
    messages = tuple(msgspec.structs.replace(entry.message, timestamp_ms=entry.timestamp_ms) for entry in entries)
    counts = [count_message(message, counter).total for message in messages]
    requests = tuple(_requests(conversation, entries, messages))
    scale, prefix = _measures(requests, counts, fallback=counter.count(conversation.system or ""))
    return Session(
        id=conversation.id,
        agent=agent,
        messages=messages,
        tokens=tuple(count * scale for count in counts),
        prefix_tokens=prefix,
        requests=requests,
        scale=scale,
        project_root=str(conversation.metadata.get("cwd") or ""),
    )


def _requests(
    conversation: RecordedConversation, entries: Sequence[Entry], messages: Sequence[Message]
) -> Iterator[RecordedRequest]:
    """One before each thing the assistant said without a break; some agents record it in several messages."""
    starts = {compaction.before for compaction in conversation.compactions}
    start, time_ms = 0, 0.0
    for place, entry in enumerate(entries):
        if place in starts:
            start = place
        is_answer = messages[place].role == "assistant" and entry.model != _OWN_WORDS_OF_THE_AGENT
        if is_answer and place > start and messages[place - 1].role != "assistant":
            time_ms = max(time_ms, entries[place - 1].timestamp_ms or entry.timestamp_ms or 0.0)
            yield RecordedRequest(start, place, time_ms, entry.model, _usage_of_run(entries, messages, place))


def _usage_of_run(entries: Sequence[Entry], messages: Sequence[Message], place: int) -> Usage | None:
    """What was reported for the assistant's words from this place on, by the first message that says it."""
    while place < len(entries) and messages[place].role == "assistant":
        usage = entries[place].usage
        if usage is not None and usage.prompt_tokens:
            return usage
        place += 1
    return None


def _measures(requests: Sequence[RecordedRequest], counts: Sequence[int], *, fallback: int) -> tuple[float, float]:
    """How many tokens one estimated token is, from the growth of the prompt; and what is sent besides the messages."""
    totals = [0]
    for count in counts:
        totals.append(totals[-1] + count)
    known = [(totals[one.end] - totals[one.start], one.usage.prompt_tokens) for one in requests if one.usage]
    if not known:
        return 1.0, float(fallback)
    first_counted, first_reported = known[0]
    grown = [(counted - first_counted, reported - first_reported) for counted, reported in known[1:]]
    scale = calibrate([pair for pair in grown if min(pair) > 0])
    return scale, max(first_reported - scale * first_counted, 0.0)
