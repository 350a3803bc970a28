"""The strategy `answer`: an unanswered call gets a result which says that it was interrupted."""

from redline.formats.base import Format
from redline.repair.exchange import Exchange
from redline.repair.ids import fresh_id
from redline.repair.strip import without_calls
from redline.repair.values import Change, Draft, Item, name_of
from redline.values.messages import Message, ToolCall
from redline.values.pairs import Spot
from redline.values.words import DOCUMENTS

__all__ = ["INTERRUPTED", "answer"]

INTERRUPTED = DOCUMENTS.interrupted
"""What an unanswered call is told."""


def answer(exchange: Exchange, format: Format) -> Draft:
    """All that was said stays. A call that no words can answer (a computer's, which wants a picture) is removed instead."""
    said = _identified(exchange, format)
    replies: list[Message] = []
    changes: list[Change] = []
    unanswerable: list[Spot] = []
    for spot in exchange.step.unanswered:
        reply = _reply(said[spot.message].message, spot.part, format)
        if reply is None:
            unanswerable.append(spot)
            continue
        replies.append(reply)
        asked = name_of(exchange.step.calls[spot])
        changes.append(Change(said[spot.message].index, f"{asked} was answered as interrupted: it had no result"))
    draft = _with_replies(Draft(said, exchange.heard, changes), replies, format)
    return without_calls(draft, unanswerable, format) if unanswerable else draft


def _identified(exchange: Exchange, format: Format) -> list[Item]:
    """What was said; a call without an id gets one, where its answer could not find it otherwise."""
    said, taken = list(exchange.said), {call.id for call in exchange.step.calls.values()}
    for spot in exchange.step.unanswered:
        item, call = said[spot.message], exchange.step.calls[spot]
        if call.id is None and not format.accepts_id(item.message, call):
            own = fresh_id(None, item.index, spot.part, taken)
            taken.add(own)
            said[spot.message] = Item(format.rename(item.message, {spot.part: own}), item.source)
    return said


def _reply(message: Message, place: int, format: Format) -> Message | None:
    call = message.parts[place]
    return format.answer(message, call, INTERRUPTED) if isinstance(call, ToolCall) else None


def _with_replies(draft: Draft, replies: list[Message], format: Format) -> Draft:
    """The replies behind the results that are there: in their message where it holds several, else in messages of their own."""
    heard, count = draft.heard, sum(1 for item in draft.heard if item.message.results)
    if not replies:
        return draft
    if format.blocks_field is None or count == 0:
        added = replies if format.blocks_field is None else [format.gather(replies[0], replies[1:])]
        return draft._replace(heard=[*heard[:count], *(Item(reply, None) for reply in added), *heard[count:]])
    last = heard[count - 1]
    fuller = Item(format.gather(last.message, replies), last.source)
    told = Change(last.index, "the answers to interrupted calls were added to its results")
    return Draft(draft.said, [*heard[: count - 1], fuller, *heard[count:]], [*draft.changes, told])
