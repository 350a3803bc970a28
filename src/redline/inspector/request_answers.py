"""What the page is told of requests: one of them exactly as it was sent, the strikes, and two side by side."""

from itertools import chain
from typing import Any

from redline.errors import ValidationError
from redline.inspection.call_words import call_words
from redline.inspection.exact_request import ExactRequest, exact_request
from redline.inspection.playback import Playback, PlayedStrike
from redline.inspection.shown import part_key, plain_parts, replacement_text, shown_usage
from redline.inspector.opened import OpenedSession
from redline.values.messages import Message, ToolCall

__all__ = ["compare", "line_of", "request", "strikes"]

_LONGEST_LINE = 140
_MOST_ROWS = 1_000


def request(session: OpenedSession, playback: Playback, number: int) -> dict[str, Any]:
    """One request in numbers, with what is visible in it and what is struck."""
    made = _made(playback, number)
    size = playback.sizes[number]
    in_force = playback.in_force(number)
    exact = _exact(session, playback, number)
    cold = playback.why_cold(number)
    price, charge = playback.player.price, playback.charges[number]
    paid = None if playback.is_hypothetical else playback.paid(number)
    return {
        "number": number,
        "of": len(playback.recording.requests),
        "time_ms": made.time_ms or None,
        "model": made.model,
        "end": made.end,
        "visible": made.visible,
        "messages": sum(end - start for start, end in made.visible),
        "sent_tokens": round(size.sent),
        "struck_tokens": round(size.struck),
        "prefix_tokens": round(playback.player.placed.session.prefix_tokens),
        "by_kind": {kind: round(tokens) for kind, tokens in size.by_kind.items()},
        "usage": shown_usage(made.usage),
        "cost_usd": paid if paid is not None else charge.cost * price.input / 1e6 if price is not None else None,
        "is_paid": paid is not None,
        "read_tokens": made.usage.cache_read_tokens if paid is not None and made.usage is not None else round(charge.read),
        "is_cold": bool(cold),
        "cold_because": cold,
        "strikes": [strike.number for strike in in_force],
        "new": [strike.number for strike in in_force if strike.first == number],
        "repairs": [{"index": change.index, "what": change.what} for change in exact.repairs],
        "repaired": [{"after": after, "message": _plain_message(message)} for after, message in exact.repaired],
    }


def _made(playback: Playback, number: int) -> Any:
    if not 0 <= number < len(playback.recording.requests):
        count = len(playback.recording.requests)
        raise ValidationError(f"There is no request {number}; there are {count}, numbered from 0.")
    return playback.recording.requests[number]


def _exact(session: OpenedSession, playback: Playback, number: int) -> ExactRequest:
    """What the repair did. Agents repair their own histories, and say nothing of it."""
    if session.log is None or playback.is_hypothetical:
        return ExactRequest()
    return exact_request(session.log, playback.recording, number)


def _plain_message(message: Message) -> dict[str, Any]:
    """A message that the repair made: what it says, part by part."""
    return {"role": message.role, "parts": plain_parts(message)}


def strikes(playback: Playback, *, can_act: bool) -> dict[str, Any]:
    """Every strike with its reason and its price, and the sums by rule."""
    rules: dict[str, dict[str, int]] = {}
    for one in playback.strikes:
        row = rules.setdefault(one.rule, {"count": 0, "tokens": 0})
        row["count"] += 1
        row["tokens"] += one.tokens_saved
    shown = [_shown_strike(playback, one, is_undoable=can_act and one.end is None) for one in playback.strikes]
    return {"strikes": shown, "rules": rules}


def _shown_strike(playback: Playback, one: PlayedStrike, *, is_undoable: bool) -> dict[str, Any]:
    price, rule, recording = playback.player.price, playback.player.rule, playback.recording
    requests = (one.end if one.end is not None else len(recording.requests)) - one.first
    return {
        "number": one.number,
        "index": one.index,
        "at": part_key(one.at),
        "rule": one.rule,
        "because": one.because,
        "why_now": one.why_now,
        "replacement": replacement_text(one.replacement),
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
        "tool": one.tool,
        "first": one.first,
        "end": one.end,
        "ended_because": one.ended_because if one.end is not None else "",
        "requests": max(requests, 0),
        "saved_usd": max(requests, 0) * one.tokens_saved * rule.read * price.input / 1e6 if price is not None else None,
        "rewrite_tokens": playback.rewritten(one.first) if one.first < len(recording.requests) else 0,
        "chance": one.chance,
        "used_at": one.used_at,
        "used_words": one.used_words,
        "is_undoable": is_undoable,
    }


def compare(a: Playback, first: int, b: Playback, second: int, session: OpenedSession) -> dict[str, Any]:
    """Two requests, message by message; what is the same on both sides is folded."""
    left, right = _side(a, first), _side(b, second)
    rows: list[dict[str, Any]] = []
    same_tokens, is_same, left_out = a.player.placed.session.prefix_tokens, True, 0
    for index in sorted(left.keys() | right.keys()):
        tokens = _tokens(a, index)
        if left.get(index) == right.get(index):
            same_tokens += tokens if is_same else 0
            _fold(rows, index, round(tokens))
            continue
        is_same = False
        left_out += len(rows) >= _MOST_ROWS
        if len(rows) < _MOST_ROWS:
            rows.append(_row(a, b, index, left.get(index), right.get(index)))
    return {
        "a": request(session, a, first),
        "b": request(session, b, second),
        "rows": rows,
        "left_out": left_out,
        "same_prefix_tokens": round(same_tokens),
    }


def _fold(rows: list[dict[str, Any]], index: int, tokens: int) -> None:
    """One more message that is the same on both sides."""
    if rows and rows[-1].get("to") == index:
        rows[-1]["to"] += 1
        rows[-1]["count"] += 1
        rows[-1]["tokens"] += tokens
    elif len(rows) < _MOST_ROWS:
        rows.append({"from": index, "to": index + 1, "count": 1, "tokens": tokens})


def _tokens(playback: Playback, index: int) -> float:
    return sum(part.tokens for part in playback.player.parts.of(index)) * playback.player.placed.session.scale


def _side(playback: Playback, number: int) -> dict[int, tuple[str, ...]]:
    """What is visible in a request, by index: the strikes that each message is sent with."""
    struck: dict[int, tuple[str, ...]] = {}
    for one in playback.in_force(number):
        struck[one.index] = (*struck.get(one.index, ()), f"{part_key(one.at)} {replacement_text(one.replacement)}")
    indices = chain.from_iterable(range(*run) for run in _made(playback, number).visible)
    return {index: struck.get(index, ()) for index in indices}


def _row(a: Playback, b: Playback, index: int, left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> dict[str, Any]:
    message, tokens = a.recording.load(index), _tokens(a, index)

    def told(playback: Playback, side: tuple[str, ...] | None) -> tuple[str, int]:
        if side is None:
            return "absent", 0
        saved = sum(one.tokens_saved for one in playback.by_index.get(index, ())) if side else 0
        return "struck" if side else "sent", round(max(tokens - saved, 0))

    (state_a, tokens_a), (state_b, tokens_b) = told(a, left), told(b, right)
    return {
        "index": index,
        "role": message.role,
        "says": line_of(message),
        "a": state_a,
        "b": state_b,
        "tokens_a": tokens_a,
        "tokens_b": tokens_b,
    }


def line_of(message: Message) -> str:
    """A message in one line."""
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    results = [result.text for result in message.results]
    words = message.text or (call_words(calls[0]) if calls else results[0] if results else "")
    return " ".join(words[: 4 * _LONGEST_LINE].split())[:_LONGEST_LINE]
