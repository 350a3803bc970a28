"""The prices of a session's model, the cost that its reported usage makes, and the saving by its strikes."""

from collections.abc import Iterable

import msgspec

from redline.agents.readers import Transcript
from redline.prices import PRICE_RULES, Price, PriceRule
from redline.prices.find import price_of
from redline.providers.usage import cost_of, is_long_cached
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.timeline import Timeline
from redline.schedules.bill import RequestCost
from redline.sessions.replay.history import PastRequest, SessionHistory, history_of, history_of_log, with_subagents


def own_prices(history: SessionHistory) -> tuple[PriceRule, Price | None]:
    """The rule, and the price where the model's is known; else the rule of most Claude models."""
    price = price_of(history.model)
    if price is None:
        return next(iter(PRICE_RULES.values())), None
    usages = [request.usage for request in history.requests if request.usage is not None]
    return price.rule(is_long=is_long_cached(usages)), price


class PaidSession(msgspec.Struct, frozen=True):
    """What was reported, in US dollars, and what was saved."""

    usd: float
    """All of it, output included."""
    input_usd: float
    """Without what was answered."""
    saved_usd: float = 0.0
    """Net, by the strikes that were made; in a dry run, what they would have saved."""
    requests: int = 0
    """Those whose usage was reported and whose price is known."""
    is_dry_run: bool = False

    @property
    def usd_without(self) -> float:
        """What it would have cost without strikes."""
        return self.usd + (0.0 if self.is_dry_run else self.saved_usd)

    @classmethod
    def summed(cls, some: Iterable["PaidSession | None"]) -> "PaidSession | None":
        """Several together; None where nothing is known of any."""
        known = [one for one in some if one is not None]
        if not known:
            return None
        sums = {name: sum(getattr(one, name) for one in known) for name in ("usd", "input_usd", "saved_usd", "requests")}
        return cls(**sums, is_dry_run=any(one.is_dry_run for one in known))


def paid_of(history: SessionHistory, requests: Iterable[PastRequest] | None = None) -> PaidSession | None:
    """What the requests of one way through a conversation cost, or some of them. Those count that were made here: a fork, or a
    session that goes on from another, begins with a copy of what came before."""
    found = []
    for request in history.requests if requests is None else requests:
        settled = cost_of_request(history, request) if request.number >= history.copied_requests else None
        if settled is not None and request.usage is not None:
            cost, price = settled
            output_usd = price.output * request.usage.output_tokens / 1e6
            found.append(PaidSession(cost.paid, cost.paid - output_usd, cost.saved, 1, bool(history.observed)))
    return PaidSession.summed(found)


def paid_in_log(log: StoredLog, observed: str = "") -> PaidSession | None:
    """What a log has cost, abandoned branches included; each request once."""
    found, seen = list[PaidSession | None](), set[int | None]()
    for branch in Timeline(ReadOnlyLog(log.records)).branches():
        history = history_of_log(log, head=branch.number, observed=observed)
        new = [one for one in history.requests if one.usage_record not in seen]
        seen |= {one.usage_record for one in new}
        found.append(paid_of(history, new))
    return PaidSession.summed(found)


def paid_in_transcript(transcript: Transcript) -> PaidSession | None:
    """What an agent's session has cost, sub-agents and abandoned branches included."""
    found = list[PaidSession | None]()
    for conversation in with_subagents(transcript.conversations):
        found.append(paid_of(history_of(transcript, conversation)))
        for entry in (entry for branch in conversation.branches for entry in branch.entries):
            price = price_of(entry.model)
            if price is not None and entry.usage is not None and entry.usage.input_tokens:
                output_usd = price.output * entry.usage.output_tokens / 1e6
                usd = cost_of(entry.usage, price)
                found.append(PaidSession(usd, usd - output_usd, requests=1))
    return PaidSession.summed(found)


def cost_of_request(history: SessionHistory, request: PastRequest) -> tuple[RequestCost, Price] | None:
    """What a request cost and saved, and the price of its model; None where its usage or its price is not known."""
    price = price_of(request.model or history.model)
    if request.usage is None or price is None:
        return None
    return request.bill.settle(request.usage, price, is_dry_run=bool(history.observed)), price
