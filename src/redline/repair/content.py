"""Takes out of messages what their provider refuses to see there, and the whole message if nothing is left."""

from collections.abc import Collection, Sequence

from redline.formats.base import Format
from redline.laws.hosted_results import HostedResults, open_hosted_calls, stray_hosted_results
from redline.laws.parts_by_role import PartsByRole, is_misplaced
from redline.laws.present_content import is_blank, may_end_empty
from redline.laws.reasoning_order import ReasoningOrder, ends_in_reasoning, tied_length
from redline.laws.trailing_space import TrailingSpace, ends_in_space
from redline.repair.changes import Change, ExchangeDraft, Item
from redline.values.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult

__all__ = [
    "with_system_in_place",
    "without_interrupted_hosted_calls",
    "without_lost_reasoning",
    "without_refused_content",
]


def without_interrupted_hosted_calls(
    draft: ExchangeDraft, format: Format, *, pending: Collection[str | None], resolved: Collection[str | None] | None
) -> ExchangeDraft:
    """What was said, with a result for each call that the provider runs itself, and a call for each such result.

    Of the message before, those pending are still open. Those resolved have their result in the next message; None: nothing was
    said since, so that the provider may still go on with them.
    """
    if format.name not in HostedResults.rules:
        return draft
    changes: list[Change] = []
    said: list[Item] = []
    for item in draft.said:
        places = stray_hosted_results(item.message, pending)
        if resolved is not None:
            places += [place for place, own in open_hosted_calls(item.message).items() if own not in resolved]
        if not places:
            said.append(item)
            continue
        changes.append(Change(item.index, "what the provider itself ran was removed from it: it was interrupted"))
        rest = format.remove(item.message, [item.message.parts[place] for place in places])
        if rest is not None:
            said.append(Item(rest, item.source))
    return draft.changed(changes, said=said) if changes else draft


def without_refused_content(draft: ExchangeDraft, format: Format, *, is_end: bool, has_begun: bool = True) -> ExchangeDraft:
    """The exchange without empty messages, blank texts, reasoning that nothing follows, calls of the user; nothing is invented.

    At the end of a history, if somebody spoke before, an answer may be left empty, to be written.
    """
    if is_end and has_begun and not draft.heard and draft.said and may_end_empty(draft.said[-1].message, format):
        return draft
    changes: list[Change] = []
    said, heard = _without_refused_parts(draft.said, format, changes), _without_refused_parts(draft.heard, format, changes)
    if is_end and said and not heard and format.name in TrailingSpace.rules:
        said = _without_last_space(said, format, changes)
    kept = len(said)
    if format.items_are_messages and format.name in ReasoningOrder.rules:
        while kept and ends_in_reasoning(said[kept - 1].message):
            kept -= 1
        changes += [Change(item.index, "dropped: nothing follows the reasoning") for item in said[kept:]]
    after = draft._replace(has_lost_reasoning=kept < len(said))
    return after.changed(changes, said=said[:kept], heard=heard) if changes else draft


def without_lost_reasoning(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange without the ids by which its first items are tied to reasoning that came before it."""
    said = list(draft.said)
    changes: list[Change] = []
    for number, item in enumerate(said[: tied_length([item.message for item in said], format)]):
        if (message := format.untied(item.message)) is not item.message:
            said[number] = Item(message, item.source)
            changes.append(Change(item.index, "its id was removed: it ties the item to reasoning that is not there"))
    return draft.changed(changes, said=said) if changes else draft


def with_system_in_place(draft: ExchangeDraft, format: Format, *, has_begun: bool) -> ExchangeDraft:
    """The exchange in which the user says what the system says where it cannot."""
    if all(item.message.role != "system" for item in draft.heard):
        return draft
    heard: list[Item] = []
    changes: list[Change] = []
    for item in draft.heard:
        if not format.is_apart(item.message, has_begun=has_begun or bool(draft.said)):
            heard.append(item)
            continue
        changes.append(Change(item.index, "given to the user: the system does not speak there"))
        message = format.as_user(item.message)
        if message is not None:
            heard.append(Item(message, item.source))
    return draft.changed(changes, heard=heard)


def _without_refused_parts(items: Sequence[Item], format: Format, changes: list[Change]) -> Sequence[Item]:
    if all(_refused_parts(item.message, format) is None for item in items):
        return items
    kept: list[Item] = []
    for item in items:
        parts = _refused_parts(item.message, format)
        if parts is None:
            kept.append(item)
            continue
        rest = format.remove(item.message, parts)
        if rest is not None:
            kept.append(Item(rest, item.source) if parts else item)
        why = "; ".join(dict.fromkeys(_why_refused(part, item.message.role) for part in parts)) or "it is empty"
        changes.append(Change(item.index, f"{'removed from it' if rest is not None else 'dropped'}: {why}"))
    return kept


def _refused_parts(message: Message, format: Format) -> Sequence[Part] | None:
    """The parts that must go, all of them if the message says nothing; None if it stays as it is."""
    parts, role = message.parts, message.role
    if not parts:
        return None if format.says_something(message) else ()
    refuses_blank, checks_roles = format.refuses_blank_text, role != "assistant" and format.name in PartsByRole.rules
    refused: list[Part] = []
    for part in parts:
        if type(part) is Text:
            if refuses_blank and is_blank(part):
                refused.append(part)
        elif checks_roles and type(part) in _OF_ONE_SIDE and is_misplaced(part, role):
            refused.append(part)
    if not refused and type(parts[-1]) is not Reasoning:
        return None
    places = {part.at for part in refused}
    kept = [part for part in parts if part.at not in places]
    if role == "assistant" and not format.items_are_messages and format.name in ReasoningOrder.rules:
        while kept and type(kept[-1]) is Reasoning:
            refused.append(kept.pop())
    return refused or None


_OF_ONE_SIDE = frozenset({Reasoning, ToolCall, ToolResult})


def _why_refused(part: Part, role: Role) -> str:
    if isinstance(part, Text):
        return "a blank text"
    if isinstance(part, Reasoning) and role == "assistant":
        return "reasoning that nothing follows"
    return f"a {type(part).__name__} that is not for the {role} to say"


def _without_last_space(said: Sequence[Item], format: Format, changes: list[Change]) -> Sequence[Item]:
    """An answer that the caller begins, without the white space it ends in."""
    item = said[-1]
    trimmed: Message | None = item.message
    while trimmed is not None and ends_in_space(trimmed):
        last = trimmed.parts[-1]
        words = last.text.rstrip() if isinstance(last, Text) else ""
        trimmed = format.rewrite(trimmed, last, words) if words else format.remove(trimmed, [last])
    if trimmed is item.message:
        return said
    changes.append(Change(item.index, "the white space at its end was removed"))
    kept = [*said[:-1], Item(trimmed, item.source)] if trimmed is not None else said[:-1]
    return _without_refused_parts(kept, format, changes)
