"""The numbers that `redline sessions` printed last, each for a place, so that every command understands `3`.

Shells ask here for completions while a user waits: nothing heavy is imported.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from redline.errors import ValidationError
from redline.inspection.cache_folder import read_cached, write_cached

__all__ = ["LEAST_LETTERS", "ListedSession", "forget_listed", "last_listing", "place_of_name", "save_listing"]

LEAST_LETTERS = 4
"""So much of a session's name must be given."""

_FILE = "last-listing.json"
_MOST_LISTED = 100_000
_ENDINGS = (".jsonl", ".json", ".messages")


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A line of the last listing: its number is its position, from 1."""

    place: str
    title: str = ""
    """What tells it from others, for people."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called by: the name of its file without endings, or of its folder where that names the session.

        Of a name with a time before the id (Codex, pi), the id.
        """
        path = PurePath(self.place.rpartition("#")[2] if "://" in self.place else self.place)
        stem = path.name
        for ending in _ENDINGS:
            stem = stem.removesuffix(ending)
        first = path.parent.name if stem == "events" else stem
        return (first, first[-_ID_LETTERS:]) if len(first) > _ID_LETTERS else (first,)


_ID_LETTERS = 36
"""The length of a UUID."""


def save_listing(sessions: Sequence[ListedSession]) -> bool:
    """Keep what was printed, in place of the listing before; False where it cannot be kept."""
    rows = [[one.place, one.title] for one in sessions]
    return write_cached(_FILE, json.dumps(rows).encode())


def last_listing() -> tuple[ListedSession, ...]:
    """What was printed last; nothing if nothing was, or if it cannot be read."""
    try:
        rows = json.loads(read_cached(_FILE) or b"[]")
    except (ValueError, RecursionError):
        return ()
    is_listing = isinstance(rows, list) and len(rows) <= _MOST_LISTED and all(map(_is_row, rows))
    return tuple(ListedSession(place, title) for place, title in rows) if is_listing else ()


def forget_listed(is_meant: Callable[[str], bool]) -> None:
    """Take all places that are meant, and their titles, out of the last listing; the others keep their numbers."""
    listing = last_listing()
    if any(is_meant(one.place) for one in listing):
        save_listing([ListedSession("") if is_meant(one.place) else one for one in listing])


def place_of_name(name: str) -> str | None:
    """The place that a number or the beginning of a session's name stands for; None for what is neither.

    A number that was not printed, and a beginning that several sessions have, are a ValidationError.
    """
    listing = last_listing()
    if name.isascii() and name.isdecimal():
        number = int(name[:_MOST_DIGITS])
        if 1 <= number <= len(listing):
            return listing[number - 1].place
        known = f"the last listing ends at {len(listing)}" if listing else "no listing is kept"
        raise ValidationError(f"There is no session {name[:_MOST_DIGITS]}: {known}. Run `redline sessions` first.")
    if len(name) < LEAST_LETTERS:
        return None
    numbers = [number for number, one in enumerate(listing, 1) if any(known.startswith(name) for known in one.names)]
    if len(numbers) > 1:
        some = ", ".join(map(str, numbers[:5])) + ("…" if len(numbers) > 5 else "")
        raise ValidationError(f"{name} is the beginning of {len(numbers)} sessions. Give more of it, or a number: {some}.")
    return listing[numbers[0] - 1].place if numbers else None


_MOST_DIGITS = 12


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(value, str) for value in row)
