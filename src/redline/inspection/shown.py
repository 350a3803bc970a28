"""Messages as plain values that a page or a program shows: parts with their kinds, sizes, pairs, pictures and strikes."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from redline.inspection.call_words import call_words, edit_lines
from redline.inspection.part_sizes import PartSpot
from redline.inspection.playback import Playback
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path

__all__ = ["LONGEST_TEXT", "PICTURES", "part_key", "part_named", "part_text", "picture_of", "shown_message", "whole_part"]

LONGEST_TEXT = 20_000
"""Characters of a part that are shown at once."""
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser draws and that cannot hold a script."""
_KINDS: dict[type[Part], str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "call",
    ToolResult: "result",
    Media: "media",
    Opaque: "other",
}


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


def shown_message(playback: Playback, index: int) -> dict[str, Any]:
    """A message of a recording with everything that is known of it."""
    recording = playback.recording
    message = recording.load(index)
    sizes = {part.at: part.tokens for part in playback.player.parts.of(index)}
    request = recording.request_of(index, message.role)
    made = recording.requests[request] if request is not None and message.role == "assistant" else None
    return {
        "index": index,
        "role": message.role,
        "time_ms": recording.times[index],
        "tokens": sum(sizes.values()),
        "model": recording.models.get(index) or (made.model if made is not None else None),
        "usage": _usage(made.usage) if made is not None and made.end == index else None,
        "is_error": any(isinstance(part, ToolResult) and part.is_error for part in message.parts),
        "request": request,
        "is_pinned": index in recording.pins,
        "parts": list(_shown_parts(playback, index, message, sizes)),
    }


def _shown_parts(playback: Playback, index: int, message: Message, sizes: dict[Path, int]) -> Iterator[dict[str, Any]]:
    """Every part; pictures in a result follow it."""
    for part in message.walk():
        if isinstance(part, Text | Opaque) and part.at not in sizes:  # a result's own words are shown as the result
            continue
        yield shown_part(playback, index, part, sizes.get(part.at, 0))


def shown_part(playback: Playback, index: int, part: Part, tokens: int) -> dict[str, Any]:
    """One part: its kind and its words, what it is a call or a result of, and the strikes on it."""
    text = part_text(part)
    picture = picture_of(part)
    parts, spot = playback.player.parts, PartSpot(index, part.at)
    call = parts.calls.get(spot)
    pair = parts.results.get(spot) or (call[0] if call is not None else None)
    lines = edit_lines(part) if isinstance(part, ToolCall) else None
    key = part_key(part.at)
    return {
        "at": key,
        "kind": _KINDS[type(part)],
        "tokens": tokens,
        "text": "" if isinstance(part, ToolCall) else text[:LONGEST_TEXT],
        "length": len(text),
        "tool": parts.tool_of(index, part),
        "call_id": getattr(part, "id", None) or getattr(part, "call_id", None),
        "input": text[:LONGEST_TEXT] if isinstance(part, ToolCall) else None,
        "says": call_words(part) if isinstance(part, ToolCall) else None,
        "diff": lines if lines is None or len(lines) <= 2_000 else lines[:2_000],
        "is_error": isinstance(part, ToolResult) and part.is_error,
        "image": {"media_type": part.media_type, "bytes": len(picture)}
        if picture is not None and isinstance(part, Media)
        else None,
        "media_type": part.media_type if isinstance(part, Media) else None,
        "pair": {"index": pair.index, "at": part_key(pair.at)} if pair is not None else None,
        "strikes": [strike.number for strike in playback.by_index.get(index, ()) if _is_on(strike.at, part.at)],
    }


def whole_part(playback: Playback, index: int, part: Part) -> dict[str, Any]:
    """All that a part says, what is sent in its place if it is struck, and its own JSON."""
    message = playback.recording.load(index)
    native = payloads.value_at(payloads.decode(message.native), part.at) if part.at else payloads.decode(message.native)
    found: dict[str, Any] = {"text": part_text(part), "native": _pretty(native)}
    strike = next((one for one in reversed(playback.by_index.get(index, ())) if _is_on(one.at, part.at)), None)
    if strike is not None:
        found["sent"] = (
            strike.replacement
            if strike.replacement is None or isinstance(strike.replacement, str)
            else _pretty(strike.replacement)
        )
    return found


def _is_on(struck: Path, part: Path) -> bool:
    """Whether a strike is on a part, or on something in it."""
    return struck[: len(part)] == part if len(part) <= len(struck) else part[: len(struck)] == struck


def _usage(usage: Any) -> dict[str, int] | None:
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
    }


def _pretty(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return payloads.pretty(value)
