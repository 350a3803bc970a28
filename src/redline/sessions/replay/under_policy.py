"""The strikes that a policy, the provider's own clearing, or another program would have made in a past session."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice

import msgspec

from redline.engine.engine import Engine
from redline.engine.project import RequestContext
from redline.engine.request import Request
from redline.errors import ValidationError
from redline.policy.policy import Policy
from redline.prices import Price, PriceRule
from redline.prices.find import price_of
from redline.record.backends.memory import MemoryLog
from redline.record.blobs import MemoryBlobs
from redline.record.records import Destination, HeadMoved, MessageAdded, PinSet, Record, Reference, RolledBack, ViewChanged
from redline.rules.facts import Seen
from redline.schedules import Budget, Schedule, WhenFree
from redline.sessions.replay.history import PastRequest, PastStrike, SessionHistory, StrikeBook
from redline.sessions.replay.peer_filters import PEER_FILTERS, SentLines
from redline.sessions.replay.risk import seen_in
from redline.tokens import Counter, Estimate, Remembered, calibrate, count_message, count_part
from redline.tools import Reads, Runs
from redline.values.messages import Text
from redline.values.payloads import Path

_TOO_SMALL = 0.8
"""Reported sizes below this share of what a file holds are those of requests from which something was left out."""
_LEAST_MISSING = 4_000
"""So many tokens must be missing for that: less may be the estimate."""
_SHRUNK = 0.95
"""A request below this share of the one before it, in the same window, had something left out: sizes grow from there anew."""
_LEAST_SCALE = 0.6
"""No provider counts fewer tokens for each estimated one: a fit below it is that of requests that lose what they gain."""


class ScaledCounter:
    """Counts as another counter does, corrected by what was reported."""

    def __init__(self, counter: Counter, scale: float) -> None:
        self._counter, self._scale = counter, scale

    @property
    def name(self) -> str:
        """Says what it is scaled by."""
        return f"{self._counter.name} times {self._scale}"

    def count(self, text: str) -> int:
        """To whole tokens."""
        return round(self._scale * self._counter.count(text))


class _NoWords:
    """Counts what a message has besides its words, which is not scaled: the marks around messages and parts, pictures."""

    name = "no words"

    def count(self, text: str) -> int:  # noqa: ARG002 - words do not count
        """Nothing."""
        return 0


class _Reported(msgspec.Struct, frozen=True, gc=False):
    """A request whose size was reported: its words as counted, less what was struck of them, and what it has besides."""

    request: int
    words: float
    marks: int
    told: int


class SessionSizes:
    """The sizes of one history. What was struck when usage was reported is left out of what that usage is compared with."""

    def __init__(self, history: SessionHistory, counter: Counter | None = None) -> None:
        self.history = history
        self.estimate = counter or Remembered(Estimate())

    @cached_property
    def seen(self) -> list[list[Seen]]:
        """By message, what is known of its parts."""
        return seen_in(self.history)

    @cached_property
    def counts(self) -> list[int]:
        """The tokens of each message, estimated."""
        return [count_message(self.history.load(index), self.estimate).total for index in range(self.history.count)]

    @cached_property
    def tokens(self) -> list[float]:
        """The tokens of each message, as the provider counts, and as the engine is told."""
        if self.scale == 1.0:
            return [float(count) for count in self.counts]
        return [float(count_message(self.history.load(index), self.counter).total) for index in range(self.history.count)]

    @cached_property
    def counter(self) -> Counter:
        """Counts text as the provider does, as far as its reports tell."""
        return self.estimate if self.scale == 1.0 else ScaledCounter(self.estimate, self.scale)

    @cached_property
    def scale(self) -> float:
        """How many tokens were reported for each that was estimated of words.

        That of the prompt's growth within windows, in which whatever is sent beside the messages cancels out; where something
        was left out on the way, of its growth since.
        """
        growth = list[tuple[float, float]]()
        for window in self._windows:
            start = before = window[0]
            for one in window[1:]:
                if one.told < _SHRUNK * before.told and one.words > before.words:
                    start = one
                growth.append((one.words - start.words, one.told - one.marks - start.told + start.marks))
                before = one
        scale = calibrate([pair for pair in growth if min(pair) > 0])
        return scale if scale >= _LEAST_SCALE else 1.0

    @cached_property
    def prefix(self) -> float:
        """What is sent besides the messages every time (system prompt, tools), as far as the reported usage shows it."""
        return min(self._beside.values(), default=float(self.estimate.count(self.history.system)))

    @cached_property
    def unstruck(self) -> list[float]:
        """All that each request sends if nothing is struck."""
        found, messages = list[float](), 0.0
        for request in self.history.requests:
            messages = 0.0 if request.is_new_view else messages
            messages += sum(self.tokens[index] for index in self.history.new_in(request))
            found.append(self.beside(request.number) + messages)
        return found

    def beside(self, request: int) -> float:
        """What a request sends besides its messages: the prefix, and what its window brings on top of that."""
        start = self._starts[request]
        return self._beside.get(start, self.prefix)

    @cached_property
    def missing(self) -> float:
        """How many tokens fewer were reported than a request held, at most: it was shortened on its way.

        In one request alone, something else may have been asked in between.
        """
        reported = [one for window in self._windows for one in window]
        found = sorted((self._expected(one) - one.told for one in reported), reverse=True)[:2]
        largest = max(map(self._expected, reported), default=0.0)
        return found[-1] if len(found) == 2 and found[-1] >= max(_LEAST_MISSING, (1 - _TOO_SMALL) * largest) else 0.0

    def _expected(self, one: _Reported) -> float:
        return self.beside(one.request) + self.scale * one.words + one.marks

    @cached_property
    def _beside(self) -> dict[int, float]:
        """By the first request of a window with reported usage, what is sent besides its messages."""
        firsts = [window[0] for window in self._windows]
        return {
            self._starts[one.request]: float(max(round(one.told - self.scale * one.words - one.marks), 0)) for one in firsts
        }

    @cached_property
    def _starts(self) -> list[int]:
        """Of each request, the first one of its window."""
        starts = list[int]()
        for request in self.history.requests:
            starts.append(request.number if request.is_new_view else starts[-1])
        return starts

    @cached_property
    def _windows(self) -> list[list[_Reported]]:
        """The requests whose usage was reported, window by window."""
        windows: dict[int, list[_Reported]] = {}
        counted, marks = 0, 0
        for request in self.history.requests:
            counted, marks = (0, 0) if request.is_new_view else (counted, marks)
            for index in self.history.new_in(request):
                counted += self.counts[index]
                marks += count_message(self.history.load(index), _NoWords()).total
            if request.usage is not None:
                saved = 0 if self.history.observed else request.bill.saved.total
                words = float(counted - marks - saved)
                one = _Reported(request.number, words, marks, request.usage.input_tokens)
                windows.setdefault(self._starts[request.number], []).append(one)
        return list(windows.values())


def strikes_under(
    policies: Sequence[Policy], sizes: SessionSizes, rule: PriceRule, price: Price | None = None
) -> list[tuple[PastStrike, ...]]:
    """What each policy would have struck at the prices of a rule; the model's own price says its window.

    Each request is made under all policies before the next: what rules read in a message is remembered for a moment.
    """
    runs = [PolicyRun(policy, sizes, rule, price) for policy in policies]
    for run in runs[1:]:
        run.share_sizes(runs[0])
    for _ in zip(*(run.requests() for run in runs), strict=True):
        pass
    return [run.strikes for run in runs]


class PolicyRun:
    """The engine led through a history. It is told what was said and when requests were made, never what they used."""

    def __init__(self, policy: Policy, sizes: SessionSizes, rule: PriceRule, price: Price | None = None) -> None:
        self._history, self._sizes = sizes.history, sizes
        if not policy.project_root:
            policy = replace(policy, project_root=self._history.project_root)
        self._settings = policy.settings()
        self._schedule = policy_schedule(policy, rule, price)
        self._other_price = price if price != price_of(self._history.model) else None
        """That of another model than the one that was asked: everything is taken to have gone there."""
        self._book = StrikeBook()
        self._engine = Engine(MemoryLog(), self._history.state.format, sizes.counter, MemoryBlobs())
        self._engine.state.share_messages(self._history.state)

    def share_sizes(self, other: "PolicyRun") -> None:
        """Share the sizes of messages with another run of the same history."""
        self._engine.derived_state(self._settings).sizes.share(other._engine.derived_state(other._settings).sizes)

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """What would have been struck by the requests that were made so far, in the order in which it would have been."""
        return self._book.strikes

    def request(self, number: int) -> Request:
        """The request of a number, as the policy would have sent it, with the marks that wait there."""
        return next(islice(self.requests(), number, None))

    def requests(self) -> Iterator[Request]:
        """Make one request after the other."""
        history, engine, position = self._history, self._engine, 0
        prefix = round(self._sizes.prefix)
        for request in history.requests:
            if said := [kept for record in history.records[position : request.at] for kept in _kept(record)]:
                engine.commit(said)
            position = request.at
            known = self._other_price or price_of(request.model)
            sent_to = Destination(request.model or "", "", prefix, known is not None and known.binds_reasoning)
            made = engine.request(self._settings, RequestContext(request.time_ms, self._schedule, sent_to, is_sent=False))
            for lifted in made.lifted:
                self._book.end(lifted.strike.number, request.number, lifted.because)
            self._book.begin(made.new_strikes, request.number)
            yield made


def _kept(record: Record) -> Iterator[Record]:
    """What happened whatever the policy: what was said, shown and pinned. Strikes and usage are those of another policy."""
    match record:
        case MessageAdded() | ViewChanged() | RolledBack() | PinSet():
            yield record
        case HeadMoved():
            yield from (PinSet(index, is_pinned) for index, is_pinned in record.pins)


def policy_schedule(policy: Policy, rule: PriceRule, price: Price | None) -> Schedule:
    """The schedule of a policy: by the name `when_free` at the prices asked for; an object is taken as it is."""
    if policy.schedule is None or policy.schedule == WhenFree.name:
        return WhenFree.for_rule(rule, price.window_tokens if price is not None else None)
    schedule = policy.made_schedule(None, None)
    if isinstance(schedule, Budget) and schedule.by_provider:
        raise ValidationError(
            "budget: with by_provider the provider clears tool results itself, which cannot be replayed. "
            "Leave by_provider out; the policies clear_tool_uses of `redline replay` show what Anthropic's clearing does."
        )
    return schedule


_PLACEHOLDER = "[cleared]"


def clear_tool_uses(
    sizes: SessionSizes, *, trigger: float = 100_000, keep: int = 3, min_gain: float = 0
) -> tuple[PastStrike, ...]:
    """When the request exceeds the trigger, all results but the latest go, if that frees the minimum gain."""
    cleared = Cleared("clear_tool_uses")
    for request, sent in results_by_request(sizes):
        if request_tokens(sizes, request) - cleared.saved_in(request) <= trigger:
            continue
        clearable = cleared.rest_of(sent[:-keep])
        if sum(result.tokens_saved for result in clearable) >= min_gain:
            cleared.clear(clearable, request.number)
    return cleared.strikes


BY_PROVIDER: dict[str, Callable[[SessionSizes], tuple[PastStrike, ...]]] = {
    "clear_tool_uses": clear_tool_uses,
    "clear_tool_uses_min_gain": partial(clear_tool_uses, min_gain=20_000),
}
"""What the provider carries out itself."""


_WORD = re.compile(r"\w+(?:[.-]+\w+)*")


def shrunk_first(sizes: SessionSizes, name: str) -> tuple[PastStrike, ...]:
    """What another program makes of each result before it is first sent: folds, partial ones where words are lost.

    The whole is kept nowhere that the agent would look, so that a word that only lost lines held is gone.
    """
    peer, found, sources = PEER_FILTERS[name], dict[tuple[int, Path], PastStrike](), list[tuple[int, Path, str]]()
    sent = SentLines()
    for request in sizes.history.requests:
        if request.is_new_view:
            sent, sources = SentLines(), []
        results = [one for index in sizes.history.new_in(request) for one in sizes.seen[index] if one.result is not None]
        for seen, part in ((one, part) for one in results for part in _texts(one)):
            command = next((action.command for action in seen.actions if isinstance(action, Runs)), "")
            is_spared = peer.spares_reads and any(isinstance(one, Reads) for one in seen.actions) and not command
            text = part.text if is_spared else peer.shrink(part.text, command)
            text, used = sent.add(text, refers=not is_spared) if peer.refers else (text, [])
            before, after = sizes.counter.count(part.text), sizes.counter.count(text)
            if after < before and (seen.index, part.at) not in found:
                words = {word for one in (text, *(sources[number][2] for number in used)) for word in _WORD.findall(one)}
                found[seen.index, part.at] = PastStrike(
                    number=len(found),
                    rule=name,
                    index=seen.index,
                    at=part.at,
                    replacement=text,
                    because=peer.says,
                    tokens_before=before,
                    tokens_after=after,
                    is_fold=True,
                    is_partial=not words.issuperset(_WORD.findall(part.text)),
                    refers=tuple(Reference(*sources[number][:2], 0, 0, 0, "", "") for number in used),
                    first=request.number,
                )
            sources.append((seen.index, part.at, part.text))
    return tuple(found.values())


def _texts(seen: Seen) -> Iterator[Text]:
    """The texts of a result."""
    return (part for part in (seen.result.parts if seen.result is not None else ()) if isinstance(part, Text))


BY_PEER: dict[str, Callable[[SessionSizes], tuple[PastStrike, ...]]] = {
    name: partial(shrunk_first, name=name) for name in PEER_FILTERS
}
"""What other programs do to results before they are first sent."""


class Cleared:
    """The results that were cleared so far; they stay cleared."""

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self._struck: dict[tuple[int, object], PastStrike] = {}

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """In the order in which they were made."""
        return tuple(self._struck.values())

    def rest_of(self, results: Iterable[PastStrike]) -> list[PastStrike]:
        """The results that are still sent."""
        return [result for result in results if (result.index, result.at) not in self._struck]

    def clear(self, results: Iterable[PastStrike], request: int) -> None:
        """Results go, from a request on."""
        for result in results:
            told = {"number": len(self._struck), "rule": self._rule, "because": "an old tool result", "first": request}
            self._struck[result.index, result.at] = msgspec.structs.replace(result, **told)

    def saved_in(self, request: PastRequest) -> float:
        """How much smaller a request is."""
        return sum(strike.tokens_saved for strike in self._struck.values() if request.shows(strike.index))


def results_by_request(sizes: SessionSizes) -> Iterator[tuple[PastRequest, list[PastStrike]]]:
    """Each request with the tool results that it sends, the oldest first, as strikes that could be made on them."""
    history, found = sizes.history, list[PastStrike]()
    after = sizes.counter.count(_PLACEHOLDER)
    for request in history.requests:
        if request.is_new_view:
            found = []
        for index in history.new_in(request):
            for result in history.load(index).results:
                before = sum(count_part(part, sizes.counter) for part in result.parts)
                if before > after:
                    made = PastStrike(0, "", index, result.at, _PLACEHOLDER, "", before, after, first=request.number)
                    found.append(made)
        yield request, found


def request_tokens(sizes: SessionSizes, request: PastRequest) -> float:
    """All that a request sends if nothing is struck."""
    return sizes.unstruck[request.number]
