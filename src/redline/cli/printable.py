"""Text from sessions, file names and errors, made safe for a terminal: no control characters, no hidden ones, known width."""

import json
import re
import unicodedata

from redline.inspection.visible_text import is_visible, printable

__all__ = ["as_json", "printable", "shortened", "width_of", "wrapped"]


def as_json(value: object, *, indent: int | None = None, is_ascii: bool = False) -> str:
    """JSON that reads back to the same value, with the characters that `printable` escapes escaped as JSON does."""
    try:
        text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
        text.encode()
    except UnicodeEncodeError:  # half an emoji
        text = json.dumps(value, indent=indent)
    return re.sub(r"[^ -~\n]", lambda found: found[0] if is_visible(found[0]) else json.dumps(found[0])[1:-1], text)


def width_of(text: str) -> int:
    """How many columns a text takes: Chinese characters and most emoji take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def shortened(text: str, width: int, *, at_end: bool = False) -> str:
    """The text within so many columns, with `…` for what is left out of its middle, or of its end."""
    if width_of(text) <= width:
        return text
    room = max(width - 1, 0)
    front = room if at_end else room - room // 2
    return f"{_taken(text, front)}…{_taken(text[::-1], room - front)[::-1]}"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of so many columns, broken between words where that is possible."""
    lines, line = [], ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if width_of(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        while width_of(word) > width and (piece := _taken(word, width)):
            lines.append(piece)
            word = word[len(piece) :]
        line = word
    return [*lines, line]


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Mn":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _taken(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:place]
    return text
