"""A text with its secrets replaced."""

import base64
import binascii
import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redline.redaction.kinds import MARK, PLACES, TOKENS, Secret
from redline.redaction.names import NAMES

_ESCAPE = r"(?:\x1b|\x9b|\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[)"
_COLOUR = rf"{_ESCAPE}(?:\[[0-9;:?]{{0,40}}[ -/]{{0,4}}[@-~]|\][^\x07\x1b\\]{{0,400}}(?:\x07|\x1b\\)?|[()][A-Z0-9])"
_UNSEEN = "[\u00ad\u200b-\u200f\u2060\ufeff]"
_CODED = re.compile(
    rf"(?P<colour>{_COLOUR})|(?P<unseen>{_UNSEEN})|%(?P<percent>[0-9A-Fa-f]{{2}})|\\u\{{?(?P<code>[0-9A-Fa-f]{{4}})\}}?"
    r"|\\x(?P<byte>[0-9A-Fa-f]{2})|\\(?P<octal>[01][0-7]{2})|(?P<slash>\\/)|(?P<entity>&#?[A-Za-z0-9]{2,8};)"
)
_HINTS = re.compile(r"[\x1b\x9b\u00ad\u200b-\u200f\u2060\ufeff%&]|\\[ux01e/]|\^\[")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says once it is decoded, and where each character of that is written."""

    text: str
    starts: list[int]
    """Of the pieces of it that are not empty: where they begin in it,"""
    sources: list[tuple[int, int]]
    """and from where to where they are written."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from start to end are written."""
        return self._written(start)[0], self._written(end - 1)[1]

    def _written(self, place: int) -> tuple[int, int]:
        piece = bisect_right(self.starts, place) - 1
        source, ahead = self.sources[piece], place - self.starts[piece]
        ends = self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.text)
        is_plain = ends - self.starts[piece] == source[1] - source[0]
        return (source[0] + ahead, source[0] + ahead + 1) if is_plain else source


def readings_of(text: str) -> Iterator[Reading]:
    """The text decoded, if something in it is coded; once with colours left out, since they may be inside of a word, and once
    with a space in the place of each, since a word may begin after one."""
    if _HINTS.search(text) is None:
        return
    found = list(_CODED.finditer(text))
    if found:
        yield _decoded(text, found, colour="")
    if any(one["colour"] for one in found):
        yield _decoded(text, found, colour=" ")


def _decoded(text: str, found: list[re.Match[str]], *, colour: str) -> Reading:
    pieces, starts, sources = list[str](), list[int](), list[tuple[int, int]]()
    at = length = 0
    for one in (*found, None):
        begins = len(text) if one is None else one.start()
        meant = "" if one is None else colour if one["colour"] else _meaning_of(one)
        ends = begins if one is None else one.end()
        for piece, source in ((text[at:begins], (at, begins)), (meant, (begins, ends))):
            if piece:
                pieces.append(piece)
                starts.append(length)
                sources.append(source)
                length += len(piece)
        at = ends
    return Reading("".join(pieces), starts, sources)


def _meaning_of(coded: re.Match[str]) -> str:
    """One character, or none; what is no character stays as it is written."""
    if coded["unseen"]:
        return ""
    if coded["slash"]:
        return "/"
    if coded["entity"]:
        meant = html.unescape(coded[0])
        return meant if len(meant) == 1 else coded[0]
    digits = coded["percent"] or coded["code"] or coded["byte"]
    return chr(int(digits, 16) if digits else int(coded["octal"], 8))


# --- runs of digits that are words

_LINES = r"(?:[A-Za-z0-9+/]{60,76}\r?\n)++(?:[A-Za-z0-9+/]{2,76}={0,2})?"
_PAIR = r"(?:0x)?[0-9A-Fa-f]{2}"
_LETTERS = r"[A-Za-f][A-HQ-Xg-nw-z0-3]"
"""What base64 of ASCII begins with; most words do not."""
_RUN = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:(?P<digits>{_PAIR}(?:[:, ]\s?{_PAIR}){{15,}}+)|(?P<lines>(?={_LETTERS}){_LINES})"
    rf"|(?P<word>(?={_LETTERS}|0x|[0-9A-Fa-f]{{20}})[A-Za-z0-9+/_-]{{20,}}+={{0,2}}))"
)
_DIGITS = re.compile(r"[0-9A-Fa-f]++")
_TO_STANDARD = str.maketrans("-_", "+/")
_PRINTABLE = re.compile(rb"[\t\n\r\x1b -~]*+")
_LOOKED_AT = 16
"""So many characters show whether a run is words at all, before the rest of a picture is decoded."""


def encoded_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of base64 or hexadecimal digits that are words, from where to where, and these words."""
    for found in _RUN.finditer(text):
        if found["digits"]:
            words = _words(bytes.fromhex(re.sub(r"0x|[:,\s]", "", found[0])))
        else:
            lines = found[0].rstrip("=").split()
            words = _words_of_run("".join(lines)) or _words_of_run("".join(lines[:-1]))  # the last may be of what follows
        if words is not None:
            yield found.start(), found.end(), words


def _words_of_run(run: str) -> str | None:
    digits = run.removeprefix("0x")
    if len(digits) % 2 == 0 and _DIGITS.fullmatch(digits) and (words := _words(bytes.fromhex(digits))):
        return words
    standard = run.translate(_TO_STANDARD)
    first = _from_base64(standard[:_LOOKED_AT])
    return _words(_from_base64(standard)) if first is not None and _words(first) is not None else None


def _from_base64(run: str) -> bytes | None:
    whole = run if len(run) % 4 != 1 else run[:-1]
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4))
    except (binascii.Error, ValueError):
        return None


def _words(held: bytes | None) -> str | None:
    """Bytes as words, also those that Windows writes with two bytes each; None if they are none."""
    if held is None:
        return None
    if len(held) > 3 and not any(held[1::2]):
        held = held[::2]
    return held.decode("ascii") if _PRINTABLE.fullmatch(held) else None


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
    """The kinds of secret that the text holds a hint of."""
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
