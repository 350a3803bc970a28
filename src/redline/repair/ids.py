"""Calls with an id that the provider refuses, or has seen before, get another, and their results the same."""

import re
from collections.abc import Collection, Iterator, Sequence, Set
from typing import NamedTuple

from redline.formats.base import Format
from redline.repair.values import Change, Draft, Item, name_of
from redline.values.messages import Message, ToolCall, ToolResult
from redline.values.pairs import Spot, Step, pair_up

__all__ = ["Numbered", "fresh_id", "with_good_ids"]

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_WHY = "the provider refuses its id, or another call has it"
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


def with_good_ids(draft: Draft, format: Format, taken: Set[str]) -> Numbered:
    """The exchange with every id well formed, and used by no other call in it and none of those taken."""
    calls = _calls(draft)
    if not calls:
        return Numbered(draft, ())
    ids = [call.id for _, call in calls if call.id is not None]
    known = set(ids)
    # The ids taken grow with the history and are only ever looked up, never gone through.
    are_unique = len(known) == len(ids) and not any(own in taken for own in known)
    if are_unique and all(format.accepts_id(*call) for call in calls) and _results_agree(draft, known, format):
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


def _results_agree(draft: Draft, ids: Set[str], format: Format) -> bool:
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
    taken: Set[str],
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
    changes = [
        Change(
            items[spot.message].index, f"{name_of(items[spot.message].message.parts[spot.part])} was renamed {own!r}: {_WHY}"
        )
        for spot, own in ids.items()
        if items[spot.message].source is not None
    ]
    after = [
        Item(format.rename(item.message, by_item[number]), item.source) if number in by_item else item
        for number, item in enumerate(items)
    ]
    count = len(draft.said)
    return Draft(after[:count], after[count:], [*draft.changes, *changes])
