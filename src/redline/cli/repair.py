"""`redline repair`: session files that a provider would refuse, repaired in the agent's own format."""

import contextlib
import os
import shutil
import stat
import sys
from itertools import count
from pathlib import Path

import click
import msgspec

from redline.agents.menders import MENDERS, Mending, mend_transcript
from redline.cli.arguments import SESSION, refuse_numbers
from redline.cli.check import LOG_BREAKS_RULE, show_damage, show_problem
from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK, for_each_session
from redline.cli.output import complain, counted, say, say_json
from redline.errors import ExecutionError, ValidationError
from redline.files import create_whole, sync_directory
from redline.record.reading import StoredLog
from redline.repair import STRATEGIES, Strategy
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.read_session import log_of, problem_lines

_COLORS = {"remove": "red", "add": "green", "change": "yellow", "move": "yellow", "lost": "yellow"}
_MOST_FIXES = 200
_PROCESSES = Path("/proc")


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
                return EXIT_FOUND
            mended.append(mending)
            if len(inputs) == 1 and not mending.fixes:
                what = "nothing to repair in what can be read" if mending.losses else "nothing to repair"
                done = done or f"{session.name}: {what}"
            if done and not as_json:
                say(done)
            return EXIT_OK

    code = for_each_session(inputs, repair)
    if not as_json:
        _show_end(mended, is_alone=len(inputs) == 1, is_written=in_place or out is not None)
    return code


def _look_at_log(name: str, log: StoredLog, *, as_json: bool) -> int:
    """A log is repaired in what is sent; its damage is told, and what would be refused all the same."""
    found = problem_lines(log)
    if as_json:
        return EXIT_FOUND if found else EXIT_OK
    show_damage(name, log.damage)
    for problem, line in found:
        show_problem(name, problem, line)
    say(LOG_BREAKS_RULE if found else f"{name}: a Redline log, which is repaired in every request; its record stays as it is")
    return EXIT_FOUND if found else EXIT_OK


def _show_fixes(session: SessionInput, mending: Mending, *, as_json: bool) -> None:
    if as_json:
        for fix in mending.fixes:
            say_json({"session": session.name, **msgspec.structs.asdict(fix)})
        for loss in mending.losses:
            say_json({"session": session.name, "action": "lost", **msgspec.structs.asdict(loss)})
        return
    if not mending.fixes and not mending.losses:
        return
    say(f"{session.name} ({mending.format})")
    for what, found in (("", mending.fixes), (" losses", mending.losses)):
        for one in found[:_MOST_FIXES]:
            say(f"  {one}", _COLORS[getattr(one, "action", "lost")])
        if len(found) > _MOST_FIXES:
            say(f"… and {len(found) - _MOST_FIXES:,} more{what} (--json lists them all)")
    say(f"  {mending.summary}")


def _write(mending: Mending, out: Path | None, *, force: bool, before: bytes | None) -> str:
    """Write the repaired session to OUT or in place, and return the sentence that says so."""
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
        for mender in MENDERS:
            if format in mender.formats and mender.looks_at:
                say(f"{mender.name} looks for its sessions at {mender.looks_at}, and goes on with one by: {mender.resumes_by}")


def replace_in_place(mending: Mending, before: bytes) -> Path:
    """Prove the repair, keep what was read as `FILE.bak`, and only then put the repair there. The backup is given back.

    An ExecutionError, and nothing is changed, if a program has the file open or has changed it since it was read. A backup that
    is there already is never overwritten; the new one gets a number.
    """
    file = mending.path.resolve()
    draft = file.with_name(f".redline-{os.getpid()}-{file.name}")
    try:
        mending.write(draft)
        _copy_owner_and_mode(file, draft)
        if users := programs_with(file):
            listed = ", ".join(map(str, users))
            raise ExecutionError(f"{file} is open in another program (process {listed}). End it first; nothing was changed.")
        if file.read_bytes() != before:
            raise ExecutionError(f"{file} was changed while it was being repaired. Is its agent running? Nothing was written.")
        backups = (file.with_name(f"{file.name}.bak{f'.{number}' if number else ''}") for number in count())
        backup = next(path for path in backups if create_whole(path, before))
        _copy_owner_and_mode(file, backup)
        shutil.copystat(file, backup)
        draft.replace(file)
        sync_directory(file.parent)
    except OSError as problem:
        raise ExecutionError(f"{file} cannot be replaced: {problem.strerror}. Nothing was changed.") from problem
    finally:
        draft.unlink(missing_ok=True)
    return backup


def programs_with(file: Path) -> list[int]:
    """The processes that have a file open, as far as the system tells: Linux does, and only of the user's own processes."""
    wanted, found = file.stat(), set[int]()
    for process in _PROCESSES.glob("[0-9]*") if _PROCESSES.is_dir() else ():
        handles: list[Path] = []
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            handles = list((process / "fd").iterdir())
        for handle in handles:
            with contextlib.suppress(OSError):  # closed meanwhile
                if os.path.samestat(handle.stat(), wanted):
                    found.add(int(process.name))
    return sorted(found - {os.getpid()})


def _copy_owner_and_mode(file: Path, other: Path) -> None:
    """The owner only where one may give files away."""
    status = file.stat()
    with contextlib.suppress(PermissionError):
        if sys.platform != "win32":  # where a file is its owner's by the folder that it is in
            os.chown(other, status.st_uid, status.st_gid)
    other.chmod(stat.S_IMODE(status.st_mode))
