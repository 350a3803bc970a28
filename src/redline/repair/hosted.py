"""Calls that the provider was to run and never finished go, and so do results whose call is gone."""

from collections.abc import Set

from redline.formats.base import Format
from redline.laws.hosted_results import open_hosted_calls, stray_hosted_results
from redline.repair.values import Change, Draft, Item
from redline.values.messages import Message, Part

__all__ = ["has_results_from_before", "open_ids", "with_whole_hosted_calls"]


def with_whole_hosted_calls(draft: Draft, format: Format, pending: Set[str | None], resolved: Set[str | None] | None) -> Draft:
    """What was said, with a result for each call of the provider's own, and a call for each such result.

    Of the message before, those pending are still open. Those resolved have their result in the next message; None: nothing was
    said since, so that the provider may still go on with them.
    """
    changes: list[Change] = []
    said: list[Item] = []
    for item in draft.said:
        gone = _without_call_or_result(item.message, pending, resolved)
        rest = format.remove(item.message, gone) if gone else item.message
        if gone:
            changes.append(Change(item.index, "what the provider itself ran was removed from it: it was interrupted"))
        if rest is not None:
            said.append(Item(rest, item.source) if gone else item)
    return Draft(said, draft.heard, [*draft.changes, *changes]) if changes else draft


def _without_call_or_result(message: Message, pending: Set[str | None], resolved: Set[str | None] | None) -> list[Part]:
    strays = stray_hosted_results(message, pending)
    interrupted = [place for place, own in open_hosted_calls(message).items() if resolved is not None and own not in resolved]
    return [message.parts[place] for place in (*strays, *interrupted)]


def open_ids(message: Message) -> frozenset[str | None]:
    """The ids of the provider's own calls that have no result in the message."""
    return frozenset(open_hosted_calls(message).values())


def has_results_from_before(message: Message) -> bool:
    """Whether a message gives results for what the provider ran in the message before: without it they would be missed."""
    return bool(stray_hosted_results(message, ()))
