"""`redline mcp`: an MCP server for an agent over its own session, on standard input and output."""

import click
from click.core import ParameterSource

from redline.agents.launching.leftover_processes import own_run
from redline.cli.arguments import expanded, open_store, split_address
from redline.cli.setting_options import with_settings
from redline.errors import MissingExtraError, ValidationError


@click.command("mcp")
@click.argument("session", required=False, metavar="[SESSION]")
@with_settings("proxy.store")
@click.option("--session", "name", metavar="NAME", help="Which session of the log, where several begin alike.")
@click.option("--blobs", metavar="PLACE", help="Where offloaded results are: a folder, s3://…, gs://…, az://…")
@click.option("--read-only", is_flag=True, help="Without the tool that undoes strikes.")
def command(session: str | None, store: str, name: str | None, blobs: str | None, read_only: bool) -> int:
    """Serve an agent over MCP: what was struck from its session and why, to read back, to undo; tokens and money.

    The agent starts the command itself; it speaks over standard input and output. It serves the session of that agent alone:
    an agent that `redline run` has started is known by its run. Otherwise name the session: SESSION is chats/NAME.jsonl,
    sqlite:///chats.db#NAME or postgresql://…#NAME. Where neither says whose session it is, every question is refused.

    \b
    Examples:
      claude mcp add redline -- redline mcp
      redline mcp --store sqlite:///chats.db --blobs blobs/
      redline mcp chats/4f2a.jsonl --read-only
    """
    try:
        from redline.mcp import NamedSession, RunSession, SessionBinding, SessionTools, UnknownSession, make_server
    except ImportError as problem:
        raise MissingExtraError("redline mcp", "mcp") from problem
    from redline.proxy.accounts import accounts_path
    from redline.record.blobs.opening import open_blobs

    if name and not session:
        raise ValidationError("--session says which session of a log: name the log, too, as in redline mcp chats/4f2a.jsonl.")
    run, run_store = own_run()
    is_store_given = click.get_current_context().get_parameter_source("store") is ParameterSource.COMMANDLINE
    address, log = split_address(session) if session else (store if is_store_given else run_store or store, None)
    with open_store(address) as opened:
        binding: SessionBinding = UnknownSession()
        if log is not None:
            binding = NamedSession(opened, log, name)
        elif run:
            binding = RunSession(opened, run, accounts_path(expanded(address)))
        tools = SessionTools(opened, binding, blobs=open_blobs(blobs) if blobs else None)
        make_server(tools, can_undo=not read_only).run()
    return 0
