"""Where something is, in words that are the same in every command: by the line where there are lines."""

import re
from collections.abc import Iterable

from redline.cli.output import complain, say
from redline.laws import Problem
from redline.transcripts import BadRecord

__all__ = ["damage_words", "folder_name", "place_of_message", "place_words", "show_damage", "show_problem"]


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


def show_damage(name: str, damage: Iterable[BadRecord]) -> None:
    """A line for each record of a session that could not be read."""
    for bad in damage:
        left_out = "; left out" if bad.is_left_out else ""
        complain(f"{name}: {damage_words(bad.line, bad.column, bad.reason)}{left_out}")


def show_problem(name: str, problem: Problem, line: int | None, *, conversation: str = "") -> None:
    """What a provider would refuse, and where."""
    whose = f"{conversation}, " if conversation else ""
    say(f"{name}: {whose}{place_of_message(problem.index, line)}: {problem.found} ({problem.law}: {problem.rule})")


def folder_name(path: str) -> str:
    """The last folder of a path of any system."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]
