"""`redline export`: conversations as plain messages, in their own format or another, without their secrets if asked."""

from pathlib import Path

import click

from redline.cli.on_each import FINE, FOUND, on_each
from redline.cli.output import say_json
from redline.cli.printable import as_json
from redline.cli.request_body import next_messages, report, request_body
from redline.cli.session_argument import SESSION
from redline.errors import ExecutionError
from redline.files import create_whole, sync_directory
from redline.formats import FORMATS
from redline.inspection.session_files import SessionInput, find_sessions
from redline.lists.convert import convert
from redline.lists.repair import clean_orphaned_tool_calls
from redline.redaction import redact
from redline.values import payloads

__all__ = ["command"]


@click.command("export")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--to", "target", type=click.Choice(list(FORMATS)), help="The format to write; without it, the session's own.")
@click.option("--redact", "is_redacted", is_flag=True, help="Replace keys, tokens, passwords and other secrets.")
@click.option("--conversation", "number", default=0, show_default=True, help="Which one, in a file that holds several.")
@click.option("--write", "out", metavar="OUT", type=click.Path(path_type=Path), help="A new file; without it, standard output.")
def command(sessions: tuple[str, ...], target: str | None, is_redacted: bool, number: int, out: Path | None) -> int:
    """Write the visible messages of a SESSION as they were said, but for interrupted calls: a JSON list.

    SESSION is a Redline log (a path, sqlite:///chats.db#name, postgresql://…#name), a session file of any agent, a folder, or -
    for standard input. If there is a system prompt beside the messages, a request body with both is written. Several sessions
    give a request body a line. redline reads all of these again. What cannot be carried is listed on standard error.

    Exit code 0 if the provider would take what was written, 1 if not (standard error says why), 2 if a session could not be
    read or OUT not be written.

    \b
    Examples:
      redline export chat.jsonl > messages.json
      redline export sqlite:///chats.db#support --to openai_chat
      redline export session.jsonl --redact --write shared.json
    """
    inputs = find_sessions(sessions)
    written: list[object] = []

    def export(session: SessionInput) -> int:
        found = next_messages(session, number)
        own = target or found.format
        messages = clean_orphaned_tool_calls(found.messages, format=found.format)
        done = convert(messages, source=found.format, target=own, system=found.system)
        is_body = len(inputs) > 1 or (bool(done.system) and FORMATS[own].system_field is not None)
        value: object = request_body(done, own) if is_body else done.messages
        if is_redacted:
            value = payloads.decode(redact(as_json(value).encode()))
        if out is None:
            say_json(value, indent=2 if len(inputs) == 1 else None)
        written.append(value)
        return FINE if report(session, done, own) else FOUND

    code = on_each(inputs, export)
    if out is not None and written:
        indent = 2 if len(inputs) == 1 else None
        content = "".join(as_json(value, indent=indent) + "\n" for value in written).encode()
        try:
            is_made = create_whole(out, content)  # for the owner only
            sync_directory(out.parent)
        except OSError as problem:
            how = "Check the folder and its permissions."
            raise ExecutionError(f"{out} cannot be written: {problem.strerror}. {how}") from problem
        if not is_made:  # it may be the file that was read
            raise ExecutionError(f"{out} is there already, and is left as it is. Name another file.")
    return code
