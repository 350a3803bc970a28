"""The kind of a tool result, by what its call does: command output, a file, an edit, what a search found."""

from collections.abc import Iterable
from typing import Literal

from redline.tools import Action, Lists, Reads, Resumes, Runs, Searches, Writes

__all__ = ["INPUT_KINDS", "JUDGED_KINDS", "KINDS", "JudgedKind", "ResultKind", "input_kind_of", "kind_of_actions"]

ResultKind = Literal["terminal", "file read", "edit", "search", "other"]

KINDS: tuple[ResultKind, ...] = ("terminal", "file read", "edit", "search", "other")

JudgedKind = Literal["terminal", "file read", "edit", "search", "other", "edit input", "other input"]
"""Of what is judged: a result, or what was passed to a tool."""

INPUT_KINDS: tuple[JudgedKind, ...] = ("edit input", "other input")
JUDGED_KINDS: tuple[JudgedKind, ...] = (*KINDS, *INPUT_KINDS)

_DOES: dict[ResultKind, type | tuple[type, ...]] = {
    "terminal": (Runs, Resumes),
    "file read": Reads,
    "edit": Writes,
    "search": (Searches, Lists),
}


def kind_of_actions(actions: Iterable[Action]) -> ResultKind:
    """The kind of what a call with these actions gives back. A command that only shows files (`cat a.py`) reads them."""
    done = tuple(actions)
    if any(isinstance(one, Reads) for one in done) and all(isinstance(one, Reads | Runs) for one in done):
        return "file read"
    return next((kind for kind, does in _DOES.items() if any(isinstance(one, does) for one in done)), "other")


def input_kind_of(actions: Iterable[Action]) -> JudgedKind:
    """The kind of what is passed to a call with these actions."""
    return "edit input" if any(isinstance(one, Writes) for one in actions) else "other input"
