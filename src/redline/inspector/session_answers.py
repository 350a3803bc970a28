"""What the page is told of one session: its header, its messages, what a search finds in it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from redline.engine.state import runs_of
from redline.errors import ValidationError
from redline.inspection.catalog import agent_name
from redline.inspection.first_words import first_words
from redline.inspection.playback import Playback
from redline.inspection.session_facts import TextHit, TextSearch
from redline.inspection.shown import KINDS, part_key, part_text, shown_message
from redline.inspector.opened import OpenedSession
from redline.values.messages import ToolResult

__all__ = ["MOST_MESSAGES", "find_messages", "header", "messages", "parse_indices", "price_facts"]

MOST_MESSAGES = 200
"""Messages in one answer."""
_MOST_SNIPPETS = 50
_AROUND = 60
_TITLE_MESSAGES = 20
"""Messages in which the first words of the user are looked for."""
_TITLES_READ = 300
"""Conversations of a file whose first words are looked up."""


def header(session: OpenedSession, playback: Playback, conversation: int) -> dict[str, Any]:
    """Who and what; how much is added when it is known."""
    history, player = playback.history, playback.player
    times = [time for time in history.times if time is not None]
    return {
        "id": session.id,
        "name": session.source.name,
        "path": session.source.name,
        "agent": agent_name(history.agent),
        "format": history.format,
        "project": history.project_root or None,
        "title": first_words(history.load(index) for index in range(min(history.count, _TITLE_MESSAGES))),
        "model": player.model,
        "is_log": session.is_log,
        "started_ms": min(times, default=None),
        "ended_ms": max(times, default=None),
        "conversations": _conversations(session),
        "conversation": conversation,
        "messages": history.count,
        "requests": len(history.requests),
        "price": price_facts(playback),
        "observed": history.observed,
        "version": session.version,
    }


def price_facts(playback: Playback) -> dict[str, Any] | None:
    """What the model costs, and how large a request to it may be."""
    price = playback.player.price
    if price is None:
        return None
    return {
        "model": price.model,
        "input": price.input,
        "output": price.output,
        "cache_read": price.cache_read,
        "cache_write": price.cache_write,
        "window_tokens": price.window_tokens,
        "lifetime_minutes": price.lifetime_minutes,
        "tiers": [{"above_tokens": tier.above_tokens, "input_factor": tier.input_factor} for tier in price.tiers],
        "binds_reasoning": price.binds_reasoning,
        "date": price.date,
    }


def _conversations(session: OpenedSession) -> list[dict[str, Any]]:
    found = []
    for number, (one, is_subagent) in enumerate(session.conversations()):
        title = first_words(entry.message for entry in one.entries[:5]) if number < _TITLES_READ else ""
        row = {"number": number, "id": one.id, "title": title, "messages": len(one.entries), "is_subagent": is_subagent}
        found.append(row)
    return found


def messages(session: OpenedSession, playback: Playback, indices: list[int], conversation: int) -> dict[str, Any]:
    """Messages by their indices; of pictures it is told where they can be had."""
    shown = [shown_message(playback, index) for index in indices[:MOST_MESSAGES] if 0 <= index < playback.history.count]
    for message in shown:
        for part in message["parts"]:
            if part["image"] is not None:
                query = urlencode({"index": message["index"], "at": part["at"], "conversation": conversation})
                part["image"] |= {"url": f"/api/sessions/{session.id}/image?{query}", "media_type": part["media_type"]}
    return {"messages": shown, "version": session.version}


def parse_indices(text: str) -> list[int]:
    """Indices such as `3,7-12` (both ends included)."""
    found: list[int] = []
    for piece in filter(None, text.split(",")):
        first, _, last = piece.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise ValidationError(f"{piece[:40]!r} is no index; write 3,7-12")
        found += range(int(first), min(int(last or first) + 1, int(first) + MOST_MESSAGES))
        if len(found) > MOST_MESSAGES:
            break
    return found


def find_messages(playback: Playback, search: TextSearch, wanted: dict[str, str]) -> dict[str, Any]:
    """The messages with a text, a kind of part, a tool, a strike, an error; all that is asked for must hold of one part."""
    text = wanted.get("text", "")
    request = int(wanted["request"]) if wanted.get("request", "").isdecimal() else None
    hits = search.find(text) if text else _all_parts(playback)
    found: dict[int, TextHit] = {}
    for hit in hits:
        if hit.index not in found and _fits(playback, hit, wanted, request):
            found[hit.index] = hit
    snippets = [_snippet(hit, len(text)) for hit in list(found.values())[:_MOST_SNIPPETS]] if text else []
    return {"runs": runs_of(found), "count": len(found), "first": snippets}


def _all_parts(playback: Playback) -> Iterator[TextHit]:
    for index in range(playback.history.count):
        yield from (TextHit(index, part, 0) for part in playback.history.load(index).parts)


def _fits(playback: Playback, hit: TextHit, wanted: dict[str, str], request: int | None) -> bool:
    kind, part = wanted.get("kind"), hit.part
    if kind and kind not in (KINDS[type(part)], playback.history.load(hit.index).role):
        return False
    if wanted.get("tool") and playback.player.parts.tool_of(hit.index, part) != wanted["tool"]:
        return False
    if wanted.get("error") and not (isinstance(part, ToolResult) and part.is_error):
        return False
    if wanted.get("struck"):
        strikes = [one for one in playback.by_index.get(hit.index, ()) if one.at[: len(part.at)] == part.at]
        return any(request is None or one.is_in_force(request) for one in strikes)
    return True


def _snippet(hit: TextHit, length: int) -> dict[str, Any]:
    text, place = part_text(hit.part), hit.place
    return {
        "index": hit.index,
        "at": part_key(hit.part.at),
        "before": text[max(place - _AROUND, 0) : place],
        "match": text[place : place + length],
        "after": text[place + length : place + length + _AROUND],
    }
