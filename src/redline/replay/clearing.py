"""How Anthropic's server clears old tool results, with the settings its makers ship: what it strikes of a past session."""

from collections.abc import Callable, Iterable, Iterator

from redline.replay.history import PastRequest, PastStrike
from redline.replay.sizes import SessionSizes
from redline.tokens import count_part

__all__ = ["BY_PROVIDER", "Cleared", "clear_tool_uses", "request_tokens", "results_by_request"]

_PLACEHOLDER = "[cleared]"


def clear_tool_uses(
    sizes: SessionSizes, *, trigger: float = 100_000, keep: int = 3, min_gain: float = 0
) -> tuple[PastStrike, ...]:
    """When the request exceeds the trigger, all results but the latest go, if that frees the minimum gain."""
    cleared = Cleared("clear_tool_uses")
    for request, sent in results_by_request(sizes):
        if request_tokens(sizes, request) - cleared.saved_in(request) <= trigger:
            continue
        clearable = cleared.rest_of(sent[:-keep])
        if sum(result.tokens_saved for result in clearable) >= min_gain:
            cleared.clear(clearable, request.number)
    return cleared.strikes


def _clear_many(sizes: SessionSizes) -> tuple[PastStrike, ...]:
    return clear_tool_uses(sizes, min_gain=20_000)


BY_PROVIDER: dict[str, Callable[[SessionSizes], tuple[PastStrike, ...]]] = {
    "clear_tool_uses": clear_tool_uses,
    "clear_tool_uses_min_gain": _clear_many,
}
"""What the provider carries out itself."""


class Cleared:
    """What was cleared so far; it stays so."""

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self._struck: dict[tuple[int, object], PastStrike] = {}

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """In the order in which they were made."""
        return tuple(self._struck.values())

    def rest_of(self, results: Iterable[PastStrike]) -> list[PastStrike]:
        """Those of the results that are still sent."""
        return [result for result in results if (result.index, result.at) not in self._struck]

    def clear(self, results: Iterable[PastStrike], request: int) -> None:
        """Results go, from a request on."""
        for result in results:
            number = len(self._struck)
            self._struck[result.index, result.at] = _strike(self._rule, number, result, request)

    def saved_in(self, request: PastRequest) -> float:
        """How much smaller a request is."""
        return sum(strike.tokens_saved for strike in self._struck.values() if request.shows(strike.index))


def _strike(rule: str, number: int, result: PastStrike, request: int) -> PastStrike:
    return PastStrike(
        number=number,
        rule=rule,
        index=result.index,
        at=result.at,
        replacement=_PLACEHOLDER,
        because="an old tool result",
        tokens_before=result.tokens_before,
        tokens_after=result.tokens_after,
        first=request,
    )


def results_by_request(sizes: SessionSizes) -> Iterator[tuple[PastRequest, list[PastStrike]]]:
    """Each request with the tool results that it sends, the oldest first, as strikes that could be made on them."""
    history, found = sizes.history, list[PastStrike]()
    after = sizes.counter.count(_PLACEHOLDER)
    for request in history.requests:
        if request.is_new_view:
            found = []
        for index in history.new_in(request):
            for result in history.load(index).results:
                before = sum(count_part(part, sizes.counter) for part in result.parts)
                if before > after:
                    made = PastStrike(0, "", index, result.at, _PLACEHOLDER, "", before, after, first=request.number)
                    found.append(made)
        yield request, found


def request_tokens(sizes: SessionSizes, request: PastRequest) -> float:
    """All that a request sends if nothing is struck."""
    return sizes.unstruck[request.number]
