"""The strategy `strip`: the words stay, and only the unanswered calls go."""

from collections.abc import Sequence

from redline.formats.base import Format
from redline.laws.reasoning_order import ends_in_reasoning
from redline.repair.exchange import Exchange
from redline.repair.values import Change, Draft, Item, name_of
from redline.values.messages import Message, Part, Reasoning, Text
from redline.values.pairs import Spot

__all__ = ["strip", "without_calls"]


def strip(exchange: Exchange, format: Format) -> Draft:
    """The calls without a result go, the reasoning that led to them, and the message if neither words nor a call are left."""
    return without_calls(Draft(exchange.said, exchange.heard, ()), exchange.step.unanswered, format)


def without_calls(draft: Draft, spots: Sequence[Spot], format: Format) -> Draft:
    """The same for the calls at these places in what was said."""
    gone: dict[int, set[int]] = {}
    for spot in spots:
        gone.setdefault(spot.message, set()).add(spot.part)
    changes = [_removed(draft.said[spot.message], spot) for spot in spots]
    said: list[Item] = []
    for number, item in enumerate(draft.said):
        rest = _stripped(item.message, gone[number], format) if number in gone else item.message
        if rest is not None:
            said.append(Item(rest, item.source) if number in gone else item)
        elif len(item.message.parts) > len(gone[number]):
            changes.append(Change(item.index, "dropped: neither words nor a call are left in it"))
    while format.items_are_messages and said and ends_in_reasoning(said[-1].message):
        changes.append(Change(said.pop().index, "dropped: the call that the reasoning led to is gone"))
    return Draft(said, draft.heard, [*draft.changes, *changes])


def _removed(item: Item, spot: Spot) -> Change:
    return Change(item.index, f"{name_of(item.message.parts[spot.part])} was removed: it was never answered")


def _stripped(message: Message, places: set[int], format: Format) -> Message | None:
    kept = [part for place, part in enumerate(message.parts) if place not in places]
    while kept and isinstance(kept[-1], Reasoning):
        kept.pop()
    if not any(_says_something(part) for part in kept):
        return None
    left = {part.at for part in kept}
    return format.remove(message, [part for part in message.parts if part.at not in left])


def _says_something(part: Part) -> bool:
    if isinstance(part, Text):
        return bool(part.text.strip())
    return not isinstance(part, Reasoning)
