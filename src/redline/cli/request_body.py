"""Which conversation of a session file is meant, and its messages as the body of a request."""

from pathlib import Path

import click

from redline.formats import FORMATS
from redline.transcripts import RecordedConversation, read_transcript
from redline.view.repair.convert import Conversion

__all__ = ["chosen_conversation", "request_body"]


def chosen_conversation(file: Path, number: int) -> RecordedConversation:
    """The conversation with this number, counted from 0."""
    conversations = read_transcript(file).conversations
    if not 0 <= number < len(conversations):
        raise click.BadParameter(
            f"{file} holds {len(conversations)} conversations, numbered from 0.", param_hint="--conversation"
        )
    return conversations[number]


def request_body(done: Conversion, target: str) -> dict[str, object]:
    """The messages, and the system prompt where the format holds it apart."""
    writer = FORMATS[target]
    body: dict[str, object] = {writer.messages_field: done.messages}
    if done.system and writer.system_field:
        body = {writer.system_field: writer.write_system(done.system), **body}
    return body
