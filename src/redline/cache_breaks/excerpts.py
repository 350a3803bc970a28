"""The words around the place where two versions of a piece differ: short, without secrets, and of which kind."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from redline.cache_breaks.pieces import unmarked
from redline.redaction import redact_text
from redline.values import payloads

_MOST_CHARS = 80
"""Of each of the two texts."""
_AHEAD_CHARS = 30
"""Of them, so many come before the first difference."""
_MOST_REDACTED = 4_000
"""A secret is recognised by what is around it: so much of a line is looked at on each side."""
_DATE = re.compile(
    r"\b\d{4}[-/.]\d\d?[-/.]\d\d?\b|\b\d\d?[/.]\d\d?[/.]\d{4}\b|\b\d\d?:\d\d(?::\d\d)?\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d"
)
_GIT = re.compile(
    r"^\s*(?:[MADRCU?! ]{2} \S|\?\? |[0-9a-f]{7,12} \S)|git status|[Bb]ranch|[Cc]ommits?\b|working tree|On branch|\(clean\)"
)
_FOLDER = re.compile(r"(?i)working directory|\bcwd\b|<cwd>")
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}\b|\b[0-9a-zA-Z]*\d[0-9a-zA-Z]{15,}\b")
_LONG_DATA = 2_000
_PLACES = {"description": "the description", "input_schema": "the schema", "parameters": "the schema", "strict": "the schema"}
"""Of a tool: fields, and what they hold."""


class Excerpt(NamedTuple):
    """Where two texts begin to differ, and both there."""

    at: str = ""
    """The path inside the piece; empty where it is the whole piece."""
    before: str = ""
    after: str = ""
    what: str = ""
    """In words, where the kind is known: `the date`, `the git state`, `an image`, `the description`."""
    line: int = 0
    """Of a text of several lines, counted from 1."""


def excerpt_of(before: bytes | None, after: bytes | None) -> Excerpt:
    """Where two versions of a piece differ first. A version that is not there, or not known any more, gives no words."""
    old, new = (unmarked(payloads.decode(one)) if one is not None else None for one in (before, after))
    if before is None or after is None:
        return Excerpt("", _shown(_words(old), 0), _shown(_words(new), 0))
    path, one, other = first_difference(old, new, ())
    if payloads.canonical(old) == payloads.canonical(new):
        return Excerpt("", "", "", "the order of the keys")
    what = what_of_place(path, one, other)
    at = ".".join(map(str, path))
    if one == other:  # a text, and a block that holds nothing but the same text
        is_text = isinstance(payloads.value_at(new, path), str)
        return Excerpt(at, "", "", "a text in place of a block" if is_text else "a block in place of a text")
    if not (isinstance(one, str) and isinstance(other, str)):
        return Excerpt(at, _shown(_words(one), 0), _shown(_words(other), 0), what)
    if what == "an image":
        return Excerpt(at, f"{len(one):,} characters of data", f"{len(other):,} characters of data", what)
    lines, others = one.split("\n"), other.split("\n")
    number = next(number for number, (a, b) in enumerate(zip_longest(lines, others)) if a != b)
    line, changed = (some[number] if number < len(some) else "" for some in (lines, others))
    column = next(
        (place for place, (a, b) in enumerate(zip(line, changed, strict=False)) if a != b), min(len(line), len(changed))
    )
    near = "\n".join(lines[max(number - 6, 0) : number + 1] + others[max(number - 6, 0) : number + 1])
    line_number = number + 1 if len(lines) > 1 or len(others) > 1 else 0
    return Excerpt(at, _shown(line, column), _shown(changed, column), what or kind_of_words(line, changed, near), line_number)


def first_difference(one: Any, other: Any, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any, Any]:
    """The path to the first value that differs, and both values there."""
    match one, other:
        case dict(), dict():
            for name in dict.fromkeys((*other, *one)):
                if one.get(name) != other.get(name):
                    return first_difference(one.get(name), other.get(name), (*path, name))
        case list(), list():
            for number, (a, b) in enumerate(zip_longest(one, other)):
                if a != b:
                    return first_difference(a, b, (*path, number))
        case str(), [{"text": str(text)}, *_]:
            return first_difference(one, text, path)
        case [{"text": str(text)}, *_], str():
            return first_difference(text, other, path)
    return path, one, other


def what_of_place(path: Sequence[str | int], one: Any, other: Any) -> str:
    """The kind of words by their place."""
    is_data = any(isinstance(some, str) and len(some) > _LONG_DATA and " " not in some[:_LONG_DATA] for some in (one, other))
    if is_data or {"source", "image_url", "inlineData", "inline_data", "image"} & set(map(str, path)):
        return "an image"
    return next((_PLACES[str(name)] for name in path if name in _PLACES), "")


def kind_of_words(line: str, changed: str, near: str) -> str:
    """The kind of words in two versions of a line, by the words themselves and by the lines before them."""
    if _DATE.search(line) and _DATE.search(changed) and _DATE.sub("", line) == _DATE.sub("", changed):
        return "the date"
    if _FOLDER.search(line) or _FOLDER.search(changed):
        return "the working directory"
    if _GIT.search(line) or _GIT.search(changed) or "git status" in near.lower() or "gitStatus" in near:
        return "the git state"
    if _DATE.search(line) and _DATE.search(changed):
        return "the date"
    return "an id" if _ID.search(line) and _ID.search(changed) else ""


def _words(value: Any) -> str:
    """What a value says first: its text, else its JSON."""
    match value:
        case None:
            return ""
        case str():
            return value
        case {"text": str(text)} | {"description": str(text)} | {"content": str(text)} | {"content": [{"text": str(text)}, *_]}:
            return text
    return payloads.encode(value).decode("utf-8", "replace")


def _shown(text: str, column: int) -> str:
    """The text around a column in one line, without secrets and control characters."""
    start = max(column - _MOST_REDACTED, 0)
    line = text[start : column + _MOST_REDACTED]
    ahead, rest = redact_text(line[: column - start]), redact_text(line)
    kept = max(len(ahead) - _AHEAD_CHARS, 0) if rest.startswith(ahead) else 0
    shown = " ".join("".join(char if char.isprintable() else " " for char in rest[kept : kept + _MOST_CHARS]).split())
    return f"{'…' if kept or start else ''}{shown}{'…' if len(rest) > kept + _MOST_CHARS else ''}"
