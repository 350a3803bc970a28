"""Marks are held while the provider's cache is warm, and applied when that is free, pays, or cannot be avoided."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from redline.engine.account import Account
from redline.engine.balance import Moment, Rates
from redline.engine.schedule import Case, Decision

__all__ = ["WhenFree"]


@dataclass(frozen=True, slots=True)
class WhenFree:
    """Rewriting an old message throws the prompt cache away from there on, so a mark waits until that costs nothing or less.

    Free: the cache has gone cold, or the part was never sent. Pays: waiting has cost as much as rewriting would. Cannot be
    avoided: the request would not fit into the window, or would cross a price tier.
    """

    name: ClassVar[str] = "when_free"
    weighs_requests: ClassVar[bool] = True

    rates: Rates = field(default_factory=Rates)
    """What reading and writing the cache costs, as multiples of an uncached input token."""
    lifetime_ms: float = 300_000
    """How long the provider keeps what it was sent, from the last request on."""
    window_tokens: float | None = None
    tier_tokens: float | None = None
    tier_factor: float = 1.0

    def decide(self, case: Case) -> Sequence[Decision]:
        """Hold everything, or apply all marks from the cut that pays best."""
        account = case.account(self.rates)
        moment = self._moment(account, case.now)
        choice = account.decide(moment)
        case.when_sent.append(lambda: account.sent(choice, moment, case.now))
        cut = choice.cut
        return [
            Decision(mark, is_applied=cut is not None and account.is_behind((mark.index, mark.at), cut), why=choice.why)
            for mark in case.pending
        ]

    def _moment(self, account: Account, now: float) -> Moment:
        idle = account.idle_ms(now)
        is_warm = idle is not None and idle <= self.lifetime_ms
        return Moment(
            alive=1.0 if is_warm else 0.0,
            window_tokens=self.window_tokens,
            tier_tokens=self.tier_tokens,
            tier_factor=self.tier_factor,
        )
