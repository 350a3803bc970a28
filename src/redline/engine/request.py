"""A request: the messages to send, and for every difference from the record its reason, its numbers and its way back."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from redline.engine.fold_words import deed_of, reference_words, sizes_words
from redline.engine.sent import FindPart, Sent
from redline.errors import ValidationError
from redline.providers import find_format
from redline.providers.anthropic.cache_control import BlockSpot, Lifetime, place_breakpoints
from redline.providers.arguments import System, sdk_arguments
from redline.providers.format import Format
from redline.providers.laws.law import Problem
from redline.record.records import SavedTokens, Strike
from redline.repair import Change
from redline.rules.rule import Mark
from redline.schedules import Decision
from redline.schedules.bill import OpenBill
from redline.values.payloads import Path


@dataclass(frozen=True, slots=True)
class Refusal:
    """A mark that was not applied because the provider would have refused the result."""

    mark: Mark
    problem: Problem


@dataclass(frozen=True, slots=True)
class Lifted:
    """A strike that no longer counts, because the view moved and its rule would not mark that part any more."""

    strike: Strike
    because: str


@dataclass(frozen=True, slots=True)
class Saving:
    """How many strikes and folds, and how many tokens they take out of every request."""

    strikes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What strikes and folds save, by rule and by tool. Tokens alone: what a rewrite costs at the provider is not in it."""

    tokens_before: int
    tokens_after: int
    by_rule: dict[str, Saving]
    by_tool: dict[str, Saving]
    """Both count strikes and folds; what the two save together is `tokens_before - tokens_after`."""
    strikes: int = 0
    struck_tokens: int = 0
    """What strikes take out: the model may miss it."""
    folds: int = 0
    folded_tokens: int = 0
    """What folds take out: nothing is lost by them, as each is smaller words for the same, or names where the whole is."""


@dataclass(frozen=True, repr=False)
class Request:
    """The messages to send, and the reasons for each difference from the record."""

    format: str
    sent: Sent
    new_strikes: tuple[Strike, ...]
    """The strikes that this request applied, folds among them."""
    refused: tuple[Refusal, ...]
    list_strikes: Callable[[], tuple[Strike, ...]]
    list_held: Callable[[], Iterable[Decision]]
    list_repairs: Callable[[], tuple[Change, ...]]
    """What may be long is listed only if someone asks: see `strikes`, `held` and `repairs`."""
    count_tokens: Callable[[], int]
    """Estimates what is sent, without strikes; it is counted only if someone asks."""
    context_management: dict[str, Any] | None = None
    """What the provider is asked to clear itself, to be passed beside the messages; None where Redline does the work."""
    lifted: tuple[Lifted, ...] = ()
    """Strikes that no longer count since the view moved."""
    schedule: str = "eager"
    """The name of the schedule that decided when marks are applied."""
    model: str = ""
    """The model that it goes to; empty where nobody said."""
    system: System = None
    """The system prompt: the conversation's, and what the system said where the provider takes it beside the messages."""
    tools: tuple[Mapping[str, Any], ...] = ()
    untimed: int = 0
    """How many results have no time: rules that go by age or order leave them alone."""
    asked_again: int = 0
    """How many messages since the last answer hold what the agent asked for again after a strike: it stays from now on."""
    find: FindPart = lambda index, at: None  # noqa: ARG005 - nothing is found
    """Where a part of the record is in what is sent, if it is."""
    bill: OpenBill = field(default_factory=OpenBill)
    """What is known of what it costs, before its usage is reported."""

    def __repr__(self) -> str:
        all_of, new = (Counter(one.is_fold for one in strikes) for strikes in (self.strikes, self.new_strikes))
        folds = f", {all_of[True]} folds ({new[True]} new)" if all_of[True] else ""
        strikes = f"{all_of[False]} strikes ({new[False]} new)"
        return f"<Request: {self.format}, {len(self.sent)} messages, {strikes}{folds}>"

    @cached_property
    def strikes(self) -> tuple[Strike, ...]:
        """All that are in force in what is sent, old and new; folds are among them, and say so (`is_fold`)."""
        return self.list_strikes()

    @cached_property
    def repairs(self) -> tuple[Change, ...]:
        """The changes that made the messages legal for the provider."""
        return self.list_repairs()

    @cached_property
    def held(self) -> tuple[Decision, ...]:
        """Marks that wait, with the reason."""
        return tuple(self.list_held())

    @cached_property
    def messages(self) -> list[Any]:
        """The messages in the provider's own shape, ready for its SDK. Yours: changing them changes nothing here."""
        return self._decoded()

    @cached_property
    def body(self) -> bytes:
        """The messages as one JSON list, byte for byte what was sent before wherever nothing changed."""
        return self.sent.body(self._format)

    @property
    def _format(self) -> Format:
        return find_format(self.format)

    def _decoded(self) -> list[Any]:
        """Fresh objects at every call."""
        return self.sent.objects(self._format)

    def arguments(self, *, breakpoints: bool = False, **more: object) -> dict[str, Any]:
        """What the provider's SDK takes: model, system prompt, tools and messages, and `more` beside them.

        For `messages.create` of Anthropic, `chat.completions.create` and `responses.create` of OpenAI,
        `models.generate_content` of Google: `client.messages.create(**request.arguments(max_tokens=1000))`. With
        `breakpoints`, Anthropic is told where to cache. Model, system prompt and tools may be given here if the conversation
        has none.
        """
        messages = self.with_breakpoints() if breakpoints else self.messages
        own: dict[str, Any] = {"model": self.model, "system": self.system, "tools": self.tools}
        if twice := sorted(name for name in own if own[name] and name in more):
            raise ValidationError(f"{', '.join(twice)} is set by the conversation; leave it out here, or set it only here.")
        if self.context_management is not None:
            more = {"context_management": self.context_management, **more}
        return sdk_arguments(self.format, messages, **{**own, **more})

    def with_breakpoints(self, count: int = 3, ttl: Lifetime | None = None) -> list[dict[str, Any]]:
        """The messages with cache breakpoints for Anthropic, so many at most: unchanged otherwise, words alone as one block.

        They are placed so that the next request finds what this one wrote, also after a turn of many blocks and after a strike.
        Breakpoints that are there already stay and count: with four, none is added. The default leaves one for the system
        prompt. `ttl` is how long the provider keeps it: `5m`, which is its default, or `1h`.
        """
        if not find_format(self.format).takes_cache_breakpoints:
            raise ValidationError(f"Only Anthropic takes cache breakpoints, and these messages are in {self.format}.")
        return place_breakpoints(
            self._decoded(),
            count=count,
            ttl=ttl,
            first_struck=self.first_struck,
            first_held=self.first_held,
        )

    @cached_property
    def first_struck(self) -> BlockSpot | None:
        """Of the parts that this request struck, the first in what is sent."""
        return self._first_spot((strike.index, strike.at) for strike in self.new_strikes)

    @cached_property
    def first_held(self) -> BlockSpot | None:
        """Of the parts that wait to be struck, the first in what is sent."""
        return self._first_spot((decision.mark.index, decision.mark.at) for decision in self.held)

    def count_after(self, place: int) -> int:
        """About how many tokens are sent after a place, as struck."""
        return sum(len(one.native) for one in self.sent[place + 1 :]) // 4

    @cached_property
    def stats(self) -> Stats:
        """Tokens before and after, what is struck and what is folded, and what each rule and tool contributes."""
        before, saved = self.count_tokens(), SavedTokens.of(self.strikes)
        folds = sum(strike.is_fold for strike in self.strikes)
        by_rule = _savings((strike.rule, strike) for strike in self.strikes)
        by_tool = _savings((strike.tool or "unknown", strike) for strike in self.strikes)
        counts = len(self.strikes) - folds, saved.struck, folds, saved.folded
        return Stats(before, before - saved.total, by_rule, by_tool, *counts)

    def explain(self) -> str:
        """A report for people: messages, strikes with reasons, waiting marks, repairs."""
        return "\n".join(self._lines())

    def _first_spot(self, targets: Iterable[tuple[int, Path]]) -> BlockSpot | None:
        """Of these parts the first in what is sent, counted by the messages of which something is left."""
        places = filter(None, (self.find(index, at) for index, at in targets))
        # which block of its message a part is, or lies in; messages without blocks have one
        blocks = ((place, next((step for step in at if isinstance(step, int)), 0)) for place, at in places)
        first = min(blocks, default=None)
        if first is None:
            return None
        return first[0] - sum(not one.native for one in self.sent[: first[0]]), first[1]

    def _lines(self) -> Iterator[str]:
        stats = self.stats
        without = "strikes and folds" if stats.folds else "strikes"
        yield f"{len(self.messages)} messages, about {stats.tokens_after:,} tokens (without {without} {stats.tokens_before:,})."
        yield f"Schedule: {self.schedule}{self._cost_of_haste()}."
        if self.untimed:
            yield f"{self.untimed} results have no time, so rules that go by age or order leave them alone: timestamp_ms=…"
        folding = {strike.rule for strike in self.strikes if strike.is_fold}
        for rule, saving in stats.by_rule.items():
            done, more = ("folded" if rule in folding else "struck", "fewer") if saving.tokens >= 0 else ("given back", "more")
            yield f"  {rule}: {saving.strikes} {done}, {abs(saving.tokens):,} tokens {more} in every request."
        for strike in self.new_strikes:
            deed = deed_of(strike)
            done = deed.capitalize() + ("" if deed == "given back" else " now")
            sizes = f"; {sizes_words(strike)}" if deed in ("folded", "referred") else ""
            because = f"{strike.because}{sizes}. {strike.why_now.capitalize()}"
            yield f"{done}, message {strike.index}: {because}. Undo: {strike.number}."
            yield from (f"  {reference}." for reference in reference_words(strike))
        for lift in self.lifted:
            yield f"Lifted, message {lift.strike.index}: {lift.because}. It is sent as it was said."
        for decision in self.held:
            yield f"Held, message {decision.mark.index}: {decision.mark.because}. {decision.why.capitalize()}."
        for refusal in self.refused:
            yield f"Refused, message {refusal.mark.index}: {refusal.mark.because}; but {refusal.problem.found}."
        for change in self.repairs:
            yield f"Repaired, message {change.index}: {change.what}."

    def _cost_of_haste(self) -> str:
        """What applying at once costs a provider's cache, where the model is known."""
        if self.schedule != "eager" or not self.model or self.first_struck is None:
            return ""
        place, _ = self.first_struck
        rewritten = self.count_after(place)
        return (
            f", at once: about {rewritten:,} tokens after the first strike have to be cached anew; "
            'schedule="when_free" waits until that costs nothing or pays'
        )


def _savings(named: Iterable[tuple[str, Strike]]) -> dict[str, Saving]:
    groups: dict[str, list[Strike]] = defaultdict(list)
    for name, strike in named:
        groups[name].append(strike)
    return {name: Saving(len(held), sum(strike.tokens_saved for strike in held)) for name, held in sorted(groups.items())}
