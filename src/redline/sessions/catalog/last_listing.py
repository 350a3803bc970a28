"""Short names of sessions: a few letters for each, the same from listing to listing, which every command takes.

Shells ask here for completions while a user waits: nothing heavy is imported.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePath

from redline.errors import ValidationError
from redline.files import read_cached, write_cached

LEAST_LETTERS = 4
"""So many letters has a short name, and more where two sessions would have the same one."""

_FILE = "short-names.json"
_MOST_NAMED = 100_000
_LONGEST = 16
_FIRST, _NEXT = "abcdefghjkmnpqrstuvwxyz", "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters that look like others. The first is no digit: numbers count sessions from the newest."""
_ENDINGS = (".jsonl", ".json", ".messages")
_ID_LETTERS = 36
"""The length of a UUID."""


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session that was listed, under the name that it was listed by."""

    name: str
    place: str
    title: str = ""
    """What tells it from others, for people."""

    @property
    def own_names(self) -> tuple[str, ...]:
        """What its agent calls it: the name of its file without endings, or of its folder where that names the session; of a
        name with a time before the id (Codex, pi), also the id."""
        path = PurePath(self.place.rpartition("#")[2] or self.place)
        stem = path.name
        for ending in _ENDINGS:
            stem = stem.removesuffix(ending)
        first = path.parent.name if stem == "events" else stem
        return (first, first[-_ID_LETTERS:]) if len(first) > _ID_LETTERS else (first,)


def is_number(name: str) -> bool:
    """Whether it counts sessions from the newest, rather than naming one."""
    return name.isascii() and name.isdecimal()


def full_name(place: str) -> str:
    """The letters that a place gives, the same on every machine; a short name is the beginning of them."""
    number = int.from_bytes(blake2b(place.encode("utf-8", "surrogatepass"), digest_size=12).digest())
    letters = ""
    for place_value in (_FIRST, *[_NEXT] * (_LONGEST - 1)):
        number, digit = divmod(number, len(place_value))
        letters += place_value[digit]
    return letters


def name_sessions(sessions: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The short name of each place, given with its title. Names that were given before stay; new ones are kept from now on."""
    known = {one.place: one for one in known_names()}
    taken = {one.name for one in known.values()}
    listed: dict[str, SessionName] = {}
    for place, title in sessions:
        name = known[place].name if place in known else ""
        if not name:
            full = full_name(place)
            name = next((full[:length] for length in range(LEAST_LETTERS, _LONGEST) if full[:length] not in taken), full)
            taken.add(name)
        listed[place] = SessionName(name, place, title)
    if any(known.get(place) != one for place, one in listed.items()):
        _save([*listed.values(), *(one for place, one in known.items() if place not in listed)])
    return {place: one.name for place, one in listed.items()}


def known_names() -> tuple[SessionName, ...]:
    """All that were given, those of the latest listings first; nothing if none is kept, or if it cannot be read."""
    try:
        rows = json.loads(read_cached(_FILE) or b"[]")
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rows, list) or len(rows) > _MOST_NAMED:
        return ()
    are_texts = all(isinstance(row, list) and len(row) == 3 and all(isinstance(one, str) for one in row) for row in rows)
    return tuple(SessionName(*row) for row in rows) if are_texts else ()


def forget_names(is_meant: Callable[[str], bool]) -> None:
    """Take all places that are meant, and their titles, out of what is kept."""
    known = known_names()
    kept = [one for one in known if not is_meant(one.place)]
    if len(kept) < len(known):
        _save(kept)


def place_named(name: str, sessions: Iterable[SessionName]) -> str | None:
    """The place of a short name, or of the beginning of a session's own name; None if none of these sessions has it. A
    beginning that several sessions have is a ValidationError."""
    if len(name) < LEAST_LETTERS:
        return None
    every = tuple(sessions)
    found = [one for one in every if one.name == name] or [
        one for one in every if any(own.startswith(name) for own in one.own_names)
    ]
    if len(found) > 1:
        some = ", ".join(one.name for one in found[:5]) + ("…" if len(found) > 5 else "")
        raise ValidationError(f"{name} is the beginning of {len(found)} sessions. Give more of it, or a short name: {some}.")
    return found[0].place if found else None


def _save(sessions: list[SessionName]) -> None:
    rows = [[one.name, one.place, one.title] for one in sessions[:_MOST_NAMED]]
    write_cached(_FILE, json.dumps(rows).encode())
