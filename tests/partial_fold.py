"""A partial fold for tests: of lines that say how far something is, the first and the last stay."""

from redline.folds import FOLDS, Output, PartialFold

COMMAND = "make everything"
PROGRESS = "\n".join(["begin", *[f"progress {number}: all is as it should be here" for number in range(60)], "end"])
"""A result that the fold makes smaller."""


class ProgressLines(PartialFold):
    """Lines that begin with `progress`."""

    name = "progress_of_tests"

    def fold(self, output: Output) -> str | None:
        """The first and the last lines, with a notice between them."""
        lines = output.lines
        if len(lines) < 20 or not all(line.startswith("progress ") for line in lines[1:-1]):
            return None
        return "\n".join([*lines[:2], output.notice(f"{len(lines) - 4} lines"), *lines[-2:]])


def use_partial_fold(monkeypatch):
    """For one test, the fold is among those that ship."""
    monkeypatch.setitem(FOLDS, ProgressLines.name, ProgressLines())
