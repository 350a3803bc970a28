"""The repair of plain lists of messages, as they come from a file or go to an SDK."""

import logging
from collections.abc import Sequence
from typing import Any

from redline.formats import read_history
from redline.formats.base import Format
from redline.repair.changes import Repair, Strategy
from redline.repair.legalizer import clean, legalize
from redline.repair.strategies import check_strategy
from redline.values.payloads import Payload

__all__ = ["clean_orphaned_tool_calls", "make_legal"]

_log = logging.getLogger("redline.repair")


def clean_orphaned_tool_calls(
    messages: Sequence[Payload],
    *,
    format: str = "auto",
    strategy: Strategy = "drop",
) -> list[Any]:
    """The messages with every tool call answered directly after it, and no result that nobody asked for.

    `drop` removes an assistant message with an unanswered call whole, and the results of its other calls; `answer` keeps it
    and adds a result that says it was interrupted; `strip` removes only the call. Messages that need no change are the same
    objects.
    """
    check_strategy(strategy)
    chosen, history = read_history(messages, format)
    return _written(clean(history, chosen, strategy), chosen)


def make_legal(
    messages: Sequence[Payload],
    *,
    format: str = "auto",
    strategy: Strategy = "drop",
) -> list[Any]:
    """The messages such that `check` finds nothing, losing as little as possible.

    Results that come too late are first moved to their calls; then the strategy treats the calls without a result, as in
    `clean_orphaned_tool_calls`; then comes what the provider asks besides: ids that it accepts and that no other call has,
    results together and in front, a user message first, nothing empty, no field that it does not take. What the system says at
    a place where it cannot is said by the user. A list that is legal comes back with the same objects.
    """
    check_strategy(strategy)
    chosen, history = read_history(messages, format)
    written = _written(legalize(history, chosen, strategy), chosen)
    return chosen.within_limits([chosen.sendable(payload) for payload in written])


def _written(repair: Repair, format: Format) -> list[Any]:
    if repair.changes:
        _log.info("%d changes made the messages legal to send", len(repair.changes))
    for change in repair.changes:
        _log.debug("%s", change)
    return [format.write(item.message) for item in repair.items]
