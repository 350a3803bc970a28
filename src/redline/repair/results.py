"""Puts results where the provider looks for them: on the side that gives results, in one message, in front."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from redline.formats.base import Format
from redline.laws.accepted_media import refused_media
from redline.laws.equal_counts import EqualCounts
from redline.laws.front_results import FrontResults
from redline.repair.changes import Change, ExchangeDraft, Item
from redline.values.messages import Message, Part, Text, ToolCall, ToolResult
from redline.values.pairs import ToolStep

__all__ = ["SplitMessage", "gather_results", "misplaced_results", "split_results", "with_media_after_results"]


class SplitMessage(NamedTuple):
    """A message of the assistant or the system, and the results in it as messages of the side that gives results."""

    before: Message | None
    """Results for what was called earlier."""
    rest: Message | None
    after: Message | None
    """Results for the calls of this very message."""


def misplaced_results(message: Message) -> Sequence[ToolResult]:
    """The results that are not for this side to give: the assistant's or the system's."""
    return () if message.role in ("user", "tool") else message.results


def split_results(message: Message, format: Format) -> SplitMessage:
    """The message without the results that are not its to give, and these apart."""
    results = misplaced_results(message)
    if not results:
        return SplitMessage(None, message, None)
    step: ToolStep[int] = ToolStep(
        calls={place: part for place, part in enumerate(message.parts) if isinstance(part, ToolCall)}
    )
    own: list[ToolResult] = []
    earlier: list[ToolResult] = []
    for place, result in enumerate(results):
        (earlier if step.take(result, place) is None else own).append(result)
    return SplitMessage(
        before=format.set_apart(message, earlier) if earlier else None,
        rest=format.remove(message, results),
        after=format.set_apart(message, own) if own else None,
    )


def gather_results(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange with its results in one message, and in front of it, where the provider wants them so.

    They go into the message that says something else too, so that the user speaks once, or into the first.
    """
    wants_front = format.name in FrontResults.rules
    if not wants_front and format.name not in EqualCounts.rules:
        return draft
    holders = [item for item in draft.heard if item.message.results]
    if not holders or (len(holders) == 1 and not (wants_front and _has_results_after_others(holders[0].message))):
        return draft
    base = holders[-1] if len(holders[-1].message.results) < len(holders[-1].message.parts) else holders[0]
    others = [item for item in holders if item is not base]
    merged = Item(format.gather(base.message, [item.message for item in others]), base.source)
    taken = f"the results of message {', '.join(str(item.index) for item in others)} were merged into it"
    changes = [Change(base.index, taken if others else "its results were moved to the front")]
    changes += [Change(item.index, f"its results were merged into message {base.index}") for item in others]
    return draft.changed(changes, heard=[merged, *draft.heard[len(holders) :]])


def with_media_after_results(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange in which the user shows what its results may not hold, directly after the results."""
    if not any(refused_media(item.message, format) for item in draft.heard):
        return draft
    results: list[Item] = []
    shown: list[Part] = []
    changes: list[Change] = []
    for item in draft.heard:
        message = item.message
        for media in refused_media(message, format):
            may_show = bool(format.compose("user", (media,)).payloads)
            note = f"[{media.media_type} {'attached below' if may_show else 'not shown: the provider does not take it'}]"
            message = format.rewrite(message, media, note)
            shown += [Text(f"[{media.media_type} from the result of {message.results[0].call_id}]"), media] if may_show else []
            changes.append(Change(item.index, f"{media.media_type} was taken out of its result: a result is text"))
        if message is not item.message:
            results.append(Item(replace(message, timestamp_ms=item.message.timestamp_ms), item.source))
        elif message.results:
            results.append(item)
    others = [item for item in draft.heard if not item.message.results]
    said = [Item(format.read(payload), None) for payload in format.compose("user", shown).payloads]
    return draft.changed(changes, heard=[*results, *said, *others])


def _has_results_after_others(message: Message) -> bool:
    if len(message.parts) == 1:
        return False
    are_results = [type(part) is ToolResult and not part.is_hosted for part in message.parts]
    return are_results != sorted(are_results, reverse=True)
