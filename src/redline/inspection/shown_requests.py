"""Requests and strikes as plain values that a page or a program shows: sizes, costs, reasons, what the repair did."""

from typing import Any

from redline.errors import ValidationError
from redline.inspection.exact_request import ExactRequest, exact_request
from redline.inspection.playback import Playback
from redline.inspection.shown import part_key, plain_parts, replacement_text, shown_usage
from redline.log.reading import StoredLog
from redline.replay.history import PastRequest, PastStrike

__all__ = ["made_request", "repairs_of", "request_numbers", "shown_request", "shown_strike", "sums_by_rule"]


def made_request(playback: Playback, number: int) -> PastRequest:
    """A request by its number; a ValidationError where there is none."""
    made = playback.history.requests
    if not 0 <= number < len(made):
        raise ValidationError(f"There is no request {number}; there are {len(made)}, numbered from 0.")
    return made[number]


def request_numbers(playback: Playback, number: int) -> dict[str, Any]:
    """One request in numbers."""
    made = made_request(playback, number)
    size, cold = playback.sizes[number], playback.why_cold(number)
    charge = playback.charges[number]
    bill = None if playback.is_hypothetical else playback.cost_of(number)
    return {
        "number": number,
        "of": len(playback.history.requests),
        "time_ms": made.time_ms or None,
        "model": made.model,
        "end": made.end,
        "visible": made.visible,
        "messages": sum(end - start for start, end in made.visible),
        "sent_tokens": round(size.sent),
        "struck_tokens": round(size.struck),
        "prefix_tokens": round(playback.player.sizes.prefix),
        "by_kind": {kind: round(tokens) for kind, tokens in size.by_kind.items()},
        "usage": shown_usage(made.usage),
        "cost_usd": bill.paid if bill is not None else playback.player.usd(charge.cost),
        "is_paid": bill is not None,
        "saved_usd": bill.saved if bill is not None else None,
        "read_tokens": made.usage.cache_read_tokens if bill is not None and made.usage is not None else round(charge.read),
        "is_cold": bool(cold),
        "cold_because": cold,
    }


def shown_request(playback: Playback, number: int, log: StoredLog | None) -> dict[str, Any]:
    """One request in numbers, with the strikes in it and what the repair did."""
    numbers, in_force = request_numbers(playback, number), playback.in_force(number)
    exact = repairs_of(playback, number, log)
    return {
        **numbers,
        "strikes": [strike.number for strike in in_force],
        "new": [strike.number for strike in in_force if strike.first == number],
        "repairs": [{"index": change.index, "what": change.what} for change in exact.repairs],
        "repaired": [
            {"after": one.after, "message": {"role": one.message.role, "parts": plain_parts(one.message)}}
            for one in exact.repaired
        ],
    }


def repairs_of(playback: Playback, number: int, log: StoredLog | None) -> ExactRequest:
    """What the repair did. Agents repair their own histories, and say nothing of it."""
    made_request(playback, number)  # is there one?
    if log is None or playback.is_hypothetical:
        return ExactRequest((), ())
    return exact_request(log, playback.history, number)


def shown_strike(playback: Playback, one: PastStrike, *, is_undoable: bool) -> dict[str, Any]:
    """A strike with its reason and its price."""
    history = playback.history
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
        "requests": playback.requests_with(one),
        "saved_usd": playback.saved_by(one),
        "rewrite_tokens": playback.rewritten(one.first) if one.first < len(history.requests) else 0,
        "chance": one.chance,
        "used_at": one.used_at,
        "used_words": one.used_words,
        "is_undoable": is_undoable,
    }


def sums_by_rule(playback: Playback) -> dict[str, dict[str, int]]:
    """How many strikes each rule made, and the tokens that they take out of every request."""
    rules: dict[str, dict[str, int]] = {}
    for one in playback.strikes:
        row = rules.setdefault(one.rule, {"count": 0, "tokens": 0})
        row["count"] += 1
        row["tokens"] += one.tokens_saved
    return rules
