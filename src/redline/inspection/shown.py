"""Messages as plain values that a page or a program shows: parts with their kinds, sizes, pairs, pictures and strikes."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from redline.formats.usage import Usage
from redline.inspection.call_words import call_words, edit_lines
from redline.inspection.part_sizes import PartSpot
from redline.inspection.playback import Playback
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path

__all__ = [
    "KINDS",
    "LONGEST_TEXT",
    "PICTURES",
    "is_on",
    "part_key",
    "part_named",
    "part_text",
    "picture_of",
    "plain_parts",
    "replacement_text",
    "shown_message",
    "shown_part",
    "shown_usage",
    "whole_part",
]

LONGEST_TEXT = 20_000
"""Characters of a part that are shown at once."""
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser draws and that cannot hold a script."""
KINDS: dict[type[Part], str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "call",
    ToolResult: "result",
    Media: "media",
    Opaque: "other",
}
"""What a part is called."""
_MOST_DIFF_LINES = 2_000


def part_key(at: Path) -> str:
    """A part's place as text: `content.0`."""
    return ".".join(map(str, at))


def part_named(message: Message, key: str) -> Part | None:
    """The part at a place that is given as text; None if there is none."""
    return next((part for part in message.walk() if part_key(part.at) == key), None)


def part_text(part: Part) -> str:
    """What a part says."""
    match part:
        case Text() | Reasoning():
            return part.text
        case ToolCall():
            return _pretty(part.input)
        case ToolResult():
            return part.text
        case Media(source_type="text"):
            return part.source
        case Media():
            return ""
        case Opaque():
            return _pretty(part.native)


def picture_of(part: Part) -> bytes | None:
    """The bytes of a picture that a browser may draw; None for anything else."""
    if not isinstance(part, Media) or part.source_type != "base64" or part.media_type not in PICTURES:
        return None
    try:
        return base64.b64decode(part.source.partition("base64,")[2] or part.source, validate=True)
    except (binascii.Error, ValueError):
        return None


def shown_message(playback: Playback, index: int, *, longest: int | None = LONGEST_TEXT) -> dict[str, Any]:
    """A message of a history with everything that is known of it; of each part so many characters, or all."""
    history = playback.history
    message = history.load(index)
    sizes = {part.at: part.tokens for part in playback.player.sizes_of(index)}
    request = history.request_of(index, message.role)
    made = history.requests[request] if request is not None and message.role == "assistant" else None
    return {
        "index": index,
        "role": message.role,
        "time_ms": history.times[index],
        "tokens": sum(sizes.values()),
        "model": history.models.get(index) or (made.model if made is not None else None),
        "usage": shown_usage(made.usage) if made is not None and made.end == index else None,
        "is_error": any(isinstance(part, ToolResult) and part.is_error for part in message.parts),
        "request": request,
        "is_pinned": index in history.pins,
        "parts": list(_shown_parts(playback, index, message, longest)),
    }


def _shown_parts(playback: Playback, index: int, message: Message, longest: int | None) -> Iterator[dict[str, Any]]:
    """Every part; pictures in a result follow it, its words are shown as the result."""
    sizes = {part.at: part.tokens for part in playback.player.sizes_of(index)}
    for part in message.parts:
        yield {**shown_part(playback, index, part, longest), "tokens": sizes.get(part.at, 0)}
        inside = part.parts if isinstance(part, ToolResult) else ()
        yield from (shown_part(playback, index, one, longest) for one in inside if isinstance(one, Media))


def shown_part(playback: Playback, index: int, part: Part, longest: int | None = LONGEST_TEXT) -> dict[str, Any]:
    """One part: its kind and its words, what it is a call or a result of, and the strikes on it."""
    picture = picture_of(part)
    parts, spot = playback.player.parts, PartSpot(index, part.at)
    call = parts.calls.get(spot)
    pair = parts.results.get(spot) or (call[0] if call is not None else None)
    return {
        **_plain_part(part, longest),
        "tool": parts.tool_of(index, part),
        "image": {"bytes": len(picture)} if picture is not None else None,
        "pair": {"index": pair.index, "at": part_key(pair.at)} if pair is not None else None,
        "strikes": [strike.number for strike in playback.by_index.get(index, ()) if is_on(strike.at, part.at)],
    }


def plain_parts(message: Message) -> list[dict[str, Any]]:
    """The parts of a message that is in no history."""
    return [_plain_part(part, LONGEST_TEXT) for part in message.parts]


def _plain_part(part: Part, longest: int | None) -> dict[str, Any]:
    text = part_text(part)
    is_call = isinstance(part, ToolCall)
    lines = edit_lines(part) if isinstance(part, ToolCall) else None
    return {
        "at": part_key(part.at),
        "kind": KINDS[type(part)],
        "text": "" if is_call else text[:longest],
        "length": len(text),
        "tool": getattr(part, "name", None),
        "call_id": getattr(part, "id", None) or getattr(part, "call_id", None),
        "input": text[:longest] if is_call else None,
        "says": call_words(part) if isinstance(part, ToolCall) else None,
        "diff": lines if lines is None else lines[:_MOST_DIFF_LINES],
        "is_error": isinstance(part, ToolResult) and part.is_error,
        "media_type": part.media_type if isinstance(part, Media) else None,
        "image": None,
        "pair": None,
        "strikes": [],
        "tokens": 0,
    }


def whole_part(playback: Playback, index: int, part: Part) -> dict[str, Any]:
    """All that a part says, what is sent in its place if it is struck, and its own JSON."""
    message = playback.history.load(index)
    native = payloads.value_at(payloads.decode(message.native), part.at) if part.at else payloads.decode(message.native)
    found: dict[str, Any] = {"text": part_text(part), "native": _pretty(native)}
    strike = next((one for one in reversed(playback.by_index.get(index, ())) if is_on(one.at, part.at)), None)
    if strike is not None:
        found["sent"] = replacement_text(strike.replacement)
    return found


def is_on(struck: Path, part: Path) -> bool:
    """Whether a strike is on a part, or on something in it."""
    return struck[: len(part)] == part if len(part) <= len(struck) else part[: len(struck)] == struck


def shown_usage(usage: Usage | None) -> dict[str, int] | None:
    """What the provider reported."""
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
    }


def replacement_text(replacement: object) -> str | None:
    """What is sent in the place of a part, as text; None if nothing is."""
    return None if replacement is None else _pretty(replacement)


def _pretty(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
