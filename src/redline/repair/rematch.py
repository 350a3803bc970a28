"""Looks again whether every call finds its result, where results have changed places."""

from redline.formats.base import Format
from redline.repair.exchanges import Exchanges
from redline.repair.strategies import mend
from redline.repair.values import Draft, Strategy
from redline.values.pairs import pair_up

__all__ = ["rematched"]


def rematched(draft: Draft, format: Format, strategy: Strategy) -> Draft:
    """The exchange as it is, if all match; else repaired once more.

    Where calls or results without an id stand beside others with one, which of them match depends on their order.
    """
    items = [*draft.said, *draft.heard]
    pairs = pair_up([item.message for item in items], items_are_messages=format.items_are_messages)
    if not pairs.unanswered and not pairs.orphans:
        return draft
    exchanges = Exchanges(format)
    for item in items:
        exchanges.add(item, "drop")
    first, *others = [mend(exchange, format, strategy) for exchange in (*exchanges.closed, exchanges.current)]
    heard = [*first.heard, *(item for other in others for item in (*other.said, *other.heard))]
    changes = [change for again in (first, *others) for change in again.changes if change.index >= 0]
    return Draft(first.said, heard, [*draft.changes, *changes])
