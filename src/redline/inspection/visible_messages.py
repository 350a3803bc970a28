"""The messages that a page of a session shows: of the whole record, or exactly those that a request sent."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from redline.inspection.playback import Playback
from redline.inspection.shown import plain_parts, shown_message
from redline.inspection.shown_requests import made_request, repairs_of
from redline.log.reading import StoredLog

__all__ = ["shown_indices", "shown_messages"]


def shown_indices(playback: Playback, request: int | None) -> Iterable[int]:
    """The indices of a request, in the order in which they are sent; None for everything that was said."""
    if request is None:
        return range(playback.history.count)
    return chain.from_iterable(range(*run) for run in made_request(playback, request).visible)


def shown_messages(
    playback: Playback, request: int | None, log: StoredLog | None, indices: Iterable[int], *, longest: int | None
) -> Iterator[dict[str, Any]]:
    """Messages as `shown_message` gives them, those that were repaired for a request as it sent them.

    What the repair changed has `repaired`, in words; what it added has no index; what it left out has no parts.
    """
    if request is None:
        yield from (shown_message(playback, index, longest=longest) for index in indices)
        return
    exact = repairs_of(playback, request, log)
    what: dict[int, list[str]] = {}
    for change in exact.repairs:
        what.setdefault(change.index, []).append(change.what)
    made: dict[int, list[dict[str, Any]]] = {}
    replaced: set[int] = set()
    for one in exact.repaired:
        replaced.update(one.origins)
        told = "; ".join(dict.fromkeys(chain.from_iterable(what.get(index, ()) for index in one.origins)))
        named = {"index": one.origins[0]} if one.origins else {}
        shown = {**named, "role": one.message.role, "repaired": told or "added", "parts": plain_parts(one.message)}
        made.setdefault(one.origins[0] if one.origins else one.after, []).append(shown)
    for index in chain([-1], indices):
        if index >= 0 and index in exact.unsent - replaced:
            told = "; ".join(what.get(index, ())) or "left out"
            yield {**shown_message(playback, index, longest=longest), "repaired": told, "parts": []}
        elif index >= 0 and index not in replaced:
            yield shown_message(playback, index, longest=longest)
        yield from made.get(index, ())
