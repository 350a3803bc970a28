"""Colours, cursor movements and overwritten progress are left out: the text stays as a terminal shows it at the end."""

import re
from collections.abc import Iterable

from redline.folds.failure_words import FAILURE_WORDS
from redline.folds.fold import Output, PartialFold

_LEAST_SAVED, _LEAST_SHARE = 40, 0.02
"""Characters, besides those of the notice; and their share of the text."""
_SILENT = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|\x1b\[[0-?]{0,64}[ -/]{0,2}[@IL-ceg-~]|\x1b[#%()*+\-./][0-9A-Za-z@]"
    r"|\x1b[=>78cDEHMNOZ]|[\x00\x07\x0e\x0f]"
)
"""Codes that move the cursor to no other words: colours, modes, titles, hyperlinks, bells."""
_SILENT_SIGNS = "\x1b\x00\x07\x0e\x0f"
"""Each of them has one of these."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
_LINK = re.compile(r"\x1b\]8;[^;\x07\x1b\n]{0,256};(https?://[^\x07\x1b\n]{1,2048})(?:\x07|\x1b\\)([^\x1b\n]*)(?=\x1b\]8;;)")
_WRITTEN_COLOUR = re.compile(r"\^\[\[[0-9;]{0,16}m")
"""A colour in the logs of GitHub Actions."""
_WRITTEN_TIME = re.compile(r"\d\d:\d\d:\d\d\.\d{1,9}Z ")
_MOVE = re.compile(r"\r|\x08|\x1b\[([0-9]{0,4})([0-9;]{0,16})([A-HJKdf])|(?:[^\r\x08\x1b]++|\x1b(?!\[[0-9;]{0,20}[A-HJKdf]))++")
"""A move of the cursor, or words."""
_MOVES = re.compile("[\r\x08\x1b]")
_PATCH = re.compile(r"^@@ -\d", re.MULTILINE)
_NO_LETTERS = re.compile(r"[\W\d_]+")
_WIDEST, _HIGHEST = 256, 64
"""The cursor goes to the right of the words, and up, so far at most."""


class ControlCodes(PartialFold):
    """Escape sequences, words that later words of their line overwrote, and trailing white space are left out.

    Lines that speak of a failure, and those near them, stay with their codes. Where the cursor goes up, a line is replaced only
    by a line alike but for its numbers: programs whose output went through `grep` or `tail` go up too far. The white space of
    patches stays, and so do the addresses of links.
    """

    name = "control_codes"

    def fold(self, output: Output) -> str | None:
        """The text without codes."""
        text = output.text
        if not _has_codes(text):
            return None
        screen, blank = _Screen(), "\r" if _PATCH.search(text) else None
        uncoloured = _without_colours(text)
        lines = uncoloured.split("\n")
        shown = [line.rstrip(blank) for line in lines]
        moving = [_MOVES.search(line) is not None for line in lines]
        asked: Iterable[int] = range(len(lines))
        least = max(_LEAST_SAVED, _LEAST_SHARE * len(text))
        if "\x1b" not in uncoloured:  # the cursor never goes up: only lines that change may have to stay
            asked = [number for number in asked if moving[number] or shown[number] != output.lines[number]]
            pairs = ((output.lines[number], shown[number]) for number in asked)  # words stay, unless they are written over
            if sum(len(line) - (0 if _MOVES.search(words) else len(words.rstrip())) for line, words in pairs) < least:
                return None
        kept = output.near_failures(asked)
        for number, (line, moves) in enumerate(zip(lines, moving, strict=True)):
            if number in kept or (moves and FAILURE_WORDS.search(line)):
                screen.keep(output.lines[number])
            elif moves:
                screen.write(shown[number])
            else:
                screen.rows.append(shown[number])
        screen.settle()
        said = "terminal codes and overwritten words" if screen.has_overwritten else "terminal codes"
        screen.rows.insert(len(screen.rows) - (not screen.rows[-1]), output.notice(said))
        folded = "\n".join(screen.rows)
        return folded if len(text) - len(folded) >= least else None


class _Screen:
    """The rows of a terminal of any width."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.has_overwritten = False
        self._kept = 0
        """The cursor goes up to no row before this."""
        self._above = 0
        """The row to which the cursor last went up; the rows after it were written since."""
        self._under: list[str] = []
        """The rows over which they were written."""

    def keep(self, line: str) -> None:
        """Write a row that is never overwritten."""
        self.settle()
        self.rows.append(line)
        self._kept = self._above = len(self.rows)

    def write(self, words: str) -> None:
        """Write a row word by word, and go where its codes say."""
        cells, column = list[str](), 0
        if "\x1b" not in words and "\x08" not in words:
            *before, shown = words.split("\r")
            for part in reversed(before):
                shown += part[len(shown) :]
            self.has_overwritten |= len(shown) < len(words) - len(before)
            self.rows.append(shown.rstrip())
            return
        for move in _MOVE.finditer(words):
            code, times = move[3], min(int(move[1] or 1), 9999)
            if code is None and move[0] not in "\r\x08":
                self.has_overwritten |= column < len(cells)
                cells += " " * min(column - len(cells), _WIDEST)
                column = min(column, len(cells)) + len(move[0])
                cells[column - len(move[0]) : column] = move[0]
            elif code is None or code in "CDG":
                column = {"\r": 0, "\x08": column - 1, "C": column + times, "D": column - times, "G": times - 1}[
                    code or move[0]
                ]
                column = max(0, column)
            elif code in "JK" and move[1] != "1":
                self.has_overwritten |= bool(cells)
                del cells[column if move[1] in ("", "0") else 0 :]
            elif code in "ABEFHdf":
                if cells:
                    self.rows.append("".join(cells).rstrip())
                self._go(times + bool(cells) if code in "AF" else 0)
                cells.clear()
                column = 0 if code in "EFHf" else column
        self.rows.append("".join(cells).rstrip())

    def _go(self, up: int) -> None:
        """Go up over so many rows, or to the end."""
        self.settle()
        self._above = max(self._kept, len(self.rows) - min(up, _HIGHEST))
        self._under = self.rows[self._above :]
        del self.rows[self._above :]

    def settle(self) -> None:
        """Of the rows that were written over, those that no new row is like stay, before and after the new ones."""
        if not self._under:
            return
        new = {_NO_LETTERS.sub("", row) for row in self.rows[self._above :]}
        is_alike = [_NO_LETTERS.sub("", row) in new for row in self._under]
        if any(is_alike):
            self.has_overwritten, first = True, self._above + is_alike.index(True)
            left = [row for row, alike in zip(self._under, is_alike, strict=True) if not alike]
            self.rows[self._above : self._above] = left[: first - self._above]
            self.rows += left[first - self._above :]
        else:
            self.rows[self._above : self._above] = self._under
        self._under = []


def _has_codes(text: str) -> bool:
    """Whether there is anything that a terminal would not show."""
    if "\x1b" in text or "\x08" in text or ("^" in text and "^[[" in text):
        return True
    return "\r" in text and text.count("\r") != text.count("\r\n")


def _without_colours(text: str) -> str:
    """The text without codes that only change how words look; the address of a link stands after its words."""
    if "\x1b]8;" in text:
        text = _LINK.sub(lambda link: link[2] if link[1] in link[2] else f"{link[2]} ({link[1]})", _COLOUR.sub("", text))
    if any(sign in text for sign in _SILENT_SIGNS):
        text = _SILENT.sub("", text)
    return _WRITTEN_COLOUR.sub("", text) if "^[[" in text and _WRITTEN_TIME.search(text) else text
