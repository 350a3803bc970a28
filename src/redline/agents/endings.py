"""The last lines of a run: what went through the proxy, what it cost, and what Redline did to it."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["RunTotals"]

_FIELDS = ("requests", "sent_tokens", "read_tokens", "output_tokens", "struck_tokens", "repairs", "cost_usd", "saved_usd")
_IN_DRY_RUN = {"struck_tokens": "would_strike_tokens", "repairs": "would_repair", "saved_usd": "would_save_usd"}


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Sums over the requests with one label, as a proxy's status has them. What it does not say counts as nothing."""

    requests: float = 0
    sent_tokens: float = 0
    read_tokens: float = 0
    """Of those that were sent: read from the provider's cache."""
    output_tokens: float = 0
    struck_tokens: float = 0
    repairs: float = 0
    cost_usd: float = 0
    saved_usd: float = 0
    """Net; in a dry run what would have been saved, and struck and repaired."""
    is_dry_run: bool = False

    @classmethod
    def of(cls, status: Mapping[str, object], label: str) -> "RunTotals":
        """The sums for a label so far."""
        projects = status.get("projects")
        sums = projects.get(label) if isinstance(projects, Mapping) else None
        held = sums if isinstance(sums, Mapping) else {}
        is_dry_run = status.get("mode") == "dry-run"
        named = {name: held.get(_IN_DRY_RUN.get(name, name) if is_dry_run else name) for name in _FIELDS}
        return cls(**{name: value for name, value in named.items() if isinstance(value, int | float)}, is_dry_run=is_dry_run)

    def since(self, before: "RunTotals") -> "RunTotals":
        """What was added after an earlier reading."""
        return RunTotals(**{name: getattr(self, name) - getattr(before, name) for name in _FIELDS}, is_dry_run=self.is_dry_run)

    def lines(self) -> list[str]:
        """For people, at 80 columns."""
        if not self.requests:
            return ["No request came through. redline doctor shows how the agent is routed."]
        hits = f", {self.read_tokens / self.sent_tokens:.0%} from cache" if self.sent_tokens else ""
        first = f"{self.requests:,.0f} requests, {self.sent_tokens:,.0f} tokens sent{hits}, {self.output_tokens:,.0f} answered"
        second = f"{self.struck_tokens:,.0f} tokens struck, {self.repairs:,.0f} repairs made"
        if self.is_dry_run:
            second = f"would have struck {self.struck_tokens:,.0f} tokens and made {self.repairs:,.0f} repairs"
        if not self.cost_usd:
            return [first, second]
        without = self.cost_usd + (0 if self.is_dry_run else self.saved_usd)
        verb = "would have " if self.is_dry_run else ""
        what = f"{verb}saved" if self.saved_usd >= 0 else f"{verb}cost more, by"
        share = f" ({abs(self.saved_usd) / without:.1%})" if without > 0 else ""
        return [
            first,
            second,
            f"paid ${self.cost_usd:,.4f} at list prices; {what} ${abs(self.saved_usd):,.4f} net{share}",
        ]
