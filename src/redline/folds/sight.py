"""The words in sight: the lines of the parts that are sent whole, so that lines that come again need not be sent again."""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from redline.values.payloads import Path

LEAST_LINES, LEAST_CHARS = 6, 240
"""A shorter block is not worth a reference."""
_KEY_CHARS = 16
"""Blocks are found by their lines of so many characters and more."""
_MOST_TRIED = 8
"""Of the places where a line stands, the latest are looked at."""
_MOST_LINES = 100_000
"""So many lines are looked through, the latest: those of a full window of a million tokens."""
_LINE_BITS = 24
"""A place in sight is one number: that of its part, and that of its line in these bits."""
_LINE_MASK = (1 << _LINE_BITS) - 1
LINE_NUMBER = re.compile(r"([ 0]*)([0-9]{1,7})(→|\t|\||: ?)")
"""What tools that read files write before each line."""
DIFF_MARKS = ("+", " ", "-")
"""What a diff or a patch writes before a line."""
_DIFF_SIGNS = ("\n@@ ", "\n*** Add File: ", "\n*** Update File: ")

LineStart = Literal["number", "diff mark", ""]
"""What stands before the words of a line, and is none of them."""

PartKind = Literal["output", "input", ""]
"""Of a call; empty for a text that has no name of its own, as it is one of several of a result: nothing may refer to it."""


class ViewedPart(msgspec.Struct, eq=False, gc=False):
    """A part that is sent, with its words as they are sent."""

    index: int
    at: Path
    order: int
    """Of two parts the later one has the higher order."""
    kind: PartKind
    label_of: Callable[[], str]
    """Names its call to the model: the tool, and what it was used on."""
    starts: LineStart
    """What its lines may begin with."""
    said: str
    """As it was said."""
    text: str | None
    """As it is sent; None: not whole, so that nothing may refer to it."""
    call: "ViewedPart | None" = None
    """Of an output, the input of its call, if that is sent."""
    renamed: str = ""
    """How a call is named after what named it was struck."""

    @property
    def name(self) -> str:
        """The output or the input of a call, which is named as it is sent."""
        renamed = self.call.renamed if self.call is not None else self.renamed
        return f"{self.kind} of `{renamed or self.label_of()}`"

    @property
    def lines(self) -> list[str]:
        """Its lines as they are sent."""
        return (self.text or "").split("\n")

    @property
    def words(self) -> Sequence[str]:
        """Its lines without their numbers or marks."""
        return bare(self.lines, self.starts)


class Block(msgspec.Struct, frozen=True, gc=False):
    """Lines of a text that stand word for word in a part before it."""

    start: int
    """The first of them in the text, from 0."""
    count: int
    part: ViewedPart
    line: int
    """The first of them in the part as it is sent, from 0."""


class Sight:
    """Grows with the view: each part is taken in once, and one more text is looked up in time that does not grow with the view.

    Places are kept in order and found by whole lines, so that it finds the same, however it came to hold its parts.
    """

    def __init__(self) -> None:
        self._parts: list[ViewedPart] = []
        """By order."""
        self._orders_at: dict[int, list[int]] = {}
        """By index of a message, the orders of its parts."""
        self._places: dict[int, int | list[int]] = {}
        """By the hash of a line, where it stands; the one place, or several in order."""
        self._labelled: dict[str, list[int]] = {}
        """The orders of the parts that have the same name, of as many parts as were named."""
        self._named = 0
        self._lines = 0
        self._first = 0
        """The first part that is looked through."""
        self._words_of = lru_cache(maxsize=64)(lambda order: self._parts[order].words)

    def add(self, part: ViewedPart) -> None:
        """The next part of the view."""
        self._parts.append(part)
        self._orders_at.setdefault(part.index, []).append(part.order)
        self._lines += part.said.count("\n")
        self._index(part)
        while self._lines > _MOST_LINES and self._first < part.order:
            far = self._parts[self._first]
            self._forget(far)
            self._lines -= far.said.count("\n")
            self._first += 1

    @property
    def next_order(self) -> int:
        """The order of the next part."""
        return len(self._parts)

    def part(self, order: int) -> ViewedPart:
        """The part of an order."""
        return self._parts[order]

    def parts_at(self, index: int, at: Path) -> Iterator[ViewedPart]:
        """The part at a place in a message, with the parts inside and around it."""
        for order in self._orders_at.get(index, ()):
            part = self._parts[order]
            if part.at[: len(at)] == at or at[: len(part.at)] == part.at:
                yield part

    def show(self, part: ViewedPart, text: str | None) -> None:
        """From now on a part is sent in these words; None: not whole."""
        if text != part.text:
            self._forget(part)
            part.text = text
            self._words_of.cache_clear()
            if part.order >= self._first:
                self._index(part)

    def rename(self, parts: Sequence[ViewedPart], renamed: str) -> None:
        """The first part, an input, has another name from now on, and so have the others, the outputs of its call."""
        known = [one for one in parts if one.kind and one.order < self._named]
        for one in known:
            self._labelled[one.name].remove(one.order)
        parts[0].renamed = renamed
        for one in known:
            insort(self._labelled.setdefault(one.name, []), one.order)

    def source_of(self, part: ViewedPart, before: int) -> str:
        """What a part is called in the parts after it: `the output of ...`; of several of one name, which of those before."""
        for one in (part for part in self._parts[self._named :] if part.kind):
            self._labelled.setdefault(one.name, []).append(one.order)
        self._named = len(self._parts)
        name = part.name
        alike = self._labelled[name]
        if bisect_left(alike, before) == 1:
            return f"the {name}"
        number = bisect_left(alike, part.order) + 1
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
        return f"the {number}{ending} {name}"

    def blocks(self, lines: Sequence[str], before: int) -> list[Block]:
        """The blocks of a text that stand in parts before an order; none of them overlap."""
        found: list[Block] = []
        places, start, end = self._places, 0, len(lines)
        line = 0
        while line < end:
            text = lines[line]
            known = places.get(hash(text)) if len(text) >= _KEY_CHARS else None
            block = self._longest(lines, line, start, known, before) if known is not None else None
            if block is None:
                line += 1
            else:
                found.append(block)
                line = start = block.start + block.count
        return found

    def _longest(self, lines: Sequence[str], line: int, start: int, known: int | list[int], before: int) -> Block | None:
        """The longest block around a line, not before the start; of several the latest."""
        places = [known] if isinstance(known, int) else known
        best: Block | None = None
        tried = 0
        for number in range(bisect_left(places, before << _LINE_BITS) - 1, -1, -1):
            order, place = places[number] >> _LINE_BITS, places[number] & _LINE_MASK
            held, own, theirs = self._words_of(order), line, place
            if place >= len(held) or held[place] != lines[line]:
                continue
            while own > start and theirs > 0 and held[theirs - 1] == lines[own - 1]:
                own, theirs = own - 1, theirs - 1
            last, length = line + 1, len(held) - place + line
            while last < len(lines) and last < length and held[place + last - line] == lines[last]:
                last += 1
            if best is None or last - own > best.count:
                best = Block(own, last - own, self._parts[order], theirs)
            tried += 1
            if tried == _MOST_TRIED:
                break
        return best if best is not None and is_worth_it(lines, best.start, best.count) else None

    def _index(self, part: ViewedPart) -> None:
        if not part.kind or part.text is None or part.text.count("\n") < LEAST_LINES - 1:
            return
        places, base = self._places, part.order << _LINE_BITS
        for line, text in enumerate(self._words_of(part.order)):
            if len(text) >= _KEY_CHARS:
                key, place = hash(text), base | line
                known = places.setdefault(key, place)
                if isinstance(known, list):
                    insort(known, place)
                elif known != place:
                    places[key] = sorted((known, place))

    def _forget(self, part: ViewedPart) -> None:
        if not part.kind or part.text is None or part.text.count("\n") < LEAST_LINES - 1:
            return
        places, base = self._places, part.order << _LINE_BITS
        for line, text in enumerate(self._words_of(part.order)):
            known = places.get(hash(text)) if len(text) >= _KEY_CHARS else None
            if isinstance(known, list):
                place = bisect_left(known, base | line)
                if place < len(known) and known[place] == base | line:
                    del known[place]
                if not known:
                    del places[hash(text)]
            elif known == base | line:
                del places[hash(text)]


def is_worth_it(lines: Sequence[str], start: int, count: int) -> bool:
    """Whether so many lines are long enough for a reference."""
    if count < LEAST_LINES:
        return False
    chars = 0
    for number in range(start, start + count):
        chars += len(lines[number]) + 1
        if chars > LEAST_CHARS:
            return True
    return False


def bare(lines: Sequence[str], starts: LineStart) -> Sequence[str]:
    """Lines without the numbers or marks that stand before their words."""
    if starts == "number":
        return [line[found.end() :] if (found := LINE_NUMBER.match(line)) else line for line in lines]
    if starts == "diff mark":
        return [line[1:] if line.startswith(DIFF_MARKS) else line for line in lines]
    return lines


def line_start_of(text: str, *, is_file: bool) -> LineStart:
    """What the lines of a text may begin with: those of a file as a tool shows it, or of a diff or a patch."""
    if is_file:
        return "number"
    return "diff mark" if any(sign in text for sign in _DIFF_SIGNS) else ""
