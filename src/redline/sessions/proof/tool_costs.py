"""What the definition of each tool costs, request by request, and how often it is called."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from redline.prices import Price
from redline.prices.find import price_of
from redline.sessions.replay.history import PastRequest, SessionHistory


class ToolCost(msgspec.Struct, frozen=True, kw_only=True):
    """A tool over all sessions that were looked at."""

    name: str
    calls: int = 0
    tokens: int = 0
    """Of its definition, in the last request that had it; 0 where that is not known."""
    requests: int = 0
    """Those that its definition was sent with."""
    sent_tokens: int = 0
    """In all of these together."""
    usd: float = 0.0
    """Modelled, at list prices: read from the cache where the provider reported that so much was, else written or fresh."""
    sessions: int = 0
    """In which it was offered or called."""


class ToolCosts:
    """Adds sessions up, one after the other."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolCost] = {}
        self.requests = 0
        self.known_requests = 0
        """Those of which the definitions are known."""

    def add(self, histories: Iterable[SessionHistory]) -> None:
        """One session, with its sub-agents."""
        met = set[str]()
        for history in histories:
            calls = Counter(call.name for index in range(history.count) for call in history.load(index).calls)
            for name, count in calls.items():
                self._change(name, calls=count)
            met.update(calls)
            for request in history.requests[history.copied_requests :]:
                self.requests += 1
                self.known_requests += bool(request.sent_to and request.sent_to.tools)
                for name, tokens in request.sent_to.tools if request.sent_to else ():
                    usd = _cost(request, tokens, price_of(request.model or history.model))
                    self._change(name, requests=1, sent_tokens=tokens, usd=usd, tokens=tokens)
                    met.add(name)
        for name in met:
            self._change(name, sessions=1)

    def found(self) -> list[ToolCost]:
        """The dearest first, then those that were called most often."""
        return sorted(self._tools.values(), key=lambda one: (-one.usd, -one.sent_tokens, -one.calls, one.name))

    def _change(self, name: str, *, tokens: int = 0, **more: float) -> None:
        known = self._tools.get(name) or ToolCost(name=name)
        sums = {field: getattr(known, field) + value for field, value in more.items()}
        self._tools[name] = msgspec.structs.replace(known, **sums, tokens=tokens or known.tokens)


def _cost(request: PastRequest, tokens: int, price: Price | None) -> float:
    """Of a definition in one request: tools are at the very front, so that they are cached before anything else."""
    usage = request.usage
    if price is None or usage is None:
        return 0.0
    rule, before = (
        price.rule(is_long=usage.cache_write_1h_tokens > 0),
        request.sent_to.preamble_tokens if request.sent_to else 0,
    )
    if usage.cache_read_tokens >= max(before, 1):
        return rule.cost(read=tokens, written=0) * price.input / 1e6
    if usage.cache_write_tokens:
        return rule.cost(read=0, written=tokens) * price.input / 1e6
    return tokens * price.input / 1e6
