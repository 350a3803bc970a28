"""Where something is, in words that are the same in every command: by the line where there are lines."""

import re

__all__ = ["damage_words", "folder_name", "place_of_message", "place_words"]


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
