"""Telemetry of the proxy: a span and metrics for every model call that it relays, with the numbers of its accounts."""

import time
from collections.abc import Callable

from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, StatusCode

from redline.formats.usage import Usage
from redline.presets import PRESETS
from redline.proxy.accounts import ProxiedRequest
from redline.proxy.edit_threads import EditOutcome
from redline.proxy.exchange import Exchange
from redline.telemetry.instruments import Attribute, Instruments, common_attributes, request_attributes
from redline.telemetry.names import OPERATIONS, PROVIDERS, model_label, session_label, untouched_label
from redline.wire.editing import Edited

__all__ = ["ProxyTelemetry"]


class ProxyTelemetry:
    """Told of every exchange after it was counted; one that asks no model is passed over."""

    def __init__(self, instruments: Instruments, policy: str, send_last: Callable[[], None]) -> None:
        self._instruments, self._send_last = instruments, send_last
        self._policy = policy if policy in (*PRESETS, "default") else "custom"

    def settled(self, exchange: Exchange, entry: ProxiedRequest) -> None:
        """The span of the call, and all metrics."""
        if exchange.format:
            self._count(exchange, entry)
            self._trace(exchange, entry)

    def close(self) -> None:
        """Export what was not exported yet."""
        self._send_last()

    def _count(self, exchange: Exchange, entry: ProxiedRequest) -> None:
        outcome = exchange.outcome or EditOutcome(b"")
        request = outcome.edited.request if outcome.edited else None
        common = common_attributes(PROVIDERS[entry.provider], entry.model, is_applied=not entry.is_unchanged)
        self._instruments.count_decision(
            None if exchange.refused else request,
            common,
            seconds=entry.edit_ms / 1000,
            outcome=_outcome(entry),
            saved_tokens=entry.struck_tokens,
        )
        if exchange.refused:
            self._instruments.count_provider_refusal(common)
        call = _call_attributes(exchange, entry)
        if entry.usage is not None:
            self._instruments.count_usage(entry.usage, common)
            self._instruments.count_money(entry.cost, entry.saved, common)
            for kind, tokens in (("input", entry.usage.input_tokens), ("output", entry.usage.output_tokens)):
                self._instruments.token_usage.record(tokens, {**call, "gen_ai.token.type": kind})
        problem = _error_type(entry)
        failed = {"error.type": problem} if problem else {}
        self._instruments.operation_duration.record(exchange.end - exchange.start, {**call, **failed})

    def _trace(self, exchange: Exchange, entry: ProxiedRequest) -> None:
        """A span after the fact, in the trace that the client's headers name."""
        outcome, call = exchange.outcome or EditOutcome(b""), _call_attributes(exchange, entry)
        edited = outcome.edited
        attributes = {**call, **self._own_attributes(entry, edited)}
        if entry.usage is not None:
            attributes |= _usage_attributes(entry.usage)
        if entry.status:
            attributes["http.response.status_code"] = entry.status
        offset_ns = time.time_ns() - int(time.perf_counter() * 1e9)
        span = self._instruments.tracer.start_span(
            " ".join(filter(None, (str(call["gen_ai.operation.name"]), model_label(entry.model)))),
            context=extract(edited.call.headers) if edited else None,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=offset_ns + int(exchange.start * 1e9),
        )
        if problem := _error_type(entry):
            span.set_attribute("error.type", problem)
            span.set_status(StatusCode.ERROR)
        span.end(offset_ns + int(exchange.end * 1e9))

    def _own_attributes(self, entry: ProxiedRequest, edited: Edited | None) -> dict[str, Attribute]:
        """What Redline did about the call."""
        content, request = self._instruments.content, edited.request if edited else None
        attributes: dict[str, Attribute] = {
            "redline.outcome": _outcome(entry),
            "redline.applied": not entry.is_unchanged,
            "redline.policy": self._policy,
            "redline.decide.duration": entry.edit_ms / 1000,
        }
        if request is not None:
            attributes |= request_attributes(request, saved_tokens=entry.struck_tokens, content=content)
        named: dict[str, Attribute | None] = {
            "gen_ai.conversation.id": session_label(edited.session if edited else "") or entry.chain,
            "redline.untouched": entry.untouched if content else untouched_label(entry.untouched, request),
            "redline.retreat": entry.retreat,
            "redline.cut": entry.cut,
            "redline.refused_status": entry.refused,
            "redline.why_dear": entry.why,
            "redline.cost": entry.cost,
            "redline.saved": entry.saved,
        }
        return {**attributes, **{name: value for name, value in named.items() if value}}


def _call_attributes(exchange: Exchange, entry: ProxiedRequest) -> dict[str, Attribute]:
    """What GenAI conventions tell calls apart by."""
    named = {
        "gen_ai.operation.name": OPERATIONS.get(exchange.format, "chat"),
        "gen_ai.provider.name": PROVIDERS[entry.provider],
        "gen_ai.request.model": model_label(entry.model),
    }
    return {name: value for name, value in named.items() if value}


def _usage_attributes(usage: Usage) -> dict[str, Attribute]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
    }


def _outcome(entry: ProxiedRequest) -> str:
    if entry.refused:
        return "refused"
    return "untouched" if entry.untouched else "struck" if entry.struck_tokens else "unchanged"


def _error_type(entry: ProxiedRequest) -> str:
    """Why the call failed; empty if it did not, also if its client went."""
    if entry.status >= 400:
        return str(entry.status)
    return "upstream_disconnected" if entry.cut == "upstream" else ""
