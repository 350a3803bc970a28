"""A text as its reader sees it: without colours, with escapes, entities and percent signs decoded; and what runs of base64 or
hexadecimal digits hold. A secret is one however it is written."""

import base64
import binascii
import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Reading", "encoded_texts", "readings_of"]

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
