"""A recorded conversation as the requests its agent made: what was sent when, how large it was, what was reported."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, takewhile
from statistics import mode

import msgspec

from redline.tokens import Counter, Estimate, Remembered, calibrate, count_message
from redline.transcripts import Entry, RecordedConversation, Transcript, Usage
from redline.values.messages import Message

__all__ = ["RecordedRequest", "Session", "make_session", "requests_in", "sessions_in", "with_subagents"]

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
    """The size of each message, estimated, and corrected by what was reported. With the first of a window counts what the
    window sends besides its messages and `prefix_tokens`."""
    prefix_tokens: float
    """What is sent besides the messages every time (system prompt, tools), as far as the reported usage shows it."""
    requests: tuple[RecordedRequest, ...]
    scale: float = 1.0
    """How many tokens were reported for each that was estimated."""
    project_root: str = ""

    @property
    def model(self) -> str | None:
        """The one that most requests went to, if the file says so."""
        named = [request.model for request in self.requests if request.model]
        return mode(named) if named else None


def sessions_in(transcript: Transcript, counter: Counter | None = None) -> Iterator[Session]:
    """Every conversation of a session file in which a model was asked something, sub-agents after their parent."""
    counter = counter or Remembered(Estimate())
    for conversation in with_subagents(transcript.conversations):
        entries = tuple(conversation.entries)
        messages = tuple(msgspec.structs.replace(entry.message, timestamp_ms=entry.timestamp_ms) for entry in entries)
        requests = tuple(requests_in(conversation, entries, messages))
        if requests:
            yield make_session(
                conversation.id,
                transcript.format,
                messages,
                requests,
                counter,
                system=conversation.system or "",
                project_root=str(conversation.metadata.get("cwd") or ""),
            )


def make_session(
    id: str,
    agent: str,
    messages: Sequence[Message],
    requests: tuple[RecordedRequest, ...],
    counter: Counter,
    *,
    system: str = "",
    project_root: str = "",
) -> Session:
    """A session of these messages and requests, with the sizes that the reports tell, or else estimated ones."""
    counts = [count_message(message, counter).total for message in messages]
    sizes = _measure(requests, counts, fallback=counter.count(system))
    return Session(
        id=id,
        agent=agent,
        messages=messages,
        tokens=tuple(count * sizes.scale + sizes.extra.get(place, 0.0) for place, count in enumerate(counts)),
        prefix_tokens=sizes.prefix,
        requests=requests,
        scale=sizes.scale,
        project_root=project_root,
    )


def with_subagents(conversations: Iterable[RecordedConversation]) -> Iterator[RecordedConversation]:
    """The conversations, each followed by its sub-agents."""
    for conversation in conversations:
        yield conversation
        yield from with_subagents(conversation.subagents)


def requests_in(
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
            answers = takewhile(lambda one: one < len(entries) and messages[one].role == "assistant", count(place))
            reports = (entries[answer].usage for answer in answers)
            usage = next((report for report in reports if report is not None and report.input_tokens), None)
            yield RecordedRequest(start, place, time_ms, entry.model, usage)


class _Sizes(msgspec.Struct, frozen=True):
    """What the reports tell about the sizes of what was sent."""

    scale: float
    """How many tokens one estimated token is."""
    prefix: float
    """What is sent besides the messages in every window."""
    extra: dict[int, float]
    """By its first message, what a window sends on top of that: files attached after a compaction, a history not recorded."""


def _measure(requests: Sequence[RecordedRequest], counts: Sequence[int], *, fallback: int) -> _Sizes:
    """The scale is that of the prompt's growth within windows, in which whatever is sent besides cancels out."""
    sums = list(accumulate(counts, initial=0))
    windows: dict[int, list[tuple[int, int]]] = {}  # by first message, for each request its tokens as counted and as reported
    for one in requests:
        if one.usage is not None:
            windows.setdefault(one.start, []).append((sums[one.end] - sums[one.start], one.usage.input_tokens))
    if not windows:
        return _Sizes(1.0, float(fallback), {})
    growth = [(counted - reports[0][0], told - reports[0][1]) for reports in windows.values() for counted, told in reports[1:]]
    scale = calibrate([pair for pair in growth if min(pair) > 0])
    firsts = {start: max(reports[0][1] - scale * reports[0][0], 0.0) for start, reports in windows.items()}
    prefix = min(firsts.values())
    return _Sizes(scale, prefix, {start: tokens - prefix for start, tokens in firsts.items()})
