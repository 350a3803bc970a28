"""Reasoning comes before what it led to, never alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from redline.formats.base import Format
from redline.laws.law import Broken, History
from redline.values.messages import Message, Reasoning

__all__ = ["ReasoningOrder", "ends_in_reasoning", "tied_length"]


class ReasoningOrder:
    """Reasoning comes before what it led to, never alone at the end."""

    name: ClassVar[str] = "reasoning_order"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the final block in an assistant message cannot be thinking",
        "openai_responses": "a reasoning item must be followed by the item it led to, and no item comes without its reasoning",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Reasoning that nothing of the assistant's follows, and items that are tied to what came before it, or was cut off."""
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
