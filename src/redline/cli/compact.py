"""`redline compact`: what an agent needs of a session's older messages, from the record alone, without a model."""

from pathlib import Path

import click

from redline.cli.arguments import SESSION
from redline.cli.loaded_session import CONVERSATION_HELP, EXIT_OK, LoadedSession, load_session
from redline.cli.output import counted, say, say_text
from redline.conversation.compacting import DEFAULT_KEPT
from redline.conversation.opening import open as open_conversation
from redline.errors import ExecutionError, ValidationError
from redline.files import create_whole
from redline.outlines.outline import DEFAULT_BUDGET, LEAST_BUDGET
from redline.policy.policy import find_policy
from redline.policy.presets import DEFAULT_PRESET
from redline.sessions.compacting import CompactedSession, compact_session

_POLICY_HELP = f"Its words, tools and project root: a preset or a redline.toml; {DEFAULT_PRESET} without it."


@click.command("compact")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option(
    "--budget-tokens", type=click.IntRange(min=LEAST_BUDGET), default=DEFAULT_BUDGET, show_default=True, help="Of the outline."
)
@click.option(
    "--keep-last", type=click.IntRange(min=0), default=DEFAULT_KEPT, show_default=True, help="Messages that stay as they are."
)
@click.option("--conversation", "number", default=0, show_default=True, help=CONVERSATION_HELP)
@click.option("--policy", metavar="NAME_OR_FILE", default=DEFAULT_PRESET, help=_POLICY_HELP)
@click.option("--log", "address", metavar="ADDRESS", help="Where the new log is made; beside a Redline log without it.")
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the outline to a new file, and nothing else."
)
@click.option("--dry-run", is_flag=True, help="Print the outline; write nothing.")
def command(
    session: str,
    budget_tokens: int,
    keep_last: int,
    number: int,
    policy: str,
    address: str | None,
    output: Path | None,
    dry_run: bool,
) -> int:
    """Replace the older messages of a SESSION by an outline, made from its record without a model.

    The outline has what the user said word for word, open to-dos, what failed, the files with their last change, what was found
    and decided, and names that will probably be said again: each with its place in the record, such as #12.0, for
    `redline show` and for the tool `recall`.

    SESSION itself is never changed. From a Redline log a new log is made that begins with the outline, goes on with the last
    messages and names the first as its origin. Of an agent's session the outline is printed, for you to give to the agent;
    with --log it becomes such a new log.

    Exit code 0 if it was done, 2 if the session could not be read, or has nothing to compact.

    \b
    Examples:
      redline compact chat.jsonl --dry-run
      redline compact chat.jsonl
      redline compact ~/.claude/projects/my-project/session.jsonl --output outline.md
    """
    if sum((dry_run, output is not None, address is not None)) > 1:
        raise click.UsageError("--dry-run, --output and --log exclude each other")
    loaded = load_session(session, number)
    is_printed = dry_run or output is not None or (address is None and not loaded.is_log)
    chosen = find_policy(policy)
    settings = {"keep_last": keep_last, "budget_tokens": budget_tokens}
    try:
        made = compact_session(loaded.player.history, chosen, is_new_log=not is_printed, **settings)
        if is_printed:
            _show(made, output)
        elif loaded.is_log:
            _compact_log(loaded, address, policy, **settings)
        else:
            _make_log(made, loaded, number, address or "")
    except ExecutionError as problem:
        raise ValidationError(f"{loaded.source.name}: {problem}") from problem
    return EXIT_OK


def _show(made: CompactedSession, output: Path | None) -> None:
    if output is None:
        say_text(made.outline.text + "\n")
    else:
        try:
            is_made = create_whole(output, f"{made.outline.text}\n".encode())
        except OSError as problem:
            how = "Check the folder and its permissions."
            raise ExecutionError(f"{output} cannot be written: {problem.strerror}. {how}") from problem
        if not is_made:
            raise ExecutionError(f"{output} is there already, and is left as it is. Name another file.")
    before = f"{counted(len(made.plan.replaced), 'message')}, about {made.plan.tokens:,} tokens"
    say(f"{before}: the outline has {made.outline.tokens:,}. Nothing else was written.", is_error=True)


def _compact_log(loaded: LoadedSession, address: str | None, policy: str, *, keep_last: int, budget_tokens: int) -> None:
    """A new log that goes on from a Redline log, as `Conversation.compact` makes it."""
    if not loaded.can_be_opened:
        raise ExecutionError("only a log with an address of its own can be compacted. Copy it to a file, or use --output")
    where = str(loaded.source.path) if loaded.source.path is not None else loaded.source.place
    settings = {"keep_last": keep_last, "budget_tokens": budget_tokens}
    with (
        open_conversation(where, policy=find_policy(policy)) as talk,
        talk.compact("outline", log=address, **settings) as made,  # type: ignore[arg-type]
    ):
        say(f"{made.name}: {counted(len(made.messages), 'message')}, its origin {talk.name} is as it was")


def _make_log(made: CompactedSession, loaded: LoadedSession, number: int, address: str) -> None:
    if loaded.source.path is None:
        raise ExecutionError("what came through a pipe can be no origin. Write it to a file, or use --output")
    made.write_log(address, str(loaded.source.path), number)
    count = 1 + len(made.plan.head) + len(made.plan.tail)
    say(f"{address}: {counted(count, 'message')}, its origin {loaded.source.name} is as it was")
