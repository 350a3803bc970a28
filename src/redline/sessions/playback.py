"""A past session played back: per request its messages, strikes, size and cost, and the size of every part."""

from collections import Counter as Tally
from functools import cached_property

import msgspec

from redline.policy.policy import Policy
from redline.providers import find_format
from redline.record.records import SavedTokens
from redline.schedules.bill import Charge, RequestCost
from redline.sessions.replay.history import PastStrike, SessionHistory, grouped
from redline.sessions.replay.paid import PaidSession, cost_of_request, own_prices, paid_of
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun
from redline.tokens import Counter, Estimate, Remembered, count_part
from redline.values.messages import Part, Reasoning, ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up
from redline.values.payloads import Path

_PER_MESSAGE = 4
"""The marks around a message and the name of its role."""


class PartSpot(msgspec.Struct, frozen=True, gc=False):
    """Where a part is."""

    index: int
    at: Path


class SizedPart(msgspec.Struct, frozen=True, gc=False):
    """A part's place, what it counts to, and its tokens."""

    at: Path
    kind: str
    """`system`, `user`, `assistant`, `reasoning`, or the name of the tool that gave a result."""
    tokens: int


class PartSizes:
    """Worked out for all messages at once, when somebody asks: results are named by the calls before them."""

    def __init__(self, history: SessionHistory, counter: Counter) -> None:
        self._history, self._counter = history, counter

    @cached_property
    def calls(self) -> dict[PartSpot, tuple[PartSpot, ToolCall]]:
        """For each result, where its call is and what it says."""
        messages = [self._history.load(index) for index in range(self._history.count)]
        pairs = pair_up(messages, items_are_messages=find_format(self._history.format).items_are_messages)

        def spot_of(spot: Spot) -> PartSpot:
            return PartSpot(spot.message, messages[spot.message].parts[spot.part].at)

        answers = ((step.calls[spot], spot, answer) for step in pairs.steps for spot, answer in step.answers.items())
        return {spot_of(answer): (spot_of(spot), call) for call, spot, answer in answers}

    @cached_property
    def results(self) -> dict[PartSpot, PartSpot]:
        """For each call, where its result is."""
        return {spot: answer for answer, (spot, _) in self.calls.items()}

    @cached_property
    def every(self) -> list[tuple[SizedPart, ...]]:
        """The parts of every message."""
        return [self._sized(index) for index in range(self._history.count)]

    def of(self, index: int) -> tuple[SizedPart, ...]:
        """The parts of a message."""
        return self.every[index] if "every" in self.__dict__ else self._sized(index)

    def tool_of(self, index: int, part: Part) -> str | None:
        """The tool that a part is a call or a result of."""
        call = self.calls.get(PartSpot(index, part.at)) if isinstance(part, ToolResult) else None
        return call[1].name if call is not None else part.name if isinstance(part, ToolCall | ToolResult) else None

    def _sized(self, index: int) -> tuple[SizedPart, ...]:
        message, found = self._history.load(index), list[SizedPart]()
        role = message.role if message.role in ("system", "user", "assistant") else "user"
        for place, part in enumerate(message.parts):
            kind: str = "reasoning" if isinstance(part, Reasoning) else role
            if isinstance(part, ToolResult):
                kind = self.tool_of(index, part) or "unknown tool"
            found.append(SizedPart(part.at, kind, count_part(part, self._counter) + (0 if place else _PER_MESSAGE)))
        return tuple(found)


SYSTEM = "system"
"""What is sent beside the messages counts to this kind."""
_MINUTE_MS = 60_000


class RequestSize(msgspec.Struct, frozen=True):
    """The tokens of a request."""

    by_kind: dict[str, float]
    """As sent: what is said beside the messages, the user's words, the assistant's, its reasoning, results by tool."""
    saved: SavedTokens
    """What folds and strikes took out of it."""

    @property
    def sent(self) -> float:
        """All that is sent."""
        return sum(self.by_kind.values())


class Player(SessionReplay):
    """One history, with its prices and the sizes of its parts: worked out once for every way of playing it."""

    def __init__(self, history: SessionHistory) -> None:
        super().__init__(history, Remembered(Estimate()))
        self.rule, self.price = own_prices(history)
        """How its model charges, as most Claude models do where it is not known; and what it costs, where that is known."""

    @cached_property
    def parts(self) -> PartSizes:
        """The size of every part, estimated."""
        return PartSizes(self.history, self.sizes.estimate)

    def sizes_of(self, index: int) -> tuple[SizedPart, ...]:
        """The parts of a message, in tokens as the provider counts them, as soon as that is known; estimated until then."""
        return (self.scaled_parts if "scale" in self.sizes.__dict__ else self.parts).of(index)

    @cached_property
    def scaled_parts(self) -> PartSizes:
        """The size of every part, as the provider counts."""
        if self.sizes.scale == 1.0:
            return self.parts
        scaled = PartSizes(self.history, self.sizes.counter)
        scaled.__dict__["calls"] = self.parts.calls
        return scaled

    @cached_property
    def all_sent(self) -> SimulatedRun:
        """With everything sent, at its own prices."""
        return self.unstruck(self.rule)

    def play(self) -> "Playback":
        """As it was sent."""
        return Playback(self, self.as_sent(self.rule))

    def play_with(self, policy: Policy, name: str = "") -> "Playback":
        """As a policy would have sent it."""
        return Playback(self, self.under(policy, self.rule, self.price), name=name or "your policy")

    def usd(self, tokens: float) -> float | None:
        """What so many uncached input tokens cost, where the price is known."""
        return tokens * self.price.input / 1e6 if self.price is not None else None


class Playback:
    """The requests of a history with certain strikes."""

    def __init__(self, player: Player, run: SimulatedRun, *, name: str = "") -> None:
        self.player, self.history, self.run, self.strikes = player, player.history, run, run.strikes
        self.name = name
        """Of the policy that would have made the strikes; empty where they were made."""
        self.is_hypothetical = bool(name)

    @property
    def charges(self) -> list[Charge]:
        """What each request costs by the model of the bill, in uncached input tokens; output is not counted."""
        return self.run.charges if self.strikes else self.player.all_sent.charges

    @cached_property
    def by_index(self) -> dict[int, tuple[PastStrike, ...]]:
        """The strikes on each message."""
        return {index: tuple(strikes) for index, strikes in grouped((one.index, one) for one in self.strikes).items()}

    @cached_property
    def sizes(self) -> list[RequestSize]:
        """How large each request is, by kind: added up from the request before it."""
        changing = grouped((number or 0, one) for one in self.strikes for number in {one.first, one.end} - {None})
        active: dict[int, PastStrike] = {}
        kinds, unsent, saved, found = Tally[str](), Tally[str](), SavedTokens(), list[RequestSize]()
        for request in self.history.requests:
            changed = changing.get(request.number, ())
            for strike in changed:
                active.pop(strike.number, None)
            new = {strike.number: strike for strike in changed if strike.is_in_force(request.number)}
            active |= new
            if request.is_new_view:
                kinds.clear()
            parts = self.player.scaled_parts.every
            for part in (part for index in self.history.new_in(request) for part in parts[index]):
                kinds[part.kind] += part.tokens
            is_changed = request.is_new_view or len(new) < len(changed)
            if is_changed:
                unsent.clear()
                saved = SavedTokens()
            for strike in (active if is_changed else new).values():
                if request.shows(strike.index):
                    sized = self.player.parts.of(strike.index)
                    inside = (part.kind for part in sized if strike.at[: len(part.at)] == part.at)
                    unsent[next(inside, sized[0].kind if sized else "user")] += strike.tokens_saved
                    saved += SavedTokens.of([strike])
            by_kind = {kind: max(float(tokens - unsent[kind]), 0.0) for kind, tokens in kinds.items()}
            beside = self.run.requests[request.number].sent - sum(by_kind.values()) + by_kind.pop(SYSTEM, 0.0)
            by_kind = {**({SYSTEM: beside} if beside > 0 else {}), **by_kind}
            found.append(RequestSize(by_kind, saved))
        return found

    @cached_property
    def paid(self) -> PaidSession | None:
        """What was reported of the session as it was sent; None where no usage or no price is known."""
        return paid_of(self.history)

    @cached_property
    def saved_usd(self) -> float | None:
        """What all strikes saved, net: by what was reported of requests that had them, else by the model of the bill."""
        if not self.is_hypothetical and self.paid is not None:
            return self.paid.saved_usd
        return self.player.usd(self.player.all_sent.cost - self.run.cost)

    @property
    def is_would(self) -> bool:
        """Whether that is what would have been saved: the strikes were not sent."""
        return self.is_hypothetical or bool(self.history.observed)

    def saved_by(self, strike: PastStrike) -> float | None:
        """The share of one strike in that, by its tokens and the requests that it is in force in."""
        whole = self._whole_weight
        return None if self.saved_usd is None else self.saved_usd * self._weight_of(strike) / whole if whole else 0.0

    @cached_property
    def _whole_weight(self) -> int:
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
        sent, usage = self.run.requests[request], self.history.requests[request].usage
        held = sent.cacheable_without_strikes
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
