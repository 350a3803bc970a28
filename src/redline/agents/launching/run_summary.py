"""The last lines of a run: what went through the proxy, what it cost, what Redline did to it, and if nothing, why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from redline.agents.launching.settings_files import table_at

_IN_DRY_RUN = {
    "folded_tokens": "would_fold_tokens",
    "struck_tokens": "would_strike_tokens",
    "repairs": "would_repair",
    "saved_usd": "would_save_usd",
}
_FIELDS = ("requests", "sent_tokens", "read_tokens", "output_tokens", "cost_usd", "asked_again", "retreats", *_IN_DRY_RUN)
_STATUS_REASONS = {
    "400": "the provider refused the request as the agent sent it",
    "401": "the provider does not take the key or login",
    "403": "the key or login may not do this",
    "404": "the provider has no such model or path",
    "413": "the request is too long for the provider",
    "426": "the agent tried WebSockets and goes on over HTTP",
    "429": "the provider's rate limit",
    "529": "the provider is overloaded",
}
_LIMITS = {
    "learned": "{requests} refused for a limit that was not known, made smaller, and taken; the limit is kept",
    "left out": "{requests} made to fit a limit of the provider: old pictures, or large results, gave way to a line",
    "fewer tools": "{requests} sent with fewer tools, as many as the provider takes; those left out were never called",
    "window near": "{requests} near the window of the model had nothing been struck: leave Redline only after the agent has "
    "compacted, or let it know by --report-usage unstruck",
}
_COUNTERS = ("untouched", "unreachable", "errors", "limits")
_MOST_REASONS = 3
"""Of one kind; the most frequent first."""
_LEAST_LOST_USD, _LEAST_LOST_SHARE = 0.01, 0.05
"""A lost cache that cost less, in dollars or of what was paid, is not told."""
_MOST_COLUMNS = 80 - len("redline: ")


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Sums over the requests with one label, as a proxy's status has them. What it does not say counts as nothing."""

    requests: float = 0
    sent_tokens: float = 0
    read_tokens: float = 0
    """Of those that were sent: read from the provider's cache."""
    output_tokens: float = 0
    folded_tokens: float = 0
    struck_tokens: float = 0
    repairs: float = 0
    cost_usd: float = 0
    saved_usd: float = 0
    """Net; in a dry run what would have been saved, and folded, struck and repaired."""
    asked_again: float = 0
    """Results that the agent asked for again after a strike."""
    retreats: float = 0
    """Requests for which editing took too long."""
    is_dry_run: bool = False
    observed_tokens: float = 0
    """What would have been folded or struck in requests that were only observed although it is no dry run."""
    untouched: Mapping[str, float] = field(default_factory=dict)
    """Why requests were not changed, and how many."""
    unreachable: Mapping[str, float] = field(default_factory=dict)
    """Why a provider gave no answer, and how often."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """By the status that was answered."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """What was done because of a limit of the provider, and in how many requests."""
    store_problem: str = ""
    whole_problem: str = ""
    spent: tuple[str, ...] = ()
    """What was said of limits on dollars."""
    breaks: Sequence[Mapping[str, Any]] = ()
    """What broke the provider's cache, the most expensive first."""

    @classmethod
    def of(cls, status: Mapping[str, object], label: str) -> "RunTotals":
        """The sums for a label so far."""
        held = table_at(status, "projects", label)
        is_dry_run = status.get("mode") == "dry-run"
        named = {name: held.get(_IN_DRY_RUN.get(name, name) if is_dry_run else name) for name in _FIELDS}
        observed = [] if is_dry_run else [held.get(name) for name in ("would_fold_tokens", "would_strike_tokens")]
        known: dict[str, Any] = {name: value for name, value in named.items() if isinstance(value, int | float)}
        for name in _COUNTERS:
            known[name] = {key: value for key, value in table_at(held, name).items() if isinstance(value, int | float)}
        return cls(
            **known,
            is_dry_run=is_dry_run,
            observed_tokens=sum(value for value in observed if isinstance(value, int | float)),
            store_problem=str(status.get("store_problem") or ""),
            whole_problem=str(status.get("whole_problem") or ""),
            spent=tuple(map(str, _listed(table_at(status, "spending", "notes").get(label)))),
            breaks=[row for row in _listed(table_at(status, "cache_breaks").get(label)) if isinstance(row, dict)],
        )

    def since(self, before: "RunTotals") -> "RunTotals":
        """What was added after an earlier reading."""
        added: dict[str, Any] = {name: getattr(self, name) - getattr(before, name) for name in (*_FIELDS, "observed_tokens")}
        added |= {name: Counter(getattr(self, name)) - Counter(getattr(before, name)) for name in _COUNTERS}
        earlier = {_break_name(row): row for row in before.breaks}
        breaks = [_less(row, earlier.get(_break_name(row), {})) for row in self.breaks]
        spent = tuple(line for line in self.spent if line not in before.spent)
        return replace(self, **added, breaks=[row for row in breaks if row["count"] > 0], spent=spent)

    def lines(self) -> list[str]:
        """For people. No line of zeros without its reason, and what would have been is never told as what was."""
        if not self.requests:
            problem = [_store_reason(self.store_problem)] if self.store_problem else []
            return ["No request came through. redline doctor shows how the agent is routed.", *problem]
        hits = f", {self.read_tokens / self.sent_tokens:.0%} from cache" if self.sent_tokens else ""
        first = f"{self.requests:,.0f} requests, {self.sent_tokens:,.0f} tokens sent{hits}, {self.output_tokens:,.0f} answered"
        struck, paid = self._changes()
        why = [*reasons_of(self), *self._held_out()]
        return [first, *struck, *why, *paid] if self.has_changed else [first, *paid, *why]

    def _held_out(self) -> list[str]:
        """The line for requests of sessions in the control group."""
        held = _count_of(self.untouched, "holdout")
        told = f"{_requests(held)} sent as they came: held out. redline proof compares their sessions with the others"
        return [told] if held else []

    def look_first(self, store: str = "") -> str:
        """The line on what to look at: the most expensive loss of the cache that is not Redline's doing, else all requests."""
        for row in self.breaks:
            usd, tokens = row.get("lost_usd"), row.get("lost_tokens") or 0
            is_much = (
                usd >= max(_LEAST_LOST_USD, _LEAST_LOST_SHARE * self.cost_usd)
                if isinstance(usd, int | float)
                else tokens >= _LEAST_LOST_SHARE * self.sent_tokens
            )
            if is_much and row.get("by") != "redline":
                lost = f"${usd:,.2f}" if isinstance(usd, int | float) else f"{tokens:,} tokens"
                ahead = f"look at redline cache{f' {store}' if store else ''}: {lost} lost to "
                room = max(_MOST_COLUMNS - len(ahead), 20)
                says = f"{row.get('place')}: {row.get('what')}" if row.get("what") else str(row.get("says"))
                return ahead + (says if len(says) <= room else f"{says[: room - 1]}…")
        return f"look at redline serve{f' {store}' if store else ''}: every request, what was struck, and why"

    @property
    def is_observed_only(self) -> bool:
        """Whether requests were only observed because a subscription pays for them."""
        return bool(_count_of(self.untouched, "a subscription pays"))

    @property
    def has_changed(self) -> bool:
        """Whether something was folded, struck, repaired or saved, or in a dry run would have been."""
        return bool(self.folded_tokens or self.struck_tokens or self.repairs or self.saved_usd)

    def _changes(self) -> tuple[list[str], list[str]]:
        """The line for folds, strikes and repairs; the lines for what was paid and what was saved."""
        paid = f"paid ${self.cost_usd:,.4f} at list prices"
        if not self.has_changed:
            return [], [paid] if self.cost_usd else []
        folded = f"{self.folded_tokens:,.0f} tokens folded, " if self.folded_tokens else ""
        struck = f"{folded}{self.struck_tokens:,.0f} {'' if folded else 'tokens '}struck, {self.repairs:,.0f} repairs made"
        if self.asked_again:
            what = "1 result was" if self.asked_again == 1 else f"{self.asked_again:,.0f} results were"
            struck += f"; {what} asked for again after a strike and kept from then on"
        if self.is_dry_run:
            folded = f"folded {self.folded_tokens:,.0f} tokens, " if self.folded_tokens else ""
            struck = f"would have {folded}struck {self.struck_tokens:,.0f} tokens and made {self.repairs:,.0f} repairs"
        if not self.cost_usd:
            return [struck], []
        without = self.cost_usd + (0 if self.is_dry_run else self.saved_usd)
        verb = "would have " if self.is_dry_run else ""
        what = f"{verb}saved" if self.saved_usd >= 0 else f"{verb}cost more, by"
        share = f" ({abs(self.saved_usd) / without:.1%})" if without > 0 else ""
        return [struck], [paid, f"{what} ${abs(self.saved_usd):,.4f} net{share}"]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _break_name(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("kind", "what", "place"))


def _less(row: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What was added to a row of lost caches after an earlier reading."""
    numbers = {name: value for name in ("count", "lost_tokens", "lost_usd") if isinstance(value := row.get(name), int | float)}
    return {"count": 0, **row, **{name: value - (before.get(name) or 0) for name, value in numbers.items()}}


def reasons_of(totals: RunTotals) -> list[str]:
    """Why requests were not edited, or not answered: in plain words, a line each; the reason for nothing at all is last."""
    said = [_store_reason(totals.store_problem)] if totals.store_problem else []
    if observed := _count_of(totals.untouched, "a subscription pays"):
        would = f" (would have folded or struck {totals.observed_tokens:,.0f} tokens)" if totals.observed_tokens else ""
        said.append(
            f"{_requests(observed)} only observed{would}: a subscription pays for them. --edit-subscriptions edits them, too"
        )
    if missed := _count_of(totals.untouched, "it could not be edited", "the store cannot be used", "the store does not answer"):
        said.append(f"{_requests(missed)} sent unchanged because the store could not be used")
    if totals.retreats:
        said.append(
            f"{_requests(totals.retreats)} edited too slowly, and sent with earlier strikes alone: "
            "REDLINE_DEADLINE=500 gives more time"
        )
    said += [words.format(requests=_requests(totals.limits[done])) for done, words in _LIMITS.items() if done in totals.limits]
    said += totals.spent
    for why, count in _most(totals.unreachable):
        said.append(f"{_requests(count)} not answered: {why}")
    for status, count in _most(totals.errors):
        if not (status in ("502", "504") and totals.unreachable):
            other = "the provider failed" if status.startswith("5") else "the provider refused the request"
            said.append(f"{_requests(count)} answered {status}: {_STATUS_REASONS.get(status, other)}")
    if not totals.has_changed and totals.requests and not said:
        if totals.sent_tokens:
            would = "would have been" if totals.is_dry_run else "was"
            said.append(f"nothing {would} struck: nothing in these requests was old or superseded enough")
        else:
            said.append("nothing was struck: no request asked a model with a history")
    if totals.whole_problem:
        said.append(f"no lines are left out of results while their whole text cannot be stored: {totals.whole_problem}")
    return said


def _store_reason(problem: str) -> str:
    return f"the store cannot be used, so nothing new is recorded or struck: {problem}"


def _requests(count: float) -> str:
    return "1 request was" if count == 1 else f"{count:,.0f} requests were"


def _most(counts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(counts.items(), key=lambda one: -one[1])[:_MOST_REASONS]


def _count_of(counts: Mapping[str, float], *beginnings: str) -> float:
    return sum(count for why, count in counts.items() if why.startswith(beginnings))
