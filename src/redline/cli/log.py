"""`redline log`: how a session went, as a tree: records, branches and batches of a log; windows and sub-agents of agents."""

from collections.abc import Iterator
from itertools import chain

import click

from redline.cli.figures import date_and_time
from redline.cli.looked_at import CONVERSATION_HELP, LookedAt, look_at, one_session
from redline.cli.on_each import FINE
from redline.cli.output import Line, Styled, columns_of_terminal, counted, say_json, show_page
from redline.cli.printable import shortened, width_of
from redline.cli.record_graph import graph_lines
from redline.cli.session_argument import SESSION
from redline.inspection.first_words import first_words
from redline.inspection.record_lines import RecordHistory, RecordLine, history_of_log, history_of_transcript, shown_history
from redline.inspection.visible_text import visible_lines
from redline.log.log import ROOT

__all__ = ["command"]

_COLORS = {
    "strikes": "red",
    "undo": "yellow",
    "lift": "yellow",
    "pin": "yellow",
    "view": "cyan",
    "rollback": "cyan",
    "head": "cyan",
}


@click.command("log")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option("--all", "is_all", is_flag=True, help="Every message, with its first words.")
@click.option("--conversation", "number", default=0, show_default=True, help=CONVERSATION_HELP)
@click.option("--no-pager", is_flag=True, help="Straight to the terminal, however long it is.")
@click.option("--json", "as_json", is_flag=True, help="One object with records, branches and batches, for programs.")
def command(session: str, is_all: bool, number: int, no_pager: bool, as_json: bool) -> int:
    """Draw how a SESSION went, newest last: its records, each on the one that it was made on, branches and batches.

    ● is on the present path, ○ beside it. Runs of messages are one line. Of the session files of other agents it shows the
    windows between compactions, branches and sub-agents, as far as they are recorded.

    Exit code 0, or 2 if the session could not be read.

    \b
    Examples:
      redline log chat.jsonl
      redline log sqlite:///chats.db#support --all
      redline log 1
    """
    looked_at = look_at(one_session(session), number)
    if looked_at.session.log is not None:
        history = history_of_log(looked_at.session.log, is_folded=not is_all)
    else:
        history = history_of_transcript(looked_at.session.conversation(number)[0], is_folded=not is_all)
    if as_json:
        say_json(shown_history(history))
        return FINE
    show_page(chain(_tree(history), _branches(history, looked_at), _subagents(looked_at)), is_paged=not no_pager)
    return FINE


def _tree(history: RecordHistory) -> Iterator[Line]:
    """The records; the branches of an agent's file follow what they turned off from."""
    branches: dict[int, list[RecordLine]] = {}
    for line in history.lines:
        if line.type == "branch":
            branches.setdefault(line.parent, []).append(line)
    lines = [line for line in history.lines if line.type not in ("branch", "subagent")]
    ordered = [*branches.get(ROOT, ()), *(one for line in lines for one in (line, *branches.get(line.number, ())))]
    for drawing, drawn in graph_lines(ordered):
        yield (Styled(drawing, is_dim=True),) if drawn is None else _record(drawing, drawn)


def _record(drawing: str, line: RecordLine) -> Line:
    """The drawing, the number, the time, and what the record says."""
    head = f"{drawing} {line.number:>4} "
    time = date_and_time(line.time_ms)
    where = f" ({_indices(line)})" if line.to is not None and line.index is not None else ""
    room = columns_of_terminal() - width_of(head) - width_of(where) - (len(time) + 1 if time else 0)
    says = shortened(" ".join(visible_lines(line.says)), max(room, 20), at_end=True)
    return (
        Styled(head, is_dim=not line.is_current),
        Styled(f"{time} " if time else "", is_dim=True),
        Styled(says, color=_COLORS.get(line.type), is_dim=not line.is_current),
        Styled(where, is_dim=True),
    )


def _indices(line: RecordLine) -> str:
    last = (line.to or 1) - 1
    return f"{line.index}" if line.index == last else f"{line.index} to {last}"


def _branches(history: RecordHistory, looked_at: LookedAt) -> Iterator[Line]:
    """Where one can go on from, and what can be rolled back to."""
    if len(history.branches) > 1:
        yield ()
        yield (Styled("Branches", is_bold=True),)
    for one in history.branches if len(history.branches) > 1 else ():
        how = "the present one" if one.is_current else f"shares {counted(one.after, 'message')} with it; .switch({one.number})"
        race = ", made by another writer at the same time" if one.is_race else ""
        yield (Styled(f"  {one.number:>4}  {counted(one.messages, 'message')}, {how}{race}"),)
    if len(history.batches) > 1:
        yield ()
        yield (Styled("Batches", is_bold=True),)
    for batch in history.batches if len(history.batches) > 1 else ():
        how = ", the present one" if batch.is_current else f"; .rollback({batch.number}) goes back to it"
        yield (Styled(f"  {batch.number:>4}  from message {batch.boundary}{how}"),)
    if looked_at.can_be_opened and (len(history.branches) > 1 or len(history.batches) > 1):
        yield (Styled(f"In Python: redline.open({looked_at.source.name!r})", is_dim=True),)


def _subagents(looked_at: LookedAt) -> Iterator[Line]:
    """Conversations that this one started, with the number that shows each."""
    if looked_at.session.log is not None:
        return
    own = {id(one) for one in looked_at.session.conversation(looked_at.number)[0].subagents}
    rows = [(number, one) for number, (one, _) in enumerate(looked_at.session.conversations) if id(one) in own]
    if rows:
        yield ()
        yield (Styled("Sub-agents", is_bold=True),)
    for number, one in rows:
        title = first_words(entry.message for entry in one.entries[:5])
        told = f"  --conversation {number}  {counted(len(one.entries), 'message')}: {title}"
        yield (Styled(shortened(" ".join(visible_lines(told)), columns_of_terminal(), at_end=True)),)
