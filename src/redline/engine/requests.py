"""The requests of a conversation as its record has them, each with what was known when it was made."""

import msgspec

from redline.log.records import Destination, Strike, StrikesApplied, UsageReported
from redline.payloads import Path
from redline.prices import Survival

__all__ = ["Requests", "SentRequest", "what_changed"]

_LEAST_TOKENS = 4096
"""A prompt shorter than this may be too short to be cached, so that it teaches nothing of the cache."""


class SentRequest(msgspec.Struct, frozen=True):
    """One request, or strikes that another schedule applied meanwhile."""

    strikes: tuple[Strike, ...]
    now: float | None
    """None for strikes of a schedule that does not weigh requests: when they were sent is not known."""
    visible: int
    """How many messages were visible."""
    refused: tuple[tuple[int, Path], ...]
    sent_to: Destination | None
    survival: Survival
    """What had been learned of the provider's cache."""
    rewritten: int | None
    """The message from which on it was written anew, because the user brought back what had been struck there."""
    first_report: tuple[int, int] | None
    """Of this view, the first request whose usage had been reported: its number among those with a time, its tokens."""


class Requests:
    """Those of the present view, and what they teach. Changed by records only."""

    def __init__(self) -> None:
        self.made: list[SentRequest] = []
        self.sent_to: Destination | None = None
        """Where the last one went that said so."""
        self.first_strike = 0
        """Strikes with lower numbers were made in an earlier view."""
        self.first_report: tuple[int, int] | None = None
        self.is_new_view = False
        """Whether the view is another one than when the last request was made."""
        self._learned = Survival()
        self._has_cache = False
        """Whether the provider reports a cache at all: many agents and servers say nothing of it, which teaches nothing."""
        self.last: SentRequest | None = None
        """The last one of this view whose time is known."""
        self._number = -1
        """Its number, among those with a time."""
        self._stored = 0
        """How many messages were stored when it was made."""
        self._gap_ms: float | None = None
        """How long after the one before, if it continued what that one had sent."""
        self._input: int | None = None
        """Its tokens as reported."""
        self._expected: int | None = None
        """Those of the one before: what the cache held. Its answer was not in it, answers are cached when they are sent."""
        self._is_disturbed = False
        self.rewritten: int | None = None
        """The earliest message that will be sent in another form than in the last request."""

    @property
    def survival(self) -> Survival:
        """What was learned of the provider's cache."""
        return self._learned if self._has_cache else Survival()

    def add(self, record: StrikesApplied, stored: int) -> None:
        """A request was made, when so many messages were stored."""
        sent_to = record.sent_to or self.sent_to
        if self._is_other_model(sent_to):
            self._learned, self._has_cache = Survival(), False
        self.sent_to, self.is_new_view = sent_to, False
        if record.now is None:
            self.carry(record.strikes, record.visible)
            return
        made = SentRequest(
            record.strikes,
            record.now,
            record.visible,
            record.refused,
            sent_to,
            self.survival,
            self.rewritten,
            self.first_report,
        )
        self._count_in(made, record.now, stored)
        self.made.append(made)

    def carry(self, strikes: tuple[Strike, ...], visible: int = 0) -> None:
        """Strikes came to be in force, with a request of which nothing else is known or with none."""
        if strikes:
            self.made.append(SentRequest(strikes, None, visible, (), self.sent_to, self.survival, None, self.first_report))
            self._is_disturbed = True

    def report(self, usage: UsageReported) -> None:
        """The provider said what the last request cost."""
        self._has_cache |= usage.cache_read_tokens + usage.cache_write_tokens > 0
        if self.last is None or self._input is not None:
            return
        self._input = usage.input_tokens
        self.first_report = self.first_report or (self._number, usage.input_tokens)
        expected = min(self._expected or 0, usage.input_tokens)
        if self._gap_ms is not None and expected >= _LEAST_TOKENS:
            self._learned = self._learned.learned(self._gap_ms, read=usage.cache_read_tokens, expected=expected)

    def disturb(self, index: int) -> None:
        """A message that was sent will be sent in another form, so that the next request teaches nothing of the cache."""
        self._is_disturbed = True
        self.rewritten = index if self.rewritten is None else min(index, self.rewritten)

    def restart(self, next_strike: int) -> None:
        """The view is another one. What was learned of the provider stays."""
        self.made, self.is_new_view = [], True
        self.first_strike, self.first_report = next_strike, None
        self.last, self._number, self.rewritten = None, -1, None

    # --- the pieces

    def _count_in(self, made: SentRequest, now: float, stored: int) -> None:
        self._gap_ms, self._expected = self._gap(made, now), self._input
        self.last, self._input, self._stored, self._is_disturbed = made, None, stored, False
        self.rewritten = None
        self._number += 1

    def _gap(self, made: SentRequest, now: float) -> float | None:
        before = self.last
        if before is None or before.now is None or self._is_disturbed or what_changed(before.sent_to, made.sent_to):
            return None
        is_rewritten = any(strike.index < self._stored for strike in made.strikes)
        return None if is_rewritten else max(0.0, now - before.now)

    def _is_other_model(self, sent_to: Destination | None) -> bool:
        return what_changed(self.sent_to, sent_to) == _OTHER_MODEL


def what_changed(before: Destination | None, after: Destination | None) -> str:
    """Why what one request left in the cache is of no use for another, in words; empty if nothing is known to be different."""
    if before is None or after is None:
        return ""
    if before.model and after.model and before.model != after.model:
        return _OTHER_MODEL
    if before.preamble and after.preamble and before.preamble != after.preamble:
        return "what stands before the messages has changed"
    return ""


_OTHER_MODEL = "another model"
