"""What the page draws: the size of every request by kind, what is struck of it, and what the requests have cost by then."""

from collections import Counter as Tally
from itertools import accumulate
from typing import Any

from redline.inspection.playback import SYSTEM, Playback
from redline.inspector.session_answers import price_facts

__all__ = ["timeline"]

_FIRST_KINDS = (SYSTEM, "user", "assistant", "reasoning")
_MOST_TOOLS = 5
_OTHER = "other tools"
_MOST_POINTS = 2_000


def timeline(playback: Playback, points: int) -> dict[str, Any]:
    """As many requests as there is room to draw; a jump is never left out for one that is like its neighbours."""
    kinds = _kinds(playback)
    chosen = _chosen(playback, max(2, min(points, _MOST_POINTS)))
    price = playback.player.price
    unit = price.input / 1e6 if price is not None else 1.0
    spent = list(accumulate(charge.cost * unit for charge in playback.charges))
    without = list(accumulate(charge.cost * unit for charge in playback.player.unstruck_charges))
    name = "as sent" if not playback.is_hypothetical else playback.name
    facts = price_facts(playback)
    return {
        "requests": len(playback.recording.requests),
        "kinds": kinds,
        "points": [_point(playback, number, kinds, playback.charges[number].cost * unit) for number in chosen],
        "window_tokens": facts["window_tokens"] if facts is not None else None,
        "tiers": facts["tiers"] if facts is not None else [],
        "unit": "usd" if price is not None else "tokens",
        "costs": [
            {"name": "everything sent", "values": [without[number] for number in chosen]},
            {"name": name if not name.startswith("{") else "your policy", "values": [spent[number] for number in chosen]},
        ],
        "struck_total": round(sum(size.struck for size in playback.sizes)),
        "is_hypothetical": playback.is_hypothetical,
    }


def _kinds(playback: Playback) -> list[str]:
    """The kinds that are drawn: the speakers, the tools that gave most, and the others together."""
    tokens: Tally[str] = Tally()
    for size in playback.sizes:
        tokens.update(size.by_kind)
    tools = [kind for kind, _ in tokens.most_common() if kind not in _FIRST_KINDS]
    shown = [kind for kind in _FIRST_KINDS if kind in tokens] + tools[:_MOST_TOOLS]
    return [*shown, _OTHER] if len(tools) > _MOST_TOOLS else shown


def _chosen(playback: Playback, points: int) -> list[int]:
    """The requests that are drawn: the largest and the last of each stretch."""
    count = len(playback.sizes)
    if count <= points:
        return list(range(count))
    step = -(-2 * count // points)
    chosen: set[int] = {0, count - 1}
    for start in range(0, count, step):
        stretch = range(start, min(start + step, count))
        chosen |= {stretch[-1], max(stretch, key=lambda number: playback.sizes[number].sent)}
    return sorted(chosen)


def _point(playback: Playback, number: int, kinds: list[str], cost: float) -> dict[str, Any]:
    made, size = playback.recording.requests[number], playback.sizes[number]
    sums = dict.fromkeys(kinds, 0.0)
    for kind, tokens in size.by_kind.items():
        sums[kind if kind in sums else _OTHER] += tokens
    cold = playback.why_cold(number)
    return {
        "request": number,
        "time_ms": made.time_ms or None,
        "model": made.model,
        "end": made.end,
        "sizes": [round(sums[kind]) for kind in kinds],
        "struck": round(size.struck),
        "cost": cost,
        "read": round(playback.charges[number].read),
        "is_cold": bool(cold),
        "cold_because": cold,
        "compaction": made.is_new_view and number > 0,
    }
