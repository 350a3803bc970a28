"""A recording played back request by request: what was visible, what was struck or would be, how large it was, what it cost."""

from collections import Counter as Tally
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import msgspec

from redline.inspection.part_sizes import PartSizes, SizedPart
from redline.inspection.positions import PlacedSession, StrikeSpan, place
from redline.inspection.recording import MadeRequest, MadeStrike, Recording, Runs
from redline.policy import Policy
from redline.prices import PRICE_RULES, Price, PriceRule, find_price
from redline.replay.cache import Charge
from redline.replay.course import Course, charges_of, course_of
from redline.replay.what_if import WhatIf, WhatIfOutcome
from redline.tokens import Estimate, Remembered
from redline.values.payloads import Path

__all__ = ["SYSTEM", "Playback", "PlayedStrike", "Player", "RequestSize"]

SYSTEM = "system"
"""What is sent beside the messages counts to this kind."""
_MINUTE_MS = 60_000


class PlayedStrike(msgspec.Struct, frozen=True):
    """A strike that was made, or that a policy would have made."""

    number: int
    index: int
    at: Path
    rule: str
    because: str
    why_now: str
    replacement: object
    tokens_before: int
    """As the provider counts, as far as its reports tell."""
    tokens_after: int
    tool: str | None
    first: int
    """The first request that is sent with it."""
    end: int | None = None
    """The first that is sent without it again."""
    ended_because: str = ""
    chance: float | None = None
    """That it is used again: as its rule says, or as often as such parts of that age were, as measured."""
    used_at: int | None = None
    """In hindsight: the request whose answer used it, with nothing else left to have it from."""
    used_words: str = ""

    def is_in_force(self, request: int) -> bool:
        """Whether a request is sent with it."""
        return self.first <= request and (self.end is None or request < self.end)

    @property
    def tokens_saved(self) -> int:
        """In every request that is sent with it."""
        return self.tokens_before - self.tokens_after


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
    """One recording, and what is worked out of it once for every way of playing it."""

    def __init__(self, recording: Recording, price: Price | None = None) -> None:
        self.recording = recording
        self._counter = Remembered(Estimate())
        self._price = price

    @cached_property
    def parts(self) -> PartSizes:
        """The size of every part, estimated."""
        return PartSizes(self.recording, self._counter)

    @cached_property
    def placed(self) -> PlacedSession:
        """The recording as replay takes it."""
        return place(self.recording, self._counter)

    def sizes_of(self, index: int) -> tuple[SizedPart, ...]:
        """The parts of a message, in tokens as the provider counts them, as soon as that is known; estimated until then."""
        scale = self.placed.session.scale if "placed" in self.__dict__ else 1.0
        sized = self.parts.of(index)
        return sized if scale == 1.0 else tuple(SizedPart(one.at, one.kind, round(one.tokens * scale)) for one in sized)

    @cached_property
    def price(self) -> Price | None:
        """What its model costs, where that is known."""
        model = self.model
        return self._price or (find_price(model) if model is not None else None)

    @cached_property
    def model(self) -> str | None:
        """The one that most requests went to."""
        named = Tally(request.model for request in self.recording.requests if request.model)
        return named.most_common(1)[0][0] if named else None

    @property
    def rule(self) -> PriceRule:
        """How its model charges; as most Claude models do, where it is not known."""
        return self.price.rule() if self.price is not None else next(iter(PRICE_RULES.values()))

    @cached_property
    def what_if(self) -> WhatIf:
        """The session under any policy."""
        return WhatIf(self.placed.session, self._counter)

    @cached_property
    def unstruck_charges(self) -> list[Charge]:
        """What each request would cost if everything were sent."""
        return charges_of(course_of(self.placed.session, ()), self.rule)

    def play(self) -> "Playback":
        """As it was sent."""
        return Playback(self, [self._made(one) for one in self.recording.strikes])

    def play_with(self, policy: Policy, name: str = "") -> "Playback":
        """As a policy would have sent it."""
        outcome = self.what_if.try_policy(policy, self.rule, price=self.price)
        return Playback(self, self._strikes_of(outcome), name=name, outcome=outcome)

    def _made(self, made: MadeStrike) -> PlayedStrike:
        one, scale = made.strike, self.placed.session.scale
        return PlayedStrike(
            number=one.number,
            index=one.index,
            at=one.at,
            rule=one.rule,
            because=one.because,
            why_now=one.why_now,
            replacement=one.replacement,
            tokens_before=round(one.tokens_before * scale),
            tokens_after=round(one.tokens_after * scale),
            tool=one.tool,
            first=made.first,
            end=made.end,
            ended_because=made.ended_because,
            chance=one.chance,
        )

    def _strikes_of(self, outcome: WhatIfOutcome) -> list[PlayedStrike]:
        order = self.placed.order
        starts = [first for first, _ in self.placed.windows]
        missed = {miss.strike: miss for miss in reversed(outcome.misses)}
        found: list[PlayedStrike] = []
        for number, one in enumerate(outcome.strikes):
            index, miss = order[one.position], missed.get(number)
            found.append(
                PlayedStrike(
                    number=number,
                    index=index,
                    at=one.at,
                    rule=one.rule,
                    because=one.because,
                    why_now=one.why_now,
                    replacement=one.replacement,
                    tokens_before=one.tokens_before,
                    tokens_after=max(round(one.tokens_before - one.saving), 0),
                    tool=one.tool,
                    first=one.request,
                    end=next((start for start in starts if start > one.request), None),
                    ended_because="the view changed",
                    chance=one.chance,
                    used_at=miss.request if miss is not None else None,
                    used_words=miss.words if miss is not None else "",
                )
            )
        return found


class Playback:
    """The requests of a recording with certain strikes."""

    def __init__(
        self, player: Player, strikes: Sequence[PlayedStrike], *, name: str = "", outcome: WhatIfOutcome | None = None
    ) -> None:
        self.player, self.recording = player, player.recording
        self.strikes = tuple(strikes)
        self.name = name
        """Of the policy that would have made them; empty where they were made."""
        self.outcome = outcome

    @property
    def is_hypothetical(self) -> bool:
        """Whether the strikes are those that a policy would have made."""
        return self.outcome is not None

    @cached_property
    def by_index(self) -> dict[int, tuple[PlayedStrike, ...]]:
        """The strikes on each message."""
        found: dict[int, tuple[PlayedStrike, ...]] = {}
        for strike in self.strikes:
            found[strike.index] = (*found.get(strike.index, ()), strike)
        return found

    @cached_property
    def sizes(self) -> list[RequestSize]:
        """How large each request is, by kind."""
        return _Sizing(self).of_all()

    @cached_property
    def course(self) -> Course:
        """What each request sends, and how much of it was sent before."""
        placed = self.player.placed
        spans = [StrikeSpan(one.index, one.tokens_saved, one.first, one.end) for one in self.strikes]
        return course_of(placed.session, placed.strikes(spans))

    @cached_property
    def charges(self) -> list[Charge]:
        """What each request costs, in uncached input tokens; output is not counted."""
        return charges_of(self.course, self.player.rule) if self.strikes else self.player.unstruck_charges

    def rewritten(self, request: int) -> int:
        """The tokens that a request sends again because something before them was struck, and that a cache had held."""
        if self.why_cold(request) or self._is_expired(request):
            return 0
        sent, usage = self.course.requests[request], self.recording.requests[request].usage
        held = sent.kept_if_free
        if self.is_hypothetical and usage is not None:  # what the provider still had when everything was sent
            held = min(held, usage.cache_read_tokens)
        return round(max(held - sent.kept, 0.0))

    def _is_expired(self, request: int) -> bool:
        """Whether the cache had outlived the time that the provider promises."""
        requests = self.recording.requests
        return request > 0 and requests[request].time_ms - requests[request - 1].time_ms > self.player.rule.lifetime_ms

    def work_out(self) -> None:
        """Work out sizes and costs now, rather than when somebody asks."""
        if self.recording.requests:
            _ = self.sizes, self.charges, self.by_index

    def in_force(self, request: int) -> list[PlayedStrike]:
        """The strikes that a request is sent with."""
        visible = self.recording.requests[request].visible
        return [one for one in self.strikes if one.is_in_force(request) and _holds(visible, one.index)]

    def why_cold(self, number: int) -> str:
        """Why nothing of a request could be read from the cache; empty if something could."""
        request = self.recording.requests[number]
        if number == 0:
            return "nothing was sent before"
        before = self.recording.requests[number - 1]
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

    def paid(self, number: int) -> float | None:
        """What a request cost in dollars, as the provider's report and the list price say."""
        usage, price = self.recording.requests[number].usage, self.player.price
        if usage is None or price is None:
            return None
        return price.cost(
            fresh=usage.fresh_tokens,
            read=usage.cache_read_tokens,
            written=usage.cache_write_tokens,
            output=usage.output_tokens,
        )


class _Sizing:
    """Adds up the requests of a playback, each from the one before it."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        session = playback.player.placed.session
        self._scale, self._prefix = session.scale, session.prefix_tokens
        self._kinds: Tally[str] = Tally()
        self._struck: Tally[str] = Tally()
        self._said = 0
        self._beside = 0.0
        """What the window sends beside its messages."""

    def of_all(self) -> list[RequestSize]:
        starting: dict[int, list[PlayedStrike]] = {}
        ending: dict[int, list[PlayedStrike]] = {}
        for strike in self._playback.strikes:
            starting.setdefault(strike.first, []).append(strike)
            if strike.end is not None:
                ending.setdefault(strike.end, []).append(strike)
        active: dict[int, PlayedStrike] = {}
        found: list[RequestSize] = []
        for request in self._playback.recording.requests:
            for strike in ending.get(request.number, ()):
                active.pop(strike.number, None)
            active |= {strike.number: strike for strike in starting.get(request.number, ())}
            self._grow(request)
            self._strike(request, active, starting.get(request.number, ()), is_changed=request.number in ending)
            found.append(self._size())
        return found

    def _grow(self, request: MadeRequest) -> None:
        if request.is_new_view:
            self._kinds.clear()
            self._beside = self._sent_beside(request)
            new = chain.from_iterable(range(*run) for run in request.visible)
        else:
            new = chain(range(self._said, request.end))
        sizes = self._playback.player.parts.all()
        for index in new:
            for part in sizes[index]:
                self._kinds[part.kind] += part.tokens
        self._said = request.end

    def _sent_beside(self, request: MadeRequest) -> float:
        """The system prompt and tools, and what else the window's first message was told to bring."""
        session = self._playback.player.placed.session
        first = session.requests[request.number].start
        index = self._playback.player.placed.order[first]
        counted = sum(part.tokens for part in self._playback.player.parts.of(index))
        return self._prefix + max(session.tokens[first] - self._scale * counted, 0.0)

    def _strike(
        self, request: MadeRequest, active: dict[int, PlayedStrike], new: Sequence[PlayedStrike], *, is_changed: bool
    ) -> None:
        if request.is_new_view or is_changed:
            self._struck.clear()
            new = [strike for strike in active.values() if _holds(request.visible, strike.index)]
        for strike in new:
            self._struck[self._kind_of(strike)] += strike.tokens_saved

    def _kind_of(self, strike: PlayedStrike) -> str:
        parts = self._playback.player.parts.of(strike.index)
        inside = (part.kind for part in parts if strike.at[: len(part.at)] == part.at)
        return next(inside, parts[0].kind if parts else "user")

    def _size(self) -> RequestSize:
        by_kind = {SYSTEM: self._beside} if self._beside else {}
        for kind, tokens in self._kinds.items():
            by_kind[kind] = by_kind.get(kind, 0.0) + max(self._scale * tokens - self._struck[kind], 0.0)
        return RequestSize(by_kind, float(self._struck.total()))


def _holds(runs: Runs, index: int) -> bool:
    return any(start <= index < end for start, end in runs)
