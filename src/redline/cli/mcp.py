"""`redline mcp`: an MCP server for an agent over its own session, on standard input and output."""

import click

from redline.cli.setting_options import with_settings
from redline.cli.store_argument import open_store, split_address
from redline.errors import MissingExtraError

__all__ = ["command"]


@click.command("mcp")
@click.argument("session", required=False, metavar="[SESSION]")
@with_settings("proxy.store")
@click.option("--blobs", metavar="PLACE", help="Where offloaded results are: a folder, s3://…, gs://…, az://…")
@click.option("--read-only", is_flag=True, help="Without the tool that undoes strikes.")
def command(session: str | None, store: str, blobs: str | None, read_only: bool) -> int:
    """Serve an agent over MCP: what was struck from its session and why, to read back, to undo; tokens and money.

    SESSION is the conversation that is meant: chats/NAME.jsonl, sqlite:///chats.db#NAME, postgresql://…#NAME. Without it, at
    each question the one in the store that was last gone on with. The agent starts the command itself; it speaks over standard
    input and output.

    \b
    Examples:
      claude mcp add redline -- redline mcp
      redline mcp --store sqlite:///chats.db --blobs blobs/
      redline mcp chats/4f2a.jsonl --read-only
    """
    try:
        from redline.mcp_server import SessionTools, make_server
    except ImportError as problem:
        raise MissingExtraError("redline mcp", "mcp") from problem
    from redline.blobs.opening import open_blobs

    address, name = split_address(session) if session else (store, None)
    with open_store(address) as opened:
        tools = SessionTools(opened, name, blobs=open_blobs(blobs) if blobs else None)
        make_server(tools, can_undo=not read_only).run()
    return 0
