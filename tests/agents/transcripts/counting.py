"""What the manifest of the recorded sessions counts, counted in a transcript as read."""

from collections import Counter
from typing import Any

from redline.agents.transcripts import Transcript
from redline.providers import find_format, read_messages
from redline.providers.laws import History, Problem, problems_of


def counted(transcript: Transcript) -> dict[str, Any]:
    """Conversations, messages, calls and results over every entry, written natively or as text."""
    entries = [entry for conversation in transcript for entry in conversation.walk()]
    spoken = [(entry, entry.message) for entry in entries]
    calls = [call for entry, message in spoken for call in (*message.calls, *entry.text_calls)]
    results = [result for entry, message in spoken for result in (*message.results, *entry.text_results)]
    return {
        "n_sessions": len(transcript),
        "n_messages": len(entries),
        "n_tool_calls": len(calls),
        "n_tool_results": len(results),
        "tools": dict(Counter(call.name for call in calls)),
        "errors": sum(result.is_error for result in results),
    }


def said_by(row: dict[str, Any]) -> dict[str, Any]:
    """These numbers as a row of the manifest gives them."""
    flagged = [tag.partition(":")[2] for tag in row["features"] if tag.startswith("tool-errors:")]
    counts = {name: row[name] for name in ("n_sessions", "n_messages", "n_tool_calls", "n_tool_results", "tools")}
    return {**counts, "errors": int(flagged[0]) if flagged else 0}


def stored_problems(natives: list[dict[str, Any]]) -> list[Problem]:
    """What Chat would refuse, but for fields that agents store beside a message and that are never sent."""
    return problems_of(History.of(read_messages(natives, "openai_chat"), find_format("openai_chat")), is_stored=True)
