"""A text with its secrets replaced."""

import re
from collections.abc import Sequence

from redline.redaction.names import NAMES
from redline.redaction.places import PLACES
from redline.redaction.readings import encoded_texts, readings_of
from redline.redaction.secret import MARK, Secret
from redline.redaction.tokens import TOKENS

__all__ = ["SECRETS", "holds_secrets", "possible_kinds", "redact_characters", "redact_text"]

Kinds = tuple[Secret, ...]

SECRETS: Kinds = (*PLACES[:1], *(token.kind() for token in TOKENS), *PLACES[1:], *NAMES)
"""Every kind, the more telling ones first: a private key is one whatever its lines look like."""

_MOST_ROUNDS = 8
"""What is beside a secret may show as another once that is gone; no text takes more than three rounds, unless made for it."""
_REST = f"{MARK}rest]"
_ENCODED = f"{MARK}encoded secret]"
_DEEPEST = 2
"""How often what is encoded may be encoded again and still be read."""

Span = tuple[int, int, str]
"""From where to where, and what is written there instead."""


def redact_text(text: str, depth: int = _DEEPEST) -> str:
    """A text with its secrets replaced."""
    return redact_characters(text, [], depth)[0]


def holds_secrets(text: str) -> bool:
    """Whether there is one, in whatever spelling."""
    return any(kind.pattern.search(text) for kind in possible_kinds(text)) or bool(
        _coded_spans(text) or _encoded_spans(text, _DEEPEST)
    )


def redact_characters(meant: str, written: list[str], depth: int = _DEEPEST) -> tuple[str, list[str]]:
    """A text without its secrets, and what is written for it without them too, if that is given.

    Each of `written` is how one character of `meant` is spelled in the source (`\\n` for a line break), so that places in one
    are places in the other. If secrets still come to light after some rounds, the text ends there.
    """
    for _ in range(_MOST_ROUNDS):
        before = meant
        meant, written = _replaced(meant, written, _coded_spans(meant))  # first: a colour may hide where a secret begins
        for kind in possible_kinds(meant):
            spans = [(*found.span("secret"), kind.marker) for found in kind.pattern.finditer(meant)]
            meant, written = _replaced(meant, written, spans)
        meant, written = _replaced(meant, written, _encoded_spans(meant, depth))
        if meant == before:
            return meant, written
    found = [match.start("secret") for kind in possible_kinds(meant) if (match := kind.pattern.search(meant))]
    found += [start for start, _, _ in (*_coded_spans(meant), *_encoded_spans(meant, depth))]
    end = min(found, default=len(meant))
    return (meant[:end] + _REST, [*written[:end], _REST]) if found else (meant, written)


def _coded_spans(text: str) -> list[Span]:
    """Secrets that show when the text is decoded, in order; of two that share characters, the first."""
    found: list[Span] = []
    for reading in readings_of(text):
        for kind in possible_kinds(reading.text):
            matches = (match for match in kind.pattern.finditer(reading.text) if match["secret"])
            found += [(*reading.span(*match.span("secret")), kind.marker) for match in matches]
    kept: list[Span] = []
    for span in sorted(found):
        if MARK not in text[span[0] : span[1]] and (not kept or span[0] >= kept[-1][1]):
            kept.append(span)
    return kept


def _encoded_spans(text: str, depth: int) -> list[Span]:
    """What holds secrets once it is decoded from base64 or hexadecimal digits."""
    texts = encoded_texts(text) if depth else ()
    return [(start, end, _ENCODED) for start, end, words in texts if redact_text(words, depth - 1) != words]


def _replaced(meant: str, written: list[str], spans: Sequence[Span]) -> tuple[str, list[str]]:
    if not spans:
        return meant, written
    return "".join(_without(meant, spans)), _without(written, spans) if written else written


def _without(characters: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """The characters, with a marker in the place of each span; a text may stay in pieces."""
    pieces, at = list[str](), 0
    for start, end, marker in spans:
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
