"""Messages of a session as lines for a terminal: words wrapped, calls in a line, results clamped, struck parts struck."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redline.cli.figures import date_and_time
from redline.cli.output import Line, Styled, counted
from redline.cli.printable import shortened, width_of, wrapped
from redline.inspection.strike_notes import StrikeNote
from redline.inspection.visible_text import visible_lines

__all__ = ["MessageLines"]

_INDENT = "    "
_STRUCK = "~~ "
_PIECE = 4_000
"""Characters that are wrapped at once; a line may be as long as a file."""
_ROLE_COLORS = {"user": "cyan", "system": "magenta", "assistant": "green"}


@dataclass(frozen=True, slots=True)
class _Clamp:
    """How many lines of a text are shown at its beginning and at its end."""

    head: int
    tail: int
    rows: int
    """Of a line that does not fit, so many rows are shown."""


_WORDS, _RESULT, _REASONING, _GONE = _Clamp(60, 10, 40), _Clamp(6, 3, 3), _Clamp(3, 0, 3), _Clamp(2, 1, 2)


@dataclass(frozen=True, slots=True)
class MessageLines:
    """How messages are drawn."""

    width: int
    is_full: bool
    has_color: bool

    def lines_of(self, message: dict[str, Any], notes: Mapping[str, Sequence[StrikeNote]], tag: str = "") -> Iterator[Line]:
        """A message as `shown_message` gives it; `notes` are the strikes on its parts, by the place of each part."""
        is_long = width_of(tag) > self.width // 2
        yield self._heading(message, "" if is_long else tag)
        yield from self._note(StrikeNote(tag, is_struck=False)) if is_long else ()
        for part in message["parts"]:
            yield from self._part(part, notes.get(part["at"], ()))
        yield ()

    def _heading(self, message: dict[str, Any], tag: str) -> Line:
        role = message["role"]
        told = [
            date_and_time(message.get("time_ms")),
            counted(message["tokens"], "token") if message.get("tokens") else "",
            "pinned" if message.get("is_pinned") else "",
            tag,
        ]
        number = f"{message['index']:>3} " if "index" in message else "  + "
        rest = "".join(f" · {one}" for one in told if one)
        return (
            Styled(number, is_dim=True),
            Styled(role, color=_ROLE_COLORS.get(role, "yellow"), is_bold=True),
            Styled(shortened(rest, self.width - len(number) - width_of(role), at_end=True), is_dim=True),
        )

    def _part(self, part: dict[str, Any], notes: Sequence[StrikeNote]) -> Iterator[Line]:
        is_struck = any(note.is_struck for note in notes)
        style = Styled("", is_dim=is_struck or part["kind"] == "reasoning", is_struck=is_struck)
        clamp = {"result": _RESULT, "reasoning": _REASONING, "other": _RESULT}.get(part["kind"], _WORDS)
        match part["kind"]:
            case "call":
                yield from self._call(part, style)
            case "media":
                yield self._one_line(f"[{_media_words(part)}]", style)
            case "result":
                yield self._one_line(
                    _result_words(part), replace(style, color="red" if part["is_error"] else None, is_dim=True)
                )
                yield from self._text(part["text"], _GONE if is_struck else clamp, style)
            case "reasoning":
                yield from self._text(f"(thinks) {part['text']}" if part["text"] else "(thinks)", clamp, style)
            case _:
                yield from self._text(part["text"], _GONE if is_struck else clamp, style)
        for note in notes:
            yield from self._note(note)

    def _call(self, part: dict[str, Any], style: Styled) -> Iterator[Line]:
        changed = [sign for sign, _ in part["diff"] or ()]
        sizes = f" (+{changed.count('+')} -{changed.count('-')})" if changed else ""
        room = self._room(style) - width_of(sizes)
        words = " ".join(visible_lines(f"→ {part['tool'] or 'a tool'} {part['says'] or ''}"))
        yield self._line(shortened(words, room, at_end=True) + sizes, replace(style, color="blue"))
        if not self.is_full:
            return
        if not part["diff"]:
            yield from self._text(part["input"] or "", _RESULT, style)
        for sign, text in part["diff"] or ():
            color = {"+": "green", "-": "red"}.get(sign)
            yield from self._text(f"{sign} {text}", _RESULT, replace(style, color=color))

    def _text(self, text: str, clamp: _Clamp, style: Styled) -> Iterator[Line]:
        """Lines of a text; what is left out of its middle is counted."""
        lines = text.strip("\n").split("\n") if text.strip() else []
        left_out = len(lines) - clamp.head - clamp.tail
        if self.is_full or left_out <= 1:
            kept, left_out, head = lines, 0, len(lines)
        else:
            kept, head = [*lines[: clamp.head], *lines[len(lines) - clamp.tail :]], clamp.head
        for number, line in enumerate(kept):
            if left_out and number == head:
                yield self._left_out(left_out)
            for row in self._rows(line, self._room(style), clamp.rows):
                yield self._line(row, style)
        if left_out and head == len(kept):
            yield self._left_out(left_out)

    def _left_out(self, count: int) -> Line:
        return (Styled(f"{_INDENT}… {counted(count, 'line')} …", is_dim=True),)

    def _rows(self, line: str, room: int, rows: int) -> Iterator[str]:
        """A line wrapped under its indentation; of one that is very long only the beginning, unless all is asked for."""
        most = len(line) if self.is_full else room * rows
        for start in range(0, max(min(len(line), most), 1), _PIECE):
            (piece,) = visible_lines(line[start : min(start + _PIECE, most)])
            words = piece.lstrip(" ")
            indent = " " * min(len(piece) - len(words), room // 2)
            yield from (f"{indent}{row}".rstrip() for row in wrapped(words, room - len(indent)))
        if len(line) > most:
            yield f"… {len(line) - most:,} characters more …"

    def _note(self, note: StrikeNote) -> Iterator[Line]:
        first, *others = wrapped(" ".join(visible_lines(note.says)), self.width - len(_INDENT) - 2)
        yield (Styled(f"{_INDENT}╰ "), Styled(first, color="red" if note.is_struck else None, is_dim=not note.is_struck))
        for line in others:
            yield (Styled(f"{_INDENT}  "), Styled(line, color="red" if note.is_struck else None, is_dim=not note.is_struck))

    def _one_line(self, text: str, style: Styled) -> Line:
        return self._line(shortened(" ".join(visible_lines(text)), self._room(style), at_end=True), style)

    def _room(self, style: Styled) -> int:
        marked = style.is_struck and not self.has_color
        return max(self.width - len(_INDENT) - (len(_STRUCK) if marked else 0), 20)

    def _line(self, text: str, style: Styled) -> Line:
        mark = _STRUCK if style.is_struck and not self.has_color else ""
        return (Styled(_INDENT + mark), replace(style, text=text)) if text or mark else ()


def _result_words(part: dict[str, Any]) -> str:
    """The line above a result."""
    failed = " failed" if part["is_error"] else ""
    tokens = f", {counted(part['tokens'], 'token')}" if part["tokens"] else ""
    return f"← {part['tool'] or 'result'}{failed}{tokens}"


def _media_words(part: dict[str, Any]) -> str:
    size = f", {part['image']['bytes']:,} bytes" if part["image"] else ""
    return f"{part['media_type'] or 'media'}{size}"
