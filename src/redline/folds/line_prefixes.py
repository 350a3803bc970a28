"""A beginning that lines in a row share, such as the job and the hour of a log, is written once, their rest below it."""

import re
from collections.abc import Iterator, Sequence
from itertools import compress, count, pairwise, zip_longest
from operator import eq, itemgetter
from typing import NamedTuple

from redline.folds.failure_words import FAILURE_WORDS
from redline.folds.fold import ExactFold, Output

_LEAST_LINES = 4
_LEAST_PREFIX = 9
"""Lines that share fewer first characters are not looked at."""
_LEAST_SAVED = 40
"""Fewer characters are not worth another layout."""
_HEADING_COST = 12
"""A heading costs a reader some attention, besides its characters."""
_MORE = "…"
_INDENT = "  "
_DATE = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/(?:\d\d|[A-Z][a-z]{2})/\d{4},?|(?<![\w-])\d\d-\d\d(?= )|[A-Z][a-z]{2} [ \d]\d|"
    r"[IWEF]\d{4}(?= ))"
)
_SECONDS = r"\d\d(?: [AP]M| [+-]\d{4}| UTC)?\]? (?:[\w.-]++ [\w./@()-]++\[\d++\]: )?"
"""They are shared only where they have no fraction; after them stand the host and the process."""
_STAMP = rf"{_DATE}[T_: ](?=\d\d?:\d\d:\d\d)\d\d?:(?:\d\d:(?:{_SECONDS})?)?"
_COLOR = r"(?:\x1b\[[\d;]*+m)*+"
_NAME = r"(?:@[\w.-]++/)?[\w./-]++"
_LABEL = (
    rf"(?:{_COLOR}(?:\[[\w./:@-]++ *+\]{_COLOR} ++(?:\| )?|[\w.-]++(?<=\d) ++\| |@[\w.-]++/[\w.-]++: |"
    rf"{_NAME}(?::[A-Za-z][\w.-]*+)++: |{_NAME} [a-z][\w.-]*+(?::[\w.-]++)*+: ))"
)
_PREFIXES = [
    re.compile(pattern)
    for pattern in (
        rf"(?![\dT/-]++ ?[\d:.Z+-]*+,[^\s,]*+,)(?:(?:time|ts|timestamp)=\"?)?{_STAMP}",
        rf"[^\t]{{1,120}}+\t(?:[^\t]{{1,120}}+\t)?+(?=\ufeff?\d{{4}}-)(?:{_STAMP})?",
        rf"{_LABEL}{{1,3}}(?:{_STAMP})?",
        r"test (?:\w++::){1,9}|(?=[\w/-]*+\.)[\w./-]++::(?:\w++::){0,9}",
        rf"(?![dlbcps][-rwxsStT]{{9}}|\w++: \d)[^\s\"'`{{}}+|>#*<-][^\"'`{{}}\t]{{0,99}}?{_STAMP}",
    )
]
"""The columns with which a line begins: a time, those of a log with tabs, the name of one of several programs that run at
once, the module of a test, or what stands before a time."""
_COLUMN = re.compile(rf"\t|\d[:\]]? |\d:|: |\]{_COLOR} |\| |::")
_HEADING_ENDS = tuple(end + _MORE for end in "\t :")
_HEAD = itemgetter(slice(_LEAST_PREFIX))


class _Heading(NamedTuple):
    """A beginning for lines in a row."""

    start: int
    end: int
    size: int
    """So many characters of each line are in it."""
    saved: int


class LinePrefixes(ExactFold):
    """The beginning that lines share, and `…`; below it, indented, the rest of each line."""

    name = "line_prefixes"

    def fold(self, output: Output) -> str | None:
        """The rest of each line below the beginning that it shares with the lines near it."""
        lines, folded, place = output.lines, list[str](), 0
        for first, last in _alike(lines):
            kinds = [found for pattern in _PREFIXES if (found := pattern.match(lines[first])) is not None]
            if not kinds:
                continue
            pattern = max(kinds, key=lambda found: found.end()).re
            prefixes = [found[0] if (found := pattern.match(line)) is not None else "" for line in lines[first:last]]
            sizes = list[int]()
            for one, after in pairwise(prefixes):
                size = len(one)
                if one != after:
                    ends = [column.end() for column in _COLUMN.finditer(one)]
                    size = next((end for end in reversed(ends) if after.startswith(one[:end])), 0)
                sizes.append(size)
            for heading in _headings(sizes, 0, last - first):
                start, size = first + heading.start, heading.size
                run = lines[start : first + heading.end]
                if FAILURE_WORDS.search(run[0][:size]):
                    continue
                folded += [*lines[place:start], run[0][:size] + _MORE, *(_INDENT + line[size:] for line in run)]
                place = start + len(run)
        return "\n".join([*folded, *lines[place:]]) if place else None

    def unfold(self, text: str) -> str:
        """Each line with its beginning."""
        lines, unfolded, prefix = text.split("\n"), list[str](), ""
        for line, after in zip_longest(lines, lines[1:], fillvalue=""):
            if prefix and line.startswith(_INDENT):
                unfolded.append(prefix + line[len(_INDENT) :])
            elif line.endswith(_HEADING_ENDS) and line[0] not in " \t" and after.startswith(_INDENT):
                prefix = line[: -len(_MORE)]
            else:
                prefix = ""
                unfolded.append(line)
        return "\n".join(unfolded)


def _alike(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where lines with the same first characters start and end, without a line that indented lines belong to."""
    heads, end = list(map(_HEAD, lines[::2])), 0
    for half in compress(count(), map(eq, heads, heads[1:])):  # of four lines in a row, two are looked at
        head, place = heads[half], half * 2
        if place < end or head[:1] in " \t":
            continue
        start = place - (place > end and lines[place - 1].startswith(head))
        end = place + 1
        while end < len(lines) and lines[end].startswith(head):
            end += 1
        stop = end - (end < len(lines) and lines[end].startswith(_INDENT))
        if stop - start >= _LEAST_LINES and len(head) == _LEAST_PREFIX:
            yield start, stop


def _headings(sizes: Sequence[int], start: int, end: int) -> list[_Heading]:
    """The headings that save most: all the lines below what all of them share, or fewer lines that share more."""
    if end - start < _LEAST_LINES:
        return []
    least, headings = min(sizes[start : end - 1]), list[_Heading]()
    cuts = [start, *(place + 1 for place in range(start, end - 1) if sizes[place] == least), end]
    if len(cuts) < end - start + 1:
        headings = [heading for part in pairwise(cuts) for heading in _headings(sizes, *part)]
    saved = (end - start) * (least - len(_INDENT)) - least - _HEADING_COST
    if saved < max(_LEAST_SAVED, sum(heading.saved for heading in headings)):
        return headings
    return [_Heading(start, end, least, saved)]
