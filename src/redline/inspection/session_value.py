"""A whole session as one plain value: what it is, its requests, its strikes, its messages; without its secrets if asked."""

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from redline.inspection.first_words import first_words
from redline.inspection.playback import Playback
from redline.inspection.read_session import SENT
from redline.inspection.shown import part_named, picture_of
from redline.inspection.shown_requests import made_request, request_numbers, shown_strike
from redline.inspection.strike_notes import notes_on
from redline.inspection.visible_messages import shown_indices, shown_messages
from redline.log.reading import StoredLog
from redline.redaction import redact

__all__ = ["session_value", "without_secrets"]


def session_value(playback: Playback, name: str, *, request: int | None = None, log: StoredLog | None = None) -> dict[str, Any]:
    """`{session, requests, strikes, messages}`; with a request, only the messages and strikes of that one."""
    history = playback.history
    numbers = [request] if request is not None else range(len(history.requests))
    struck = playback.in_force(request) if request is not None else playback.strikes
    return {
        "session": _about(playback, name, request),
        "requests": [request_numbers(playback, number) for number in numbers],
        "strikes": [shown_strike(playback, one, is_undoable=log is not None and one.end is None) for one in struck],
        "messages": list(_messages(playback, request, log)),
    }


def _about(playback: Playback, name: str, request: int | None) -> dict[str, Any]:
    history = playback.history
    if request is not None:
        made_request(playback, request)
    times = [time for time in history.times if time is not None]
    return {
        "name": name,
        "conversation": history.id,
        "agent": history.agent,
        "format": history.format,
        "project": history.project_root or None,
        "title": first_words(history.load(index) for index in range(min(history.count, 20))),
        "model": playback.player.model,
        "system": history.system or None,
        "started_ms": min(times, default=None),
        "ended_ms": max(times, default=None),
        "messages": history.count,
        "requests": len(history.requests),
        "request": request,
        "policy": playback.name or SENT,
        "is_hypothetical": playback.is_hypothetical,
        "observed": history.observed,
    }


def _messages(playback: Playback, request: int | None, log: StoredLog | None) -> Iterator[dict[str, Any]]:
    """With the notes on each part, and with pictures."""
    for message in shown_messages(playback, request, log, shown_indices(playback, request), longest=None):
        notes = notes_on(playback, message, request)
        for part in message["parts"]:
            part["notes"] = [asdict(note) for note in notes.get(part["at"], ())]
            if part["image"] is not None:
                found = part_named(playback.history.load(message["index"]), part["at"])
                picture = picture_of(found) if found is not None else None
                part["image"]["data"] = base64.b64encode(picture or b"").decode()
        yield message


def without_secrets(value: dict[str, Any]) -> dict[str, Any]:
    """The value with keys, tokens and passwords replaced. Pictures are not looked into."""
    pictures = [part["image"].pop("data") for part in _pictures(value)]
    redacted: dict[str, Any] = json.loads(redact(json.dumps(value).encode()))
    for part, data in zip(_pictures(redacted), pictures, strict=True):
        part["image"]["data"] = data
    return redacted


def _pictures(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in value["messages"]:
        yield from (part for part in message["parts"] if part["image"] is not None)
