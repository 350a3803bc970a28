"""JSON objects with the same keys, one after the other, are shown as a table: the keys once, then a line of values for each."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from redline.folds.fold import ExactFold, Output

_LEAST_ROWS = 3
_LEAST_SAVED, _LEAST_SHARE = 40, 0.05
"""Characters that a table must save, and their share of its objects."""
_WIDEST = 64
"""Objects further to the right stay as they are."""
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'


def _value(inside: str) -> re.Pattern[str]:
    """A JSON value up to five lists or objects deep; `inside` matches what these hold besides strings, lists and objects."""
    nested = rf"[\[{{](?:{inside}|{_STRING})*+[\]}}]"
    for _ in range(4):
        nested = rf"[\[{{](?:{inside}|{_STRING}|{nested})*+[\]}}]"
    return re.compile(rf"{_STRING}|[-+.\w]++|{nested}")


_VALUE, _VALUE_OF_LINES = _value(r'[^"\[\]{}\n]++'), _value(r'[^"\[\]{}]++')
_LINE_BREAK = re.compile(rf"{_STRING}|(,?)\n[ \t]*+")
_PLACE_OF_BREAK = re.compile(rf"{_STRING}|\[\]|\{{\}}|, |[\[\]{{}}]")
_START = re.compile(r'\{(?:\n([ \t]++))?(?=")')
_AFTER = re.compile(r',? ?(?=\{")|,?\n[ \t]*+(?=\{["\n])')
"""Between two objects."""
_KEY = re.compile(rf"({_STRING}):( ?)")
_COMMA = re.compile(r",\s*+")
_CLOSE = re.compile(r"\s*+\}")
_HEADER = re.compile(
    rf"^([ \t]{{0,{_WIDEST}}}+)\[(\d{{1,9}}) objects \{{((?:{_STRING}: ?…(?:, ?)?)++)\}}( of a list)?"
    r"( in lines| indented by (?:[1-8]|a tab))?, their values:\]\n",
    re.MULTILINE,
)


class JsonTables(ExactFold):
    """`[40 objects {"name": …, "size": …} of a list, their values:]` replaces the keys of objects in a row, from three on.

    The objects are those of a list, in one line or indented as `JSON.stringify` and `json.dumps` do it, or those of JSON Lines.
    Values stay as they are written; a value that is indented itself is written in one line.
    """

    name = "json_tables"

    def fold(self, output: Output) -> str | None:
        """Tables in the place of objects with the same keys."""
        text = output.text
        if text.count("{") < _LEAST_ROWS or text.count('{"') + text.count("{\n") < _LEAST_ROWS:
            return None
        parts, done, start = list[str](), 0, _START.search(text)
        small: dict[_Layout, int] = {}
        """Where objects end that are not worth a table; tables may stand inside of them."""
        while start is not None:
            at, layout = start.end(), _layout_of(text, start)
            if layout is not None and at > small.get(layout, 0):
                rows, end = layout.rows_in(text, start.start())
                begin = start.start() - len(layout.outer)
                table = layout.header(len(rows)) + "\n".join(rows) if len(rows) >= _LEAST_ROWS else text[begin:end]
                if end - begin - len(table) >= max(_LEAST_SAVED, _LEAST_SHARE * (end - begin)):
                    parts += [text[done:begin], table]
                    done = at = end
                else:
                    small[layout] = end
            start = _START.search(text, at)
        return "".join([*parts, text[done:]]) if parts else None

    def unfold(self, text: str) -> str:
        """The objects that the tables say."""
        parts, done, header = list[str](), 0, _HEADER.search(text)
        while header is not None:
            layout, at = _layout_in(header), header.end()
            found = layout.values_in(text, at, int(header[2]))
            if found is not None:
                rows, end = found
                parts += [text[done : header.start() - (not layout.has_lines)], layout.objects(rows)]
                done = at = end
            header = _HEADER.search(text, at)
        return "".join([*parts, text[done:]])


class _Layout(NamedTuple):
    """How objects with the same keys are written."""

    keys: tuple[str, ...]
    """As they are written, in quotes."""
    space: str
    """What stands after a colon, and after a comma in a line."""
    is_list: bool
    has_lines: bool
    """Whether each object begins a line."""
    outer: str
    """The white space before an object that begins a line."""
    unit: str
    """By so much more its keys are indented; empty for an object in one line."""

    @property
    def _inner(self) -> str:
        return f"\n{self.outer}{self.unit}" if self.unit else ""

    @property
    def _pieces(self) -> list[str]:
        """What stands before each value, and after the last."""
        comma = f",{self._inner or self.space}"
        before = [f"{comma if number else '{' + self._inner}{key}:{self.space}" for number, key in enumerate(self.keys)]
        return [*before, f"\n{self.outer}}}" if self.unit else "}"]

    @property
    def _between(self) -> str:
        """What stands between two objects."""
        return ("," if self.is_list else "") + (f"\n{self.outer}" if self.has_lines else self.space)

    def header(self, count: int) -> str:
        """The line that says the keys."""
        keys = f",{self.space}".join(f"{key}:{self.space}…" for key in self.keys)
        lines = " in lines" if self.is_list and self.has_lines else ""
        if self.unit:
            lines = f" indented by {'a tab' if self.unit == chr(9) else len(self.unit)}"
        begin = self.outer if self.has_lines else "\n"
        return f"{begin}[{count} objects {{{keys}}}{' of a list' if self.is_list else ''}{lines}, their values:]\n"

    def rows_in(self, text: str, at: int) -> tuple[list[str], int]:
        """The lines of values of the objects from there on, and where these end."""
        pieces, between, rows, end = self._pieces, self._between, list[str](), at
        value_at = (_VALUE_OF_LINES if self.unit else _VALUE).match
        while True:
            values = list[str]()
            for piece in pieces[:-1]:
                found = value_at(text, at + len(piece)) if text.startswith(piece, at) else None
                if found is None:
                    return rows, end
                value, at = found[0], found.end()
                if self.unit and value[0] in "[{":
                    whole, value = (
                        value,
                        _LINE_BREAK.sub(lambda one: one[0] if one[1] is None else f"{one[1]} " if one[1] else "", value),
                    )
                    if self._written(value) != whole:
                        return rows, end
                values.append(value)
            if not text.startswith(pieces[-1], at):
                return rows, end
            rows.append(f",{self.space}".join(values))
            end = at + len(pieces[-1])
            if not text.startswith(between, end):
                return rows, end
            at = end + len(between)

    def values_in(self, text: str, at: int, count: int) -> tuple[list[list[str]], int] | None:
        """The values of so many rows, and where these end; None if they are not there."""
        rows, comma = list[list[str]](), f",{self.space}"
        for number in range(count):
            if number and not text.startswith("\n", at):
                return None
            at, values = at + bool(number), list[str]()
            for _ in self.keys:
                if values and not text.startswith(comma, at):
                    return None
                value = _VALUE.match(text, at + len(comma) * bool(values))
                if value is None:
                    return None
                values.append(value[0])
                at = value.end()
            rows.append(values)
        return rows, at

    def objects(self, rows: Sequence[Sequence[str]]) -> str:
        """The objects with these values."""
        pieces = self._pieces
        form, written = "%s".join(piece.replace("%", "%%") for piece in pieces), self._written
        objects = [form % tuple(map(written, values) if self.unit else values) for values in rows]
        return self.outer + self._between.join(objects)

    def _written(self, value: str) -> str:
        """A value as it stands in an object."""
        if value[0] not in "[{":
            return value
        depth = 0

        def broken(place: re.Match[str]) -> str:
            nonlocal depth
            depth += 1 if place[0] in "[{" else -1 if place[0] in "]}" else 0
            line = f"{self._inner}{self.unit * depth}"
            match place[0]:
                case "[" | "{":
                    return place[0] + line
                case "]" | "}":
                    return line + place[0]
                case ", ":
                    return f",{line}"
            return place[0]

        return _PLACE_OF_BREAK.sub(broken, value)


def _layout_of(text: str, start: re.Match[str]) -> _Layout | None:
    """How two objects with the same first key are written, the first of them at `start`."""
    keys, spaces, at = list[str](), set[str](), start.end()
    while (key := _KEY.match(text, at)) and (value := _VALUE_OF_LINES.match(text, key.end())):
        keys.append(key[1])
        spaces.add(key[2])
        comma = _COMMA.match(text, value.end())
        at = comma.end() if comma else value.end()
    close = _CLOSE.match(text, at) if keys else None
    after = _AFTER.match(text, close.end()) if close else None
    if after is None or len(spaces) != 1 or not text.startswith(f"{start[0]}{keys[0]}:", after.end()):
        return None
    outer = text[max(0, start.start() - _WIDEST - 1) : start.start()].rpartition("\n")[2]
    has_lines = "\n" in after[0]
    if has_lines and (outer.strip(" \t") or len(outer) > _WIDEST):
        return None
    unit = start[1][len(outer) :] if start[1] else ""
    return _Layout(tuple(keys), spaces.pop(), "," in after[0], has_lines, outer if has_lines else "", unit)


def _layout_in(header: re.Match[str]) -> _Layout:
    """The layout that a header says."""
    keys = _KEY.findall(header[3])
    unit = ""
    if header[5] and "indented" in header[5]:
        unit = "\t" if header[5].endswith("tab") else " " * int(header[5][-1])
    has_lines = bool(header[5]) or not header[4]
    outer = header[1] if has_lines else ""
    return _Layout(tuple(key for key, _ in keys), keys[0][1], bool(header[4]), has_lines, outer, unit)
