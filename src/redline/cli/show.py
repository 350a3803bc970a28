"""`redline show`: the conversation of a session, readable, with what is struck and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import click

from redline.cli.arguments import SESSION
from redline.cli.formatting import date_and_time, printable, shortened, width_of, wrapped
from redline.cli.loaded_session import CONVERSATION_HELP, EXIT_OK, POLICY_HELP, REQUEST_HELP, LoadedSession, load_session
from redline.cli.output import Line, columns_of_terminal, counted, is_drawn_in_color, say_json, show_page
from redline.sessions.explain import StrikeNote, deeds_words, is_struck_at, notes_on
from redline.sessions.playback import Playback
from redline.sessions.read_session import AUTO
from redline.sessions.to_json import LONGEST_TEXT, made_request, messages_to_json, sent_indices
from redline.sessions.words import visible_lines


@click.command("show")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option("--request", "request", type=click.IntRange(min=0), metavar="N", help=REQUEST_HELP)
@click.option("--policy", default=AUTO, metavar="NAME_OR_FILE", help=POLICY_HELP)
@click.option("--from", "start", type=click.IntRange(min=0), metavar="INDEX", help="From this message on.")
@click.option("--to", "end", type=click.IntRange(min=0), metavar="INDEX", help="Up to this message, itself included.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Of those only the last.")
@click.option("--struck", "is_struck", is_flag=True, help="Only messages of which something is struck.")
@click.option(
    "--folded", "is_folded", is_flag=True, help="Only messages of which something is folded; with --struck, of either."
)
@click.option("--tool", default="", metavar="NAME", help="Only calls and results of this tool.")
@click.option("--conversation", "number", default=0, show_default=True, help=CONVERSATION_HELP)
@click.option("--full", "is_full", is_flag=True, help="All lines of every part, and the arguments of calls.")
@click.option("--no-pager", is_flag=True, help="Straight to the terminal, however long it is.")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each message, for programs.")
def command(
    session: str,
    request: int | None,
    policy: str,
    start: int | None,
    end: int | None,
    last: int | None,
    is_struck: bool,
    is_folded: bool,
    tool: str,
    number: int,
    is_full: bool,
    no_pager: bool,
    as_json: bool,
) -> int:
    """Show the conversation of a SESSION, readable, with what is struck or folded and why.

    A folded part is shown as it is sent: smaller, with nothing lost. What is struck is shown struck.

    SESSION is a session file, a Redline log, an address (sqlite:///chats.db#name), a short name of `redline sessions`, or - for
    standard input. Of a Redline log the strikes are those that were made; of another agent's session those that the policy
    would have made. With --request it is exactly what the model was sent, in that order, with what was repaired for it.

    On a terminal a long page goes through $PAGER. Exit code 0, or 2 if the session could not be read.

    \b
    Examples:
      redline show 1
      redline show session.jsonl --last 20 --full
      redline show session.jsonl --policy superseded --struck
      redline show sqlite:///chats.db#support --request 12
    """
    loaded = load_session(session, number)
    playback, log = loaded.playback(policy), loaded.session.log
    if request is not None:
        made_request(playback, request)
    wanted = range(start or 0, playback.history.count if end is None else end + 1)
    indices = [index for index in sent_indices(playback, request) if index in wanted]
    if tool:
        load, tool_of = playback.history.load, playback.player.parts.tool_of
        indices = [index for index in indices if any(tool_of(index, part) == tool for part in load(index).parts)]
    if is_struck or is_folded:
        asked = (one for one in playback.strikes if (is_folded if one.is_fold else is_struck))
        changed = {one.index for one in asked if is_struck_at(playback, one, request)}
        indices = [index for index in indices if index in changed]
    indices = indices[-last:] if last else indices
    if as_json:
        longest = None if is_full else LONGEST_TEXT
        for message in messages_to_json(playback, request, log, indices, longest=longest):
            say_json(message)
        return EXIT_OK
    drawing = _MessageLines(columns_of_terminal(), is_full, is_drawn_in_color(is_paged=not no_pager))
    body = _body(drawing, playback, request, messages_to_json(playback, request, log, indices, longest=None))
    nothing: list[Line] = [] if indices else [[("No message is what was asked for.", "dim")]]
    show_page(chain(_title(loaded, playback, request), body, nothing), is_paged=not no_pager)
    return EXIT_OK


def _title(loaded: LoadedSession, playback: Playback, request: int | None) -> Iterator[Line]:
    """The session's name, agent, model and length, and what a request of it sends."""
    history, width = playback.history, columns_of_terminal()
    told = [history.agent, playback.history.model or "", counted(history.count, "message")]
    told.append(counted(len(history.requests), "request"))
    yield [(shortened(printable(loaded.source.name), width), "bold")]
    yield [(" · ".join(filter(None, told)), "dim")]
    if history.requests:
        number = len(history.requests) - 1 if request is None else request
        in_force, policy = playback.in_force(number), f"the policy `{playback.name}`"
        sent = f"request {number} sends about {playback.sizes[number].sent:,.0f} tokens"
        if in_force:
            sent += f" under {policy}, which " if playback.is_hypothetical else "; Redline "
            sent += deeds_words(in_force, is_hypothetical=playback.is_hypothetical)
        else:
            sent += f"; {policy} strikes nothing in it" if playback.is_hypothetical else "; nothing is struck in it"
        yield from ([(line, "dim")] for line in wrapped(sent, width))
    if races := loaded.races:
        yield [(f"{counted(races, 'race')} of two writers made branches: `redline log` lists them.", "yellow")]
    if history.observed:
        yield [(f"What is recorded as struck was sent all the same: {history.observed}.", "yellow")]
    yield ()


def _body(
    drawing: "_MessageLines", playback: Playback, request: int | None, messages: Iterable[dict[str, Any]]
) -> Iterator[Line]:
    """The messages, with a line where an agent left out what came before."""
    cuts = {made.visible[0][0]: made.number for made in playback.history.requests[1:] if made.is_new_view and made.visible}
    last = playback.history.requests[-1] if playback.history.requests else None
    for message in messages:
        if "repaired" in message:
            yield from drawing.lines_of(message, {}, f"repaired for the provider: {message['repaired']}")
            continue
        index = message["index"]
        if request is None and index in cuts and not playback.history.is_log and index:
            words = f"── from request {cuts[index]} on, only what follows is sent "
            yield [(words + "─" * max(drawing.width - len(words), 0), "yellow")]
            yield ()
        is_past = request is None and last is not None and index < last.end
        is_gone = is_past and last is not None and not any(start <= index < end for start, end in last.visible)
        yield from drawing.lines_of(message, notes_on(playback, message, request), "not sent any more" if is_gone else "")


# --- one message

_INDENT = "    "
_STRUCK = "~~ "
_PIECE = 4_000
"""Characters that are wrapped at once; a line may be as long as a file."""
_ROLE_COLORS = {"user": "cyan", "system": "magenta", "assistant": "green"}


class _Clamp(NamedTuple):
    """How many lines of a text are shown at its beginning and at its end."""

    head: int
    tail: int
    rows: int
    """Of a line that does not fit, so many rows are shown."""


_WORDS, _RESULT, _REASONING, _GONE = _Clamp(60, 10, 40), _Clamp(6, 3, 3), _Clamp(3, 0, 3), _Clamp(2, 1, 2)


@dataclass(frozen=True, slots=True)
class _MessageLines:
    """Draws messages: words wrapped, calls in a line, results clamped, struck parts struck."""

    width: int
    is_full: bool
    has_color: bool

    def lines_of(self, message: dict[str, Any], notes: Mapping[str, Sequence[StrikeNote]], tag: str = "") -> Iterator[Line]:
        """A message as `message_to_json` gives it; `notes` are the strikes on its parts, by the place of each part."""
        is_long, role = width_of(tag) > self.width // 2, message["role"]
        told = [
            date_and_time(message.get("time_ms")),
            counted(message["tokens"], "token") if message.get("tokens") else "",
            "pinned" if message.get("is_pinned") else "",
            "" if is_long else tag,
        ]
        number = f"{message['index']:>3} " if "index" in message else "  + "
        rest = "".join(f" · {one}" for one in told if one)
        room = self.width - len(number) - width_of(role)
        yield [
            (number, "dim"),
            (role, f"bold {_ROLE_COLORS.get(role, 'yellow')}"),
            (shortened(rest, room, at_end=True), "dim"),
        ]
        yield from self._note(StrikeNote(tag, is_struck=False)) if is_long else ()
        for part in message["parts"]:
            yield from self._part(part, notes.get(part["at"], ()))
        yield ()

    def _part(self, part: dict[str, Any], notes: Sequence[StrikeNote]) -> Iterator[Line]:
        is_struck = any(note.is_struck for note in notes)
        sent = next((note.sent for note in notes if note.sent is not None), None)
        part = part if sent is None else {**part, "text": sent}
        style = "dim strikethrough" if is_struck else "dim" if part["kind"] == "reasoning" else ""
        match part["kind"]:
            case "call":
                changed = [sign for sign, _ in part["diff"] or ()]
                sizes = f" (+{changed.count('+')} -{changed.count('-')})" if changed else ""
                words = " ".join(visible_lines(f"→ {part['tool'] or 'a tool'} {part['says'] or ''}"))
                said = shortened(words, self._room(style) - width_of(sizes), at_end=True) + sizes
                yield self._line(said, f"{style} blue")
                if self.is_full and not part["diff"]:
                    yield from self._text(part["input"] or "", _RESULT, style)
                for sign, text in part["diff"] or () if self.is_full else ():
                    color = {"+": " green", "-": " red"}.get(sign, "")
                    yield from self._text(f"{sign} {text}", _RESULT, style + color)
            case "media":
                size = f", {part['image']['bytes']:,} bytes" if part["image"] else ""
                yield self._one_line(f"[{part['media_type'] or 'media'}{size}]", style)
            case "result":
                failed = " failed" if part["is_error"] else " folded" if sent is not None else ""
                tokens = f", {counted(part['tokens'], 'token')}" if part["tokens"] else ""
                color = " red" if part["is_error"] else ""
                look = ("dim strikethrough" if is_struck else "dim") + color
                yield self._one_line(f"← {part['tool'] or 'result'}{failed}{tokens}", look)
                yield from self._text(part["text"], _GONE if is_struck else _RESULT, style)
            case "reasoning":
                yield from self._text(f"(thinks) {part['text']}" if part["text"] else "(thinks)", _REASONING, style)
            case kind:
                yield from self._text(part["text"], _GONE if is_struck else _RESULT if kind == "other" else _WORDS, style)
        for note in notes:
            yield from self._note(note)

    def _text(self, text: str, clamp: _Clamp, style: str) -> Iterator[Line]:
        """Lines of a text; what is left out of its middle is counted."""
        lines = text.strip("\n").split("\n") if text.strip() else []
        left_out, head = len(lines) - clamp.head - clamp.tail, clamp.head
        if self.is_full or left_out <= 1:
            left_out, head = 0, len(lines)
        for line in lines[:head]:
            yield from self._rows(line, clamp.rows, style)
        if left_out:
            yield [(f"{_INDENT}… {counted(left_out, 'line')} …", "dim")]
        for line in lines[head + left_out :]:
            yield from self._rows(line, clamp.rows, style)

    def _rows(self, line: str, rows: int, style: str) -> Iterator[Line]:
        """A line wrapped under its indentation; of one that is very long only the beginning, unless all is asked for."""
        room = self._room(style)
        most = len(line) if self.is_full else room * rows
        for start in range(0, max(min(len(line), most), 1), _PIECE):
            (piece,) = visible_lines(line[start : min(start + _PIECE, most)])
            words = piece.lstrip(" ")
            indent = " " * min(len(piece) - len(words), room // 2)
            yield from (self._line(f"{indent}{row}".rstrip(), style) for row in wrapped(words, room - len(indent)))
        if len(line) > most:
            yield self._line(f"… {len(line) - most:,} characters more …", style)

    def _note(self, note: StrikeNote) -> Iterator[Line]:
        mark = "╰ "
        for line in wrapped(" ".join(visible_lines(note.says)), self.width - len(_INDENT) - 2):
            yield [(_INDENT + mark, ""), (line, "red" if note.is_struck else "green" if note.sent is not None else "dim")]
            mark = "  "

    def _one_line(self, text: str, style: str) -> Line:
        return self._line(shortened(" ".join(visible_lines(text)), self._room(style), at_end=True), style)

    def _mark(self, style: str) -> str:
        """Where there is no struck text, a sign before it."""
        return _STRUCK if "strikethrough" in style and not self.has_color else ""

    def _room(self, style: str) -> int:
        return max(self.width - len(_INDENT) - len(self._mark(style)), 20)

    def _line(self, text: str, style: str) -> Line:
        mark = self._mark(style)
        return [(_INDENT + mark, ""), (text, style)] if text or mark else ()
