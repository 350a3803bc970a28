"""What a tool call does: it reads a path, writes one, runs a command, searches …, whatever its name."""

from redline.tools.book import DEFAULT, ToolBook, ToolChoice, choose_tools
from redline.tools.description import describe
from redline.tools.paths import is_unicode, normalize_path, paths_of
from redline.tools.shell import last_program
from redline.tools.tool import (
    Action,
    Asks,
    Fetches,
    Lines,
    Lists,
    Notes,
    Reads,
    Resumes,
    Runs,
    Searches,
    SearchesWeb,
    Tool,
    Writes,
)

__all__ = [
    "DEFAULT",
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
    "Tool",
    "ToolBook",
    "ToolChoice",
    "Writes",
    "choose_tools",
    "describe",
    "is_unicode",
    "last_program",
    "normalize_path",
    "paths_of",
]
