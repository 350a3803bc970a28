"""`redline proxy`: between an agent and its model's provider, striking what is outdated out of what is sent."""

import shlex
import sys
from typing import Any

import click

from redline.cli.arguments import expanded
from redline.cli.output import say
from redline.cli.setting_options import with_settings
from redline.errors import MissingExtraError
from redline.policy.settings import SETTINGS

_FIELDS = {
    "dry_run": "is_dry_run",
    "allow_host": "allowed_hosts",
    "allow_origin": "allowed_origins",
    "edit_subscriptions": "edits_subscriptions",
    "redact": "redacts",
    "deadline": "deadline_ms",
    "otel": "exports_telemetry",
}
"""Settings that `ProxySettings` has under another name."""


@click.command("proxy")
@with_settings(*(name for name in SETTINGS if name.startswith("proxy.")))
def command(store: str, blobs: str, whole_in: str, upstream: tuple[str, ...], prices: tuple[str, ...], **given: Any) -> int:
    """Relay an agent's requests to its provider, with outdated tool output struck and broken calls repaired.

    Every path passes. What is not struck or repaired arrives byte for byte. A base URL may end in /s/NAME: NAME is then the
    project in reports. GET /redline/status says in JSON what was sent, read from the cache, struck and saved, and in "notes"
    why nothing was; /redline/metrics says it to Prometheus; neither holds what was said, and both ask for the token if there
    is one. /redline/health answers 503 while nothing can be edited or recorded; requests pass all the same.

    Begin with --dry-run. Exit code 0 after SIGINT or SIGTERM, 2 if it cannot start.

    \b
    Examples:
      redline proxy --port 9000 --store sqlite:///chats.db --policy redline.toml
      redline proxy --upstream openai=https://openrouter.ai/api/v1
    """
    try:
        from redline.proxy import ProxySettings, serve
        from redline.proxy.settings import parse_upstreams
        from redline.proxy.spending import SpendLimits
        from redline.telemetry.switch import check_exporters
    except ImportError as missing:
        raise MissingExtraError("redline proxy", "proxy") from missing
    from redline.prices.own import parse_own_price
    from redline.record.addresses import masked

    if given["otel"]:
        check_exporters()
    settings = ProxySettings(
        store=expanded(store),
        blobs=blobs and expanded(blobs),
        whole_in=whole_in and expanded(whole_in),
        upstreams=parse_upstreams(upstream),
        limits=SpendLimits(*(given.pop(name) for name in ("warn_usd", "max_usd", "warn_usd_day", "max_usd_day"))),
        prices=tuple(map(parse_own_price, prices)),
        **{_FIELDS.get(name, name): value for name, value in given.items()},
    )

    def introduce(running: ProxySettings) -> None:
        shown = f"[{running.host}]" if ":" in running.host else running.host
        url = f"http://{shown}:{running.port}"
        mode = "dry run: nothing is changed" if running.is_dry_run else "edits; --dry-run only looks"
        base = f"{url}/t/TOKEN" if running.token else url
        say(f"Redline proxy at {url} ({mode})", "bold")
        say(f"  store     {masked(running.store)}, policy {running.policy}")
        for provider, upstream in running.upstreams.items():
            say(f"  {provider:9} {upstream.origin}{upstream.base}")
        if running.limits.is_any:
            say(f"  limits    {running.limits.words}")
        say(f"  report    {url}/redline/status")
        say(f"  watch it  redline serve {shlex.quote(masked(running.store))}")
        say("Claude Code, Codex, and whatever is on an SDK:")
        say(f"  ANTHROPIC_BASE_URL={base} claude")
        say(f"  codex -c 'openai_base_url=\"{base}/v1\"'")
        say(f"  OPENAI_BASE_URL={base}/v1  or GOOGLE_GEMINI_BASE_URL, no /v1")
        sys.stdout.flush()  # whoever started it may wait for the address

    serve(settings, on_ready=introduce)
    return 0
