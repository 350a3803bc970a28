"""Calls with an id that the provider refuses, or has seen before, get another, and their results the same."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from redline.formats.base import Format
from redline.messages import Message, ToolCall, ToolResult
from redline.pairs import Spot, Step, pair_up
from redline.view.repair.values import Change, Draft, Item

__all__ = ["Numbered", "fresh_id", "with_good_ids"]

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_KEPT_CHARACTERS = 24
"""Of the old id, so that the new one stays below the 40 characters that OpenAI takes."""


class Numbered(NamedTuple):
    """An exchange with good ids, and those of its calls."""

    draft: Draft
    ids: Sequence[str]


def fresh_id(old: str | None, index: int, place: int, *taken: Collection[str | None]) -> str:
    """An id made from where the call stands: the same whenever the same history is repaired."""
    stem = _REFUSED.sub("_", old or "")[:_KEPT_CHARACTERS] or "call"
    fresh = f"{stem}_{index}_{place}"
    while any(fresh in ids for ids in taken):
        fresh += "_"
    return fresh


def with_good_ids(draft: Draft, format: Format, taken: Collection[str]) -> Numbered:
    """The exchange with every id well formed, and used by no other call in it and none of those taken."""
    calls = _calls(draft)
    if not calls:
        return Numbered(draft, ())
    ids = [call.id for _, call in calls if call.id is not None]
    if _are_good(calls, format, taken) and _results_agree(draft, ids, format):
        return Numbered(draft, ids)
    items = [*draft.said, *draft.heard]
    (step,) = pair_up([item.message for item in items], items_are_messages=format.items_are_messages).steps
    after = _renamed(draft, items, dict(_new_ids(items, step, format, taken)), format)
    return Numbered(after, [call.id for _, call in _calls(after) if call.id is not None])


def _calls(draft: Draft) -> list[tuple[Message, ToolCall]]:
    return [
        (item.message, part)
        for item in draft.said
        for part in item.message.parts
        if type(part) is ToolCall and not part.is_hosted
    ]


def _are_good(calls: list[tuple[Message, ToolCall]], format: Format, taken: Collection[str]) -> bool:
    seen: set[str] = set()
    for message, call in calls:
        if call.id in taken or call.id in seen or not format.accepts_id(message, call):
            return False
        if call.id is not None:
            seen.add(call.id)
    return True


def _results_agree(draft: Draft, ids: list[str], format: Format) -> bool:
    """Whether every result has the id of a call, or none and may do without."""
    for item in draft.heard:
        for part in item.message.parts:
            if type(part) is not ToolResult or part.is_hosted or part.call_id in ids:
                continue
            if not format.accepts_id(item.message, part):
                return False
    return True


def _new_ids(
    items: list[Item],
    step: Step,
    format: Format,
    taken: Collection[str],
) -> Iterator[tuple[Spot, str]]:
    """For each call and result that needs another id, that id."""
    present = {call.id for call in step.calls.values()}
    used: set[str | None] = set()
    for spot, call in step.calls.items():
        item, own = items[spot.message], call.id
        is_used = own is not None and (own in used or own in taken)
        if is_used or not format.accepts_id(item.message, call):
            own = fresh_id(own, item.index, spot.part, taken, used, present)
            yield spot, own
        used.add(own)
        answer = step.answers[spot]
        if own is not None and _needs(own, answer, items[answer.message], format):
            yield answer, own


def _needs(own: str, answer: Spot, item: Item, format: Format) -> bool:
    """Whether a result must be given the id of its call; one that is matched by name may do without."""
    result = item.message.parts[answer.part]
    if not isinstance(result, ToolResult) or result.call_id == own:
        return False
    return result.call_id is not None or not format.accepts_id(item.message, result)


def _renamed(draft: Draft, items: list[Item], ids: dict[Spot, str], format: Format) -> Draft:
    by_item: dict[int, dict[int, str]] = {}
    for spot, own in ids.items():
        by_item.setdefault(spot.message, {})[spot.part] = own
    changes = [_renamed_change(items[spot.message], spot, own) for spot, own in ids.items()]
    after = [
        Item(format.rename(item.message, by_item[number]), item.source) if number in by_item else item
        for number, item in enumerate(items)
    ]
    count = len(draft.said)
    return Draft(after[:count], after[count:], [*draft.changes, *changes])


def _renamed_change(item: Item, spot: Spot, own: str) -> Change:
    part = item.message.parts[spot.part]
    old = part.id if isinstance(part, ToolCall) else getattr(part, "call_id", None)
    return Change(item.index, f"the id {old!r} became {own!r}: the provider refuses it, or another call has it")
