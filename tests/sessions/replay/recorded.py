"""Recorded conversations for the tests of the replay, in a few words."""

from redline.agents.transcripts import Entry, RecordedCompaction, RecordedConversation, Transcript, Usage
from redline.providers import FORMATS
from redline.sessions.replay.history import PastStrike, histories_in
from redline.testing import conversation
from redline.values.messages import Text, ToolCall, ToolResult


def step(number, tool, arguments, answer, says=None):
    """A call and its result; the assistant may say something first."""
    call = ToolCall(f"call_{number}", tool, arguments)
    words = (Text(says),) if says else ()
    return [("assistant", (*words, call)), ("tool", (ToolResult(call.id, (Text(answer),), tool),))]


def recorded_conversation(turns, *, every_ms=1000.0, usages=(), model="claude-opus-4-6", messages=None, **settings):
    """A conversation whose messages were said one after the other; usages are those of the answers.

    `every_ms` may be a function from the number of a message to its time; `messages` are native ones to take instead.
    """
    format_name = "anthropic"
    reported, entries = iter(usages), []
    for number, payload in enumerate(messages or conversation(format_name, turns)):
        message = FORMATS[format_name].read(payload)
        is_answer = message.role == "assistant"
        usage = next(reported, None) if is_answer else None
        time_ms = every_ms(number) if callable(every_ms) else (number + 1) * every_ms
        entries.append(Entry(lambda message=message: message, (), time_ms, model=model if is_answer else None, usage=usage))
    compactions = tuple(map(RecordedCompaction, settings.pop("compact_before", ())))
    return RecordedConversation("c", format_name, tuple(entries), compactions=compactions, **settings)


def recorded(turns, **settings):
    """The history of such a conversation; None where no model was asked."""
    return next(histories_in(Transcript(None, "test", (recorded_conversation(turns, **settings),))), None)


def past_strike(index, first, saved=1, at=(), *, number=0, end=None):
    """A strike by nobody in particular that saves so many tokens from a request on."""
    return PastStrike(number, "test", index, at, None, "", saved, 0, first=first, end=end)


__all__ = ["Usage", "past_strike", "recorded", "recorded_conversation", "step"]
