"""What makes a request legal, each law with its repair, and every place where a history breaks one."""

from functools import cache

from redline.providers.flaws import KNOWN_FIELDS
from redline.providers.laws import (
    answered_calls,
    call_ids,
    content,
    hosted_results,
    reasoning_order,
    request_limits,
    results,
    turns,
)
from redline.providers.laws.law import History, Law, Problem
from redline.providers.laws.message_flaws import FLAW_LAWS

__all__ = ["LAWS", "History", "Law", "Problem", "problems_of"]

LAWS: tuple[Law, ...] = (
    *(answered_calls.answered_calls, answered_calls.requested_results, call_ids.unique_call_ids, call_ids.well_formed_ids),
    *(turns.first_message, content.present_content, results.front_results, content.parts_by_role),
    *(reasoning_order.reasoning_order, results.equal_counts, turns.turn_order, turns.system_place),
    *(hosted_results.hosted_results, content.trailing_space, content.cache_breakpoints, *FLAW_LAWS, results.accepted_media),
    request_limits.request_limits,
)
_OF_WORDS = (content.present_content, content.trailing_space, *FLAW_LAWS, results.accepted_media)
"""The others are on who says which kind of part, under which id and in which order: other words in a part cannot break them."""


def problems_of(
    history: History, *, is_stored: bool = False, words_only: bool = False, is_excerpt: bool = False
) -> list[Problem]:
    """Every problem of messages that are read already. What is stored may hold fields that are not sent: they count only
    where these very messages are to be sent. `words_only`: nothing but words has changed in a history that was legal.
    `is_excerpt`: they are no whole request, whose size could be judged."""
    name = history.format.name
    problems = [
        Problem(broken.index, broken.part, law.name, law.rules[name], broken.found)
        for law in _laws_of(name, words_only, has_flaws=bool(history.flaws))
        if not (is_stored and law.name == KNOWN_FIELDS) and not (is_excerpt and law is request_limits.request_limits)
        for broken in law.broken(history)
    ]
    return sorted(problems, key=lambda problem: (problem.index, -1 if problem.part is None else problem.part))


@cache
def _laws_of(format: str, words_only: bool, *, has_flaws: bool) -> tuple[Law, ...]:
    """The laws to look into: those that only the flaws of single messages break are kept where there are none."""
    known = (law for law in (_OF_WORDS if words_only else LAWS) if format in law.rules)
    return tuple(law for law in known if has_flaws or not law.is_of_flaws)
