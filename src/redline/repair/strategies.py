"""What becomes of an exchange in which a call got no result: it is dropped, or the call is answered or stripped."""

from collections.abc import Callable, Iterable, Sequence

from redline.errors import ValidationError
from redline.formats.base import Format
from redline.laws.hosted_results import stray_hosted_results
from redline.laws.reasoning_order import ends_in_reasoning
from redline.repair.changes import Change, ExchangeDraft, Item, Strategy, name_of
from redline.repair.exchanges import Exchanges, MessageExchange
from redline.repair.ids import fresh_id
from redline.values.messages import Message, Reasoning, Text, ToolCall
from redline.values.pairs import Spot, pair_up
from redline.values.words import DOCUMENTS

__all__ = [
    "INTERRUPTED",
    "STRATEGIES",
    "answer",
    "apply_strategy",
    "check_strategy",
    "drop",
    "match_again",
    "strip",
    "with_calls_answered",
]

INTERRUPTED = DOCUMENTS.interrupted
"""What an unanswered call is told."""


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that there is not."""
    if strategy not in STRATEGIES:
        raise ValidationError(f"There is no strategy named {strategy!r}. Known are: {', '.join(STRATEGIES)}.")


def apply_strategy(exchange: MessageExchange, format: Format, strategy: Strategy) -> ExchangeDraft:
    """The exchange with every call answered; as it is if that holds already."""
    if exchange.step.is_answered:
        return ExchangeDraft(exchange.said, exchange.heard, exchange.changes)
    # Results for what the provider ran in the message before would be missed: not the whole message is dropped then.
    if strategy == "drop" and any(stray_hosted_results(item.message, ()) for item in exchange.said):
        strategy = "strip"
    return STRATEGIES[strategy](exchange, format)


def with_calls_answered(items: Iterable[Item], format: Format, strategy: Strategy) -> list[ExchangeDraft]:
    """The exchanges of these messages, each with every call answered and no result that nobody asked for; nothing is moved."""
    exchanges = Exchanges(format)
    for item in items:
        exchanges.add(item, "drop")
    return [apply_strategy(exchange, format, strategy) for exchange in (*exchanges.closed, exchanges.current)]


def match_again(draft: ExchangeDraft, format: Format, strategy: Strategy) -> ExchangeDraft:
    """An exchange in which results have changed places, repaired once more if not every call finds its result now.

    Where some calls or results have an id and others have none, which of them match depends on their order.
    """
    items = [*draft.said, *draft.heard]
    pairs = pair_up([item.message for item in items], items_are_messages=format.items_are_messages)
    if not pairs.unanswered and not pairs.orphans:
        return draft
    first, *others = with_calls_answered(items, format, strategy)
    heard = [*first.heard, *(item for other in others for item in (*other.said, *other.heard))]
    changes = [change for again in (first, *others) for change in again.changes if change.index >= 0]
    return draft.changed(changes, said=first.said, heard=heard)


def drop(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """What the assistant said goes whole, with the results it got, because half a message confuses the model; what else the
    user said stays."""
    spot = exchange.unanswered[0]
    reason = f"{name_of(exchange.said[spot.message].message.parts[spot.part])} was never answered"
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
    return ExchangeDraft((), heard, [*exchange.changes, *changes])


def strip(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """The calls without a result go, the reasoning that led to them, and the message if neither words nor a call are left."""
    return _without_calls(ExchangeDraft(exchange.said, exchange.heard, exchange.changes), exchange.unanswered, format)


def answer(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """All that was said stays, and each open call gets a result which says that it was interrupted.

    A call that no words can answer (a computer's, which wants a picture) is stripped.
    """
    said, taken = list(exchange.said), {call.id for call in exchange.step.calls.values()}
    for spot in exchange.unanswered:  # without an id, an answer may not find its call
        item = said[spot.message]
        call = item.message.parts[spot.part]
        if isinstance(call, ToolCall) and call.id is None and not format.accepts_id(item.message, call):
            own = fresh_id(None, item.index, spot.part, taken)
            taken.add(own)
            said[spot.message] = Item(format.rename(item.message, {spot.part: own}), item.source)
    replies: list[Message] = []
    changes: list[Change] = []
    unanswerable: list[Spot] = []
    for spot in exchange.unanswered:
        item = said[spot.message]
        call = item.message.parts[spot.part]
        reply = format.answer(item.message, call, INTERRUPTED) if isinstance(call, ToolCall) else None
        if reply is None:
            unanswerable.append(spot)
            continue
        replies.append(reply)
        asked = name_of(exchange.said[spot.message].message.parts[spot.part])
        changes.append(Change(item.index, f"{asked} was answered as interrupted: it had no result"))
    draft = ExchangeDraft(said, exchange.heard, [*exchange.changes, *changes])
    if replies:
        draft = _with_replies(draft, replies, format)
    return _without_calls(draft, unanswerable, format) if unanswerable else draft


STRATEGIES: dict[Strategy, Callable[[MessageExchange, Format], ExchangeDraft]] = {
    "drop": drop,
    "answer": answer,
    "strip": strip,
}


def _with_replies(draft: ExchangeDraft, replies: Sequence[Message], format: Format) -> ExchangeDraft:
    """The replies after the results that are there: in their message where it holds several, else in messages of their own."""
    heard, count = draft.heard, sum(1 for item in draft.heard if item.message.results)
    if format.blocks_field is None or count == 0:
        added = replies if format.blocks_field is None else [format.gather(replies[0], replies[1:])]
        return draft.changed((), heard=[*heard[:count], *(Item(reply, None) for reply in added), *heard[count:]])
    last = heard[count - 1]
    fuller = Item(format.gather(last.message, replies), last.source)
    told = Change(last.index, "the answers to interrupted calls were added to its results")
    return draft.changed([told], heard=[*heard[: count - 1], fuller, *heard[count:]])


def _without_calls(draft: ExchangeDraft, spots: Sequence[Spot], format: Format) -> ExchangeDraft:
    """The exchange without the calls at these places in what was said, and without the reasoning that led to them."""
    gone: dict[int, set[int]] = {}
    changes: list[Change] = []
    for spot in spots:
        item = draft.said[spot.message]
        gone.setdefault(spot.message, set()).add(spot.part)
        changes.append(Change(item.index, f"{name_of(item.message.parts[spot.part])} was removed: it was never answered"))
    said: list[Item] = []
    for number, item in enumerate(draft.said):
        if number not in gone:
            said.append(item)
            continue
        rest = _stripped(item.message, gone[number], format)
        if rest is not None:
            said.append(Item(rest, item.source))
        elif len(item.message.parts) > len(gone[number]):
            changes.append(Change(item.index, "dropped: neither words nor a call are left in it"))
    while format.items_are_messages and said and ends_in_reasoning(said[-1].message):
        changes.append(Change(said.pop().index, "dropped: the call that the reasoning led to is gone"))
    return draft.changed(changes, said=said)


def _stripped(message: Message, places: set[int], format: Format) -> Message | None:
    """The message without the parts at these places and the reasoning that nothing follows then; None if nothing is said."""
    kept = [part for place, part in enumerate(message.parts) if place not in places]
    while kept and isinstance(kept[-1], Reasoning):
        kept.pop()
    if not any(part.text.strip() if isinstance(part, Text) else not isinstance(part, Reasoning) for part in kept):
        return None
    left = {part.at for part in kept}
    return format.remove(message, [part for part in message.parts if part.at not in left])
