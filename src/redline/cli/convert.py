"""`redline convert`: the messages of a file in another provider's format."""

import json
from pathlib import Path

import click

from redline.cli.request_body import chosen_conversation, request_body
from redline.formats import FORMATS
from redline.transcripts import RecordedConversation
from redline.view.repair.convert import Conversion, convert

__all__ = ["command"]


@click.command("convert")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "target", required=True, type=click.Choice(list(FORMATS)), help="The format to write.")
@click.option("--conversation", "number", default=0, show_default=True, help="Which one, in a file that holds several.")
def command(file: Path, target: str, number: int) -> None:
    """Write what FILE would send next as a request body: messages, and the system prompt where the target holds it apart.

    What cannot be carried (signed reasoning, say) is listed on standard error.
    """
    done = _converted(chosen_conversation(file, number), target)
    for loss in done.lost:
        click.echo(f"not carried: {loss}", err=True)
    for change in done.repairs:
        click.echo(f"repaired: {change}", err=True)
    click.echo(json.dumps(request_body(done, target), ensure_ascii=False, indent=2))


def _converted(conversation: RecordedConversation, target: str) -> Conversion:
    messages = [entry.message.native for entry in conversation.windows[-1]] if conversation.windows else []
    return convert(messages, source=conversation.format, target=target, system=conversation.system)
