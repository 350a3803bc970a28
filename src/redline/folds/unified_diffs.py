"""The five lines with which git begins the changes of a file are one line: they say its path four times."""

import re

from redline.folds.fold import ExactFold, Output

_LEAST_SAVED = 40
_HEADER = re.compile(
    r"^diff --git a/(\S++) b/\1\n(?:((?:new|deleted) file mode \d{6})\n)?(index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: \d{6})?)\n"
    r"--- (?:a/\1|/dev/null)\n\+\+\+ (?:b/\1|/dev/null)$",
    re.MULTILINE,
)
_LINE = re.compile(
    r"^diff --git (\S++) \((?:((new|deleted) file mode \d{6}), )?(index [0-9a-f.]{10,130}(?: \d{6})?)\)$", re.MULTILINE
)


class UnifiedDiffs(ExactFold):
    """`diff --git src/a.py (index 12c95ac..ee1bfc6 100644)` replaces the head of a file's changes; the hunks stay."""

    name = "unified_diffs"

    def fold(self, output: Output) -> str | None:
        """A line for each file that was changed, made, or deleted under its name."""
        if "diff --git a/" not in output.text:
            return None
        folded = _HEADER.sub(lambda head: f"diff --git {head[1]} ({f'{head[2]}, ' if head[2] else ''}{head[3]})", output.text)
        return folded if len(output.text) - len(folded) >= _LEAST_SAVED else None

    def unfold(self, text: str) -> str:
        """The head as git writes it."""

        def head(line: re.Match[str]) -> str:
            path, mode = line[1], f"{line[2]}\n" if line[2] else ""
            old = "/dev/null" if line[3] == "new" else f"a/{path}"
            new = "/dev/null" if line[3] == "deleted" else f"b/{path}"
            return f"diff --git a/{path} b/{path}\n{mode}{line[4]}\n--- {old}\n+++ {new}"

        return _LINE.sub(head, text)
