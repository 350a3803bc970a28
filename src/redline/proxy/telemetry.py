"""Telemetry of the proxy: a span and metrics for every model call that it relays, with the numbers of its accounts."""

import time
from collections.abc import Callable

from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, StatusCode

from redline.policy.presets import PRESETS
from redline.providers.apis import PROVIDERS
from redline.proxy.exchange import Exchange, ProxiedRequest, values_of
from redline.record.records import SavedTokens
from redline.telemetry.instruments import (
    Attribute,
    Instruments,
    common_attributes,
    model_label,
    outcome_of,
    request_attributes,
    session_label,
    untouched_label,
)
from redline.transport.editing import Edited


class ProxyTelemetry:
    """Told of every exchange after it was counted; one that asks no model is passed over."""

    def __init__(self, instruments: Instruments, policy: str, send_last: Callable[[], None]) -> None:
        self._instruments, self._send_last = instruments, send_last
        self._policy = policy if policy in (*PRESETS, "default") else "custom"

    def recorded(self, exchange: Exchange, entry: ProxiedRequest) -> None:
        """The span of the call, and all metrics."""
        if not exchange.format:
            return
        # What GenAI conventions tell calls apart by.
        provider, edited = PROVIDERS[entry.provider], exchange.outcome.edited
        named: dict[str, Attribute] = {
            "gen_ai.operation.name": provider.genai_operation,
            "gen_ai.provider.name": provider.genai_name,
            "gen_ai.request.model": model_label(entry.model),
        }
        call = {name: value for name, value in named.items() if value}
        request = edited.request if edited and not exchange.refused else None
        common = common_attributes(entry.provider, entry.model, is_applied=not entry.is_unchanged)
        self._instruments.add_decision(request, _outcome(entry), common, seconds=entry.edit_ms / 1000)
        self._instruments.add(values_of(entry), common)
        if entry.usage is not None:
            for kind, tokens in (("input", entry.usage.input_tokens), ("output", entry.usage.output_tokens)):
                self._instruments.token_usage.record(tokens, {**call, "gen_ai.token.type": kind})
        failed = {"error.type": problem} if (problem := _error_type(entry)) else {}
        self._instruments.operation_duration.record(exchange.end - exchange.start, {**call, **failed})
        self._trace(exchange, entry, edited, call)

    def close(self) -> None:
        """Export what was not exported yet."""
        self._send_last()

    def _trace(self, exchange: Exchange, entry: ProxiedRequest, edited: Edited | None, call: dict[str, Attribute]) -> None:
        """A span after the fact, in the trace that the client's headers name."""
        attributes = {**call, **self._own_attributes(entry, edited)}
        if usage := entry.usage:
            attributes |= {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
                "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
            }
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
            attributes |= request_attributes(
                request, saved=SavedTokens(entry.folded_tokens, entry.struck_tokens), content=content
            )
        named: dict[str, Attribute | None] = {
            "gen_ai.conversation.id": session_label(edited.session if edited else "") or entry.chain,
            "redline.untouched": entry.untouched if content else untouched_label(entry.untouched, request),
            "redline.retreat": entry.fallback,
            "redline.cut": entry.cut,
            "redline.refused_status": entry.refused,
            "redline.cost_reason": entry.why,
            "redline.why_dear": entry.why,  # the name of before
            "redline.cost": entry.cost,
            "redline.saved": entry.saved,
        }
        return {**attributes, **{name: value for name, value in named.items() if value}}


def _outcome(entry: ProxiedRequest) -> str:
    if entry.refused:
        return "refused"
    kinds = {"is_struck": bool(entry.struck_tokens), "is_folded": bool(entry.folded_tokens)}
    return outcome_of(is_untouched=bool(entry.untouched), **kinds)


def _error_type(entry: ProxiedRequest) -> str:
    """Why the call failed; empty if it did not, also if its client went."""
    if entry.status >= 400:
        return str(entry.status)
    return "upstream_disconnected" if entry.cut == "upstream" else ""
