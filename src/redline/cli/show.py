"""`redline show`: a conversation to be read, with what is struck in it and why, or exactly what the model saw in a request."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import click

from redline.cli.looked_at import CONVERSATION_HELP, POLICY_HELP, REQUEST_HELP, LookedAt, look_at, one_session
from redline.cli.message_lines import MessageLines
from redline.cli.on_each import FINE
from redline.cli.output import Line, Styled, columns_of_terminal, counted, is_drawn_in_color, say_json, show_page
from redline.cli.printable import printable, shortened, wrapped
from redline.cli.session_argument import SESSION
from redline.inspection.playback import Playback
from redline.inspection.read_session import AUTO
from redline.inspection.shown import LONGEST_TEXT
from redline.inspection.shown_requests import made_request
from redline.inspection.strike_notes import is_struck_at, notes_on
from redline.inspection.visible_messages import shown_indices, shown_messages

__all__ = ["command"]


@click.command("show")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option("--request", "request", type=click.IntRange(min=0), metavar="N", help=REQUEST_HELP)
@click.option("--policy", default=AUTO, metavar="NAME_OR_FILE", help=POLICY_HELP)
@click.option("--from", "start", type=click.IntRange(min=0), metavar="INDEX", help="From this message on.")
@click.option("--to", "end", type=click.IntRange(min=0), metavar="INDEX", help="Up to this message, itself included.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Of those only the last.")
@click.option("--struck", "is_struck", is_flag=True, help="Only messages of which something is struck.")
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
    tool: str,
    number: int,
    is_full: bool,
    no_pager: bool,
    as_json: bool,
) -> int:
    """Show the conversation of a SESSION, readable, with what is struck and why.

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
    looked_at = look_at(one_session(session), number)
    playback, log = looked_at.playback(policy), looked_at.session.log
    if request is not None:
        made_request(playback, request)
    indices = list(_chosen(playback, request, range(start or 0, playback.history.count if end is None else end + 1), tool))
    if is_struck:
        indices = [index for index in indices if _is_any_struck(playback, index, request)]
    indices = indices[-last:] if last else indices
    if as_json:
        longest = None if is_full else LONGEST_TEXT
        for message in shown_messages(playback, request, log, indices, longest=longest):
            say_json(message)
        return FINE
    drawing = MessageLines(columns_of_terminal(), is_full, is_drawn_in_color(is_paged=not no_pager))
    body = _lines(drawing, playback, request, shown_messages(playback, request, log, indices, longest=None))
    show_page(chain(_title(looked_at, playback, request), body, _end(indices)), is_paged=not no_pager)
    return FINE


def _chosen(playback: Playback, request: int | None, wanted: range, tool: str) -> Iterator[int]:
    """The indices that are asked for, in the order in which they are sent."""
    parts = playback.player.parts
    for index in shown_indices(playback, request):
        if index not in wanted:
            continue
        if not tool or any(parts.tool_of(index, part) == tool for part in playback.history.load(index).parts):
            yield index


def _is_any_struck(playback: Playback, index: int, request: int | None) -> bool:
    return any(is_struck_at(playback, strike, request) for strike in playback.by_index.get(index, ()))


def _lines(
    drawing: MessageLines, playback: Playback, request: int | None, messages: Iterable[dict[str, Any]]
) -> Iterator[Line]:
    cuts = {made.visible[0][0]: made.number for made in playback.history.requests[1:] if made.is_new_view and made.visible}
    last = playback.history.requests[-1] if playback.history.requests else None
    for message in messages:
        if "repaired" in message:
            yield from drawing.lines_of(message, {}, f"repaired for the provider: {message['repaired']}")
            continue
        index = message["index"]
        if request is None and index in cuts and not playback.history.is_log and index:
            words = f"── from request {cuts[index]} on, only what follows is sent "
            yield (Styled(words + "─" * max(drawing.width - len(words), 0), color="yellow"),)
            yield ()
        is_gone = request is None and last is not None and index < last.end and not _is_in(last.visible, index)
        yield from drawing.lines_of(message, notes_on(playback, message, request), "not sent any more" if is_gone else "")


def _is_in(runs: Iterable[tuple[int, int]], index: int) -> bool:
    return any(start <= index < end for start, end in runs)


def _title(looked_at: LookedAt, playback: Playback, request: int | None) -> Iterator[Line]:
    """Whose session it is, how long, and what is struck in it."""
    history, width = playback.history, columns_of_terminal()
    told = [history.agent, playback.player.model or "", counted(history.count, "message")]
    told.append(counted(len(history.requests), "request"))
    yield (Styled(shortened(printable(looked_at.source.name), width), is_bold=True),)
    yield (Styled(" · ".join(filter(None, told)), is_dim=True),)
    if history.requests:
        for line in wrapped(_sizes(playback, len(history.requests) - 1 if request is None else request), width):
            yield (Styled(line, is_dim=True),)
    if races := looked_at.races:
        words = f"{counted(races, 'race')} of two writers made branches: `redline log` lists them."
        yield (Styled(words, color="yellow"),)
    if history.observed:
        yield (Styled(f"What is recorded as struck was sent all the same: {history.observed}.", color="yellow"),)
    yield ()


def _sizes(playback: Playback, number: int) -> str:
    """What a request sends, and what is struck in it."""
    size, struck = playback.sizes[number], playback.in_force(number)
    sent = f"request {number} sends about {size.sent:,.0f} tokens"
    if not struck:
        why = f"the policy `{playback.name}` strikes nothing in it" if playback.is_hypothetical else "nothing is struck in it"
        return f"{sent}; {why}"
    parts = counted(len(struck), "part")
    if playback.is_hypothetical:
        return f"{sent} under the policy `{playback.name}`, which would strike {parts}, {size.struck:,.0f} tokens"
    return f"{sent}; {parts} of it {'is' if len(struck) == 1 else 'are'} struck, {size.struck:,.0f} tokens"


def _end(indices: list[int]) -> Iterator[Line]:
    if not indices:
        yield (Styled("No message is what was asked for.", is_dim=True),)
