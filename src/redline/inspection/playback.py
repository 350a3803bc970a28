"""A past session played back: what each request showed, what was struck of it or would be, its size and its cost."""

from collections import Counter as Tally
from functools import cached_property

import msgspec

from redline.inspection.part_sizes import PartSizes, SizedPart
from redline.policy import Policy
from redline.prices import Price, PriceRule
from redline.replay.course import Course
from redline.replay.history import PastRequest, PastStrike, SessionHistory
from redline.replay.own_prices import own_prices
from redline.replay.paid import PaidSession, cost_of_request, paid_of
from redline.replay.replayed import Replayed, SessionReplay
from redline.replay.sizes import SessionSizes
from redline.schedules.bill import Charge, RequestCost
from redline.tokens import Estimate, Remembered

__all__ = ["SYSTEM", "Playback", "Player", "RequestSize"]

SYSTEM = "system"
"""What is sent beside the messages counts to this kind."""
_MINUTE_MS = 60_000


class RequestSize(msgspec.Struct, frozen=True):
    """The tokens of a request."""

    by_kind: dict[str, float]
    """As sent: what is said beside the messages, the user's words, the assistant's, its reasoning, results by tool."""
    struck: float
    """What strikes took out of it."""

    @property
    def sent(self) -> float:
        """All that is sent."""
        return sum(self.by_kind.values())


class Player:
    """One history, and what is worked out of it once for every way of playing it."""

    def __init__(self, history: SessionHistory, price: Price | None = None) -> None:
        self.history = history
        self._counter = Remembered(Estimate())
        self.replay = SessionReplay(history, self._counter)
        own_rule, own_price = own_prices(history)
        self.price: Price | None = price or own_price
        """What its model costs, where that is known."""
        self.rule: PriceRule = price.rule() if price is not None else own_rule
        """How its model charges; as most Claude models do, where it is not known."""

    @property
    def sizes(self) -> SessionSizes:
        """How large its messages and requests are."""
        return self.replay.sizes

    @property
    def model(self) -> str | None:
        """The one that most requests went to."""
        return self.history.model

    @cached_property
    def parts(self) -> PartSizes:
        """The size of every part, estimated."""
        return PartSizes(self.history, self._counter)

    def sizes_of(self, index: int) -> tuple[SizedPart, ...]:
        """The parts of a message, in tokens as the provider counts them, as soon as that is known; estimated until then."""
        parts = self.scaled_parts if "scale" in self.sizes.__dict__ else self.parts
        return parts.of(index)

    @cached_property
    def scaled_parts(self) -> PartSizes:
        """The size of every part, as the provider counts."""
        return self.parts if self.sizes.scale == 1.0 else self.parts.counted_by(self.sizes.counter)

    @cached_property
    def unstruck(self) -> Replayed:
        """With everything sent."""
        return Replayed(self.sizes, self.rule)

    def play(self) -> "Playback":
        """As it was sent."""
        return Playback(self, self.replay.as_sent(self.rule))

    def play_with(self, policy: Policy, name: str = "") -> "Playback":
        """As a policy would have sent it."""
        return Playback(self, self.replay.under(policy, self.rule, self.price), name=name or "your policy")

    def usd(self, tokens: float) -> float | None:
        """What so many uncached input tokens cost, where the price is known."""
        return tokens * self.price.input / 1e6 if self.price is not None else None


class Playback:
    """The requests of a history with certain strikes."""

    def __init__(self, player: Player, replayed: Replayed, *, name: str = "") -> None:
        self.player, self.history, self.replayed = player, player.history, replayed
        self.name = name
        """Of the policy that would have made the strikes; empty where they were made."""

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """Those that were made, or that the policy would have made."""
        return self.replayed.strikes

    @property
    def is_hypothetical(self) -> bool:
        """Whether the strikes are those that a policy would have made."""
        return bool(self.name)

    @property
    def course(self) -> Course:
        """What each request sends, and how much of it was sent before."""
        return self.replayed.course

    @property
    def charges(self) -> list[Charge]:
        """What each request costs by the model of the bill, in uncached input tokens; output is not counted."""
        return self.replayed.charges if self.strikes else self.player.unstruck.charges

    @cached_property
    def by_index(self) -> dict[int, tuple[PastStrike, ...]]:
        """The strikes on each message."""
        found: dict[int, tuple[PastStrike, ...]] = {}
        for strike in self.strikes:
            found[strike.index] = (*found.get(strike.index, ()), strike)
        return found

    @cached_property
    def sizes(self) -> list[RequestSize]:
        """How large each request is, by kind."""
        return _Sizing(self).of_all()

    @cached_property
    def paid(self) -> PaidSession | None:
        """What was reported of the session as it was sent; None where no usage or no price is known."""
        return paid_of(self.history)

    @cached_property
    def saved_usd(self) -> float | None:
        """What all strikes saved, net: by what was reported of requests that had them, else by the model of the bill."""
        if not self.is_hypothetical and self.paid is not None:
            return self.paid.saved_usd
        return self.player.usd(self.player.unstruck.cost - self.replayed.cost)

    @property
    def is_would(self) -> bool:
        """Whether that is what would have been saved: the strikes were not sent."""
        return self.is_hypothetical or bool(self.history.observed)

    def saved_by(self, strike: PastStrike) -> float | None:
        """The share of one strike in that, by its tokens and the requests that it is in force in."""
        whole = self._token_requests
        return None if self.saved_usd is None else self.saved_usd * self._weight_of(strike) / whole if whole else 0.0

    @cached_property
    def _token_requests(self) -> int:
        return sum(map(self._weight_of, self.strikes))

    def _weight_of(self, strike: PastStrike) -> int:
        return max(strike.tokens_saved, 0) * self.requests_with(strike)

    def requests_with(self, strike: PastStrike) -> int:
        """How many requests a strike is in force in."""
        end = strike.end if strike.end is not None else len(self.history.requests)
        return max(end - strike.first, 0)

    def cost_of(self, number: int) -> RequestCost | None:
        """What a request cost and saved, as the provider's report and the list price say."""
        settled = cost_of_request(self.history, self.history.requests[number])
        return settled[0] if settled is not None else None

    def rewritten(self, request: int) -> int:
        """The tokens that a request sends again because something before them was struck, and that a cache had held."""
        if self.why_cold(request) or self._is_expired(request):
            return 0
        sent, usage = self.course.requests[request], self.history.requests[request].usage
        held = sent.kept_if_free
        if self.is_hypothetical and usage is not None:  # what the provider still had when everything was sent
            held = min(held, usage.cache_read_tokens)
        return round(max(held - sent.kept, 0.0))

    def _is_expired(self, request: int) -> bool:
        """Whether the cache had outlived the time that the provider promises."""
        requests = self.history.requests
        return request > 0 and requests[request].time_ms - requests[request - 1].time_ms > self.player.rule.lifetime_ms

    def work_out(self) -> None:
        """Work out sizes and costs now, rather than when somebody asks."""
        if self.history.requests:
            _ = self.sizes, self.charges, self.by_index

    def in_force(self, request: int) -> list[PastStrike]:
        """The strikes that a request is sent with."""
        made = self.history.requests[request]
        return [one for one in self.strikes if one.is_in_force(request) and made.shows(one.index)]

    def why_cold(self, number: int) -> str:
        """Why nothing of a request could be read from the cache; empty if something could."""
        request = self.history.requests[number]
        if number == 0:
            return "nothing was sent before"
        before = self.history.requests[number - 1]
        if request.model != before.model and request.model and before.model:
            return "another model was asked before"
        if request.usage is not None and request.usage.cache_read_tokens:
            return ""
        if self._is_expired(number):
            return f"the last request was {(request.time_ms - before.time_ms) / _MINUTE_MS:,.0f} minutes ago"
        if request.is_new_view:
            return "the history was replaced"
        if request.usage is not None and before.usage is not None and before.usage.cache_write_tokens:
            return "the provider read nothing from its cache"
        return ""


class _Sizing:
    """Adds up the requests of a playback, each from the one before it."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._kinds: Tally[str] = Tally()
        self._struck: Tally[str] = Tally()

    def of_all(self) -> list[RequestSize]:
        changing: dict[int, list[PastStrike]] = {}
        for strike in self._playback.strikes:
            for number in {strike.first, strike.end} - {None}:
                changing.setdefault(number or 0, []).append(strike)
        active: dict[int, PastStrike] = {}
        found: list[RequestSize] = []
        for request in self._playback.history.requests:
            changed = changing.get(request.number, ())
            for strike in changed:
                active.pop(strike.number, None)
            new = {strike.number: strike for strike in changed if strike.is_in_force(request.number)}
            active |= new
            self._show(request)
            is_changed = request.is_new_view or len(new) < len(changed)
            self._strike(request, active if is_changed else new, is_changed=is_changed)
            found.append(self._size(request))
        return found

    def _show(self, request: PastRequest) -> None:
        if request.is_new_view:
            self._kinds.clear()
        sizes = self._playback.player.scaled_parts.all()
        for index in self._playback.history.new_in(request):
            for part in sizes[index]:
                self._kinds[part.kind] += part.tokens

    def _strike(self, request: PastRequest, strikes: dict[int, PastStrike], *, is_changed: bool) -> None:
        if is_changed:
            self._struck.clear()
        for strike in strikes.values():
            if request.shows(strike.index):
                self._struck[self._kind_of(strike)] += strike.tokens_saved

    def _kind_of(self, strike: PastStrike) -> str:
        parts = self._playback.player.parts.of(strike.index)
        inside = (part.kind for part in parts if strike.at[: len(part.at)] == part.at)
        return next(inside, parts[0].kind if parts else "user")

    def _size(self, request: PastRequest) -> RequestSize:
        by_kind = {kind: max(float(tokens - self._struck[kind]), 0.0) for kind, tokens in self._kinds.items()}
        beside = self._playback.course.requests[request.number].sent - sum(by_kind.values())
        beside += by_kind.pop(SYSTEM, 0.0)
        return RequestSize({**({SYSTEM: beside} if beside > 0 else {}), **by_kind}, float(self._struck.total()))
