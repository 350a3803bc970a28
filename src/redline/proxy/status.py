"""What `/redline/…` answers: the accounts as JSON and for Prometheus, and whether the proxy can edit. No contents are in it."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from redline.agents.endings import RunTotals, reasons_of
from redline.log.addresses import masked
from redline.proxy.accounts import Accounts
from redline.proxy.settings import ProxySettings
from redline.proxy.store_health import StoreHealth

__all__ = ["StatusSource", "metrics_text", "status_app", "status_report"]


class StatusSource(Protocol):
    """What the status is about: a running proxy."""

    settings: ProxySettings
    accounts: Accounts
    open_requests: int
    health: StoreHealth

    async def settled(self) -> None:
        """Wait until what has ended by now is in the accounts."""


def status_app(source: StatusSource) -> Starlette:
    """The routes. Host and token were checked before."""

    async def on_accounts(build: Callable[[StatusSource], Any]) -> Any:
        await source.settled()
        await asyncio.gather(asyncio.to_thread(source.accounts.refresh), source.health.check())
        return build(source)

    async def status(_: HttpRequest) -> JSONResponse:
        return JSONResponse(await on_accounts(status_report))

    async def metrics(_: HttpRequest) -> PlainTextResponse:
        return PlainTextResponse(await on_accounts(metrics_text), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(_: HttpRequest) -> JSONResponse:
        if not await source.health.check():
            return JSONResponse({"status": "ok"})
        # What is wrong may name places, and this path asks for no token.
        why = "Nothing can be edited or recorded; requests pass. /redline/status says why."
        return JSONResponse({"status": "unavailable", "why": why}, 503)

    return Starlette(
        routes=[
            Route("/redline/status", status),
            Route("/redline/metrics", metrics),
            Route("/redline/health", health),
        ]
    )


def status_report(source: StatusSource) -> dict[str, Any]:
    """Everything that can be said without a word of what was sent."""
    settings, accounts = source.settings, source.accounts
    how, run = {"mode": settings.mode, "store_problem": source.health.problem}, accounts.run.report()
    return {
        **how,
        "store": masked(settings.store),
        "accounts_problem": accounts.problem,
        "notes": reasons_of(RunTotals.of({**how, "projects": {"": run}}, "")),
        "policy": settings.policy,
        "edits_subscriptions": settings.edits_subscriptions,
        "upstreams": {name: one.origin + one.base for name, one in settings.upstreams.items()},
        "started_at": settings.started_at,
        "seconds_up": round(time.time() - settings.started_at, 1),
        "open_requests": source.open_requests,
        "run": run,
        "totals": accounts.totals.report(),
        "projects": {name: tally.report() for name, tally in accounts.projects.items()},
        "sessions": {name: tally.report() for name, tally in accounts.sessions.items()},
    }


_COUNTERS = {
    "requests": "Requests that were relayed.",
    "sent_tokens": "Tokens sent, cached or not.",
    "read_tokens": "Tokens read from the provider's cache.",
    "written_tokens": "Tokens written to the provider's cache.",
    "output_tokens": "Tokens that models answered.",
    "struck_tokens": "Tokens taken out of requests.",
    "repairs": "Repairs of requests.",
    "retreats": "Requests for which editing took too long.",
    "refused": "Changed requests that the provider refused, and that were sent again unchanged.",
    "cost_usd": "What was paid, at list prices.",
}


def metrics_text(source: StatusSource) -> str:
    """The totals as Prometheus reads them. Savings may fall, so they are gauges."""
    report = source.accounts.totals.report()
    lines: list[str] = []

    def metric(name: str, kind: str, text: str, values: dict[str, float]) -> None:
        lines.extend([f"# HELP redline_{name} {text}", f"# TYPE redline_{name} {kind}"])
        lines.extend(f"redline_{name}{labels} {value}" for labels, value in values.items())

    for name, text in _COUNTERS.items():
        metric(f"{name}_total", "counter", text, {"": report[name]})
    metric("saved_usd", "gauge", "Saved by strikes, less what they cost.", {"": report["saved_usd"]})
    metric("would_save_usd", "gauge", "What dry runs would have saved.", {"": report["would_save_usd"]})
    errors = {f'{{status="{status}"}}': count for status, count in report["errors"].items()}
    metric("errors_total", "counter", "Errors that were passed through.", errors)
    reasons = {f'{{why="{why}"}}': count for why, count in report["why"].items()}
    metric("dear_requests_total", "counter", "Requests by why they were dear.", reasons)
    metric("cut_total", "counter", "Answers cut off.", {f'{{by="{who}"}}': count for who, count in report["cut"].items()})
    metric("open_requests", "gauge", "Requests under way in this worker.", {"": source.open_requests})
    metric("store_up", "gauge", "Whether the store can be used.", {"": 0 if source.health.problem else 1})
    return "\n".join(lines) + "\n"
