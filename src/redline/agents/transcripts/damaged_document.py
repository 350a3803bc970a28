"""A JSON document that is torn or damaged: the messages in it that are still whole, as a document that can be read.

Nothing is guessed: a message of which bytes are missing is left out and reported, and what was open at the tear is closed.
"""

import json
import re
from bisect import bisect_right
from typing import Any, NamedTuple, cast

from redline.values import payloads

_LISTS = ("messages", "contents", "trajectory", "input", "history", "traj", "simulations", "samples")
"""The fields in which agents keep their messages, or runs that hold messages."""
_MESSAGE_FIELDS = frozenset({"role", "type", "parts", "content"})
"""An object with one of these is a message. What is torn of a message is lost; of a run, its whole messages are kept."""
_FIRST_FIELDS = frozenset({"role", "info", "type", "id", "parts", "content", "ts"})
"""What a message begins with, where no whole message shows it."""
_LIST_FIELD = re.compile(rf'(?<!\\)"(?:{"|".join(_LISTS)})"\s*:\s*\[')
_NOTHING = re.compile(r"(?:[ \t\r\n\0]|\xef\xbb\xbf)*")
_OPENING = re.compile(r'\{\s*("[^"\\]*")\s*:\s*("[^"\\]*")?')
_ENOUGH_TO_TELL = 3
"""So many items of a list show which fields all of them have."""
_MOST_TAILS = 64
"""So many brackets from the end of a file are looked at for the end of a list whose last message is damaged."""
_ENOUGH_ITEMS = 200
_READ_AGAIN = 8
"""A damaged file is read at most so many times over in search of the next whole message."""
_EXCERPT_CHARACTERS = 60

_scan = json.JSONDecoder(strict=False, parse_int=str).raw_decode


class UnreadablePiece(NamedTuple):
    """Bytes of the file that cannot be read, and what comes in their place so that the rest can."""

    start: int
    end: int
    replacement: str
    line: int
    column: int
    lost: str
    """What is lost, in words."""


class Salvage(NamedTuple):
    """What could be read of a damaged document."""

    content: bytes
    """A whole JSON document; what was readable is in it byte for byte."""
    cuts: tuple[UnreadablePiece, ...]
    pieces: tuple[tuple[int, int], ...]
    """Where each piece of the file begins in the content, and where in the file."""

    def in_file(self, offset: int) -> int:
        """The place in the file of a place in the content."""
        here, there = self.pieces[bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1]
        return there + offset - here

    def in_content(self, offset: int) -> int:
        """The place in the content of a place in the file that is kept."""
        here, there = self.pieces[bisect_right(self.pieces, offset, key=lambda piece: piece[1]) - 1]
        return here + offset - there


def salvage(content: bytes) -> Salvage | None:
    """What can still be read of a document that is no JSON; None where that is not one message."""
    text = content.decode("latin-1")  # one character for each byte, so that places in the text are places in the file
    found = _Salvager(text)
    found.read()
    if not found.kept:
        found = _Salvager(text)
        found.read_headless()
        found.kept -= 1  # one alone may be a piece of a message
    if found.kept <= 0:
        return None
    pieces, parts, length, done = [(0, 0)], list[bytes](), 0, 0
    for cut in found.cuts:
        parts += (content[done : cut.start], cut.replacement.encode())
        length += cut.start - done + len(cut.replacement)
        done = cut.end
        pieces.append((length, done))
    whole = b"".join((*parts, content[done:]))
    try:
        payloads.decode(whole)
    except ValueError:
        return None
    return Salvage(whole, tuple(found.cuts), tuple(pieces))


class _Siblings:
    """How the items of a list begin, and which fields all of them have: what is inside of an item does not look like that."""

    def __init__(self) -> None:
        self._openings: set[str] = set()
        self._fields: frozenset[str] = frozenset()
        self._count = 0

    def add(self, opening: re.Match[str], value: Any) -> None:
        """An item is whole."""
        name, kind = map(re.escape, (opening[1], opening[2] or ""))
        self._openings.add(rf"{name}\s*:\s*{kind}" if name == '"type"' else rf"{name}\s*:")  # blocks have a `type`, too
        if isinstance(value, dict):
            self._fields = self._fields.intersection(value) if self._count else frozenset(value)
            self._count += 1

    @property
    def are_known(self) -> bool:
        """Whether the beginning of any item is known."""
        return bool(self._openings)

    @property
    def show_fields(self) -> bool:
        """Whether the list has enough whole items to show their common fields."""
        return self._count >= _ENOUGH_TO_TELL

    def pattern(self) -> re.Pattern[str]:
        """Where another may begin."""
        usual = (rf'"{name}"\s*:' for name in _FIRST_FIELDS)
        return re.compile(rf"\{{\s*(?:{'|'.join(self._openings or usual)})")

    def is_like(self, value: Any) -> bool:
        """Whether a value may be another."""
        return isinstance(value, dict) and (not self.show_fields or value.keys() >= self._fields)


class _Salvager:
    """Reads a text from its beginning, and goes on after what it cannot read at the next whole message."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[UnreadablePiece] = []
        self.kept = 0
        self._is_closed = False
        """Whether the end of the file was reached and all that was open is closed."""
        self._left_to_read = _READ_AGAIN * len(text) + 1024
        self._missing = ""
        """What has to be closed before anything else is written."""

    def read(self) -> None:
        """Find all cuts."""
        start = cast("re.Match[str]", _NOTHING.match(self.text)).end()  # it matches nothing at all, too
        if self.text[:start].strip(" \t\r\n\xef\xbb\xbf"):
            self._cut(0, start, "")
        match self.text[start : start + 1]:
            case "{":
                self._cut_after(self._read_members(start, "}"))
            case "[":
                self._cut_after(self._read_items(start + 1, "]"))

    def read_headless(self) -> None:
        """Find all cuts of a file whose beginning is damaged: the list of messages in it, with its name if that is left."""
        if named := _LIST_FIELD.search(self.text):
            self._cut(0, named.start(), "{")
            self._cut_after(self._read_members(named.start() - 1, "}"))
        elif (first := self._next_item(0, "", _Siblings())) is not None:
            self._cut(0, first, "[")
            self._cut_after(self._read_items(first, "]"))

    def _cut_after(self, end: int | None) -> None:
        if not self._is_closed and end is not None and self.text[end:].strip(" \t\r\n"):
            self._cut(end, len(self.text), "", "after the end of the document")

    def _read_members(self, start: int, closers: str, *, in_list: bool = False) -> int | None:
        """Read the object at a place; returns where it ends. None, and nothing is cut, for a damaged message in a list."""
        end, at, names = start + 1, self._skip(start + 1), set[str]()
        has_list = False
        while names or self.text[at : at + 1] != "}":
            name, after, is_list = self._read_member(at, closers, is_run=names.isdisjoint(_MESSAGE_FIELDS))
            has_list = has_list or is_list
            if self._is_closed:
                return after
            if after is not None:
                names.add(name or "")
                end, at = after, self._skip(after)
                if self.text[at : at + 1] == "}":
                    break
                if self.text[at : at + 1] == ",":
                    at = self._skip(at + 1)
                    continue
            if in_list:
                self._missing = "}" if has_list else ""
                return end if has_list else None
            later = _LIST_FIELD.search(self.text, max(at, end) + 1)
            if later is None:
                return self._close(end, closers)
            self._cut(end, later.start(), ", " if names else "")
            at = later.start()
        return at + 1

    def _read_member(self, at: int, closers: str, *, is_run: bool) -> tuple[str | None, int | None, bool]:
        """The name of the member at a place, where it ends if it can be read, and whether it is a damaged list of messages."""
        name, value = self._name_at(at)
        if name is None:
            return None, None, False
        after, found = self._value_at(value)
        if after is not None:
            self.kept += sum(isinstance(item, dict) for item in found) if name in _LISTS and isinstance(found, list) else 0
            return name, after, False
        if name in _LISTS and is_run and self.text[value : value + 1] == "[":
            return name, self._read_items(value + 1, "]" + closers), True
        return name, None, False

    def _read_items(self, start: int, closers: str) -> int:
        """Read the items of a list from a place on; returns where the list ends."""
        begin, end, at, siblings, count = start, start, self._skip(start), _Siblings(), 0
        is_separated = True
        while True:
            after, value = self._item_at(at, closers) if is_separated else (None, None)
            if self._is_closed:
                return len(self.text)
            if after is not None:
                if opening := _OPENING.match(self.text, at):
                    siblings.add(opening, value)
                begin, end, at, count = at, after, self._skip(after), count + 1
                is_separated = self.text[at : at + 1] == "," and not self._missing
                if is_separated:
                    at = self._skip(at + 1)
                    continue
            if not self._missing and self.text[at : at + 1] == "]" and self._is_list_end(at, closers):
                if is_separated and count:  # a comma before it
                    self._cut(end, at, "")
                return at + 1
            found = self._next_item(at + is_separated, closers, siblings)
            if found is None and at == len(self.text) and siblings.show_fields and not self._missing:
                # The last item may have lost its end and swallowed the others.
                found = self._next_item(begin + 1, closers, siblings)
                at, is_separated = (at, is_separated) if found is None else (begin, True)
            if found is None:
                return self._end_items(at, end, closers)
            self._cut(at if is_separated else end, found, "" if is_separated or not count else ", ")
            at, is_separated = found, True

    def _end_items(self, start: int, end: int, closers: str) -> int:
        """Leave out the rest of a list in which no item can be read, up to an end after which the file is whole."""
        at, found = len(self.text), None
        for _ in range(_MOST_TAILS):
            at = self.text.rfind("]", start, at)
            if at < 0:
                break
            if self._is_tail(at, closers):
                found = at
        if found is None:
            return self._close(end, closers)
        self._cut(end, found, "")
        return found + 1

    def _item_at(self, at: int, closers: str) -> tuple[int | None, Any]:
        """Where the item at a place ends, and the item; None where it is damaged. Of a damaged run, its messages are kept."""
        end, value = self._value_at(at)
        if end is not None:
            self.kept += isinstance(value, dict)
        elif self.text[at : at + 1] == "{":
            end = self._read_members(at, "}" + closers, in_list=True)
        return end, value

    def _next_item(self, start: int, closers: str, siblings: _Siblings) -> int | None:
        """Where the next whole item begins that begins as others do and is not inside of one."""
        if not siblings.are_known and (damaged := _OPENING.match(self.text, max(start - 1, 0))):
            siblings.add(damaged, None)
        opening, at = siblings.pattern(), start
        while self._left_to_read > 0 and (found := opening.search(self.text, at)):
            at, fits = self._try_items(found.start(), closers, siblings)
            if fits:
                return found.start()
        return None

    def _try_items(self, start: int, closers: str, siblings: _Siblings) -> tuple[int, bool]:
        """Where to search on, and whether the items from a place on can be those of the list that is to be closed so.

        Where nothing is known of the list, they must be messages.
        """
        at = start
        for number in range(_ENOUGH_ITEMS):
            end, value = self._value_at(at)
            if end is None or (number == 0 and not siblings.is_like(value)):
                return start + 1, number > 0
            at = self._skip(end)
            if self.text[at : at + 1] == "]":
                return at, self._is_tail(at, closers) if closers else "role" in value or "info" in value
            if self.text[at : at + 1] != ",":
                return at, siblings.are_known and self.text[at : at + 1] != "}"
            at = self._skip(at + 1)
        return at, True

    def _is_list_end(self, at: int, closers: str) -> bool:
        """Whether a bracket ends the list, by what comes next."""
        after = self._skip(at + 1)
        for closer in closers[1:]:
            if self.text[after : after + 1] == ",":
                return closer == "]" or self._name_at(self._skip(after + 1))[0] is not None
            if self.text[after : after + 1] != closer:
                return False
            after = self._skip(after + 1)
        return self.text[after : after + 1] not in {",", "]", "}"}

    def _is_tail(self, at: int, closers: str) -> bool:
        """Whether all from a bracket on is whole, and ends the list and what it is in."""
        at += 1
        for closer in closers[1:]:
            at = self._skip(at)
            while self.text[at : at + 1] == ",":
                name, value = self._name_at(self._skip(at + 1)) if closer == "}" else ("", self._skip(at + 1))
                end = self._value_at(value)[0] if name is not None else None
                if end is None:
                    return False
                at = self._skip(end)
            if self.text[at : at + 1] != closer:
                return False
            at += 1
        return not self.text[at : at + 1024].strip(" \t\r\n\0")

    def _skip(self, at: int) -> int:
        return payloads.skip_space(self.text, at)

    def _value_at(self, at: int) -> tuple[int | None, Any]:
        """Where the value at a place ends, and the value; None where there is none that is whole."""
        try:
            value, end = _scan(self.text, at)
        except json.JSONDecodeError as problem:
            self._left_to_read -= max(problem.pos - at, 1)
            return None, None
        except RecursionError:
            try:
                return payloads.end_of_value(self.text, at), {}
            except ValueError:
                self._left_to_read -= len(self.text) - at
                return None, None
        return end, value

    def _name_at(self, at: int) -> tuple[str | None, int]:
        """The name of the member of an object at a place, and where its value begins."""
        end, name = self._value_at(at) if self.text[at : at + 1] == '"' else (None, None)
        colon = self._skip(end) if end is not None else at
        return (name, self._skip(colon + 1)) if self.text[colon : colon + 1] == ":" else (None, at)

    def _close(self, end: int, closers: str) -> int:
        """Leave out all after a place, and close what is open."""
        self._cut(end, len(self.text), closers, "of something that was cut off with the end of the file")
        self._is_closed = True
        return len(self.text)

    def _cut(self, start: int, end: int, replacement: str, why: str = "that cannot be read") -> None:
        missing, self._missing = self._missing, ""
        counted, line = (self.cuts[-1].start, self.cuts[-1].line) if self.cuts else (0, 1)
        line += self.text.count("\n", counted, start)
        column = len(self.text[self.text.rfind("\n", 0, start) + 1 : start].encode("latin-1").decode("utf-8", "replace")) + 1
        lost = self.text[start:end].strip(", \t\r\n")
        words = " ".join(lost.encode("latin-1").decode("utf-8", "replace")[:_EXCERPT_CHARACTERS].split())
        told = f"{len(lost):,} bytes {why}: {words}" if lost else "the end of the file is missing"
        if lost and not lost.strip("\0"):
            told = f"{len(lost):,} zero bytes, which a crash left in the place of something"
        self.cuts.append(UnreadablePiece(start, end, missing + replacement, line, column, told))
