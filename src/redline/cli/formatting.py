"""Text for people: times, sums of money, sizes and places in words, and lines that fit a terminal."""

import re
import time
from datetime import datetime, tzinfo


def moment_of(time_ms: float | None, zone: tzinfo | None = None) -> datetime | None:
    """Where the user is, or in a zone; None for a time that no calendar has."""
    try:
        return None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, zone)
    except (OverflowError, OSError, ValueError):
        return None


def date_and_time(time_ms: float | None) -> str:
    """Where the user is; nothing for a time that no calendar has."""
    moment = moment_of(time_ms or None)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""


def how_long_ago(time_ms: float | None) -> str:
    """How long ago, for a week; then the date, where the user is."""
    if time_ms is None:
        return ""
    minutes = int((time.time() * 1000 - time_ms) / 60_000)
    if 0 <= minutes < 1:
        return "now"
    for size, unit, most in ((1, "min", 60), (60, "h", 24 * 60), (24 * 60, "d", 7 * 24 * 60)):
        if 0 <= minutes < most:
            return f"{minutes // size} {unit}"
    said = moment_of(time_ms)
    if said is None:
        return ""
    return f"{said:%b} {said.day}" if said.year == datetime.now().year else f"{said:%Y-%m-%d}"


def dollars(cost: float | None) -> str:
    """Cents where there are few, fractions of one where there is less; a loss has its sign, nothing has none."""
    if cost is None:
        return ""
    if 0 < cost < 0.0001:
        return "<$0.0001"
    size = round(abs(cost), 4)
    return f"{'-' if cost < 0 and size else ''}${size:,.{4 if 0 < size < 0.1 else 2}f}"


def share(part: float) -> str:
    """Of a hundred."""
    return f"{part:.0%}" if part >= 0.1 or part == 0 else f"{part:.1%}"


def compact(number: int) -> str:
    """Three digits or so: 950, 12.3k, 4.5M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number / size:.0f}{unit}"
    return str(number)


def printable(text: str) -> str:
    """The text without control characters and hidden ones, which are written out, so that it is safe for a terminal."""
    if text.isascii() and text.isprintable():
        return text
    from redline.sessions.words import printable as escaped

    return escaped(text)


# --- places


def place_words(line: int | None, offset: int, member: str | None = None) -> str:
    """The place of a record in its file: a line, a byte, a file in an archive, a record of a database."""
    if line is not None:
        return f"line {line}"
    if member is None:
        return f"byte {offset:,}"
    return f"{member}, byte {offset:,}" if offset else member


def place_of_message(index: object, line: object) -> str:
    """A message by its line, as `repair` names it, and by its number among those that are sent, from 0."""
    return f"message {index}" if line is None else f"line {line} (message {index})"


def damage_words(line: object, column: object, found: object) -> str:
    """A record that could not be read; those of a database have no lines."""
    return f"line {line}, column {column}: {found}" if line else str(found)


def folder_name(path: str) -> str:
    """The last folder of a path of any system."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


# --- widths


def width_of(text: str) -> int:
    """How many columns a text takes: Chinese characters and most emoji take two, accents none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int, *, at_end: bool = False) -> str:
    """The text within so many columns, with `…` for what is left out of its middle, or of its end."""
    if width_of(text) <= width:
        return text
    room = max(width - 1, 0)
    front = room if at_end else room - room // 2
    return f"{_beginning(text, front)}…{_beginning(text[::-1], room - front)[::-1]}"


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
        while width_of(word) > width and (piece := _beginning(word, width)):
            lines.append(piece)
            word = word[len(piece) :]
        line = word
    return [*lines, line]


def _beginning(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    from rich.cells import chop_cells

    return next(iter(chop_cells(text, width)), "") if width > 0 else ""
