"""`redline log`: how a session went, as a tree: records, branches and batches of a log; windows and sub-agents of agents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import click

from redline.cli.arguments import SESSION
from redline.cli.formatting import date_and_time, shortened, width_of
from redline.cli.loaded_session import CONVERSATION_HELP, EXIT_OK, LoadedSession, load_session
from redline.cli.output import Line, columns_of_terminal, counted, say_json, show_page
from redline.record.log import ROOT
from redline.sessions.record_lines import RecordHistory, RecordLine, history_of_log, history_of_transcript, history_to_json
from redline.sessions.words import first_words, visible_lines

_COLORS = {
    "strikes": "red",
    **dict.fromkeys(("undo", "lift", "pin"), "yellow"),
    **dict.fromkeys(("view", "rollback", "head"), "cyan"),
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
    loaded = load_session(session, number)
    if loaded.session.log is not None:
        history = history_of_log(loaded.session.log, is_folded=not is_all)
    else:
        history = history_of_transcript(loaded.session.conversation(number)[0], is_folded=not is_all)
    if as_json:
        say_json(history_to_json(history))
        return EXIT_OK
    show_page(chain(_tree(history), _branches(history, loaded), _subagents(loaded)), is_paged=not no_pager)
    return EXIT_OK


def _tree(history: RecordHistory) -> Iterator[Line]:
    """The records; the branches of an agent's file follow what they turned off from."""
    branches: dict[int, list[RecordLine]] = {}
    for line in history.lines:
        if line.type == "branch":
            branches.setdefault(line.parent, []).append(line)
    lines = [line for line in history.lines if line.type not in ("branch", "subagent")]
    ordered = [*branches.get(ROOT, ()), *(one for line in lines for one in (line, *branches.get(line.number, ())))]
    for drawing, record in _graph(ordered):
        if record is None:
            yield [(drawing, "dim")]
            continue
        head = f"{drawing} {record.number:>4} "
        time = f"{date_and_time(record.time_ms)} ".lstrip()
        where, last = "", (record.to or 1) - 1
        if record.to is not None and record.index is not None:
            where = f" ({record.index})" if record.index == last else f" ({record.index} to {last})"
        room = columns_of_terminal() - width_of(head) - width_of(where) - len(time)
        says = shortened(" ".join(visible_lines(record.says)), max(room, 20), at_end=True)
        dim = "" if record.is_current else "dim"
        yield [(head, dim), (time, "dim"), (says, f"{dim} {_COLORS.get(record.type, '')}"), (where, "dim")]


def _branches(history: RecordHistory, loaded: LoadedSession) -> Iterator[Line]:
    """Where one can go on from, and what can be rolled back to."""
    if len(history.branches) > 1:
        yield from ((), [("Branches", "bold")])
        for one in history.branches:
            how = (
                "the present one"
                if one.is_current
                else f"shares {counted(one.after, 'message')} with it; .switch({one.number})"
            )
            race = ", made by another writer at the same time" if one.is_race else ""
            yield [(f"  {one.number:>4}  {counted(one.messages, 'message')}, {how}{race}", "")]
    if len(history.batches) > 1:
        yield from ((), [("Batches", "bold")])
        for batch in history.batches:
            how = ", the present one" if batch.is_current else f"; .rollback({batch.number}) goes back to it"
            yield [(f"  {batch.number:>4}  from message {batch.boundary}{how}", "")]
    if loaded.can_be_opened and (len(history.branches) > 1 or len(history.batches) > 1):
        yield [(f"In Python: redline.open({loaded.source.name!r})", "dim")]


def _subagents(loaded: LoadedSession) -> Iterator[Line]:
    """The conversations of sub-agents, with the number that shows each."""
    if loaded.session.log is not None:
        return
    own = {id(one) for one in loaded.session.conversation(loaded.number)[0].subagents}
    rows = [(number, one) for number, (one, _) in enumerate(loaded.session.conversations) if id(one) in own]
    if rows:
        yield from ((), [("Sub-agents", "bold")])
    for number, one in rows:
        title = first_words(entry.message for entry in one.entries[:5])
        told = f"  --conversation {number}  {counted(len(one.entries), 'message')}: {title}"
        yield [(shortened(" ".join(visible_lines(told)), columns_of_terminal(), at_end=True), "")]


# --- the drawing

_MOST_COLUMNS = 12
"""Further ways share the last column."""


def _graph(lines: Sequence[RecordLine]) -> Iterator[tuple[str, RecordLine | None]]:
    """The drawing left of each record, oldest first, the present path on the left side; lines that only draw have no record."""
    to_come = Counter(line.parent for line in lines if not line.is_current)
    is_path_open = Counter(line.is_current for line in lines)[True]
    ends: list[int | None] = [None]
    """By column, the record that its next one is made on; the first is the present path, None where nothing goes on."""
    columns: dict[int, int] = {}
    for line in lines:
        beside = (place for place, end in enumerate(ends) if place and end == line.parent)
        column = 0 if line.is_current else next(beside, None)
        if column is None:
            free = (place for place in range(1, len(ends)) if ends[place] is None)
            column = next(free, min(len(ends), _MOST_COLUMNS - 1))
            ends += [None] * (column == len(ends))
            start = columns.get(line.parent, 0)
            if line.parent != ROOT and ends[start] is not None:  # a line from there to the column, which is further right
                turn = list(" ".join(" " if end is None else "│" for end in ends).ljust(2 * len(ends) - 1))
                for place in range(2 * start + 1, 2 * column):
                    turn[place] = "─" if turn[place] == " " else "┼"
                turn[2 * start], turn[2 * column] = "├", "╮"
                yield "".join(turn), None
        to_come[line.parent] -= not line.is_current
        is_path_open -= line.is_current
        ends[column], columns[line.number] = line.number, column
        sign = "●" if line.is_current else "○"
        yield " ".join(sign if place == column else " " if end is None else "│" for place, end in enumerate(ends)), line
        if column and not to_come[line.number]:
            ends[column] = None
        if not is_path_open:
            ends[0] = None
        while len(ends) > 1 and ends[-1] is None:
            ends.pop()
