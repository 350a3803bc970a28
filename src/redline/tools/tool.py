"""A tool as data: which of its arguments holds the path it reads or the command it runs; and what kinds of thing calls do."""

from typing import Literal

import msgspec

from redline.errors import ValidationError

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


class Tool(msgspec.Struct, frozen=True):
    """What a tool does, perhaps several things: each field names an argument, or several with spaces between, in order."""

    reads: str = ""
    """A path or several (`paths_of`), shown."""
    writes: str = ""
    """A path or several, made, overwritten or deleted."""
    edits: str = ""
    """A path or several, changed in part."""
    patches: str = ""
    """A patch in the `*** Begin Patch` form."""
    lists: str = ""
    """A folder whose files are named; the working directory if the call has no such argument."""
    searches: str = ""
    """A pattern looked for in files."""
    runs: str = ""
    """A shell command, as text or as a list of arguments."""
    runs_each: str = ""
    """A list of shell commands."""
    evaluates: str = ""
    """Code that is not for a POSIX shell: Python, PowerShell."""
    scripts: str = ""
    """JavaScript that calls other tools."""
    resumes: str = ""
    """The name of a running command."""
    fetches: str = ""
    """A URL or several."""
    searches_web: str = ""
    """A question to a search engine."""
    asks: str = ""
    """A task for a sub-agent."""
    asks_user: str = ""
    """A question to the user."""
    notes: bool = False
    """The agent's own notes."""
    has_lines_in_path: bool = False
    """A path may end in a range: `src/app.py:10-40`."""

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            kind = bool if field in ("notes", "has_lines_in_path") else str
            if not isinstance(value, kind):
                expected = "True or False" if kind is bool else "the names of arguments as text, with spaces between"
                raise ValidationError(f"Tool: {field} must be {expected}, not {value!r}")

    @property
    def is_terminal(self) -> bool:
        """Its results are what a command or a program printed."""
        return bool(self.runs or self.runs_each or self.evaluates or self.scripts or self.resumes)

    @property
    def is_read(self) -> bool:
        """Its results are files."""
        return bool(self.reads)


def merged(one: Tool, other: Tool) -> Tool:
    """Two agents' tools of one name as one tool that understands the arguments of both."""
    fields: dict[str, str | bool] = {}
    for field in Tool.__struct_fields__:
        first, second = getattr(one, field), getattr(other, field)
        if isinstance(first, str):
            fields[field] = " ".join(dict.fromkeys(f"{first} {second}".split()))
        else:
            fields[field] = first or second
    return msgspec.structs.replace(one, **fields)
