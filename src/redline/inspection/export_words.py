"""What a file of a session says of it: the facts above its messages, and the line above each message."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

__all__ = ["heading_words", "session_facts"]


def session_facts(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the session is, in pairs of a name and words."""
    about, requests, strikes = value["session"], value["requests"], value["strikes"]
    yield "session", f"{about['name']} ({about['agent']})"
    if about["project"]:
        yield "project", about["project"]
    if about["model"]:
        yield "model", about["model"]
    if about["started_ms"]:
        yield "from, to", f"{_when(about['started_ms'])}, {_when(about['ended_ms'])}"
    yield "messages, requests", f"{about['messages']:,}, {about['requests']:,}"
    if about["request"] is not None:
        yield "shown", f"what the model saw in request {about['request']}"
    if requests:
        yield "tokens", f"about {requests[-1]['sent_tokens']:,} in request {requests[-1]['number']}"
    if strikes or about["is_hypothetical"]:
        who = f"the policy {about['policy']} would strike" if about["is_hypothetical"] else "struck"
        saved = sum(strike["tokens_before"] - strike["tokens_after"] for strike in strikes)
        yield "strikes", f"{who} {len(strikes):,} parts, {saved:,} tokens"
    if about["observed"]:
        yield "observed", f"what is recorded as struck was sent all the same: {about['observed']}"


def heading_words(message: dict[str, Any]) -> str:
    """The line above a message: its index, its role, when it was said, how large it is."""
    told = [
        f"{message['index']} {message['role']}" if "index" in message else f"{message['role']}",
        _when(message.get("time_ms")),
        f"{message['tokens']:,} tokens" if message.get("tokens") else "",
        "pinned" if message.get("is_pinned") else "",
        f"repaired for the provider: {message['repaired']}" if "repaired" in message else "",
    ]
    return " · ".join(filter(None, told))


def _when(time_ms: float | None) -> str:
    """In UTC, since a file goes to other places; nothing for a time that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" if time_ms else ""
    except (OverflowError, OSError, ValueError):
        return ""
