"""Telemetry of a process that makes its own requests: conversations, Editors, transports, adapters."""

from collections import OrderedDict

from opentelemetry.trace import Span, SpanKind, get_current_span

from redline.observing import DecidedRequest, ReportedUsage
from redline.policy import Policy
from redline.prices.model import model_name, price_of
from redline.schedules.bill import OpenBill
from redline.telemetry.instruments import Attribute, Instruments, common_attributes, request_attributes
from redline.telemetry.names import PROVIDERS, hashed, policy_label, session_label, untouched_label

__all__ = ["LibraryTelemetry"]

_MOST_POLICIES = 5_000
"""Of so many the names are kept."""
_INFERENCE = ("chat", "generate_content", "text_completion")


class LibraryTelemetry:
    """An observer that writes spans and metrics."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments
        self._policies: OrderedDict[int, tuple[Policy, str]] = OrderedDict()

    def decided(self, decided: DecidedRequest) -> None:
        """Attributes on the span of the model call if one is current, else a span of its own; and the metrics."""
        request = decided.request
        outcome = "untouched" if decided.untouched else "struck" if request.strikes else "unchanged"
        saved = sum(strike.tokens_saved for strike in request.strikes)
        attributes = request_attributes(request, saved_tokens=saved, content=self._instruments.content)
        common = common_attributes(PROVIDERS.get(request.format, ""), request.model, is_applied=decided.is_applied)
        self._instruments.count_decision(request, common, seconds=decided.seconds, outcome=outcome, saved_tokens=saved)
        attributes |= self._naming(decided) | {
            "redline.outcome": outcome,
            "redline.applied": decided.is_applied,
            "redline.policy": self._policy(decided.policy),
            "redline.decide.duration": decided.seconds,
        }
        current = get_current_span()
        if _is_inference(current):  # what it says of itself stays
            current.set_attributes({name: value for name, value in attributes.items() if name.startswith("redline.")})
            return
        span = self._instruments.tracer.start_span(
            "redline.request", kind=SpanKind.INTERNAL, attributes={**common, **attributes}, start_time=decided.start_ns
        )
        span.end(decided.start_ns + int(decided.seconds * 1e9))

    def reported(self, reported: ReportedUsage) -> None:
        """Tokens, and what they cost and saved, worked out as the proxy's accounts do."""
        usage, request, model = reported.usage, reported.request, model_name(reported.model)
        provider = PROVIDERS.get(request.format, "") if request is not None else ""
        common = common_attributes(provider, model, is_applied=reported.is_applied)
        self._instruments.count_usage(usage, common)
        price = price_of(reported.model)
        if price is not None:
            bill = request.bill if request is not None and reported.is_applied else OpenBill()
            settled = bill.settle(usage, price)
            self._instruments.count_money(settled.paid, settled.saved, common)

    def _naming(self, decided: DecidedRequest) -> dict[str, Attribute]:
        """Which conversation, and why nothing was looked at. An address may be a path: a hash tells it apart."""
        known = {
            "gen_ai.conversation.id": session_label(decided.session) or (hashed(decided.address) if decided.address else ""),
            "redline.untouched": untouched_label(decided.untouched, decided.request),
        }
        if self._instruments.content:
            known = {
                "gen_ai.conversation.id": decided.session or decided.address,
                "redline.untouched": decided.untouched,
            }
        return {name: value for name, value in known.items() if value}

    def _policy(self, policy: Policy) -> str:
        """Its name, looked up once."""
        if id(policy) not in self._policies:
            self._policies[id(policy)] = policy, policy_label(policy)
            if len(self._policies) > _MOST_POLICIES:
                self._policies.popitem(last=False)
        return self._policies[id(policy)][1]


def _is_inference(span: Span) -> bool:
    """Whether a span is that of a model call, as the instrumentations of the SDKs make them."""
    attributes = getattr(span, "attributes", None) or {}
    return span.is_recording() and attributes.get("gen_ai.operation.name") in _INFERENCE
