"""The account of a conversation's requests: what marks cost by waiting, kept up to date as it grows and is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from redline.engine.balance import Balance, Choice, Moment, Rates
from redline.engine.marking import Marking, Target
from redline.engine.requests import what_changed
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.log.records import Destination, LedgerEntry, Strike
from redline.rules.rule import Mark

__all__ = ["Account", "AccountSnapshot"]

_MINUTE_MS = 60_000


class AccountSnapshot(msgspec.Struct, frozen=True):
    """What was counted, as plain values. What was paid is in the record."""

    sizes: tuple[int, ...]
    """Of each visible message, without strikes."""
    savings: tuple[tuple[Target, float], ...]
    """What each mark that waits would save."""


class Account:
    """Counts each visible message and each pending mark once. What the requests before have cost, the record says."""

    def __init__(self, state: State, marking: Marking, sizes: Sizes, *, snapshot: AccountSnapshot | None = None) -> None:
        self._state, self._marking, self._sizes = state, marking, sizes
        self._balance: Balance[Target] = Balance()
        self._lifetime_ms = 0.0
        self._position_of: dict[int, int] = {}
        self._held: set[Target] = set()
        self._fresh: list[Target] = []
        """Those of them that were not held at the last request."""
        self._journal, self._looked_at = marking.journal, 0
        """So many entries of the marking's journal are known."""
        self._known_savings: dict[Target, float] = {}
        if snapshot is not None:
            self._known_savings = dict(snapshot.savings)
            sizes.learn(zip(state.view.indices, snapshot.sizes, strict=False))
        self._resume()

    def at(self, rates: Rates, lifetime_ms: float = 300_000) -> "Account":
        """At such rates, with a cache that is promised to live so long."""
        self._balance.rates, self._lifetime_ms = rates, lifetime_ms
        self._grow()
        marking = self._marking
        if marking.journal is not self._journal:  # another one was begun, with the marks that were pending then
            for target in [target for target in self._held if target not in marking.pending]:
                self._release(target)
            self._journal, self._looked_at = marking.journal, 0
        for target, _ in self._journal[self._looked_at :]:
            self._look_at(target)
        self._looked_at = len(self._journal)
        return self

    def moment(self, now: float, sent_to: Destination | None) -> Moment:
        """What the record says of a request that is made now."""
        requests = self._state.requests
        counted = sent_to.preamble_tokens if sent_to is not None else 0
        self._balance.set_prefix(counted or requests.reported_prefix or 0.0)
        alive, because = self._alive(now, sent_to)
        rewritten = self._position_of.get(requests.rewritten) if requests.rewritten is not None else None
        return Moment(alive=alive, cold_because=because, rewritten_from=rewritten)

    @property
    def is_current(self) -> bool:
        """Whether it knows of every request that was recorded; others may have been made with other settings."""
        return self._known_requests == self._state.requests.count

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        return self._balance.tokens

    @property
    def is_refused(self) -> Callable[[Target], bool]:
        """Says of a part whether a law has refused its mark by now; what was refused is not tried again."""
        refused, count = self._state.requests.refused, self._state.requests.count
        return lambda target: refused.get(target, count) < count

    def decide(self, moment: Moment) -> Choice:
        """From which position on it pays to apply what is pending."""
        return self._balance.decide(moment)

    def marks_from(self, cut: int) -> list[Mark]:
        """The pending marks at a position or after it, in order."""
        return [self._marking.pending[target] for target in self._balance.keys_from(cut)]

    def position_of(self, mark: Mark) -> int:
        """Where the message of a mark is in the view."""
        return self._position_of[mark.index]

    def entry(self, moment: Moment, strikes: Iterable[Strike]) -> LedgerEntry:
        """What the requests will have cost with the one that goes out now and applies these strikes."""
        return self._balance.entry(moment, self._savings(strikes))

    def fresh(self, struck: Iterable[Strike], refused: Iterable[Target]) -> tuple[Target, ...]:
        """The parts whose marks wait from this request on, which applies some and is refused others."""
        gone = {(strike.index, strike.at) for strike in struck}.union(refused)
        return tuple(target for target in dict.fromkeys(self._fresh) if target in self._held and target not in gone)

    def book(self, strikes: Iterable[Strike], entry: LedgerEntry | None, refused: Iterable[Target]) -> None:
        """A request was recorded: its strikes, and what it cost and what it was refused if it was weighed."""
        savings = self._savings(strikes)
        self._balance.shrink(savings)
        self._fresh = []
        if entry is not None:
            for target in refused:
                self._release(target)
            self._balance.book(entry)
            self._known_requests += 1

    def snapshot(self) -> AccountSnapshot:
        """What was counted, to go on from later."""
        visible = self._state.view.indices[: len(self._position_of)]
        return AccountSnapshot(tuple(map(self._sizes.of_message, visible)), tuple(self._balance.savings))

    # --- the pieces

    def _resume(self) -> None:
        """Take up what the record says of the requests before."""
        requests = self._state.requests
        self._known_requests = requests.count
        self._grow()
        if requests.count:
            entry = requests.ledger or LedgerEntry(0.0, 0.0, 0.0, 0.0)
            self._balance.resume(entry, requests=requests.count, sent=min(requests.visible, len(self._position_of)))
        self._journal, self._looked_at = self._marking.journal, len(self._marking.journal)
        for target in self._marking.pending:
            self._look_at(target)
        self._known_savings = {}

    def _grow(self) -> None:
        sizes, state = self._sizes, self._state
        for index in state.view.indices[len(self._position_of) :]:
            self._position_of[index] = len(self._position_of)
            strikes, first = state.strikes_on(index), state.requests.first_strike
            earlier = sum(strike.tokens_saved for strike in strikes if strike.number < first)
            struck = sum(strike.tokens_saved for strike in strikes)
            self._balance.grow(sizes.of_message(index) - earlier, struck=struck - earlier)

    def _look_at(self, target: Target) -> None:
        mark, requests = self._marking.pending.get(target), self._state.requests
        if mark is None:
            self._release(target)
        elif target not in self._held and target not in requests.refused:
            self._held.add(target)
            if target not in requests.waiting:
                self._fresh.append(target)
            saving = self._known_savings.get(target)
            since = requests.waiting.get(target, requests.count)
            saved = self._sizes.saving(mark) if saving is None else saving
            self._balance.hold(target, self._position_of[target[0]], saved, since=since)

    def _release(self, target: Target) -> None:
        if target in self._held:
            self._held.discard(target)
            self._balance.release(target)

    def _savings(self, strikes: Iterable[Strike]) -> dict[int, float]:
        """By position."""
        savings: defaultdict[int, float] = defaultdict(float)
        for strike in strikes:
            if strike.index in self._position_of:
                savings[self._position_of[strike.index]] += strike.tokens_saved
        return dict(savings)

    def _alive(self, now: float, sent_to: Destination | None) -> tuple[float, str]:
        """The probability that the cache still holds the request before, and if there is none, why."""
        requests = self._state.requests
        if requests.last_now is None:
            return 0.0, "nothing was sent yet"
        if because := what_changed(requests.last_sent_to, sent_to):
            return 0.0, because
        gap_ms = max(0.0, now - requests.last_now)
        alive = requests.survival.alive(gap_ms, lifetime_ms=self._lifetime_ms)
        return alive, f"the last request was {gap_ms / _MINUTE_MS:,.0f} minutes ago"
