"""The `redline` command: each subcommand is a file beside this one, imported when it is called.

To add one, copy the nearest (`check` is short): a file of its name that holds a click command named `command`, a line in
`GROUPS`, a file tests/cli/test_NAME.py, and `python -m tests.write_help` for docs/command-line.md. `find_sessions` finds
what the arguments mean, `for_each_session` works on one session after the other, and all output goes through `output`.
"""

import contextlib
import os
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING

import click

import redline

try:
    if not hasattr(redline, "_HOME_OF"):
        raise ImportError("The package `redline` that Python finds is another project's")
    from redline.cli.output import complain, is_colored
    from redline.errors import RedlineError
    from redline.plugins import load_plugin, package_of, plugin_points
except ImportError as broken:  # another project's files may be in the place of ours
    from redline.name_clash import name_clash_error

    sys.exit(f"redline: {name_clash_error() or f'{broken} ({redline.__file__}).'}")

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from click.shell_completion import CompletionItem

__all__ = ["ALIASES", "COMMANDS", "GROUPS", "commands", "main"]

GROUPS = {
    "Use it": {
        "run": "Run an agent with its requests going through Redline.",
        "proxy": "Relay an agent's requests to its provider, edited.",
        "hook": "Fold what tools print by an agent's own hook, with no proxy.",
        "mcp": "Serve an agent over MCP: read back or undo what was struck.",
        "doctor": "Say which agents are installed and how they would be routed.",
        "config": "Show every setting and its origin, or begin a redline.toml.",
        "demo": "Build a sample session and show what Redline makes of it.",
    },
    "Look at sessions": {
        "sessions": "List the agent sessions on this computer, newest first.",
        "show": "Show a conversation, with what is struck in it and why.",
        "explain": "Say why a part is sent or struck, and how to undo it.",
        "search": "Find words in all sessions on this computer, or in a store.",
        "serve": "Look at sessions in the browser: requests, strikes, what if.",
    },
    "Repair them": {
        "check": "Say whether a provider would accept the messages of sessions.",
        "repair": "Repair session files that a provider would refuse.",
    },
    "Measure": {
        "replay": "Say what policies would have saved and risked in sessions.",
        "cache": "Say what broke the provider's cache, and what to set.",
        "proof": "Compare edited sessions with those that were held out.",
    },
    "Keep stores": {
        "ls": "List the conversations of a store, or add them up.",
        "rm": "Delete conversations for good, or blobs that none refers to.",
    },
}
"""The commands that `redline --help` lists, by what people want to do, and what each does."""

COMMANDS = {name: says for group in GROUPS.values() for name, says in group.items()} | {
    "compact": "Replace a session's older messages by an outline, without a model.",
    "completion": "Print what makes a shell complete commands, options and sessions.",
    "diff": "Compare two requests, two policies, or record and request.",
    "export": "Write a session in any format, or as Markdown, HTML or JSON.",
    "inspect": "Show what sessions hold.",
    "log": "Draw the records, branches and batches of a session as a tree.",
    "outcome": "Say how a session ended, for redline proof.",
    "purge": "Delete everything that Redline stored on this computer.",
    "tools": "Say what each tool definition costs, and how often it is called.",
}
"""Every subcommand, those that are only named, too; its function has the name of its file."""

ALIASES: dict[str, tuple[str, ...]] = {
    "convert": ("export", "--body"),
    "gc": ("rm", "--unused"),
    "stats": ("ls", "--stats"),
}
"""Names that commands had before, and what they mean now."""
_OPTION_ALIASES = {("gc", "--delete"): "--yes"}

_WRONG = 2
_BUG = 3
_MOST_SHOWN = 120
_INTERRUPTED = 130
_PIPE_CLOSED = 141


def _no_color() -> click.Option:
    """Given to every command, so that it may be anywhere in the line."""

    def set_color(ctx: click.Context, _: click.Parameter, is_off: bool) -> None:
        if is_off or not is_colored():
            ctx.color = False

    return click.Option(
        ["--no-color"], is_flag=True, expose_value=False, callback=set_color, help="No colors; NO_COLOR=1 does the same."
    )


def _load(name: str) -> click.Command:
    import logging  # here, as help would wait for it

    logging.getLogger("redline").addHandler(logging.NullHandler())  # commands say themselves what was damaged
    command: click.Command = import_module(f"redline.cli.{name}").command
    if all(option.name != "no_color" for option in command.params):
        command.params.append(_no_color())
    return command


def _plugins() -> "list[EntryPoint]":
    """The commands that other packages add, by entry points `redline.commands`; none takes the name of one that is there."""
    return [point for point in plugin_points("redline.commands") if point.name not in {*COMMANDS, *ALIASES}]


class _LazyGroup(click.Group):
    """Lists its commands from the table, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in GROUPS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command of Redline's own, or else of another package that adds one."""
        if cmd_name in COMMANDS:
            return _load(cmd_name)
        found = (load_plugin(point) for point in _plugins() if point.name == cmd_name)
        return next((command for command in found if isinstance(command, click.Command)), None)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with; while a shell completes a session, only what is needed for that."""
        name, *others = args
        if name in ALIASES:
            name, *others = *ALIASES[name], *(_OPTION_ALIASES.get((name, word), word) for word in others)
        if ctx.resilient_parsing and not any(word.startswith("-") for word in others):
            from redline.cli.arguments import SESSION_COMMANDS, UnloadedCommand

            if name in SESSION_COMMANDS:
                return name, UnloadedCommand(name, lambda: _load(name)), others
        return super().resolve_command(ctx, [name, *others])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The commands from the table, and the options."""
        from click.shell_completion import CompletionItem

        listed = {name: COMMANDS[name] for name in self.list_commands(ctx)} | {one.name: "" for one in _plugins()}
        commands = [CompletionItem(name, help=says) for name, says in listed.items() if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A program that calls this may give what no shell can: a zero byte, which no file name has."""
        for argument in args:
            if "\0" in argument:
                raise click.UsageError(f"there is a zero byte in {argument[:_MOST_SHOWN]!r}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; who interrupts it, or closes the pipe it writes to, gets the exit code that shells expect."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            complain("interrupted")
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains when it flushes
            ctx.exit(_PIPE_CLOSED)
        return code

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), says) for name, says in group.items()])
        others = sorted(COMMANDS.keys() - {name for group in GROUPS.values() for name in group})
        with formatter.section("More, each with a --help of its own"):
            formatter.write_text(", ".join(others))
        if plugins := _plugins():
            with formatter.section("From other packages"):
                formatter.write_dl([(point.name.ljust(width), f"Of the package {package_of(point)}.") for point in plugins])


@click.group(cls=_LazyGroup, params=[_no_color()], context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(redline.__version__, message="redline %(version)s")
def commands() -> None:
    """Redline decides what an LLM agent's model sees.

    Commands take session files of agents, Redline's own logs, addresses of databases, folders, and - for standard input.

    \b
    Examples:
      redline run --dry-run -- claude           what would Redline save here?
      redline sessions                          the sessions on this computer
      redline show 1                            the newest of them
      redline check session.jsonl               would a provider take it?
    """


def main() -> None:
    """Run the command. What is wrong is told in one line on standard error; the exit codes are in docs/command-line.md."""
    warnings.showwarning = lambda message, *_, **__: complain(message)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # absent where a test put its own
    try:
        sys.exit(commands(sys.argv[1:] or ["--help"], prog_name="redline", standalone_mode=False) or 0)
    except click.ClickException as wrong:
        context = getattr(wrong, "ctx", None)
        command = f"redline {context.info_name}" if context and context.parent else "redline"
        says = _without_passwords(wrong.format_message()).rstrip(".")
        complain(f"{says}{'' if says.endswith('?') else '.'} See {command} --help.")
        sys.exit(_WRONG)
    except RedlineError as problem:
        complain(_without_passwords(str(problem)))
        sys.exit(_WRONG)
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except Exception as bug:
        if os.environ.get("REDLINE_TRACEBACK"):
            raise
        complain(f"{type(bug).__name__}: {bug}. This is a bug in Redline; REDLINE_TRACEBACK=1 shows where.")
        sys.exit(_BUG)


def _without_passwords(text: str) -> str:
    """What went wrong, with `***` for the passwords of addresses that were given as arguments."""
    for address in (argument for argument in sys.argv if "://" in argument):
        from redline.record.addresses import masked

        text = text.replace(address, masked(address))
    return text
