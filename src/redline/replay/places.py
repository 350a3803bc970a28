"""Where a policy took away what the agent then used: what was struck and when, who used it, and the words."""

import msgspec

from redline.redaction import redact_text
from redline.replay.history import PastStrike
from redline.replay.replayed import Measure, Replayed, SessionReplay
from redline.replay.risk import Use, texts_of
from redline.rules.worth_kinds import ResultKind, kind_of_actions
from redline.values.payloads import Path

__all__ = ["PolicyPlaces", "UsedPlace", "places_of"]

_READ_CHARS = 2_000
"""So much of a part is looked at for its first words: enough to tell a secret at their end from its first characters."""
_SHOWN_CHARS = 120


class UsedPlace(msgspec.Struct, frozen=True):
    """A part that was struck, and that a later answer used. Requests are counted from 1, messages from 0; without secrets."""

    message: int
    at: Path | None
    """The part of the message; None for all of it."""
    tool: str | None
    kind: ResultKind
    first_words: str
    """How what was struck begins, in one line."""
    struck_in: int
    """The first request that was sent without it."""
    used_in: int
    """The first request whose answer used it."""
    measure: Measure
    words: str
    """What was used: a line or a call by the measure `quoted`, a few words by `strict`."""


class PolicyPlaces(msgspec.Struct, frozen=True):
    """A session under one policy: how many parts were struck, and those of them that were used later."""

    policy: str
    strikes: int
    used: tuple[UsedPlace, ...]
    """By each measure, each part at its first use, in the order of the requests that used them."""


def places_of(session: SessionReplay, policy: str, replayed: Replayed) -> PolicyPlaces:
    """The places where what a policy struck was used."""
    strikes = {strike.number: strike for strike in replayed.strikes}
    found = [
        _used_place(session, strikes[number], use, measure)
        for measure, misses in replayed.misses.items()
        for number, use in misses.items()
    ]
    return PolicyPlaces(policy, len(strikes), tuple(sorted(found, key=lambda place: (place.used_in, place.message))))


def _used_place(session: SessionReplay, strike: PastStrike, use: Use, measure: Measure) -> UsedPlace:
    struck = [one for one in session.seen[strike.index] if not strike.at or strike.at[: len(one.part.at)] == one.part.at]
    result = next((one for one in struck if one.result is not None), struck[0])
    text = "\n".join(text for one in struck for text in texts_of(one.part))
    return UsedPlace(
        message=strike.index,
        at=strike.at or None,
        tool=result.tool,
        kind=kind_of_actions(result.actions),
        first_words=_shown(text[:_READ_CHARS]),
        struck_in=strike.first + 1,
        used_in=use.request + 1,
        measure=measure,
        words=_shown(use.words),
    )


def _shown(text: str) -> str:
    words = " ".join(redact_text(text).split())
    return words if len(words) <= _SHOWN_CHARS else words[: _SHOWN_CHARS - 1] + "…"
