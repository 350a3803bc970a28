"""`redline check`: whether a provider would accept the messages of sessions, and if not, why not."""

from dataclasses import asdict

import click

from redline.cli.on_each import FINE, FOUND, on_each
from redline.cli.output import complain, counted, say, say_json
from redline.cli.places import damage_words, place_of_message
from redline.cli.session_argument import SESSION
from redline.formats import find_format
from redline.inspection.log_transcript import FORMAT
from redline.inspection.session_files import SessionInput, find_sessions
from redline.laws import problems_of
from redline.laws.law import History
from redline.mending import MENDERS
from redline.transcripts import Transcript

__all__ = ["command"]


@click.command("check")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each problem, for programs.")
def command(sessions: tuple[str, ...], as_json: bool) -> int:
    """Check what each SESSION would send next: the last window of each of its conversations.

    SESSION is a session file, a Redline log, an address (sqlite:///chats.db#name), a folder, or - for standard input. A problem
    is named by its line where the file has lines, as `redline repair` names it, and by the number of the message, from 0.

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
        transcript = session.read()
        found = []
        for one in transcript:
            entries = one.windows[-1] if one.windows else ()
            history = History.of(tuple(entry.message for entry in entries), find_format(one.format))
            for problem in problems_of(history, is_stored=True):
                line = entries[problem.index].positions[0].line if problem.index < len(entries) else None
                found.append((one, problem, line))
        checked, broken = checked + 1, broken + bool(found)
        if as_json:
            for conversation, problem, line in found:
                place = {"session": session.name, "conversation": conversation.id, "line": line}
                say_json({**place, **asdict(problem)})
            return FOUND if found else FINE
        for bad in transcript.problems:
            left_out = "; left out" if bad.is_left_out else ""
            complain(f"{session.name}: {damage_words(bad.line, bad.column, bad.reason)}{left_out}")
        for conversation, problem, line in found:
            whose = f"{conversation.id}, " if len(transcript) > 1 else ""
            place_words = place_of_message(problem.index, line)
            say(f"{session.name}: {whose}{place_words}: {problem.found} ({problem.law}: {problem.rule})")
        if len(inputs) == 1:
            say(_how_to_go_on(session, transcript) if found else f"{session.name}: no problem found")
        return FOUND if found else FINE

    code = on_each(inputs, check, has_bar=not as_json)
    if len(inputs) > 1 and not as_json:
        how = "; `redline repair SESSION` shows what a repair would change" if broken else ""
        say(f"{counted(checked, 'session')} checked, {broken:,} with problems{how}")
    return code


def _how_to_go_on(session: SessionInput, transcript: Transcript) -> str:
    if transcript.format == FORMAT:
        return "Redline repairs this in every request that it makes; the record stays as it is."
    if not any(transcript.format in mender.formats for mender in MENDERS):
        return f"To get messages that a provider takes: redline export {session.name}"
    if session.path is None:
        return "To repair it, put it into a file: redline repair FILE"
    return f"To repair it: redline repair {session.name}"
