"""`redline check`: whether a provider would accept the messages in a file, and if not, why not."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from redline.formats import find_format
from redline.transcripts import RecordedConversation, read_transcript
from redline.view.laws import Problem, problems_of
from redline.view.laws.law import History

__all__ = ["command"]


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One object a line, for programs.")
@click.pass_context
def command(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Check what FILE would send: the last window of each of its conversations.

    Exit code 0 if every provider rule is kept, 1 if not, 2 if the file cannot be read.
    """
    found = False
    for conversation in read_transcript(file):
        for problem in _problems(conversation):
            found = True
            click.echo(_as_json(conversation, problem) if as_json else f"{conversation.id}: {problem}")
    if not found and not as_json:
        click.echo(f"{file}: no problem found")
    ctx.exit(int(found))


def _problems(conversation: RecordedConversation) -> list[Problem]:
    windows = conversation.windows
    messages = tuple(entry.message for entry in windows[-1]) if windows else ()
    return problems_of(History.of(messages, find_format(conversation.format)), is_stored=True)


def _as_json(conversation: RecordedConversation, problem: Problem) -> str:
    return json.dumps({"conversation": conversation.id, **asdict(problem)}, ensure_ascii=False)
