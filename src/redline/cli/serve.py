"""`redline serve`: the web inspector over the sessions on this computer, or over those that are named."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import escape
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import click

from redline.cli.arguments import SESSION
from redline.cli.output import complain, say, say_json
from redline.cli.setting_options import with_settings
from redline.errors import MissingExtraError
from redline.policy.settings import SETTINGS


@click.command("serve")
@click.argument("places", nargs=-1, type=SESSION, metavar="[SESSION...]")
@with_settings(*(name for name in SETTINGS if name.startswith("inspector.")))
@click.option("--json", "as_json", is_flag=True, help="Print where it listens as one JSON object, for programs.")
def command(places: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Serve the web inspector: every request of a session, what was struck and why, what other policies would have done.

    SESSION is a session file of any agent, a Redline log, an address (sqlite:///chats.db), a folder, or a short name that
    `redline sessions` printed. Without one, the sessions on this computer are served, the proxy's among them. The page only
    reads, but for what you do on Redline's own logs: undo a strike, pin, roll back, rewind; each is one more record, nothing
    is deleted.

    It listens on this machine alone, and answers only whoever shows the token in the printed address; the browser keeps it as a
    cookie. Other users of the machine are refused. What a transcript holds is shown as text: nothing in it runs or loads.

    Exit code 0 after Ctrl-C, 2 if it cannot start.

    \b
    Examples:
      redline serve
      redline serve ~/.claude/projects/my-project --open
      redline serve session.jsonl --port 9000
    """
    try:
        from redline.inspector import InspectorSettings, serve
    except ImportError as missing:
        raise MissingExtraError("redline serve", "inspector") from missing

    settings = InspectorSettings(
        places=places,
        host=given["host"],
        port=given["port"],
        allows_others=given["allow_others"],
        allowed_hosts=given["allow_host"],
        is_read_only=given["read_only"],
    )

    def introduce(running: InspectorSettings) -> None:
        if as_json:
            say_json({"url": running.url, "host": running.host, "port": running.port, "token": running.token})
        else:
            say(f"Redline inspector at {running.url}", "bold")
            say(f"  shows     {', '.join(places) if places else 'the sessions on this computer'}")
            say("  Ctrl-C ends it.")
        if not running.is_local:
            complain(f"{running.host} can be reached from other machines: whoever has the address above can read it all")
        sys.stdout.flush()
        if given["open"]:
            click.launch(leads.enter_context(private_page(running.url)))

    with ExitStack() as leads:
        serve(settings, on_ready=introduce)
    return 0


@contextmanager
def private_page(url: str) -> Iterator[str]:
    """The address of a private page that leads on, as all users see browser arguments; at home, where sandboxes can read."""
    with NamedTemporaryFile("w", prefix="redline-", suffix=".html", dir=Path.home(), encoding="utf-8") as page:
        page.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(url)}">')
        page.flush()
        yield Path(page.name).as_uri()
