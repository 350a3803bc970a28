"""The accounts of a conversation's requests, one for each set of rates that is asked for, also across restarts."""

from collections.abc import Callable

from redline.engine.account import Account, Booked, are_too_many
from redline.engine.balance import Rates
from redline.engine.marking import Marked, Marking
from redline.engine.requests import SentRequest
from redline.engine.sizes import Sizes
from redline.engine.state import State

__all__ = ["Accounts"]


class Accounts:
    """Keeps accounts up to date. One that is new learns of the requests that were made before."""

    def __init__(
        self,
        state: State,
        sizes: Sizes,
        marking: Marking,
        begin_marking: Callable[[Marked | None], Marking],
        *,
        booked: tuple[Booked, ...] = (),
        marked: Marked | None = None,
    ) -> None:
        self._state, self._sizes, self._marking, self._begin_marking = state, sizes, marking, begin_marking
        self._open: dict[tuple[Rates, float], Account] = {}
        self._before = {(one.rates, one.lifetime_ms): one for one in booked}
        """What was booked when the conversation was last closed, and what was marked by then."""
        self._marked = marked

    def at(self, rates: Rates, lifetime_ms: float = 300_000) -> Account:
        """The account at such rates, with a cache that is promised to live so long."""
        for key, known in list(self._open.items()):
            if known.has_missed_requests:
                del self._open[key]
            else:
                known.catch_up()
        account = self._open.get((rates, lifetime_ms))
        if account is None:
            account = self._open[rates, lifetime_ms] = self._opened(rates, lifetime_ms)
            account.catch_up()
        return account

    def booked(self) -> tuple[Booked, ...]:
        """What they have booked, to go on from later."""
        return tuple(account.booked() for account in self._open.values())

    def _opened(self, rates: Rates, lifetime_ms: float) -> Account:
        """From what was booked before, or from the beginning; requests that it missed are booked as they were made."""
        made, booked = self._state.requests.made, self._before.pop((rates, lifetime_ms), None)
        if booked is not None and are_too_many(made[booked.requests : booked.made]):
            booked = None
        account = Account(
            self._state,
            self._marking,
            rates,
            lifetime_ms=lifetime_ms,
            sizes=self._sizes.before_requests,
            saving=self._sizes.saving,
            booked=booked,
        )
        known = booked.made if booked is not None else 0
        account.book_up_to(known)
        if made[known:]:
            past = self._begin_marking(self._marked if booked is not None else None)
            account.follow(past)
            for request in made[known:]:
                _book_late(account, past, request)
            account.follow(self._marking)
        return account


def _book_late(account: Account, past: Marking, request: SentRequest) -> None:
    """With the marks that there were when it was made."""
    if request.now is not None:
        past.catch_up(request.now, visible=request.visible)
    account.catch_up(visible=request.visible)
    account.book(request)
