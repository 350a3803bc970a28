"""What is said of the strikes on a message, part by part, below what they are on."""

from dataclasses import dataclass
from typing import Any

from redline.inspection.playback import Playback
from redline.inspection.shown import is_on, part_named
from redline.replay.history import PastStrike

__all__ = ["StrikeNote", "is_struck_at", "notes_on", "span_words"]


@dataclass(frozen=True, slots=True)
class StrikeNote:
    """What is said of a strike."""

    says: str
    is_struck: bool
    """Whether the part is struck in what is shown; a strike may have been undone."""


def notes_on(playback: Playback, message: dict[str, Any], request: int | None) -> dict[str, list[StrikeNote]]:
    """The notes on a message as `shown_message` gives it, by the place of each part.

    In a request those in force; with None, for the record, what became of each.
    """
    index = message.get("index", -1)
    strikes = [one for one in playback.by_index.get(index, ()) if request is None or one.is_in_force(request)]
    if not strikes:
        return {}
    recorded, found = playback.history.load(index), dict[str, list[StrikeNote]]()
    for shown in message["parts"]:
        part = part_named(recorded, shown["at"])
        on_it = [one for one in strikes if part is not None and is_on(one.at, part.at)]
        if on_it:
            found[shown["at"]] = [_note_of(playback, one, request) for one in on_it]
    return found


def _note_of(playback: Playback, strike: PastStrike, request: int | None) -> StrikeNote:
    """The rule, the reason, the tokens, since when, and the number that undoes it."""
    said = f"{strike.rule}: {strike.because}"
    sizes = f"{strike.tokens_before:,} → {strike.tokens_after:,} tokens"
    if not is_struck_at(playback, strike, request):
        span = span_words(strike.first, strike.end)
        return StrikeNote(f"{said}; was struck {span}, {sizes}, then sent again: {strike.ended_because}", is_struck=False)
    since = span_words(strike.first, strike.end if request is None else None)
    if playback.is_hypothetical:
        return StrikeNote(f"would be struck by {said}; {sizes} {since}", is_struck=True)
    if playback.history.observed:
        return StrikeNote(f"recorded, but not sent so: {said}; {sizes} {since}", is_struck=True)
    undo = f"; undo: {strike.number}" if strike.end is None else ""
    return StrikeNote(f"struck by {said}; {sizes} {since}{undo}", is_struck=True)


def span_words(first: int, end: int | None) -> str:
    """In which requests a strike is in force."""
    if end is None:
        return f"since request {first}"
    if end - first < 2:
        return f"in request {first}" if end > first else "before any request"
    return f"from request {first} to {end - 1}"


def is_struck_at(playback: Playback, strike: PastStrike, request: int | None) -> bool:
    """Whether a part is struck in a request; for the record, in the last request that its message was in."""
    if request is not None:
        return strike.is_in_force(request)
    requests = playback.history.requests
    if strike.end is None or strike.end >= len(requests):
        return strike.end is None
    return not any(start <= strike.index < end for start, end in requests[strike.end].visible)
