"""How many damaged histories come out legal, and how much of their content is still there: Redline and a peer."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redline
from bench.peers.inputs import DAMAGES, damaged_histories, marks_in
from bench.peers.peer import Message, Repair
from bench.peers.redline_side import REDLINE_REPAIRS, UNREPAIRED

__all__ = ["measure_repairs"]


def measure_repairs(repairs: Mapping[tuple[str, str], Repair], cases: int) -> list[dict[str, Any]]:
    """A row for each kind of damage, repair and format of what comes out."""
    ways = {**UNREPAIRED, **REDLINE_REPAIRS, **repairs}
    return [
        _row(damage, name, format, histories, repair)
        for damage in DAMAGES
        for histories in [list(damaged_histories(damage, cases))]
        for (name, format), repair in ways.items()
    ]


def _row(damage: str, name: str, format: str, histories: Sequence[list[Message]], repair: Repair) -> dict[str, Any]:
    legal, refused, whole, kept = 0, 0, 0, 0.0
    for history in histories:
        marks = marks_in(history)
        try:
            sent = _plain(repair(json.loads(json.dumps(history))))
        except Exception:  # what a peer cannot take, it refuses in its own way
            refused += 1
            continue
        share = len(marks & marks_in(sent)) / len(marks)
        is_legal = not redline.check(sent, format=format)
        legal, whole, kept = legal + is_legal, whole + (is_legal and share == 1), kept + share
    return {
        "damage": damage,
        "repair": name,
        "format": format,
        "cases": len(histories),
        "refused": refused,
        "legal": legal,
        "legal_and_whole": whole,
        "kept": kept / max(len(histories) - refused, 1),
    }


def _plain(value: list[Any]) -> list[Any]:
    """As it would be in JSON."""

    def dumped(one: Any) -> Any:
        dump: Callable[..., Any] = one.model_dump
        return dump(exclude_none=True)

    found: list[Any] = json.loads(json.dumps(value, default=dumped))
    return found
