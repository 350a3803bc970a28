"""What is said of a strike below the part that it is on."""

from redline.cli.message_lines import StrikeNote
from redline.inspection.playback import Playback, PlayedStrike

__all__ = ["is_struck_at", "note_of", "notes_on"]


def notes_on(playback: Playback, index: int, request: int | None) -> dict[PlayedStrike, StrikeNote]:
    """What is said of the strikes on a message in a request; None for the record, where it is said what became of each."""
    found = {}
    for strike in playback.by_index.get(index, ()):
        if request is None or strike.is_in_force(request):
            found[strike] = note_of(playback, strike, request)
    return found


def note_of(playback: Playback, strike: PlayedStrike, request: int | None) -> StrikeNote:
    """The rule, the reason, the tokens, since when, and the number that undoes it."""
    said = f"{strike.rule}: {strike.because}"
    sizes = f"{strike.tokens_before:,} → {strike.tokens_after:,} tokens"
    if not is_struck_at(playback, strike, request):
        until = f"was struck from request {strike.first} to {(strike.end or 1) - 1}"
        return StrikeNote(f"{said}; {until}, {sizes}, then sent again: {strike.ended_because}", is_struck=False)
    since = f"since request {strike.first}"
    if strike.end is not None and request is None:
        since = f"from request {strike.first} to {strike.end - 1}"
    if playback.is_hypothetical:
        return StrikeNote(f"would be struck by {said}; {sizes} {since}", is_struck=True)
    if playback.recording.observed:
        return StrikeNote(f"recorded, but not sent so: {said}; {sizes} {since}", is_struck=True)
    undo = f"; undo: {strike.number}" if strike.end is None else ""
    return StrikeNote(f"struck by {said}; {sizes} {since}{undo}", is_struck=True)


def is_struck_at(playback: Playback, strike: PlayedStrike, request: int | None) -> bool:
    """Whether a part is struck in a request; for the record, in the last request that its message was in."""
    if request is not None:
        return strike.is_in_force(request)
    requests = playback.recording.requests
    if strike.end is None or strike.end >= len(requests):
        return strike.end is None
    return not any(start <= strike.index < end for start, end in requests[strike.end].visible)
