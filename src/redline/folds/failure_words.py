"""The words by which programs report failures: lines with one of them stay word for word, and so do the lines near them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from operator import itemgetter

from redline.folds.routine_lines import is_routine

_WORDS = (
    r"abort|assert|bad\b|broken|can't|cannot|caused by|conflict|core dumped|corrupt|could not|couldn't|crash|critical"
    r"|deadlock|denied|deprecat|err\b|errno\b|error|exception|exit code|exit status|exited with|fail|fatal|forbidden"
    r"|illegal|incompatible|insecure|interrupted|invalid|killed|leak|mismatch|missing|no candidate|no match|no module"
    r"|no space|no such|no version|not allowed|not exist|not found|not implemented|not installed|not ok|not permitted"
    r"|not supported|not valid|obsolete|out of memory|overflow|panic|permission|problem|read-only|refused|rejected"
    r"|segfault|segmentation|severe|stack trace|stuck|terminated|timed out|timeout|traceback|truncated|unable"
    r"|unauthori|uncaught|undefined|unexpected|unhandled|unknown|unmet|unreachable|unrecogni|unresolved|unsafe"
    r"|unsupported|violat|vulnerab|warn|wrong|失败|错误|警告|异常|エラー"
)
_JOINED = (
    f"{first}(?:{'|'.join(word[1:] for word in words)})" for first, words in groupby(sorted(_WORDS.split("|")), itemgetter(0))
)
_PATTERN = "|".join([*_JOINED, *"×✕✖✗✘❌❗⚠⛔🚨", "e(?<=^e)(?:   |: )", "w(?<=^w)(?:   |: )"])
"""Joined by their first letters, and each alternative begins with one: so they are found in a quarter of the time."""
FAILURE_WORDS = re.compile(_PATTERN, re.IGNORECASE | re.MULTILINE)
"""A line with one of these may report a failure."""
_IN_SMALL_LETTERS = re.compile(_PATTERN, re.MULTILINE)
"""Finds them in a text of small letters, several times faster."""
_NO_FAILURES = re.compile(
    r"\b(?:0|no) (?:errors?|warnings?|fail(?:ures?|ed|ing)?|exceptions?|vulnerabilities|unexpected)\b"
    r"|\bxfail(?:ed)?\b|\b(?:errors?|warnings?|fail(?:ures?|ed)?)[:=] ?0\b"
)
_NEAR = 2
"""So many lines before and after a failure stay."""


def lines_near_failures(lines: Sequence[str], plain: Sequence[str], numbers: Iterable[int]) -> frozenset[int]:
    """Of these lines, by their numbers from 0, and of those beside them, those with words of failure or near such a line.

    A line that holds such a word and reports no failure stays alone: a passed test named after an error, `0 errors`.
    `plain` are the lines without colours, and without what runners of programs write before each.
    """
    asked, width = bytearray(len(lines) + 2 * _NEAR), 2 * _NEAR + 1
    for number in numbers:
        asked[number : number + width] = b"\1" * width
    looked_at = [number for number in range(len(lines)) if asked[number + _NEAR]]
    lowered = "\n".join([lines[number] for number in looked_at]).casefold()
    starts = [0, *accumulate(len(line) + 1 for line in lowered.split("\n"))]
    found = {looked_at[bisect_right(starts, match.start()) - 1] for match in _IN_SMALL_LETTERS.finditer(lowered)}
    near = set(found)
    for number in found:
        if not is_routine(plain[number]) and _IN_SMALL_LETTERS.search(_NO_FAILURES.sub("", plain[number].casefold())):
            near.update(range(max(0, number - _NEAR), min(len(lines), number + _NEAR + 1)))
    return frozenset(near)
