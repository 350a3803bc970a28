"""What takes longer to work out of a session under a policy: sizes, money, problems, tools."""

import dataclasses
from typing import Any

import msgspec

from redline.inspection.playback import Playback
from redline.inspection.session_facts import problems_in, tools_in
from redline.replay.paid import PaidSession

__all__ = ["NOT_YET", "numbers_of"]

NOT_YET: dict[str, Any] = {
    "tokens": {"sent": None, "struck": None, "by_kind": {}},
    **dict.fromkeys(("cost_usd", "reported_input_usd", "input_cost_usd", "cost_usd_without", "saved_usd", "missing_tokens")),
    "is_would": True,
    "problems": [],
    "tools": [],
}
"""Said until the numbers are known."""


def numbers_of(playback: Playback, whole: PaidSession | None = None) -> dict[str, Any]:
    """What takes longer to work out; once for a session and a policy. `whole`: what a log has cost with all its branches."""
    last = playback.sizes[-1] if playback.sizes else None
    player, paid = playback.player, whole or playback.paid
    saved = paid.saved_usd if paid is not None and not playback.is_hypothetical else playback.saved_usd
    return {
        "tokens": {
            "sent": round(last.sent) if last is not None else 0,
            "struck": round(last.struck) if last is not None else 0,
            "by_kind": {kind: round(tokens) for kind, tokens in last.by_kind.items()} if last is not None else {},
        },
        "cost_usd": paid.usd if paid is not None else None,
        "reported_input_usd": paid.input_usd if paid is not None else None,
        "input_cost_usd": player.usd(sum(charge.cost for charge in playback.charges)),
        "cost_usd_without": player.usd(player.unstruck.cost),
        "saved_usd": saved,
        "is_would": playback.is_would,
        "missing_tokens": round(player.sizes.missing),
        "problems": [dataclasses.asdict(problem) for problem in problems_in(playback.history)],
        "tools": [msgspec.structs.asdict(tool) for tool in tools_in(playback.player)],
    }
