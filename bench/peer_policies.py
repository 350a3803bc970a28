"""How others clear old results or shrink new ones, with the settings their makers ship: what they strike of a past session."""

from collections.abc import Callable
from itertools import accumulate

from redline.sessions.replay.history import PastStrike
from redline.sessions.replay.under_policy import (
    BY_PEER,
    BY_PROVIDER,
    Cleared,
    SessionSizes,
    request_tokens,
    results_by_request,
)

__all__ = ["PEER_POLICIES", "keep_last_messages", "poll_observations", "prune_like_opencode", "reclear_every_time"]


def reclear_every_time(sizes: SessionSizes, *, trigger: float = 100_000, keep: int = 3) -> tuple[PastStrike, ...]:
    """LangChain's `ClearToolUsesEdit`: past the trigger all results but the latest go, decided anew in each request.

    What it cleared before counts towards the trigger again, so that it never stops: each request clears one more.
    """
    cleared = Cleared("langchain_clear")
    for request, sent in results_by_request(sizes):
        if request_tokens(sizes, request) > trigger:
            cleared.clear(cleared.rest_of(sent[:-keep]), request.number)
    return cleared.strikes


def prune_like_opencode(
    sizes: SessionSizes, *, protect: float = 40_000, min_gain: float = 20_000, turns: int = 2
) -> tuple[PastStrike, ...]:
    """The prune of opencode, when the user speaks: results before the last turns go, but for the newest tokens of them."""
    cleared, load = Cleared("opencode_prune"), sizes.history.load
    for request, sent in results_by_request(sizes):
        indices = list(request.indices)
        spoken = [index for index in indices if load(index).role == "user" and not load(index).results]
        if len(spoken) <= turns or spoken[-1] != indices[-1]:
            continue
        old = [result for result in reversed(sent) if result.index < spoken[-turns]]
        newer = accumulate((result.tokens_saved for result in old), initial=0)
        clearable = cleared.rest_of(result for result, tokens in zip(old, newer, strict=False) if tokens > protect)
        if sum(result.tokens_saved for result in clearable) > min_gain:
            cleared.clear(clearable, request.number)
    return cleared.strikes


def poll_observations(sizes: SessionSizes, *, keep: int = 5, polling: int = 5) -> tuple[PastStrike, ...]:
    """SWE-agent's last observations with polling: the older ones go several at a time."""
    cleared = Cleared("swe_agent_polling")
    for request, sent in results_by_request(sizes):
        elided = max(len(sent) - keep, 0) // polling * polling
        cleared.clear(cleared.rest_of(sent[:elided]), request.number)
    return cleared.strikes


def keep_last_messages(sizes: SessionSizes, *, keep: int = 40) -> tuple[PastStrike, ...]:
    """A sliding window: the first message and the last ones are sent, whatever lies between is left out."""
    strikes, dropped = list[PastStrike](), 1
    for request in sizes.history.requests:
        indices = list(request.indices)
        if request.is_new_view:
            dropped = 1
        end = max(len(indices) - keep, dropped)
        strikes += [
            PastStrike(
                number=number,
                rule="sliding_window",
                index=index,
                at=(),
                replacement=None,
                because="an old message",
                tokens_before=round(sizes.tokens[index]),
                tokens_after=0,
                first=request.number,
            )
            for number, index in enumerate(indices[dropped:end], len(strikes))
        ]
        dropped = end
    return tuple(strikes)


PEER_POLICIES: dict[str, Callable[[SessionSizes], tuple[PastStrike, ...]]] = {
    **BY_PROVIDER,
    "langchain_clear": reclear_every_time,
    "opencode_prune": prune_like_opencode,
    "swe_agent_polling": poll_observations,
    "sliding_window": keep_last_messages,
    **BY_PEER,
}
"""What others do, by name; the first two are what Anthropic's server does, the last six shrink results before they are sent."""
