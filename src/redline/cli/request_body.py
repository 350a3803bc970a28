"""The messages that a session would send next, as the body of a request, and whether a provider would take it."""

from dataclasses import dataclass
from typing import Any

from redline.cli.output import complain, say
from redline.errors import ValidationError
from redline.formats import FORMATS
from redline.inspection.session_files import SessionInput
from redline.lists.check import check
from redline.lists.convert import Conversion
from redline.values import payloads

__all__ = ["NextMessages", "next_messages", "report", "request_body"]


@dataclass(frozen=True, slots=True)
class NextMessages:
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


def report(session: SessionInput, done: Conversion, target: str) -> bool:
    """Say what could not be carried, and what a provider would refuse all the same; whether there is nothing of the latter."""
    for loss in done.lost:
        say(f"{session.name}: not carried: {loss}", is_error=True)
    refused = check(done.messages, format=target) if done.messages else []
    for problem in refused:
        complain(f"{session.name}: what was written would be refused: {problem}")
    return not refused
