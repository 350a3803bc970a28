"""Matches of a search are grouped under the path of their file, as `rg --heading` prints them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from redline.folds.fold import ExactFold, Output

_LEAST_SAVED = 40
"""Fewer characters are not worth another layout."""
_HINTS = (re.compile(r":\d+:"), re.compile(r"\.\w+:\S"))
"""A text without these is none that a search printed; they are found quickly."""
_LEAST_PATH = 4
"""A shorter path is not worth a line of its own."""
_BEGIN = r"(?:[A-Za-z]:(?=[\\/]))?(?!\d++[:-])[^\s:\"'<>|*=,;`({\[#&!?-]"
"""No path begins in another way, so that timestamps, items of lists and code are none."""
_WORD = r"[^\s:\"'<>|*`]*+"
_NUMBERED = re.compile(rf"((?=[^\s:]*[^\W\d]){_BEGIN}{_WORD}(?::(?=[^\s:]*[/.])[^\W\d]{_WORD})?(?<!T\d\d)):\d++:")
"""Also with a revision before it, as git prints it: `main:src/a.py:12:`."""
_CONTEXT = re.compile(rf"({_BEGIN}[^:\"'<>|*`]*?\.[A-Za-z]\w*+)-\d++-")
_SPACED = re.compile(rf"({_BEGIN}[^:\"'<>|*`(]*\.[A-Za-z]\w*+):\d++:")
_PLAIN = re.compile(rf"({_BEGIN}{_WORD}):(?![:\d])")
_NAMES_FILE = re.compile(r"(?=.*[/\\]|.*\.[A-Za-z]\w*\Z)")
_MATCH = re.compile(r"(?!-+\Z)(?:\d++([:-])|[:-])")
"""A line of a group as it is folded: a match or its context, with its number or without."""
_NUMBER = re.compile(r"([:-])\d++\1")
_DIAGNOSTIC = re.compile(
    r":(?:\d++:){1,2} (?:[a-z]+ )?(?:[Ee]rror|ERROR|[Ww]arning|WARNING|[Nn]ote|[Ii]nfo|[Hh]elp|[Hh]int|[A-Z]{1,8}\d{2,5})\b"
)
_SAYS = re.compile(r":(?:\d++:){0,2} [^\s*#/-]|--\Z")
"""After one space, a tool says something about a line of a file. Few lines of files begin so."""


class _Group(NamedTuple):
    """Lines in a row that begin with the path of one file."""

    start: int
    end: int
    path: str


class SearchMatches(ExactFold):
    """`path:12:text` on several lines in a row becomes `path`, and below it `12:text`; an empty line ends the group."""

    name = "search_matches"

    def fold(self, output: Output) -> str | None:
        """The matches of each file below its path."""
        if not any(hint.search(output.text) for hint in _HINTS):
            return None
        lines = output.lines
        groups = _groups_in(lines)
        if sum((group.end - group.start - 1) * (len(group.path) + 1) - 2 for group in groups) < _LEAST_SAVED:
            return None
        folded, place = list[str](), 0
        for start, end, path in groups:
            if not (place and lines[place:start] == ["--"]):
                folded += [""] if place else []
            folded += [*lines[place:start], path]
            folded += [line if line == "--" else _without_path(line, path) for line in lines[start:end]]
            if _has_heading(lines[place:start]):
                return None
            place = end
        rest = lines[place:]
        folded += rest if rest in ([], [""]) else ["", *rest]
        return None if _has_heading(rest) else "\n".join(folded)

    def unfold(self, text: str) -> str:
        """Each match with the path of its file."""
        lines, unfolded = text.split("\n"), list[str]()
        path, last = "", len(lines) - 1
        for place, line in enumerate(lines):
            if path and line == "--":
                unfolded.append(line)
            elif path and (match := _MATCH.match(line)):
                unfolded.append(f"{path}{match[1] or ''}{line}")
            elif path and not line and place < last:
                path = ""
            elif place < last and _is_heading(line, lines[place + 1]):
                path = line
            else:
                path = ""
                unfolded.append(line)
        return "\n".join(unfolded)


def _groups_in(lines: Sequence[str]) -> list[_Group]:
    """The lines that are worth a heading."""
    groups, end, most = list[_Group](), 0, len(lines)
    alike = [place for place, (line, after) in enumerate(pairwise(lines)) if line[:4] == after[:4] and line[:1] > " "]
    for place in alike:
        path = _path_of(lines[place]) if place >= end else ""
        if len(path) < _LEAST_PATH:
            continue
        has_numbers = _NUMBER.match(lines[place], len(path)) is not None
        start, stop = place, place + 1
        while start > end and _is_in(path, lines[start - 1], has_numbers):
            start -= 1
        while stop < most and _is_in(path, lines[stop + (lines[stop] == "--" and stop + 1 < most)], has_numbers):
            stop += 1
        if stop - start > 1:
            end = stop
            groups += [_Group(start, stop, path)] if _is_found(lines[start:stop], path) else []
    return groups


def _path_of(line: str) -> str:
    """The path with which a line of search output begins; empty for another line."""
    found = _NUMBERED.match(line) or _CONTEXT.match(line) or _SPACED.match(line) or _PLAIN.match(line)
    return found[1] if found is not None and (found.re is not _PLAIN or _NAMES_FILE.match(found[1])) else ""


def _is_in(path: str, line: str, has_numbers: bool) -> bool:
    """Whether a line is a match in a file, or stands near one."""
    if not line.startswith(path):
        return False
    if has_numbers:
        return _NUMBER.match(line, len(path)) is not None
    return line[len(path) : len(path) + 1] in (":", "-") and _MATCH.match(line, len(path)) is not None


def _is_found(lines: Sequence[str], path: str) -> bool:
    """Whether a search found the lines: a compiler's reports are left as they are."""
    if any(_DIAGNOSTIC.match(line, len(path)) for line in lines) or all(_SAYS.match(line, len(path)) for line in lines):
        return False
    return _is_heading(path, _without_path(lines[0], path))


def _without_path(line: str, path: str) -> str:
    """A match as it stands below the path of its file."""
    return line[len(path) + (_NUMBER.match(line, len(path)) is not None) :]


def _is_heading(line: str, after: str) -> bool:
    """Whether a line is a path with matches below it."""
    match = _MATCH.match(after)
    return match is not None and _path_of(f"{line}:1:" if match[1] else f"{line}:") == line


def _has_heading(lines: Sequence[str]) -> bool:
    """Whether lines that are not folded would be taken for a path and its matches."""
    return any(_is_heading(line, after) for line, after in pairwise(lines))
