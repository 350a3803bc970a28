"""What takes longer to work out of a session under a policy: sizes, money, problems, tools."""

import dataclasses
from typing import Any

import msgspec

from redline.inspection.playback import Playback
from redline.inspection.session_facts import problems_in, tools_in

__all__ = ["NOT_YET", "numbers_of"]

NOT_YET: dict[str, Any] = {
    "tokens": {"sent": None, "struck": None, "by_kind": {}},
    **dict.fromkeys(("cost_usd", "input_cost_usd", "cost_usd_without")),
    "problems": [],
    "tools": [],
}
"""Said until the numbers are known."""


def numbers_of(playback: Playback) -> dict[str, Any]:
    """What takes longer to work out; once for a session and a policy."""
    last = playback.sizes[-1] if playback.sizes else None
    paid = [one for number in range(len(playback.recording.requests)) if (one := playback.paid(number)) is not None]
    return {
        "tokens": {
            "sent": round(last.sent) if last is not None else 0,
            "struck": round(last.struck) if last is not None else 0,
            "by_kind": {kind: round(tokens) for kind, tokens in last.by_kind.items()} if last is not None else {},
        },
        "cost_usd": sum(paid) if paid else None,
        "input_cost_usd": _dollars(playback, sum(charge.cost for charge in playback.charges)),
        "cost_usd_without": _dollars(playback, sum(charge.cost for charge in playback.player.unstruck_charges)),
        "problems": [dataclasses.asdict(problem) for problem in problems_in(playback.recording)],
        "tools": [msgspec.structs.asdict(tool) for tool in tools_in(playback.player)],
    }


def _dollars(playback: Playback, cost: float) -> float | None:
    price = playback.player.price
    return cost * price.input / 1e6 if price is not None else None
