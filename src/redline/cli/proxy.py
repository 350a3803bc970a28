"""`redline proxy`: between an agent and its model's provider, striking what is outdated out of what is sent."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redline.cli.output import say
from redline.errors import MissingExtraError
from redline.inspection.presets import PRESETS

if TYPE_CHECKING:
    from redline.proxy import ProxySettings

__all__ = ["command"]


@click.command("proxy")
@click.option("--port", type=click.IntRange(0, 65535), default=8484, show_default=True, help="0 takes any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Any that other machines reach needs --token.")
@click.option(
    "--store", default="~/.redline", show_default=True, metavar="ADDRESS", help="A folder, sqlite:///FILE, postgresql://…"
)
@click.option(
    "--policy", default="default", show_default=True, metavar="NAME_OR_FILE", help=f"{', '.join(PRESETS)}, or a redline.toml."
)
@click.option(
    "--upstream", "upstreams", multiple=True, metavar="PROVIDER=URL", help="For anthropic, openai or gemini; again for each."
)
@click.option("--dry-run", is_flag=True, help="Change nothing, record everything, report what would have been saved.")
@click.option("--workers", type=int, default=1, show_default=True, help="Processes that share the work.")
@click.option(
    "--token", default="", envvar="REDLINE_TOKEN", help="What clients must send. REDLINE_TOKEN does the same, unseen."
)
@click.option(
    "--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="A further name under which clients reach it."
)
@click.option(
    "--edit-subscriptions", is_flag=True, help="Edit what a subscription pays for, too; it is only observed otherwise."
)
@click.option("--redact", is_flag=True, help="Keep secrets out of what is recorded.")
@click.option(
    "--deadline",
    "deadline_ms",
    type=float,
    default=100.0,
    show_default=True,
    metavar="MS",
    help="For editing a request; thrice as long more for each MB of it.",
)
@click.option("--otel", is_flag=True, help="Export spans and metrics, to where the variables OTEL_… say.")
def command(
    port: int,
    host: str,
    store: str,
    policy: str,
    upstreams: tuple[str, ...],
    dry_run: bool,
    workers: int,
    token: str,
    allowed_hosts: tuple[str, ...],
    edit_subscriptions: bool,
    redact: bool,
    deadline_ms: float,
    otel: bool,
) -> int:
    """Relay an agent's requests to its provider, with outdated tool output struck and broken calls repaired.

    Every path passes, also ones that Redline does not know. What is not struck or repaired arrives byte for byte as the agent
    sent it. A base URL may end in /s/NAME: NAME is then the project in reports. GET /redline/status says in JSON what was sent,
    read from the cache, struck and saved; /redline/metrics says it to Prometheus; neither holds anything that was said. They
    are open to this machine, and ask for the token where there is one.

    Begin with --dry-run. Exit code 0 after SIGINT or SIGTERM, 2 if it cannot start.

    \b
    Examples:
      redline proxy --dry-run
      redline proxy --port 9000 --store sqlite:///chats.db --policy redline.toml
      redline proxy --upstream openai=https://openrouter.ai/api/v1
    """
    try:
        from redline.proxy import ProxySettings, serve
    except ImportError as missing:
        raise MissingExtraError("redline proxy", "proxy") from missing
    from redline.proxy.upstreams import parse_upstreams

    if otel:
        from redline.telemetry.exporting import check_exporters

        check_exporters()
    settings = ProxySettings(
        store=store if "://" in store else str(Path(store).expanduser()),
        host=host,
        port=port,
        policy=policy,
        upstreams=parse_upstreams(upstreams),
        is_dry_run=dry_run,
        workers=workers,
        token=token,
        allowed_hosts=allowed_hosts,
        edits_subscriptions=edit_subscriptions,
        redacts=redact,
        deadline_ms=deadline_ms,
        exports_telemetry=otel,
    )
    serve(settings, on_ready=_introduce)
    return 0


def _introduce(settings: "ProxySettings") -> None:
    """What a stranger needs to know, in ten lines."""
    from redline.log.addresses import masked

    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{shown}:{settings.port}"
    mode = "dry run: nothing is changed" if settings.is_dry_run else "edits; --dry-run only looks"
    base = f"{url}/t/TOKEN" if settings.token else url
    say(f"Redline proxy at {url} ({mode})", is_bold=True)
    say(f"  store     {masked(settings.store)}, policy {settings.policy}")
    for provider, upstream in settings.upstreams.items():
        say(f"  {provider:9} {upstream.origin}{upstream.base}")
    say(f"  report    {url}/redline/status")
    say(f"  watch it  redline serve {shlex.quote(masked(settings.store))}")
    say("Claude Code, Codex, and whatever is on an SDK:")
    say(f"  ANTHROPIC_BASE_URL={base} claude")
    say(f"  codex -c 'openai_base_url=\"{base}/v1\"'")
    say(f"  OPENAI_BASE_URL={base}/v1  or GOOGLE_GEMINI_BASE_URL, no /v1")
    sys.stdout.flush()  # whoever started it may wait for the address
