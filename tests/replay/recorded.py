"""Recorded conversations for the tests of the replay, in a few words."""

from redline.formats import FORMATS
from redline.replay.session import sessions_in
from redline.testing import conversation
from redline.transcripts.base import Entry, RecordedCompaction, RecordedConversation, Transcript, Usage
from redline.values.messages import Text, ToolCall, ToolResult


def step(number, tool, arguments, answer, says=None):
    """A call and its result; the assistant may say something first."""
    call = ToolCall(f"call_{number}", tool, arguments)
    words = (Text(says),) if says else ()
    return [("assistant", (*words, call)), ("tool", (ToolResult(call.id, (Text(answer),), tool),))]


def recorded(turns, *, every_ms=1000.0, usages=(), compact_before=(), model="claude-opus-4-6"):
    """The session of a conversation whose messages were said one after the other; usages are those of the answers."""
    format_name = "anthropic"
    reported, entries = iter(usages), []
    for number, payload in enumerate(conversation(format_name, turns)):
        message = FORMATS[format_name].read(payload)
        usage = next(reported, None) if message.role == "assistant" else None
        entries.append(Entry(lambda message=message: message, (), (number + 1) * every_ms, model=model, usage=usage))
    told = RecordedConversation("c", format_name, tuple(entries), compactions=tuple(map(RecordedCompaction, compact_before)))
    found = list(sessions_in(Transcript(None, "test", (told,))))
    return found[0] if found else None


__all__ = ["Usage", "recorded", "step"]
