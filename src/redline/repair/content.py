"""Takes out of messages what their provider refuses to see there, and the whole message if nothing is left."""

from collections.abc import Sequence

from redline.formats.base import Format
from redline.laws.parts_by_role import PartsByRole, is_misplaced
from redline.laws.present_content import may_end_empty
from redline.laws.reasoning_order import ReasoningOrder, ends_in_reasoning
from redline.laws.trailing_space import TrailingSpace, ends_in_space
from redline.repair.values import Change, Draft, Item
from redline.values.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult

__all__ = ["Content"]


class Content:
    """Empty messages, blank texts, reasoning that nothing follows, calls of the user: they go, and nothing is invented."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._refuses_last_space = format.name in TrailingSpace.rules
        orders_reasoning = format.name in ReasoningOrder.rules
        self._orders_reasoning_in_messages = orders_reasoning and not format.items_are_messages
        self._orders_thoughts = orders_reasoning and format.items_are_messages
        blank = {Text} if format.refuses_blank_text else set[type]()
        misplaced = {Reasoning, ToolCall, ToolResult} if format.name in PartsByRole.rules else set[type]()
        self._suspects, self._suspects_elsewhere = blank, blank | misplaced

    def without_refused(self, draft: Draft, *, is_end: bool, has_begun: bool = True) -> Draft:
        """The exchange as the provider takes it. At the end of a history, if somebody spoke before, an answer may be left
        empty, to be written."""
        if is_end and has_begun and not draft.heard and draft.said and may_end_empty(draft.said[-1].message, self._format):
            return draft
        changes: list[Change] = []
        said, heard = self._presentable(draft.said, changes), self._presentable(draft.heard, changes)
        if is_end and self._refuses_last_space and said and not heard:
            said = self._without_last_space(said, changes)
        if self._orders_thoughts:
            said = _without_last_thoughts(said, changes)
        return Draft(said, heard, [*draft.changes, *changes]) if changes else draft

    def _without_last_space(self, said: Sequence[Item], changes: list[Change]) -> Sequence[Item]:
        """An answer that the caller begins, without the white space it ends in."""
        item = said[-1]
        trimmed: Message | None = item.message
        while trimmed is not None and ends_in_space(trimmed):
            last = trimmed.parts[-1]
            words = last.text.rstrip() if isinstance(last, Text) else ""
            trimmed = self._format.rewrite(trimmed, last, words) if words else self._format.remove(trimmed, [last])
        if trimmed is item.message:
            return said
        changes.append(Change(item.index, "the white space at its end was removed"))
        kept = [*said[:-1], Item(trimmed, item.source)] if trimmed is not None else said[:-1]
        return self._presentable(kept, changes)

    def _presentable(self, items: Sequence[Item], changes: list[Change]) -> Sequence[Item]:
        for item in items:
            if self._refused(item.message) is not None:
                break
        else:
            return items
        kept: list[Item] = []
        for item in items:
            parts = self._refused(item.message)
            rest = item.message if parts is None else self._format.remove(item.message, parts)
            if rest is not None:
                kept.append(Item(rest, item.source) if parts else item)
            if parts is not None:
                deed = "removed from it" if rest is not None else "dropped"
                changes.append(Change(item.index, f"{deed}: {_reasons(parts, item.message.role)}"))
        return kept

    def _refused(self, message: Message) -> Sequence[Part] | None:
        """The parts that must go, all of them if the message says nothing; None if it stays as it is."""
        parts, role = message.parts, message.role
        if not parts:
            return None if self._format.says_something(message) else ()
        suspects = self._suspects if role == "assistant" else self._suspects_elsewhere
        refused = [part for part in parts if type(part) in suspects and self._is_refused(part, role)]
        if not refused and type(parts[-1]) is not Reasoning and not _is_blank(parts[0]):
            return None
        places = {part.at for part in refused}
        kept = [part for part in parts if part.at not in places]
        while kept and type(kept[-1]) is Reasoning and role == "assistant" and self._orders_reasoning_in_messages:
            refused.append(kept.pop())
        if self._format.refuses_blank_text and all(_is_blank(part) for part in kept):
            refused += kept
        return refused or None

    def _is_refused(self, part: Part, role: Role) -> bool:
        return not part.text if type(part) is Text else is_misplaced(part, role)


def _without_last_thoughts(said: Sequence[Item], changes: list[Change]) -> Sequence[Item]:
    """Where each thought is a message: those that nothing of the assistant's follows go."""
    kept = len(said)
    while kept and ends_in_reasoning(said[kept - 1].message):
        kept -= 1
    changes += [Change(item.index, "dropped: nothing follows the reasoning") for item in said[kept:]]
    return said[:kept]


def _is_blank(part: Part) -> bool:
    return type(part) is Text and (not part.text or part.text.isspace())


def _reasons(parts: Sequence[Part], role: Role) -> str:
    return "; ".join(dict.fromkeys(_reason(part, role) for part in parts)) or "it is empty"


def _reason(part: Part, role: Role) -> str:
    if isinstance(part, Text):
        return "a blank text"
    if isinstance(part, Reasoning) and role == "assistant":
        return "reasoning that nothing follows"
    return f"a {type(part).__name__} that is not for the {role} to say"
