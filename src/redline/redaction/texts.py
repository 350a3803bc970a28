"""A text with its secrets replaced."""

import re
from collections.abc import Sequence

from redline.redaction.names import NAMES
from redline.redaction.places import PLACES
from redline.redaction.secret import MARK, Secret
from redline.redaction.tokens import TOKENS

__all__ = ["SECRETS", "possible_kinds", "redact_characters", "redact_text"]

Kinds = tuple[Secret, ...]

SECRETS: Kinds = (*PLACES[:1], *(token.kind() for token in TOKENS), *PLACES[1:], *NAMES)
"""Every kind, the more telling ones first: a private key is one whatever its lines look like."""

_MOST_ROUNDS = 8
"""What is beside a secret may show as another once that is gone; no text takes more than three rounds, unless made for it."""
_REST = f"{MARK}rest]"


def redact_text(text: str) -> str:
    """A text with its secrets replaced."""
    return redact_characters(text, [])[0]


def redact_characters(meant: str, written: list[str]) -> tuple[str, list[str]]:
    """A text without its secrets, and what is written for it without them too, if that is given.

    Each of `written` is how one character of `meant` is spelled in the source (`\\n` for a line break), so that places in one
    are places in the other. If secrets still come to light after some rounds, the text ends there.
    """
    for _ in range(_MOST_ROUNDS):
        before = meant
        for kind in possible_kinds(meant):
            if spans := [found.span("secret") for found in kind.pattern.finditer(meant)]:
                meant = "".join(_without(meant, spans, kind.marker))
                written = _without(written, spans, kind.marker) if written else written
        if meant == before:
            return meant, written
    found = [match.start("secret") for kind in possible_kinds(meant) if (match := kind.pattern.search(meant))]
    end = min(found, default=len(meant))
    return (meant[:end] + _REST, [*written[:end], _REST]) if found else (meant, written)


def _without(characters: Sequence[str], spans: list[tuple[int, int]], marker: str) -> list[str]:
    """The characters, with the marker in the place of each span; a text may stay in pieces."""
    pieces, at = list[str](), 0
    for start, end in spans:
        kept = characters[at:start]
        pieces += [kept, marker] if isinstance(kept, str) else [*kept, *marker]
        at = end
    rest = characters[at:]
    return [*pieces, rest] if isinstance(rest, str) else [*pieces, *rest]


# --- which kinds are worth looking for

_LONG_WORDS = re.compile(r"[a-z0-9_.$~+/=-]{16,}+")


def possible_kinds(text: str) -> Kinds:
    """Those of which the text holds a hint."""
    lowered = text.lower()
    words = " ".join(_LONG_WORDS.findall(lowered))
    places = {place for hint in _IN_WORDS if hint in words for place in _IN_WORDS[hint]}
    places |= {place for hint in _ANYWHERE if hint in lowered for place in _ANYWHERE[hint]}
    return tuple(SECRETS[place] for place in sorted(places))


def _by_hint(*, is_one_word: bool) -> dict[str, list[int]]:
    """The places of the kinds that have a hint."""
    found: dict[str, list[int]] = {}
    for place, kind in enumerate(SECRETS):
        if kind.is_one_word == is_one_word:
            for hint in kind.hints:
                found.setdefault(hint, []).append(place)
    return found


_IN_WORDS, _ANYWHERE = _by_hint(is_one_word=True), _by_hint(is_one_word=False)
