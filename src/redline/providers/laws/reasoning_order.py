"""Reasoning comes before what it led to, never alone; an item that is cut off from its reasoning loses the id that ties it."""

from collections.abc import Iterator, Sequence

from redline.providers.format import Format
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law
from redline.values.messages import Message, Reasoning


@law(
    anthropic="the final block in an assistant message cannot be thinking",
    openai_responses="a reasoning item must be followed by the item it led to, and no item comes without its reasoning",
)
def reasoning_order(history: History) -> Iterator[Broken]:
    """Reasoning comes before what it led to, never alone at the end; no item is tied to reasoning that is not there."""
    for index in _items_cut_off(history):
        if history.format.untied(history.messages[index]) is not history.messages[index]:
            yield Broken(index, None, "its id ties the item to reasoning that is not there")
    for index, message in enumerate(history.messages):
        if message.role != "assistant" or not ends_in_reasoning(message):
            continue
        following = history.messages[index + 1 : index + 2]
        if not history.format.items_are_messages or not following or following[0].role != "assistant":
            yield Broken(index, len(message.parts) - 1, "nothing follows the reasoning")


def ends_in_reasoning(message: Message) -> bool:
    """Whether reasoning is the last thing in the message."""
    return bool(message.parts) and isinstance(message.parts[-1], Reasoning)


def _items_cut_off(history: History) -> Iterator[int]:
    """The items whose reasoning is not before them: a cut may have taken it, or something was said in between."""
    if not history.format.items_are_messages:
        return
    yield from range(tied_length(history.messages, history.format))
    is_cut_off = was_reasoning = is_input = False
    for index, message in enumerate(history.messages):
        if message.role != "assistant":
            is_cut_off, was_reasoning, is_input = was_reasoning or (is_input and is_cut_off), False, True
            continue
        was_reasoning, is_input = ends_in_reasoning(message), False
        if was_reasoning:
            is_cut_off = False
        elif is_cut_off:
            yield index


def tied_length(messages: Sequence[Message], format: Format) -> int:
    """How many messages there are before the first input, or the first reasoning: a cut may have taken theirs away."""
    if not format.items_are_messages:
        return 0
    for index, message in enumerate(messages):
        if message.role not in ("assistant", "system") or ends_in_reasoning(message):
            return index
    return len(messages)


def without_lost_reasoning(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange without the ids by which its first items are tied to reasoning that came before it."""
    said = list(draft.said)
    changes: list[Change] = []
    for number, item in enumerate(said[: tied_length([item.message for item in said], format)]):
        if (message := format.untied(item.message)) is not item.message:
            said[number] = Item(message, item.source)
            changes.append(Change(item.index, "its id was removed: it ties the item to reasoning that is not there"))
    return draft.changed(changes, said=said) if changes else draft
