"""The strategy `drop`: what the assistant said with an unanswered call goes whole, and the results it got."""

from redline.formats.base import Format
from redline.repair.exchange import Exchange
from redline.repair.values import Change, Draft, Item, name_of

__all__ = ["drop"]


def drop(exchange: Exchange, format: Format) -> Draft:
    """Nothing is left of the assistant's side, because half a message confuses the model; what else the user said stays."""
    reason = f"{name_of(exchange.step.calls[exchange.step.unanswered[0]])} was never answered"
    changes = [Change(item.index, f"dropped: {reason}") for item in exchange.said]
    heard: list[Item] = []
    for item in exchange.heard:
        results = item.message.results
        if not results:
            heard.append(item)
            continue
        changes.append(Change(item.index, f"its results were dropped with their calls: {reason}"))
        rest = format.remove(item.message, results)
        if rest is not None:
            heard.append(Item(rest, item.source))
    return Draft((), heard, changes)
