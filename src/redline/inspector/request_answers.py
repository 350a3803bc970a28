"""What the page is told of requests: one of them exactly as it was sent, the strikes, and two side by side."""

from typing import Any

from redline.inspection.playback import Playback
from redline.inspection.request_diff import compare_sides, shown_diff, side_of_request
from redline.inspection.shown_requests import repairs_of, shown_request, shown_strike, sums_by_rule
from redline.inspector.opened import OpenedSession

__all__ = ["compare", "request", "strikes"]

_MOST_ROWS = 1_000


def request(session: OpenedSession, playback: Playback, number: int) -> dict[str, Any]:
    """One request in numbers, with what is visible in it and what is struck."""
    return shown_request(playback, number, session.log)


def strikes(playback: Playback, *, can_act: bool) -> dict[str, Any]:
    """Every strike with its reason and its price, and the sums by rule."""
    shown = [shown_strike(playback, one, is_undoable=can_act and one.end is None) for one in playback.strikes]
    return {"strikes": shown, "rules": sums_by_rule(playback)}


def compare(a: Playback, first: int, b: Playback, second: int, session: OpenedSession) -> dict[str, Any]:
    """Two requests, message by message; what is the same on both sides is folded."""
    left = side_of_request(a, first, repairs_of(a, first, session.log).repairs)
    right = side_of_request(b, second, repairs_of(b, second, session.log).repairs)
    found = shown_diff(compare_sides(left, right))
    rows, left_out = found["rows"][:_MOST_ROWS], max(len(found["rows"]) - _MOST_ROWS, 0)
    sides = {"a": request(session, a, first), "b": request(session, b, second)}
    return {**sides, **found, "rows": rows, "left_out": left_out}
