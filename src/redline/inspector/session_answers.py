"""What the page is told of one session: its header, its messages, what a search finds in it."""

from collections.abc import Iterator
from typing import Any

from redline.engine.state import runs_of
from redline.errors import ValidationError
from redline.formats import find_format
from redline.inspection.first_words import first_words
from redline.inspection.playback import Playback
from redline.inspection.shown import KINDS, part_key, part_text, shown_message
from redline.inspector.opened import OpenedSession
from redline.laws import History, problems_of
from redline.values.messages import Message, Part, ToolResult

__all__ = ["MOST_MESSAGES", "find_messages", "header", "messages", "parse_indices"]

MOST_MESSAGES = 200
"""Messages in one answer."""
_MOST_SNIPPETS = 50
_AROUND = 60
_MOST_PROBLEMS = 100
_TITLES_READ = 300
"""Conversations of a file whose first words are looked up."""


def header(session: OpenedSession, playback: Playback, conversation: int) -> dict[str, Any]:
    """Who, what, how much."""
    recording, player = playback.recording, playback.player
    times = [time for time in recording.times if time is not None]
    return {
        "id": session.id,
        "name": session.source.name,
        "path": session.source.name,
        "agent": recording.agent,
        "format": recording.format,
        "project": recording.project or None,
        "title": title_of(playback),
        "model": player.model,
        "is_log": session.is_log,
        "started_ms": min(times, default=None),
        "ended_ms": max(times, default=None),
        "conversations": _conversations(session),
        "conversation": conversation,
        "messages": recording.count,
        "requests": len(recording.requests),
        "policy": playback.name or "sent",
        "is_hypothetical": playback.is_hypothetical,
        "price": price_facts(playback),
        "observed": recording.observed,
        "version": session.version,
        **_numbers(playback),
    }


def _numbers(playback: Playback) -> dict[str, Any]:
    """What takes longer to work out."""
    last = playback.sizes[-1] if playback.sizes else None
    paid = [playback.paid(number) for number in range(len(playback.recording.requests))]
    return {
        "tokens": {
            "sent": round(last.sent) if last is not None else 0,
            "struck": round(last.struck) if last is not None else 0,
            "by_kind": {kind: round(tokens) for kind, tokens in last.by_kind.items()} if last is not None else {},
        },
        "cost_usd": sum(one for one in paid if one is not None) if any(one is not None for one in paid) else None,
        "input_cost_usd": _dollars(playback, sum(charge.cost for charge in playback.charges)),
        "cost_usd_without": _dollars(playback, sum(charge.cost for charge in playback.player.unstruck_charges)),
        "problems": list(_problems(playback)),
        "tools": _tools(playback),
    }


def _dollars(playback: Playback, cost: float) -> float | None:
    price = playback.player.price
    return cost * price.input / 1e6 if price is not None else None


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


def title_of(playback: Playback) -> str:
    """What the user asked first."""
    loaded = (playback.recording.load(index) for index in range(min(playback.recording.count, 20)))
    return first_words(loaded)


def _conversations(session: OpenedSession) -> list[dict[str, Any]]:
    found = []
    for number, (one, is_subagent) in enumerate(session.conversations()):
        title = first_words(entry.message for entry in one.entries[:5]) if number < _TITLES_READ else ""
        row = {"number": number, "id": one.id, "title": title, "messages": len(one.entries), "is_subagent": is_subagent}
        found.append(row)
    return found


def _problems(playback: Playback) -> Iterator[dict[str, Any]]:
    """What a provider would refuse of what would be sent next."""
    recording = playback.recording
    if recording.is_log or not recording.requests:
        return
    start = recording.requests[-1].visible[0][0]
    messages = [recording.load(index) for index in range(start, recording.count)]
    for problem in problems_of(History.of(messages, find_format(recording.format)), is_stored=True)[:_MOST_PROBLEMS]:
        yield {"index": start + problem.index, "law": problem.law, "rule": problem.rule, "found": problem.found}


def _tools(playback: Playback) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    parts = playback.player.parts
    for index, sizes in enumerate(parts.all()):
        tokens = {part.at: part.tokens for part in sizes}
        for part in playback.recording.load(index).parts:
            name = parts.tool_of(index, part)
            if name is None:
                continue
            row = found.setdefault(name, {"name": name, "calls": 0, "errors": 0, "tokens": 0})
            row["calls"] += not isinstance(part, ToolResult)
            row["errors"] += isinstance(part, ToolResult) and part.is_error
            row["tokens"] += tokens.get(part.at, 0)
    return sorted(found.values(), key=lambda row: -row["tokens"])


def messages(session: OpenedSession, playback: Playback, indices: list[int]) -> dict[str, Any]:
    """Messages by their indices; pictures are told by where they can be had."""
    shown = [shown_message(playback, index) for index in indices[:MOST_MESSAGES] if 0 <= index < playback.recording.count]
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


def find_messages(playback: Playback, wanted: dict[str, str]) -> dict[str, Any]:
    """The messages with a text, a kind of part, a tool, a strike, an error; all that is asked for must hold of one part."""
    text = wanted.get("text", "").lower()
    request = int(wanted["request"]) if wanted.get("request", "").isdecimal() else None
    found: list[int] = []
    snippets: list[dict[str, Any]] = []
    for index in range(playback.recording.count):
        message = playback.recording.load(index)
        hits = [part for part in message.parts if _fits(playback, index, message, part, wanted, request)]
        places = [(part, _find_text(part, text)) for part in hits] if text else [(part, 0) for part in hits]
        places = [(part, place) for part, place in places if place >= 0]
        if not places:
            continue
        found.append(index)
        if text and len(snippets) < _MOST_SNIPPETS:
            snippets.append(_snippet(index, *places[0], len(text)))
    return {"runs": runs_of(found), "count": len(found), "first": snippets}


def _fits(playback: Playback, index: int, message: Message, part: Part, wanted: dict[str, str], request: int | None) -> bool:
    kind = wanted.get("kind")
    if kind and kind not in (KINDS[type(part)], message.role):
        return False
    if wanted.get("tool") and playback.player.parts.tool_of(index, part) != wanted["tool"]:
        return False
    if wanted.get("error") and not (isinstance(part, ToolResult) and part.is_error):
        return False
    if wanted.get("struck"):
        strikes = [one for one in playback.by_index.get(index, ()) if one.at[: len(part.at)] == part.at]
        return any(request is None or one.is_in_force(request) for one in strikes)
    return True


def _find_text(part: Part, text: str) -> int:
    return part_text(part).lower().find(text)


def _snippet(index: int, part: Part, place: int, length: int) -> dict[str, Any]:
    text = part_text(part)
    return {
        "index": index,
        "at": part_key(part.at),
        "before": text[max(place - _AROUND, 0) : place],
        "match": text[place : place + length],
        "after": text[place + length : place + length + _AROUND],
    }
