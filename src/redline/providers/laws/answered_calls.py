"""Every tool call is answered directly after the message that makes it; a call that is not is dropped, answered or stripped."""

from collections.abc import Callable, Iterator, Sequence

from redline.errors import ValidationError
from redline.providers.format import Format
from redline.providers.laws.call_ids import fresh_id
from redline.providers.laws.hosted_results import stray_hosted_results
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, MessageExchange, Strategy, law, name_of
from redline.providers.laws.reasoning_order import ends_in_reasoning
from redline.values.messages import Message, Reasoning, Text, ToolCall, ToolResult
from redline.values.pairs import Spot
from redline.values.words import ZH

INTERRUPTED = ZH.interrupted
"""What an unanswered call is told."""


@law(
    anthropic="each tool_use block must have a tool_result block in the next message",
    openai_chat="an assistant message with tool_calls must be followed by tool messages for each tool_call_id",
    openai_responses="each function_call must have its function_call_output",
    gemini="a turn of functionCall parts is followed by a turn with their functionResponse parts",
    ai_sdk="each tool-call must have a tool-result in the tool message after it",
)
def answered_calls(history: History) -> Iterator[Broken]:
    """Every tool call is answered directly after the message that makes it."""
    for step in history.pairs.steps:
        for spot in step.unanswered:
            call = step.calls[spot]
            found = f"the call {call.id or call.name!r} of {call.name} has no result after it"
            yield Broken(spot.message, spot.part, found)


@law(
    anthropic="each tool_result must have a corresponding tool_use in the previous message",
    openai_chat="messages with role tool must be a response to a preceding message with tool_calls",
    openai_responses="each function_call_output must belong to a function_call",
    gemini="functionResponse parts may only follow the functionCall parts they answer",
    ai_sdk="each tool-result must have its tool-call in the assistant message before it",
)
def requested_results(history: History) -> Iterator[Broken]:
    """Every tool result answers a call directly before it, and no call is answered twice (`redline.repair.legalizer`)."""
    for spot in history.pairs.orphans:
        result = history.messages[spot.message].parts[spot.part]
        named = (result.call_id or result.name) if isinstance(result, ToolResult) else None
        yield Broken(spot.message, spot.part, f"the result for {named!r} answers no open call")


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that does not exist."""
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


def drop(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """What the assistant said goes whole, with the results it got, because half a message confuses the model; what else the
    user said stays."""
    spot = exchange.unanswered[0]
    reason = f"{name_of(exchange.said[spot.message].message.parts[spot.part])} was never answered"
    changes = [Change(item.index, f"dropped: {reason}") for item in exchange.said]
    heard: list[Item] = []
    for item in exchange.heard:
        if not (results := item.message.results):
            heard.append(item)
            continue
        changes.append(Change(item.index, f"its results were dropped with their calls: {reason}"))
        heard += item.without(results, format)
    return ExchangeDraft((), heard, [*exchange.changes, *changes])


def strip(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """The calls without a result go, the reasoning that led to them, and the message if neither words nor a call are left."""
    return _without_calls(ExchangeDraft(exchange.said, exchange.heard, exchange.changes), exchange.unanswered, format)


def answer(exchange: MessageExchange, format: Format) -> ExchangeDraft:
    """All that was said stays; an open call is answered as interrupted, or stripped if no words answer it (a computer's)."""
    said, taken = list(exchange.said), {call.id for call in exchange.step.calls.values()}
    replies: list[Message] = []
    changes: list[Change] = []
    unanswerable: list[Spot] = []
    for spot in exchange.unanswered:
        item = said[spot.message]
        call = item.message.parts[spot.part]
        asked = name_of(call)
        if isinstance(call, ToolCall) and call.id is None and not format.accepts_id(item.message, call):
            own = fresh_id(None, item.index, spot.part, taken)  # without an id, an answer may not find its call
            taken.add(own)
            item = said[spot.message] = Item(format.rename(item.message, {spot.part: own}), item.source)
            call = item.message.parts[spot.part]
        reply = format.answer(item.message, call, INTERRUPTED) if isinstance(call, ToolCall) else None
        if reply is None:
            unanswerable.append(spot)
            continue
        replies.append(reply)
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
        parts, places = item.message.parts, gone.get(number)
        if places is None:
            said.append(item)
            continue
        kept = [part for place, part in enumerate(parts) if place not in places]
        while kept and isinstance(kept[-1], Reasoning):
            kept.pop()
        if any(part.text.strip() if isinstance(part, Text) else not isinstance(part, Reasoning) for part in kept):
            left = {part.at for part in kept}
            said += item.without([part for part in parts if part.at not in left], format)
        elif len(parts) > len(places):
            changes.append(Change(item.index, "dropped: neither words nor a call are left in it"))
    while format.items_are_messages and said and ends_in_reasoning(said[-1].message):
        changes.append(Change(said.pop().index, "dropped: the call that the reasoning led to is gone"))
    return draft.changed(changes, said=said)
