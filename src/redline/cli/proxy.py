"""`redline proxy`: between an agent and its model's provider, striking what is outdated out of what is sent."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redline.cli.output import say
from redline.cli.setting_options import with_settings
from redline.errors import MissingExtraError

if TYPE_CHECKING:
    from redline.proxy import ProxySettings

__all__ = ["command"]


@click.command("proxy")
@with_settings(
    "proxy.port",
    "proxy.host",
    "proxy.store",
    "proxy.policy",
    "proxy.blobs",
    "proxy.upstream",
    "proxy.dry_run",
    "proxy.workers",
    "proxy.token",
    "proxy.allow_host",
    "proxy.allow_origin",
    "proxy.edit_subscriptions",
    "proxy.redact",
    "proxy.deadline",
    "proxy.otel",
)
def command(
    port: int,
    host: str,
    store: str,
    policy: str,
    blobs: str,
    upstream: tuple[str, ...],
    dry_run: bool,
    workers: int,
    token: str,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    edit_subscriptions: bool,
    redact: bool,
    deadline: float,
    otel: bool,
) -> int:
    """Relay an agent's requests to its provider, with outdated tool output struck and broken calls repaired.

    Every path passes, also ones that Redline does not know. What is not struck or repaired arrives byte for byte as the agent
    sent it. A base URL may end in /s/NAME: NAME is then the project in reports. GET /redline/status says in JSON what was sent,
    read from the cache, struck and saved, and in "notes" why nothing was; /redline/metrics says it to Prometheus; neither holds
    anything that was said. They are open to this machine, and ask for the token where there is one. /redline/health answers 503
    while nothing can be edited or recorded; requests pass all the same.

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
        blobs=blobs if "://" in blobs or not blobs else str(Path(blobs).expanduser()),
        upstreams=parse_upstreams(upstream),
        is_dry_run=dry_run,
        workers=workers,
        token=token,
        allowed_hosts=allow_host,
        allowed_origins=allow_origin,
        edits_subscriptions=edit_subscriptions,
        redacts=redact,
        deadline_ms=deadline,
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
