"""`redline check`: whether a provider would accept the messages of sessions, and if not, why not."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

import click

from redline.agents.menders import MENDERS
from redline.agents.mending.window import model_of
from redline.agents.readers import BadRecord
from redline.cli.arguments import SESSION
from redline.cli.formatting import damage_words, place_of_message
from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK, for_each_session
from redline.cli.output import complain, counted, say, say_json
from redline.providers import find_format
from redline.providers.laws import History, Problem, problems_of
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.read_session import log_of, problem_lines
from redline.sessions.replay.history import LOG

LOG_BREAKS_RULE = "No request of Redline's breaks a rule: another program has changed this log, or this is a bug in Redline."


@click.command("check")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each problem, for programs.")
def command(sessions: tuple[str, ...], as_json: bool) -> int:
    """Check what each SESSION would send next: the last window of each of its conversations.

    SESSION is a session file, a Redline log, an address (sqlite:///chats.db#name), a folder, or - for standard input. A problem
    is named by its line where the file has lines, as `redline repair` names it, and by the number of the message, from 0.

    A Redline log is checked as Redline would send it: visible messages only, repaired, with strikes in force. Records that are
    damaged are named.

    Exit code 0 if every provider rule is kept, 1 if not, 2 if a session could not be read.

    \b
    Examples:
      redline check session.jsonl
      redline check ~/.claude/projects/my-project
      redline check messages.json --json
    """
    inputs = find_sessions(sessions)
    checked = broken = 0

    def check(session: SessionInput) -> int:
        nonlocal checked, broken
        with session.on_disk() as here:
            judged = _Judged.of(here)
        found = judged.found
        checked, broken = checked + 1, broken + bool(found)
        if as_json:
            for conversation, problem, line in found:
                place = {"session": session.name, "conversation": conversation, "line": line}
                say_json({**place, **asdict(problem)})
            return EXIT_FOUND if found else EXIT_OK
        show_damage(session.name, judged.damage)
        for conversation, problem, line in found:
            show_problem(session.name, problem, line, conversation=conversation if judged.conversations > 1 else "")
        if len(inputs) == 1:
            say(_how_to_go_on(session, judged.format) if found else f"{session.name}: no problem found")
        return EXIT_FOUND if found else EXIT_OK

    code = for_each_session(inputs, check, has_bar=not as_json)
    if len(inputs) > 1 and not as_json:
        how = "; `redline repair SESSION` shows what a repair would change" if broken else ""
        say(f"{counted(checked, 'session')} checked, {broken:,} with problems{how}")
    return code


class _Judged(NamedTuple):
    """What a session would send next, judged."""

    format: str
    conversations: int
    damage: Sequence[BadRecord]
    found: Sequence[tuple[str, Problem, int | None]]
    """The conversation, what is wrong, and the line."""

    @classmethod
    def of(cls, session: SessionInput) -> "_Judged":
        """An agent's session as its file has it; a log of Redline's own as Redline sends it."""
        log = log_of(session)
        if log is not None:
            return cls(LOG, 1, log.damage, [(log.name, problem, line) for problem, line in problem_lines(log)])
        transcript, found = session.read(), list[tuple[str, Problem, int | None]]()
        for one in transcript:
            entries = one.windows[-1] if one.windows else ()
            messages = tuple(entry.message for entry in entries)
            history = History.of(messages, find_format(one.format), model=model_of(entries))
            for problem in problems_of(history, is_stored=True):
                line = entries[problem.index].positions[0].line if problem.index < len(entries) else None
                found.append((one.id, problem, line))
        return cls(transcript.format, len(transcript), transcript.problems, found)


def _how_to_go_on(session: SessionInput, format: str) -> str:
    if format == LOG:
        return LOG_BREAKS_RULE
    if not any(format in mender.formats for mender in MENDERS):
        return f"To get messages that a provider takes: redline export {session.name}"
    if session.path is None:
        return "To repair it, put it into a file: redline repair FILE"
    return f"To repair it: redline repair {session.name}"


def show_damage(name: str, damage: Iterable[BadRecord]) -> None:
    """A line for each record of a session that could not be read."""
    for bad in damage:
        left_out = "; left out" if bad.is_left_out else ""
        complain(f"{name}: {damage_words(bad.line, bad.column, bad.reason)}{left_out}")


def show_problem(name: str, problem: Problem, line: int | None, *, conversation: str = "") -> None:
    """What a provider would refuse, and where."""
    whose = f"{conversation}, " if conversation else ""
    say(f"{name}: {whose}{place_of_message(problem.index, line)}: {problem.found} ({problem.law}: {problem.rule})")
