"""`redline repair`: session files that a provider would refuse, repaired in the agent's own format."""

from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from redline.cli.check import LOG_BREAKS_RULE
from redline.cli.in_place import replace_in_place
from redline.cli.on_each import FINE, FOUND, on_each
from redline.cli.output import complain, counted, say, say_json
from redline.cli.places import show_damage, show_problem
from redline.cli.session_argument import SESSION, refuse_numbers
from redline.errors import ExecutionError, ValidationError
from redline.inspection.log_problems import log_of, problem_lines
from redline.inspection.session_files import SessionInput, find_sessions
from redline.log.reading import StoredLog
from redline.mending import Mending, mend_transcript
from redline.repair import Strategy
from redline.repair.strategies import STRATEGIES

__all__ = ["AGENT_PLACES", "AgentPlace", "command"]

_COLORS = {"remove": "red", "add": "green", "change": "yellow", "move": "yellow"}
_MOST_FIXES = 200


@click.command("repair")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    default="answer",
    show_default=True,
    help="For a call without a result: answer it as interrupted, drop its message, or strip the call alone.",
)
@click.option("--write", "out", metavar="OUT", type=click.Path(path_type=Path), help="Write the repaired session here.")
@click.option("--force", is_flag=True, help="Write OUT even if it exists.")
@click.option("--in-place", is_flag=True, help="Put the repaired session in its place; the old one stays as SESSION.bak.")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each change, for programs.")
def command(sessions: tuple[str, ...], strategy: Strategy, out: Path | None, force: bool, in_place: bool, as_json: bool) -> int:
    """Show what must change in each SESSION so that a provider takes it, and write it if asked.

    SESSION is a session file, a folder of them, or - for standard input. Only what goes on is repaired: the last window of the
    active path. All else stays byte for byte. What is written is read again and proven legal before it gets its name. A session
    is not replaced while a program has it open.

    A line whose parent is missing is joined to the line before it. What is missing in the file, or cannot be read, is listed.

    Current Claude Code, Codex and opencode go on after a crash by themselves. This is for loops of your own, other agents,
    older versions, and damaged files.

    Exit code 0 if there is nothing to do, or if it is shown or written; 1 if it could not be written or proven legal; 2 if a
    session cannot be read, or is of an agent whose files cannot be repaired.

    \b
    Examples:
      redline repair session.jsonl
      redline repair session.jsonl --in-place
      redline repair session.jsonl --strategy drop --write repaired.jsonl
    """
    refuse_numbers(sessions if in_place else (), "--in-place")
    inputs = find_sessions(sessions)
    if out is not None and (in_place or len(inputs) != 1):
        raise click.UsageError("--write takes one session, and not --in-place")
    mended: list[Mending] = []

    def repair(named: SessionInput) -> int:
        with named.on_disk() as session:
            log = log_of(session)
            if log is not None:
                return _look_at_log(session.name, log, as_json=as_json)
            if in_place and session.path is None:
                raise ValidationError(f"{session.name} is no file that could be replaced. Use --write OUT.")
            before = Path(session.place).read_bytes() if in_place else None
            try:
                mending = mend_transcript(session.file, strategy=strategy)
                _show_fixes(session, mending, as_json=as_json)
                done = _write(mending, out, force=force, before=before)
            except ExecutionError as problem:
                complain(session.error_text(problem))
                return FOUND
            mended.append(mending)
            if len(inputs) == 1 and not mending.fixes:
                what = "nothing to repair in what can be read" if mending.losses else "nothing to repair"
                done = done or f"{session.name}: {what}"
            if done and not as_json:
                say(done)
            return FINE

    code = on_each(inputs, repair)
    if not as_json:
        _show_end(mended, is_alone=len(inputs) == 1, is_written=in_place or out is not None)
    return code


def _look_at_log(name: str, log: StoredLog, *, as_json: bool) -> int:
    """A log is repaired in what is sent; its damage is told, and what would be refused all the same."""
    found = problem_lines(log)
    if as_json:
        return FOUND if found else FINE
    show_damage(name, log.damage)
    for problem, line in found:
        show_problem(name, problem, line)
    say(LOG_BREAKS_RULE if found else f"{name}: a Redline log, which is repaired in every request; its record stays as it is")
    return FOUND if found else FINE


def _show_fixes(session: SessionInput, mending: Mending, *, as_json: bool) -> None:
    if as_json:
        for fix in mending.fixes:
            say_json({"session": session.name, **msgspec.structs.asdict(fix)})
        for loss in mending.losses:
            say_json({"session": session.name, "action": "lost", **msgspec.structs.asdict(loss)})
        return
    if mending.fixes or mending.losses:
        say(f"{session.name} ({mending.format})")
    for fix in mending.fixes[:_MOST_FIXES]:
        say(f"  {fix}", color=_COLORS[fix.action])
    if len(mending.fixes) > _MOST_FIXES:
        say(f"… and {len(mending.fixes) - _MOST_FIXES:,} more (--json lists them all)")
    for loss in mending.losses[:_MOST_FIXES]:
        say(f"  {loss}", color="yellow")
    if len(mending.losses) > _MOST_FIXES:
        say(f"… and {len(mending.losses) - _MOST_FIXES:,} more losses (--json lists them all)")
    if mending.fixes or mending.losses:
        say(f"  {mending.summary}")


def _write(mending: Mending, out: Path | None, *, force: bool, before: bytes | None) -> str:
    """Write what is asked for; what there is to say then."""
    if out is not None:
        mending.write(out, overwrite=force)
        return f"written and proven legal: {out}"
    if before is not None and mending.fixes:
        return f"repaired in place and proven legal; as it was: {replace_in_place(mending, before)}"
    return ""


def _show_end(mended: list[Mending], *, is_alone: bool, is_written: bool) -> None:
    """How many there were, and how to go on from here."""
    broken = [mending for mending in mended if mending.fixes]
    if not is_alone:
        say(f"{counted(len(mended), 'session')} read, {len(broken):,} with something to repair")
    if broken and not is_written:
        say("nothing is written yet: --in-place repairs the file and keeps a backup, --write OUT makes a repaired copy")
    for format in sorted({mending.format for mending in broken}):
        if format in AGENT_PLACES:
            say(str(AGENT_PLACES[format]))


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """How an agent whose files can be repaired finds a session again."""

    name: str
    looks_at: str
    resumes_by: str
    """The command that goes on with a session."""

    def __str__(self) -> str:
        return f"{self.name} looks for its sessions at {self.looks_at}, and goes on with one by: {self.resumes_by}"


AGENT_PLACES = {
    "claude-code": AgentPlace("Claude Code", "~/.claude/projects/PROJECT/SESSION-ID.jsonl", "claude --resume SESSION-ID"),
    "codex": AgentPlace("Codex", "~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION-ID.jsonl", "codex resume SESSION-ID"),
    "gemini-cli": AgentPlace("Gemini CLI", "~/.gemini/tmp/PROJECT/chats/", "gemini --resume SESSION-ID"),
    "neovate": AgentPlace("Neovate", "~/.neovate/projects/PROJECT/SESSION-ID.jsonl", "neovate --resume SESSION-ID"),
    "opencode": AgentPlace("opencode", "its database", "opencode import FILE, then opencode --session SESSION-ID"),
}
"""By the name of the reader. Capitals are what differs from session to session."""
