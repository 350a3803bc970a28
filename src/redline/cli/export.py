"""`redline export`: conversations as plain messages, or one as it is shown: Markdown, HTML, JSON; without secrets if asked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from redline.cli.arguments import SESSION
from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK, POLICY_HELP, REQUEST_HELP, for_each_session, load_session
from redline.cli.output import as_json, complain, say, say_json, say_text
from redline.conversation.lists import Conversion, check, clean_orphaned_tool_calls, convert
from redline.errors import ExecutionError, ValidationError
from redline.files import create_whole, sync_directory
from redline.providers import FORMATS
from redline.redaction import redact
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.export import as_html, as_markdown, session_value, without_secrets
from redline.sessions.read_session import AUTO
from redline.values import payloads

_WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "markdown": as_markdown,
    "html": as_html,
    "json": lambda value: as_json(value, indent=2) + "\n",
}
"""What is for people, and for programs that want to know everything, rather than for a provider."""
_SHOWN = ", ".join(_WRITERS)


@click.command("export")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option(
    "--to", "target", type=click.Choice([*FORMATS, *_WRITERS]), help="The format to write; without it, the session's own."
)
@click.option("--body", "is_always_body", is_flag=True, help="A request body, also where there is no system prompt.")
@click.option("--redact", "is_redacted", is_flag=True, help="Replace keys, tokens, passwords and other secrets.")
@click.option("--policy", metavar="NAME_OR_FILE", help=f"For {_SHOWN}: {POLICY_HELP}")
@click.option("--request", type=click.IntRange(min=0), metavar="N", help=f"For {_SHOWN}: {REQUEST_HELP}")
@click.option("--conversation", "number", default=0, show_default=True, help="Which one, in a file that holds several.")
@click.option("--write", "out", metavar="OUT", type=click.Path(path_type=Path), help="A new file; without it, standard output.")
def command(
    sessions: tuple[str, ...],
    target: str | None,
    is_always_body: bool,
    is_redacted: bool,
    policy: str | None,
    request: int | None,
    number: int,
    out: Path | None,
) -> int:
    """Write the visible messages of a SESSION as they were said, but for interrupted calls: a JSON list.

    SESSION is a Redline log (a path, sqlite:///chats.db#name, postgresql://…#name), a session file of any agent, a folder, or -
    for standard input. If there is a system prompt beside the messages, a request body with both is written. Several sessions
    give a request body a line. redline reads all of these again. What cannot be carried is listed on standard error.

    To markdown, html and json, one session is written whole, as `redline show` shows it: with what is struck and why. The HTML
    is one file without scripts that loads nothing; in both, whatever was said is only text. The JSON has everything: session,
    requests, strikes, messages.

    Exit code 0 if the provider would take what was written, 1 if not (standard error says why), 2 if a session could not be
    read or OUT not be written.

    \b
    Examples:
      redline export chat.jsonl > messages.json
      redline export sqlite:///chats.db#support --to openai_chat --body
      redline export session.jsonl --redact --write shared.json
      redline export 1 --to html --redact --write session.html
    """
    inputs = find_sessions(sessions)
    if target is not None and target in _WRITERS:
        _write_shown(inputs, target, number, out, policy=policy or AUTO, request=request, is_redacted=is_redacted)
        return EXIT_OK
    if policy is not None or request is not None:
        raise click.UsageError(f"--policy and --request are for --to {_SHOWN}")
    written: list[object] = []

    def export(session: SessionInput) -> int:
        found = next_messages(session, number)
        own = target or found.format
        messages = clean_orphaned_tool_calls(found.messages, format=found.format)
        done = convert(messages, source=found.format, target=own, system=found.system)
        is_body = is_always_body or len(inputs) > 1 or (bool(done.system) and FORMATS[own].system_field is not None)
        value: object = request_body(done, own) if is_body else done.messages
        if is_redacted:
            value = payloads.decode(redact(as_json(value).encode()))
        if out is None:
            say_json(value, indent=2 if len(inputs) == 1 else None)
        written.append(value)
        return EXIT_OK if _report(session, done, own) else EXIT_FOUND

    code = for_each_session(inputs, export)
    if out is not None and written:
        indent = 2 if len(inputs) == 1 else None
        _write(out, "".join(as_json(value, indent=indent) + "\n" for value in written))
    return code


def _write_shown(
    inputs: Sequence[SessionInput],
    target: str,
    number: int,
    out: Path | None,
    *,
    policy: str,
    request: int | None,
    is_redacted: bool,
) -> None:
    """Write everything known of one session, for people or for programs."""
    if len(inputs) != 1:
        raise ValidationError(f"{len(inputs):,} sessions are named; --to {target} takes one. Name a file rather than a folder.")
    loaded = load_session(inputs[0], number)
    value = session_value(loaded.playback(policy), inputs[0].name, request=request, log=loaded.session.log)
    shown = without_secrets(value) if is_redacted else value
    if out is not None:
        _write(out, _WRITERS[target](shown))
    elif target == "json":
        say_json(shown, indent=2)
    else:
        say_text(_WRITERS[target](shown))


def _write(out: Path, content: str) -> None:
    """Write a new file, for the owner only; an existing file is never overwritten: it may be the session."""
    try:
        is_made = create_whole(out, content.encode())
        sync_directory(out.parent)
    except OSError as problem:
        how = "Check the folder and its permissions."
        raise ExecutionError(f"{out} cannot be written: {problem.strerror}. {how}") from problem
    if not is_made:
        raise ExecutionError(f"{out} is there already, and is left as it is. Name another file.")


class NextMessages(NamedTuple):
    """What a session would send: the last window of one of its conversations."""

    messages: list[Any]
    format: str
    system: str | None = None


def next_messages(session: SessionInput, number: int) -> NextMessages:
    """The messages of the conversation with this number, counted from 0. That there are others is said on standard error."""
    conversations = session.read().conversations
    if not 0 <= number < len(conversations):
        raise ValidationError(
            f"{session.name} holds {len(conversations)} conversations, numbered from 0; there is no {number}."
        )
    if len(conversations) > 1:
        say(f"{session.name}: conversation {number} of {len(conversations)}; --conversation takes another", is_error=True)
    chosen = conversations[number]
    window = chosen.windows[-1] if chosen.windows else ()
    return NextMessages([payloads.decode(entry.message.native) for entry in window], chosen.format, chosen.system)


def request_body(done: Conversion, target: str) -> dict[str, object]:
    """The messages, and the system prompt where the format holds it apart."""
    writer = FORMATS[target]
    body: dict[str, object] = {writer.messages_field: done.messages}
    if done.system and writer.system_field:
        body = {writer.system_field: writer.write_system(done.system), **body}
    return body


def _report(session: SessionInput, done: Conversion, target: str) -> bool:
    """Say what could not be carried, and what a provider would refuse all the same; whether there is nothing of the latter."""
    for loss in done.lost:
        say(f"{session.name}: not carried: {loss}", is_error=True)
    refused = check(done.messages, format=target) if done.messages else []
    for problem in refused:
        complain(f"{session.name}: what was written would be refused: {problem}")
    return not refused
