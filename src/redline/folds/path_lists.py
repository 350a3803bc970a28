"""In a list of paths, the folder of several in a row is written once, with their names below it."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from redline.folds.fold import ExactFold, Output

_LEAST_ENTRIES = 3
_LEAST_SAVED = 40
"""Fewer characters are not worth another layout."""
_MOST_LEVELS = 3
"""More folders in folders save hardly more, and are harder to read."""
_INDENT = "  "
_STATUS = (
    r"(?:(?!  )[ MADRCUTX?!]{2} |[MADUTX][ \t]|\t(?:(?:modified|new file|deleted|typechange): *)?| ?\d+ +|\d+\t\d+\t|"
    r"[\d.]+[KMG]?\t| )?+"
)
_COLUMN = re.compile(_STATUS)
"""Before a path stands the status that git gives it, or its size."""
_ENTRY = re.compile(
    rf"({_STATUS})(?:"
    r"((?:[A-Za-z]:(?=[\\/]))?(?![-+#=&%!?]|//)[^\s:\"'<>|*`,;]*[/\\])"
    r"([^\s:/\\\"'<>|*`,;]++[/\\]?(?:\Z| +\| +(?:\d+ |Bin ).*|:\d++:(?:\d++:)?+(?! \S).*))|"
    r"((?:\.{1,2}|~)?/(?![/\s])[^:\"'<>|*`,;]*/)([^:/\"'<>|*`,;]+\.\w+\Z))",
    re.DOTALL,
)
"""A path, alone or before its share of a diff or a match of a search, not before a compiler's report; or one with spaces."""
_TOP = re.compile(r"(?:(?:\.{1,2}|~)?[/\\])*[^/\\]*[/\\]?")
_FOLDER = re.compile(r"\S.*(?<! )[/\\]\Z", re.DOTALL)
_MATCH = re.compile(r"\d++[:-]|[:-]")


class _Entry(NamedTuple):
    """A line that names a path."""

    column: str
    folder: str
    name: str
    """With the rest of the line."""


class PathLists(ExactFold):
    """Lines that begin with one folder become the folder, and indented below it the rest of each line."""

    name = "path_lists"

    def fold(self, output: Output) -> str | None:
        """The names below their folders."""
        if output.text.count("/") + output.text.count("\\") < _LEAST_ENTRIES:
            return None
        lines, folded, place = output.lines, list[str](), 0
        for start, entries in _lists_in(lines):
            folded += [*lines[place:start], *_arranged(entries, 0, 0)]
            place = start + len(entries)
        text = "\n".join([*folded, *lines[place:]])
        return text if len(output.text) - len(text) >= _LEAST_SAVED else None

    def unfold(self, text: str) -> str:
        """Each name with its folders."""
        lines, unfolded, folders = text.split("\n"), list[str](), list[str]()
        for place, line in enumerate(lines):
            level = 0
            while level < len(folders) and line.startswith(_INDENT, len(_INDENT) * level):
                level += 1
            del folders[level:]
            folder, said = folders[-1] if folders else "", line[len(_INDENT) * level :]
            has_names = place + 1 < len(lines) and lines[place + 1].startswith(_INDENT * (level + 1))
            if level < _MOST_LEVELS and has_names and said[-1:] in ("/", "\\") and _FOLDER.match(said):
                folders.append(folder + said)
            elif folder:
                column = _COLUMN.match(said)
                end = column.end() if column is not None else 0
                unfolded.append(said[:end] + folder + said[end:])
            else:
                unfolded.append(line)
        return "\n".join(unfolded)


def _lists_in(lines: Sequence[str]) -> Iterator[tuple[int, list[_Entry]]]:
    """Runs of lines that name paths, and where they begin."""
    places = [place for place, line in enumerate(lines) if "/" in line or "\\" in line]
    for first, last in _rows(places):
        entries, start = list[_Entry](), first
        for place in range(first, last + 1):
            found, after = _ENTRY.match(lines[place]), lines[place + 1] if place + 1 < len(lines) else ""
            # what follows would be taken for a name below a path, or is a match in it
            if found is not None and not after.startswith(_INDENT) and not _MATCH.match(after):
                column, folder, name, spaced, spaced_name = found.groups()
                entries.append(_Entry(column, folder or spaced, name or spaced_name))
                continue
            if len(entries) > 1:
                yield start, entries
            entries, start = [], place + 1
        if len(entries) > 1:
            yield start, entries


def _rows(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each two or more places in a row."""
    if not places:
        return
    first = last = places[0]
    for place in places:
        if place > last + 1:
            if last > first:
                yield first, last
            first = place
        last = place
    if last > first:
        yield first, last


def _arranged(entries: Sequence[_Entry], level: int, written: int) -> list[str]:
    """The lines of a list, below folders of which so many characters are written already."""
    arranged, indent = list[str](), _INDENT * level
    tops = {folder: (_TOP.match(folder, written) or folder)[0] for folder in {entry.folder for entry in entries}}
    for _, found in groupby(entries, lambda entry: tops[entry.folder]):
        run = list(found)
        folder = _shared_folder([entry.folder for entry in run], written) if len(run) > 1 else ""
        saved = len(run) * (len(folder) - len(_INDENT)) - len(indent + folder) - 1
        if level < _MOST_LEVELS and saved > 0:
            arranged += [indent + folder, *_arranged(run, level + 1, written + len(folder))]
        else:
            arranged += [indent + entry.column + entry.folder[written:] + entry.name for entry in run]
    return arranged


def _shared_folder(folders: Sequence[str], written: int) -> str:
    """The folder that all are in, without so many characters."""
    first, last = min(folders), max(folders)
    end = len(first)
    while end > written and not last.startswith(first[:end]):
        end = max(first.rfind("/", 0, end - 1), first.rfind("\\", 0, end - 1)) + 1
    return first[written:end]
