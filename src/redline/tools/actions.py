"""What a tool call can do, in kinds that all agents share: read a file, write one, run a command, search, ask."""

from typing import Literal

import msgspec

__all__ = [
    "Action",
    "Asks",
    "Fetches",
    "Lines",
    "Lists",
    "Notes",
    "Reads",
    "Resumes",
    "Runs",
    "Searches",
    "SearchesWeb",
    "Writes",
]

Lines = tuple[int, int]
"""First and last line, counted from 1; negative from the end: (-20, -1) is the last twenty, (100, -1) all from 100."""


class Reads(msgspec.Struct, frozen=True, gc=False):
    """Shows a file."""

    path: str
    """As the call spells it, except that a command's `cd` or working directory is put in front."""
    lines: Lines | None = None
    """The range asked for; None where the call asks for the file."""


class Writes(msgspec.Struct, frozen=True, gc=False):
    """Changes a file: makes, overwrites, edits, moves or deletes it."""

    path: str
    is_edit: bool = False
    """Changes some of it and keeps the rest."""


class Lists(msgspec.Struct, frozen=True, gc=False):
    """Names the files in a folder."""

    path: str
    pattern: str | None = None
    """What their names must match, where the call says it."""


class Searches(msgspec.Struct, frozen=True, gc=False):
    """Looks for a pattern inside files."""

    pattern: str
    paths: tuple[str, ...]
    """The files and folders searched; `.` where the call names none."""


class Runs(msgspec.Struct, frozen=True, gc=False):
    """Runs a command or a piece of code."""

    command: str


class Resumes(msgspec.Struct, frozen=True, gc=False):
    """Looks at, types into or stops a command that an earlier call started."""

    process: str
    """The agent's name for it."""


class Fetches(msgspec.Struct, frozen=True, gc=False):
    """Opens a page of the web."""

    url: str


class SearchesWeb(msgspec.Struct, frozen=True, gc=False):
    """Asks a search engine."""

    query: str


class Asks(msgspec.Struct, frozen=True, gc=False):
    """Asks a sub-agent or the user."""

    words: str
    whom: Literal["agent", "user"] = "agent"


class Notes(msgspec.Struct, frozen=True, gc=False):
    """Keeps something for the agent itself: a plan, a list of tasks, a thought."""


Action = Reads | Writes | Lists | Searches | Runs | Resumes | Fetches | SearchesWeb | Asks | Notes
