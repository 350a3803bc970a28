"""Lines of progress, polling and logs that differ only in times and counters are left out but for the first and the last."""

import re
from collections.abc import Sequence
from itertools import groupby, islice, pairwise
from operator import eq

from redline.folds.fold import Output, PartialFold

_LEAST_LINES = 6
_LEAST_SAVED = 80
"""Characters, besides those of the notice."""
_ALIKE = re.compile(rb"\x01{%d,}" % (_LEAST_LINES - 1))
"""Lines in a row that are each like the next."""
_NO_LETTERS = bytes({*range(0x41), *range(0x5B, 0x61), *range(0x7B, 0x100), *b"abcdefABCDEFTZkKMGiBs"} - {0x0A})
"""What lines alike may differ in, and more: without these bytes lines are compared fast."""
_FIELD = re.compile(
    r"(?=[\d+\[|█▏▎▍▌▋▊▉░▒▓━╸╺■□]|\b[a-f])(?:"
    r"(?P<time>\d{4}[-/]\d\d[-/]\d\d(?:[T _]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}/(?:[A-Z][a-z]{2}|\d{1,2})/\d{2,4}(?::\d\d:\d\d:\d\d)?|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?|\b1[67]\d{8}(?:\d{3})?\b)"
    r"|(?P<share>\d{1,9}(?:\.\d{1,9})? ?%)"
    r"|(?P<part>\b\d{1,9} ?(?:/|of) ?\d{1,9}\b(?![/.:]))"
    r"|(?P<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=\d{0,64}[a-f])(?=[a-f]{0,64}\d)[0-9a-f]{7,64}\b)"
    r"|(?P<duration>\+?\d{1,9}(?:\.\d{1,9})?(?:[mh] ?\d{1,2}(?:\.\d{1,9})?)?[mh]? ?(?:[mµun]?s|secs?|seconds?|min|minutes?)\b"
    r"|\b\d{1,3}:\d\d\b)"
    r"|(?P<size>\d{1,9}(?:\.\d{1,9})? ?(?:[kKMGT]i?[bB]?|[bB]|bytes|it)(?:/s)?\b)"
    r"|(?P<bar>\[[-=#>. █▏▎▍▌▋▊▉░▒▓━■□]{3,400}\]|\|[ █▏▎▍▌▋▊▉░▒▓#=]{3,400}\||[█▏▎▍▌▋▊▉░▒▓━╸╺■□]{1,400})"
    r"|(?P<number>\d{1,30}(?:[.,]\d{1,30}){0,9}))"
)
_COUNTER = re.compile(
    r"(?:attempt|try|retry|retries|poll|polling|check|heartbeat|tick|iteration|iter|step|epoch|batch|chunk|round|cycle|seq|#)"
    r"[\s:=#(\[]{0,3}$",
    re.IGNORECASE,
)
"""Before a number that counts the lines."""
_PROGRESS = re.compile(
    r"download|upload|progress|receiv|resolv|count|compress|writ|copy|extract|unpack|fetch|pull|push|transfer|complete|done|"
    r"eta\b|remaining|elapsed|waiting|still|running|polling|sleep|retry|attempt|heartbeat",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"loss|accura|score|metric|precision|recall|latency|coverage|\bcpu|\bmem|usage|rate\b|ratio|total|average|mean|median|"
    r"percentile|\bp\d\d|bench|throughput|\bops?/|balance|price|\bpass|\bok\b|^[-dlbcps][-rwxsStT]{9}",
    re.IGNORECASE,
)
"""Lines with these words are results whatever varies in them."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_UNITS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "h": 3600.0, "m": 60.0}


class AlikeLines(PartialFold):
    """Of at least six lines in a row with the same words the first and the last stay, with the count between.

    Numbers that are results stay, so each field that varies must be one of these: a time of day or a date; a percentage or
    `3/40` that never falls; a counter that grows by the same step after a word such as `attempt`; a bar; an id such as
    `request_id=…` in a line with a time; how long it took so far, where the line says that it waits; sizes, rates and times
    that remain, where a percentage or `3/40` grows in a line of progress. Any other number that varies (benchmarks, sizes of
    files, line numbers, coordinates, columns of tables) keeps all lines, and so do words such as `loss`, `latency`, `score`.
    """

    name = "alike_lines"

    def fold(self, output: Output) -> str | None:
        """The text with a count in the place of lines alike."""
        lines, left, done = output.lines, list[str](), 0
        some = _keys("\n".join(lines[:: _LEAST_LINES // 2]))  # of so many lines in a row, two
        if not any(one == other for one, other in pairwise(some) if one):
            return None
        keys = _keys(output.text)
        for run in _ALIKE.finditer(bytes(map(eq, keys, islice(keys, 1, None)))):
            first, at = run.start(), run.end() + 1
            sample = lines[first : first + _LEAST_LINES]
            if not keys[first] or len(set(map(_words, sample))) > 1 or not _are_alike(sample):
                continue
            for begin, end in _runs(lines, first, at, output.near_failures(range(first, at))):
                notice = output.notice(f"{end - begin - 2} lines alike")
                if sum(map(len, lines[begin + 1 : end - 1])) + end - begin - len(notice) >= _LEAST_SAVED and _are_alike(
                    lines[begin:end]
                ):
                    left += [*lines[done : begin + 1], notice]
                    done = end - 1
        return "\n".join([*left, *lines[done:]]) if done else None


def _keys(text: str) -> list[bytes]:
    """Of each line what lines alike have in common."""
    return text.encode("utf-8", "surrogatepass").translate(None, _NO_LETTERS).split(b"\n")


def _runs(lines: Sequence[str], first: int, end: int, kept: frozenset[int]) -> list[tuple[int, int]]:
    """Where at least six lines in a row have the same words, of those that may be left out."""
    runs, at = list[tuple[int, int]](), first
    for (_, is_kept), group in groupby(range(first, end), key=lambda number: (_words(lines[number]), number in kept)):
        begin, at = at, at + sum(1 for _ in group)
        if not is_kept and at - begin >= _LEAST_LINES:
            runs.append((begin, at))
    return runs


def _words(line: str) -> str:
    """The line with the kind of each field in its place."""
    return re.sub(" +", " ", _FIELD.sub(lambda field: f"\0{field.lastindex}\0", line))


def _are_alike(lines: Sequence[str]) -> bool:
    """Whether lines with the same words differ only in what progress and logs count."""
    words, rows = _words(lines[0]), [list(_FIELD.finditer(line)) for line in lines]
    if _RESULT.search(words):
        return False
    columns = [([field[0] for field in column], column[0]) for column in zip(*rows, strict=True)]
    kinds = {field.lastgroup for texts, field in columns if len(set(texts)) > 1 or field.lastgroup in ("time", "bar")}
    grows = not kinds.isdisjoint({"share", "part"})
    is_progress = bool(_PROGRESS.search(words))
    for texts, field in columns:
        before = lines[0][: field.start()]
        match "same" if len(set(texts)) == 1 else field.lastgroup:
            case "share" | "part":
                totals = {re.split("/|of", text)[-1] for text in texts if "%" not in text}
                holds = len(totals) <= 1 and _never_falls([_amount(text) for text in texts])
            case "number":
                holds = _COUNTER.search(before) is not None and _is_counter(texts)
            case "id":
                holds = "time" in kinds and before.endswith(("=", ":", ": "))
            case "duration" if not grows:
                holds = (is_progress and _never_falls([_amount(text) for text in texts])) or before.endswith(" +")
            case "duration" | "size":
                holds = grows and (is_progress or "bar" in kinds)
            case _:
                holds = True
        if not holds:
            return False
    said = _WORD.findall(re.sub(r"\x00\d+\x00", "", words))
    return len(said) >= 2 if kinds <= {"time", "id", "bar"} else len(said) >= 1


def _amount(text: str) -> float:
    """The seconds of a duration, or the number that a field begins with."""
    if "%" in text or "/" in text or "of" in text:
        return float(re.split("[ %/o]", text)[0])
    if ":" in text:
        minutes, _, seconds = text.partition(":")
        return int(minutes) * 60 + int(seconds)
    parts = re.findall(r"([\d.]+) ?([a-zµ]*)", text)
    return sum(float(number) * _UNITS.get(unit if unit in _UNITS else unit[:1], 1.0) for number, unit in parts)


def _never_falls(amounts: Sequence[float]) -> bool:
    return all(one <= other for one, other in pairwise(amounts))


def _is_counter(texts: Sequence[str]) -> bool:
    """Whether whole numbers grow by the same step."""
    steps = {int(other) - int(one) for one, other in pairwise(texts)} if all(text.isdecimal() for text in texts) else set()
    return len(steps) == 1 and min(steps) > 0
