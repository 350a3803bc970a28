"""`redline convert`: the messages of sessions in another provider's format."""

import click

from redline.cli.on_each import FINE, FOUND, on_each
from redline.cli.output import say_json
from redline.cli.request_body import next_messages, report, request_body
from redline.cli.session_argument import SESSION
from redline.formats import FORMATS
from redline.inspection.session_files import SessionInput, find_sessions
from redline.lists.convert import convert

__all__ = ["command"]


@click.command("convert")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--to", "target", required=True, type=click.Choice(list(FORMATS)), help="The format to write.")
@click.option("--conversation", "number", default=0, show_default=True, help="Which one, in a file that holds several.")
def command(sessions: tuple[str, ...], target: str, number: int) -> int:
    """Write what a SESSION would send next as a request body: messages, and the system prompt where the target holds it apart.

    SESSION is a session file, a Redline log, an address (sqlite:///chats.db#name), a folder, or - for standard input. The
    output is JSON; several sessions give one body a line. What cannot be carried (signed reasoning, say) is listed on standard
    error.

    Exit code 0 if the provider would take what was written, 1 if not (standard error says why), 2 if a session could not be
    read.

    \b
    Examples:
      redline convert session.jsonl --to openai_chat > body.json
      redline convert ~/.codex/sessions --to anthropic > bodies.jsonl
      redline convert results.eval --conversation 3 --to gemini
    """
    inputs = find_sessions(sessions)

    def write(session: SessionInput) -> int:
        found = next_messages(session, number)
        done = convert(found.messages, source=found.format, target=target, system=found.system)
        say_json(request_body(done, target), indent=2 if len(inputs) == 1 else None)
        return FINE if report(session, done, target) else FOUND

    return on_each(inputs, write)
