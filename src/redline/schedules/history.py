"""The requests of a conversation as its record has them, and what they teach of the provider's cache."""

from redline.prices import Survival
from redline.record.records import Destination, LedgerEntry, Strike, StrikesApplied, UsageReported
from redline.values.payloads import Path

_LEAST_TOKENS = 4096
"""A prompt shorter than this may be too short to be cached, so that it teaches nothing of the cache."""
_OTHER_MODEL = "another model"


class RequestHistory:
    """The requests of the present view that were weighed against each other. Changed by records only."""

    def __init__(self) -> None:
        self.sent_to: Destination | None = None
        """Where the last request went that said so."""
        self.latest_now: float | None = None
        """The latest time that rules were told, in any view: time never takes a mark back."""
        self.is_new_view = False
        """Whether the view is another one than when the last request was made."""
        self._survival = Survival()
        self._has_cache = False
        """Whether the provider reports a cache at all: many agents and servers say nothing of it, which teaches nothing."""
        self._begin_view(first_strike=0)

    def _begin_view(self, *, first_strike: int) -> None:
        self.first_strike = first_strike
        """Strikes with lower numbers were made in an earlier view."""
        self.count = 0
        """How many requests were made."""
        self.ledger: LedgerEntry | None = None
        """What they have cost."""
        self.visible = 0
        """How many messages were visible when the last one was made."""
        self.last_now: float | None = None
        self.last_sent_to: Destination | None = None
        self.waiting: dict[tuple[int, Path], int] = {}
        """By part whose mark waits: how many requests had been made when it began to."""
        self.refused: dict[tuple[int, Path], int] = {}
        """By part whose mark a law refused, which is not tried again: how many requests had been made before."""
        self.reported_prefix: float | None = None
        """The tokens before the messages, as the first reported usage says."""
        self.rewritten: int | None = None
        """The earliest message that will be sent in another form than in the last request."""
        self._stored = 0
        """How many messages were stored when the last request was made."""
        self._gap_ms: float | None = None
        """How long the last request came after the one before it, if it continued what that one had sent."""
        self._reported_input: int | None = None
        """The tokens of the last request as reported."""
        self._cached_input: int | None = None
        """The tokens of the request before it as reported: what the cache held."""
        self._is_rewritten = False
        """Whether what was sent last is changed by now, so that the next request teaches nothing of the cache."""

    @property
    def has_cache(self) -> bool:
        """Whether the provider has reported that it read or wrote a cache."""
        return self._has_cache

    @property
    def survival(self) -> Survival:
        """What was learned of the provider's cache."""
        return self._survival if self._has_cache else Survival()

    def add(self, record: StrikesApplied, stored: int) -> None:
        """A request was made, when so many messages were stored."""
        sent_to = record.sent_to or self.sent_to
        if what_changed(self.sent_to, sent_to) == _OTHER_MODEL:
            self._survival, self._has_cache = Survival(), False
        self.sent_to, self.is_new_view = sent_to, False
        times = [time for time in (self.latest_now, record.now, record.marked_at) if time is not None]
        self.latest_now = max(times, default=None)
        if record.now is None:  # of a schedule that does not weigh requests
            self.add_strikes(record.strikes)
            return
        self._gap_ms, self._cached_input = self._gap(record.now, record.strikes), self._reported_input
        self._reported_input, self._stored, self._is_rewritten, self.rewritten = None, stored, False, None
        self.last_now, self.last_sent_to, self.visible, self.ledger = record.now, sent_to, record.visible, record.ledger
        for strike in record.strikes:
            self.waiting.pop((strike.index, strike.at), None)
        self.waiting.update(dict.fromkeys(record.held, self.count))
        for target in record.refused:
            self.refused.setdefault(target, self.count)
        self.count += 1

    def add_strikes(self, strikes: tuple[Strike, ...]) -> None:
        """Strikes came into force, with a request of which nothing else is known or with none."""
        self._is_rewritten |= bool(strikes)

    def report(self, usage: UsageReported) -> None:
        """The provider said what the last request cost."""
        self._has_cache |= usage.cache_read_tokens + usage.cache_write_tokens > 0
        if self.last_now is None or self._reported_input is not None:
            return
        self._reported_input = usage.input_tokens
        if self.reported_prefix is None and self.ledger is not None:
            self.reported_prefix = max(0.0, usage.input_tokens - self.ledger.tokens)
        expected = min(self._cached_input or 0, usage.input_tokens)
        if self._gap_ms is not None and expected >= _LEAST_TOKENS:
            self._survival = self._survival.learned(self._gap_ms, read=usage.cache_read_tokens, expected=expected)

    def touch(self, now: float) -> None:
        """The provider was asked to keep what the last request left in its cache. That teaches nothing of how long it would."""
        if self.last_now is not None:
            self.last_now, self._is_rewritten = max(now, self.last_now), True

    def rewrite(self, index: int) -> None:
        """A message that was sent will be sent in another form, so that the next request teaches nothing of the cache."""
        self._is_rewritten = True
        self.rewritten = index if self.rewritten is None else min(index, self.rewritten)

    def start_view(self, next_strike: int) -> None:
        """The view is another one. What was learned of the provider stays."""
        self.is_new_view = True
        self._begin_view(first_strike=next_strike)

    def _gap(self, now: float, strikes: tuple[Strike, ...]) -> float | None:
        if self.last_now is None or self._is_rewritten or what_changed(self.last_sent_to, self.sent_to):
            return None
        is_rewritten = any(strike.index < self._stored for strike in strikes)
        return None if is_rewritten else max(0.0, now - self.last_now)


def what_changed(before: Destination | None, after: Destination | None) -> str:
    """Why what one request left in the cache is of no use for another, in words; empty if nothing is known to be different."""
    if before is None or after is None:
        return ""
    if before.model and after.model and before.model != after.model:
        return _OTHER_MODEL
    if before.preamble and after.preamble and before.preamble != after.preamble:
        return "what is sent before the messages has changed"
    return ""
