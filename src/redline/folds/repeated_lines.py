"""A line several times in a row is shown once, with how often it came."""

import re
from itertools import groupby, islice
from operator import eq

from redline.folds.fold import ExactFold, Output

_LEAST_TIMES = 3
_AGAIN = re.compile(r"\[the line above (\d{1,9}) more times\]")


class RepeatedLines(ExactFold):
    """`[the line above 41 more times]` replaces equal lines in a row, from three on."""

    name = "repeated_lines"

    def fold(self, output: Output) -> str | None:
        """One line of each run, and how many more came."""
        if b"\1\1" not in bytes(map(eq, output.lines, islice(output.lines, 1, None))):
            return None
        folded: list[str] = []
        for line, run in groupby(output.lines):
            times = sum(1 for _ in run)
            again = f"[the line above {times - 1} more times]"
            if times < _LEAST_TIMES or len(again) >= (times - 1) * (len(line) + 1):
                folded += [line] * times
            else:
                folded += [line, again]
            if _AGAIN.fullmatch(line):  # a text that says so itself could mean any number of lines
                return None
        return "\n".join(folded) if len(folded) < len(output.lines) else None

    def unfold(self, text: str) -> str:
        """Each line as often as it came."""
        lines: list[str] = []
        for line in text.split("\n"):
            found = _AGAIN.fullmatch(line) if line.startswith("[") and lines else None
            lines += [lines[-1]] * int(found[1]) if found else [line]
        return "\n".join(lines)
