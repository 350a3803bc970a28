"""Runs of routine lines are left out, and a notice stands in the place of each run."""

from collections.abc import Collection

from redline.folds.fold import Output

_LEAST_LINES = 3
"""Of the longest run: routine lines that stand alone may mean something else."""
_LEAST_GAIN, _LEAST_SHARE, _GREAT_GAIN = 100, 0.05, 2_000
"""Of characters: a smaller gain is not worth that the model may ask for the whole."""
_LONG_LINE = 400
"""So long is a line of progress that was written over and over."""


def without_lines(output: Output, numbers: Collection[int], kind: str) -> str | None:
    """The text without these lines; None if little is won. Lines near failures stay, and the last, which says how far it came.

    The first notice says the kind of the lines, and where all of them are; those after it say how many more there were.
    """
    runs = _runs(output, numbers) if len(numbers) >= _LEAST_LINES else []
    if max((stop - start for start, stop in runs), default=0) < _LEAST_LINES:
        return None
    lines, left, end = output.lines, list[str](), 0
    for start, stop in runs:
        count = sum(1 for line in lines[start:stop] if line.strip())
        notice = f"[{count} more lines left out]" if end else output.notice(f"{count} lines of {kind}")
        if count > 1 and sum(map(len, lines[start:stop])) + stop - start > len(notice):
            left += [*lines[end:start], notice]
            end = stop
    text = "\n".join([*left, *lines[end:]])
    gain = len(output.text) - len(text)
    return text if gain > max(_LEAST_GAIN, min(_LEAST_SHARE * len(output.text), _GREAT_GAIN)) else None


def _runs(output: Output, numbers: Collection[int]) -> list[tuple[int, int]]:
    """The runs of lines that may go, from and to; empty lines between them go with them."""
    lines, left = output.lines, sorted({*numbers} - output.near_failures(numbers))
    if left and len(lines[left[-1]]) < _LONG_LINE and not any(line.strip() for line in lines[left[-1] + 1 :]):
        del left[-1]
    runs, start, stop = list[tuple[int, int]](), 0, 0
    for number in left:
        if any(line.strip() for line in lines[stop:number]):
            runs.append((start, stop))
            start = number
        stop = number + 1
    return [(start, stop) for start, stop in [*runs, (start, stop)] if stop > start]
