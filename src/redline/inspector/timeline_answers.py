"""What the page draws: the size of every request by kind, what is struck of it, and what the requests have cost by then."""

from collections import Counter as Tally
from itertools import accumulate, pairwise
from typing import Any

from redline.inspection.playback import SYSTEM, Playback
from redline.inspector.session_answers import price_facts

__all__ = ["timeline"]

_FIRST_KINDS = (SYSTEM, "user", "assistant", "reasoning")
_MOST_TOOLS = 5
_OTHER = "other tools"
_MOST_POINTS = 2_000


def timeline(playback: Playback, points: int) -> dict[str, Any]:
    """As many requests as there is room to draw; one with a mark is never left out for one without."""
    kinds = _kinds(playback)
    chosen = _chosen(playback, max(2, min(points, _MOST_POINTS)))
    price = playback.player.price
    unit = price.input / 1e6 if price is not None else 1.0
    spent = list(accumulate(charge.cost * unit for charge in playback.charges))
    without = list(accumulate(charge.cost * unit for charge in playback.player.unstruck.charges))
    name = "as sent" if not playback.is_hypothetical else playback.name
    facts = price_facts(playback)
    return {
        "requests": len(playback.history.requests),
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
    """The requests that are drawn: the first and the last, those with a mark, and with the room that is left the largest and
    the last of each stretch. Of more marks than there is room for, the most important stay, and of those the dearest."""
    count = len(playback.sizes)
    if count <= points:
        return list(range(count))
    chosen: set[int] = {0, count - 1}
    for marked in _marked(playback):
        dearest_first = sorted(set(marked) - chosen, key=lambda number: -playback.charges[number].cost)
        chosen.update(dearest_first[: points - len(chosen)])
    pairs = (points - len(chosen)) // 2
    step = -(-count // pairs) if pairs else count
    for start in range(0, count, step) if pairs else ():
        stretch = range(start, min(start + step, count))
        chosen |= {stretch[-1], max(stretch, key=lambda number: playback.sizes[number].sent)}
    return sorted(chosen)


def _marked(playback: Playback) -> tuple[list[int], ...]:
    """Requests that a reader looks for, the most important kind first: those after a compaction, those before one, so that the
    drop is drawn, those to another model, and cold ones."""
    requests = playback.history.requests
    compacted = [number for number, made in enumerate(requests) if made.is_new_view and number > 0]
    moved = [number for number, (one, after) in enumerate(pairwise(requests), 1) if one.model != after.model]
    cold = [number for number in range(len(requests)) if playback.why_cold(number)]
    return compacted, [number - 1 for number in compacted], moved, cold


def _point(playback: Playback, number: int, kinds: list[str], cost: float) -> dict[str, Any]:
    made, size = playback.history.requests[number], playback.sizes[number]
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
