"""A tool as data: which of its arguments holds the path it reads, the command it runs, the page it opens."""

import msgspec

from redline.errors import ValidationError

__all__ = ["Tool", "merged"]


class Tool(msgspec.Struct, frozen=True):
    """What a tool does with its arguments.

    Each field names an argument; several names, with spaces between, are tried in order. A tool may do several things.
    """

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
