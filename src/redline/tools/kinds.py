"""The kind of a result, told from what its call does: a terminal's output, a file that was read, an edit, a search."""

from collections.abc import Iterable
from typing import Literal

from redline.tools.tool import Action, Lists, Reads, Resumes, Runs, Searches, Writes

ResultKind = Literal["terminal", "file read", "edit", "search", "other"]
KINDS: tuple[ResultKind, ...] = ("terminal", "file read", "edit", "search", "other")
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
