"""The tracer and the metrics, and the one place where attributes are named: what is counted is said the same way everywhere."""

from collections import Counter
from collections.abc import Iterable, Mapping

from opentelemetry.metrics import Meter, MeterProvider, get_meter_provider
from opentelemetry.trace import TracerProvider, get_tracer_provider

from redline.engine.request import Request
from redline.formats.usage import Usage
from redline.telemetry.names import model_label, rule_label
from redline.values.package import package_version

__all__ = ["CURRENCY", "Attribute", "Instruments", "common_attributes", "request_attributes"]

Attribute = str | bool | int | float | list[str]

CURRENCY = "USD"
"""All prices are in it."""
_MOST_CONTENT_CHARS = 1_000_000
_TOKEN_BOUNDS = [4**power for power in range(14)]
_SECOND_BOUNDS = [0.01 * 2**power for power in range(14)]
_DECIDE_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5]


class Instruments:
    """Everything that telemetry is written to."""

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None, *, content: bool = False
    ) -> None:
        self.content = content
        """Whether spans may hold what was said."""
        self.tracer = (tracer_provider or get_tracer_provider()).get_tracer("redline", package_version())
        meter = (meter_provider or get_meter_provider()).get_meter("redline", package_version())
        self._requests = meter.create_counter("redline.requests", "{request}", "Requests that were decided.")
        self._strikes = meter.create_counter("redline.strikes", "{strike}", "Strikes applied for the first time, by rule.")
        self._held = meter.create_histogram("redline.held", "{mark}", "Marks that wait, per request.")
        self._refused = meter.create_counter("redline.refused", "{mark}", "What a law or the provider refused.")
        self._lifted = meter.create_counter("redline.lifted", "{strike}", "Strikes that no longer count, by rule.")
        self._repairs = meter.create_counter("redline.repairs", "{repair}", "Repairs, counted in every request.")
        self._saved_tokens = meter.create_counter(
            "redline.tokens.saved", "{token}", "Tokens that strikes took out, in every request anew."
        )
        self._usage = _UsageCounters(meter)
        self._cost = meter.create_counter("redline.cost", "{USD}", "What was paid, at list prices.")
        self._saved = meter.create_up_down_counter(
            "redline.saved", "{USD}", "Saved by strikes, less what rewriting the cache cost."
        )
        self._decide = meter.create_histogram(
            "redline.decide.duration",
            "s",
            "How long a decision takes.",
            explicit_bucket_boundaries_advisory=_DECIDE_BOUNDS,
        )
        self.token_usage = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of an operation.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )
        self.operation_duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "How long an operation takes.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDS,
        )

    def count_decision(
        self, request: Request | None, attributes: Mapping[str, Attribute], *, seconds: float, outcome: str, saved_tokens: int
    ) -> None:
        """What was decided for one request; None where nothing could be."""
        self._requests.add(1, {**attributes, "redline.outcome": outcome})
        self._decide.record(seconds, attributes)
        if request is None:
            return
        self._saved_tokens.add(max(saved_tokens, 0), attributes)
        self._repairs.add(len(request.repairs), attributes)
        self._held.record(len(request.held), attributes)
        for rule, count in _by_rule(strike.rule for strike in request.new_strikes).items():
            self._strikes.add(count, {**attributes, "redline.rule": rule})
        for rule, count in _by_rule(lift.strike.rule for lift in request.lifted).items():
            self._lifted.add(count, {**attributes, "redline.rule": rule})
        for rule, count in _by_rule(refusal.mark.rule for refusal in request.refused).items():
            self._refused.add(count, {**attributes, "redline.rule": rule, "redline.refused_by": "law"})

    def count_provider_refusal(self, attributes: Mapping[str, Attribute]) -> None:
        """The provider did not take what was changed."""
        self._refused.add(1, {**attributes, "redline.refused_by": "provider"})

    def count_usage(self, usage: Usage, attributes: Mapping[str, Attribute]) -> None:
        """What the provider reported for one request."""
        self._usage.add(usage, attributes)

    def count_money(self, cost: float | None, saved: float | None, attributes: Mapping[str, Attribute]) -> None:
        """US dollars; None where no price is known."""
        priced = {**attributes, "redline.currency": CURRENCY}
        if cost is not None:
            self._cost.add(cost, priced)
        if saved is not None:
            self._saved.add(saved, priced)


class _UsageCounters:
    """The tokens that providers report, as sums."""

    def __init__(self, meter: Meter) -> None:
        self._sent = meter.create_counter("redline.tokens.sent", "{token}", "Tokens sent, cached or not.")
        self._read = meter.create_counter("redline.tokens.cache_read", "{token}", "Tokens read from the provider's cache.")
        self._written = meter.create_counter("redline.tokens.cache_write", "{token}", "Tokens written to it.")
        self._output = meter.create_counter("redline.tokens.output", "{token}", "Tokens that models answered.")

    def add(self, usage: Usage, attributes: Mapping[str, Attribute]) -> None:
        """Count one request in."""
        self._sent.add(usage.input_tokens, attributes)
        self._read.add(usage.cache_read_tokens, attributes)
        self._written.add(usage.cache_write_tokens, attributes)
        self._output.add(usage.output_tokens, attributes)


def common_attributes(provider: str, model: str, *, is_applied: bool) -> dict[str, Attribute]:
    """What every metric is told apart by."""
    named = {"gen_ai.provider.name": provider, "gen_ai.request.model": model_label(model)}
    return {**{name: value for name, value in named.items() if value}, "redline.applied": is_applied}


def request_attributes(request: Request, *, saved_tokens: int, content: bool) -> dict[str, Attribute]:
    """What a span says of a decision: numbers, by rule; with `content` also the reasons, and the messages that are sent."""
    attributes: dict[str, Attribute] = {
        "redline.strikes.new": len(request.new_strikes),
        "redline.strikes.in_force": len(request.strikes),
        "redline.held": len(request.held),
        "redline.refused": len(request.refused),
        "redline.lifted": len(request.lifted),
        "redline.repairs": len(request.repairs),
        "redline.schedule": request.schedule,
        "redline.tokens.saved": saved_tokens,
    }
    for rule, count in _by_rule(strike.rule for strike in request.new_strikes).items():
        attributes[f"redline.rule.{rule}.new"] = count
    for rule, count in _by_rule(strike.rule for strike in request.strikes).items():
        attributes[f"redline.rule.{rule}.in_force"] = count
    if content:
        attributes["redline.reasons"] = [f"{strike.rule}: {strike.because}" for strike in request.new_strikes]
        attributes["redline.messages"] = request.body.decode("utf-8", "replace")[:_MOST_CONTENT_CHARS]
    return attributes


def _by_rule(rules: Iterable[str]) -> Counter[str]:
    labelled: Counter[str] = Counter()
    for rule, count in Counter(rules).items():
        labelled[rule_label(rule)] += count
    return labelled
