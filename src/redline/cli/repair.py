"""`redline repair`: a session file that its agent cannot resume, repaired in the agent's own format."""

from pathlib import Path

import click
import msgspec

from redline import payloads
from redline.errors import ExecutionError
from redline.mending import Fix, Mending, mend_transcript
from redline.view.repair import Strategy
from redline.view.repair.strategies import STRATEGIES

__all__ = ["command"]

_COLORS = {"remove": "red", "add": "green", "change": "yellow", "move": "yellow"}
_MOST_FIXES = 200
_NOT_WRITTEN = 1


@click.command("repair")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    default="drop",
    show_default=True,
    help="For a call without a result: drop its message, answer it as interrupted, or strip the call alone.",
)
@click.option("--write", "out", metavar="OUT", type=click.Path(path_type=Path), help="Write the repaired session here.")
@click.option("--force", is_flag=True, help="Write OUT even if it exists. FILE itself is never written.")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each change, for programs.")
@click.pass_context
def command(ctx: click.Context, file: Path, strategy: Strategy, out: Path | None, force: bool, as_json: bool) -> None:
    """Show what must change in FILE so that its agent can resume it, and with --write make a repaired copy.

    Only what goes on is repaired: the last window of the active path. All else stays byte for byte. OUT is read again and
    proven legal before it gets its name.

    Exit code 0 if there is nothing to do, or if it is shown or written; 1 if OUT could not be written or proven legal; 2 if
    FILE cannot be read, or is of an agent whose files cannot be repaired.
    """
    mending = mend_transcript(file, strategy=strategy)
    _show(mending, as_json=as_json)
    try:
        if out is not None:
            mending.write(out, overwrite=force)
    except ExecutionError as problem:
        click.echo(f"redline: {problem}", err=True)
        ctx.exit(_NOT_WRITTEN)
    if not as_json:
        click.echo(_last_words(mending, out))


def _show(mending: Mending, *, as_json: bool) -> None:
    if as_json:
        for fix in mending.fixes:
            click.echo(payloads.encode(msgspec.structs.asdict(fix)))
        return
    if mending.fixes:
        click.echo(f"{mending.path} ({mending.format})")
    for fix in mending.fixes[:_MOST_FIXES]:
        click.echo(_colored(fix))
    if len(mending.fixes) > _MOST_FIXES:
        click.echo(f"… and {len(mending.fixes) - _MOST_FIXES:,} more (--json lists them all)")


def _colored(fix: Fix) -> str:
    return click.style(f"  {fix}", fg=_COLORS[fix.action])


def _last_words(mending: Mending, out: Path | None) -> str:
    if out is not None:
        return f"written and proven legal: {out}"
    if not mending.fixes:
        return f"{mending.path}: nothing to repair"
    return "nothing is written yet: --write OUT makes a repaired copy"
