"""`redline completion`: the script with which a shell completes the command."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from redline.cli.output import say

_SHELLS = {"bash": BashComplete, "fish": FishComplete, "zsh": ZshComplete}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script with which SHELL completes commands, options, file names and short names of sessions.

    Put it where the shell reads it when it starts:

    \b
      bash    redline completion bash >> ~/.bashrc       (bash 4.4 or later)
      zsh     redline completion zsh >> ~/.zshrc         (after compinit)
      fish    redline completion fish > ~/.config/fish/completions/redline.fish

    Where file names and short names are both possible, bash offers the short names, and file names once one begins so.

    \b
    Examples:
      redline completion bash >> ~/.bashrc
      eval "$(redline completion zsh)"
    """
    maker = _SHELLS[shell](ctx.find_root().command, {}, "redline", "_REDLINE_COMPLETE")
    # Bash's own `source` first starts a bash to ask for its version, which says nothing about the one that will read this.
    for line in ShellComplete.source(maker).splitlines():
        say(line)
    return 0
