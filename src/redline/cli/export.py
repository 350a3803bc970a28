"""`redline export`: a conversation as plain messages, in its own format or another, without its secrets if asked."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from redline import payloads
from redline.blobs.files import create_whole, sync_directory
from redline.cli.request_body import chosen_conversation, request_body
from redline.conversation import Conversation
from redline.errors import ExecutionError, LogError
from redline.formats import FORMATS
from redline.log.opening import open_log
from redline.opening import is_foreign
from redline.redaction import redact
from redline.view.repair import clean_orphaned_tool_calls
from redline.view.repair.convert import convert

__all__ = ["command"]


@click.command("export")
@click.argument("file")
@click.option("--to", "target", type=click.Choice(list(FORMATS)), help="The format to write; without it, the file's own.")
@click.option("--redact", "is_redacted", is_flag=True, help="Replace keys, tokens, passwords and other secrets.")
@click.option("--conversation", "number", default=0, show_default=True, help="Which one, in a file that holds several.")
@click.option("--write", "out", metavar="OUT", type=click.Path(path_type=Path), help="A new file; without it, standard output.")
def command(file: str, target: str | None, is_redacted: bool, number: int, out: Path | None) -> None:
    """Write the visible messages of FILE as they were said, but for interrupted calls: a JSON list that redline reads again.

    FILE is a Redline log (a path, sqlite:///chats.db#name, postgresql://…#name) or a session file of any agent. If there is a
    system prompt beside the messages, a request body with both is written. What cannot be carried is listed on standard error.
    """
    found = _in_transcript(Path(file), number) if is_foreign(file) or not _exists(file) else _in_log(file)
    content = _content(found, target or found.format)
    content = redact(content) if is_redacted else content
    if out is None:
        click.echo(content)
    else:
        _write(out, content + b"\n")


@dataclass(frozen=True, slots=True)
class _Found:
    messages: list[Any]
    format: str
    system: str | None = None


def _exists(address: str) -> bool:
    return "://" in address or Path(address).exists()


def _in_log(address: str) -> _Found:
    log = open_log(address)
    try:
        if next(log.read(), None) is None:
            raise LogError(f"There is no conversation at {address}. Check the address.")
        talk = Conversation(log=log, format=log.header.message_format or "auto")
        return _Found(talk.messages, talk.format)
    finally:
        log.close()


def _in_transcript(file: Path, number: int) -> _Found:
    recorded = chosen_conversation(file, number)
    window = recorded.windows[-1] if recorded.windows else ()
    return _Found([payloads.decode(entry.message.native) for entry in window], recorded.format, recorded.system)


def _content(found: _Found, target: str) -> bytes:
    messages = clean_orphaned_tool_calls(found.messages, format=found.format)
    done = convert(messages, source=found.format, target=target, system=found.system)
    for loss in done.lost:
        click.echo(f"not carried: {loss}", err=True)
    has_system_apart = bool(done.system) and FORMATS[target].system_field is not None
    return _as_json(request_body(done, target) if has_system_apart else done.messages)


def _as_json(value: object) -> bytes:
    """As it is read best; in ASCII if it holds text that is no valid Unicode."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=2).encode()


def _write(out: Path, content: bytes) -> None:
    """For the owner only. A file that is there is not written over: it may be the one that was read."""
    try:
        is_made = create_whole(out, content)
        sync_directory(out.parent)
    except OSError as problem:
        raise ExecutionError(f"{out} cannot be written: {problem.strerror}. Check the folder and its permissions.") from problem
    if not is_made:
        raise ExecutionError(f"{out} is there already, and is left as it is. Name another file.")
