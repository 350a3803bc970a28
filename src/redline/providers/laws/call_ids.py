"""Calls have ids that the provider takes, each its own; a call that has not gets another id, and its result the same."""

import re
from collections.abc import Collection, Iterator, Set

from redline.providers.format import Format, pairing_id
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law, name_of
from redline.values.messages import ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up


@law(
    anthropic="tool_use ids must be unique",
    openai_chat="the ids of one message's tool_calls must differ",
    openai_responses="the call_ids of one turn must differ",
    gemini="the ids of one turn's functionCall parts must differ",
    ai_sdk="the toolCallIds of one message must differ",
)
def unique_call_ids(history: History) -> Iterator[Broken]:
    """No two calls have one id: in the whole request for Anthropic, in one message for the others."""
    seen: set[str] = set()
    are_unique = history.format.call_ids_are_unique
    for step in history.pairs.steps:
        if not are_unique:
            if len(step.calls) == 1:
                continue
            seen = set()
        for spot, call in step.calls.items():
            if call.id is None:
                continue
            if call.id in seen:
                yield Broken(spot.message, spot.part, f"the call id {call.id!r} is used again")
            seen.add(call.id)


@law(
    anthropic="ids must be strings that match ^[a-zA-Z0-9_-]+$",
    openai_chat="each of the tool_calls needs an id, each tool message a tool_call_id",
    openai_responses="call_id must be a string that is not empty",
    ai_sdk="toolCallId must be a string that is not empty",
)
def well_formed_ids(history: History) -> Iterator[Broken]:
    """Calls and results carry ids that the provider accepts. Gemini's may be absent: it matches by name then."""
    accepts_id = history.format.accepts_id
    for index, message in enumerate(history.messages):
        for place, part in enumerate(message.parts):
            if type(part) is not ToolCall and type(part) is not ToolResult:
                continue
            if not part.is_hosted and not accepts_id(message, part):
                yield Broken(index, place, f"the id is {pairing_id(part)!r}")


_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_KEPT_CHARACTERS = 24
"""Of the old id, so that the new one stays below the 40 characters that OpenAI takes."""


def with_good_ids(draft: ExchangeDraft, format: Format, taken: Set[str]) -> ExchangeDraft:
    """The exchange with every id well formed, and used by no other call in it and none of those taken."""
    if _has_good_ids(draft, format, taken):
        return draft
    items = [*draft.said, *draft.heard]
    (step,) = pair_up([item.message for item in items], items_are_messages=format.items_are_messages).steps
    renamed: dict[int, dict[int, str]] = {}
    changes: list[Change] = []

    def rename(spot: Spot, own: str) -> None:
        renamed.setdefault(spot.message, {})[spot.part] = own
        item = items[spot.message]
        if item.source is not None:
            why = "the provider refuses its id, or another call has it"
            changes.append(Change(item.index, f"{name_of(item.message.parts[spot.part])} was renamed {own!r}: {why}"))

    present = {call.id for call in step.calls.values()}
    used: set[str | None] = set()
    for spot, call in step.calls.items():
        item, own = items[spot.message], call.id
        is_used = own is not None and (own in used or own in taken)
        if is_used or not format.accepts_id(item.message, call):
            own = fresh_id(own, item.index, spot.part, taken, used, present)
            rename(spot, own)
        used.add(own)
        answer = step.answers[spot]
        message = items[answer.message].message
        result = message.parts[answer.part]
        if own is None:
            items[answer.message] = Item(format.answering_by_name(message, call.name), items[answer.message].source)
            continue
        if not isinstance(result, ToolResult) or result.call_id == own:
            continue
        # A result without an id that is matched by name may do without.
        if result.call_id is not None or not format.accepts_id(message, result):
            rename(answer, own)
    after = [
        Item(format.rename(item.message, renamed[number]), item.source) if number in renamed else item
        for number, item in enumerate(items)
    ]
    count = len(draft.said)
    return draft.changed(changes, said=after[:count], heard=after[count:])


def fresh_id(old: str | None, index: int, place: int, *taken: Collection[str | None]) -> str:
    """An id made from the place of the call, so that it is the same whenever the history is repaired."""
    stem = _REFUSED.sub("_", old or "")[:_KEPT_CHARACTERS] or "call"
    fresh = f"{stem}_{index}_{place}"
    while any(fresh in ids for ids in taken):
        fresh += "_"
    return fresh


def _has_good_ids(draft: ExchangeDraft, format: Format, taken: Set[str]) -> bool:
    """Whether every call has an id that is good and its own, and every result that of a call, or none and may do without."""
    ids: set[str] = set()
    has_calls = is_by_name = False
    for item in draft.said:
        for part in item.message.parts:
            if type(part) is not ToolCall or part.is_hosted:
                continue
            has_calls = True
            # The ids taken grow with the history and are only ever looked up, never gone through.
            if part.id in ids or part.id in taken or not format.accepts_id(item.message, part):
                return False
            is_by_name |= part.id is None
            if part.id is not None:
                ids.add(part.id)
    for item in draft.heard if has_calls else ():
        for part in item.message.parts:
            if type(part) is not ToolResult or part.is_hosted or part.call_id in ids:
                continue
            is_as_taken = not is_by_name or format.answering_by_name(item.message, part.name or "") is item.message
            if not format.accepts_id(item.message, part) or not is_as_taken:
                return False
    return True
