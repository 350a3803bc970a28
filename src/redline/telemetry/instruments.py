"""The tracer and the metrics, and the one place where attributes are named: only names of Redline or a provider, or a hash."""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from opentelemetry.metrics import Histogram, MeterProvider, get_meter_provider
from opentelemetry.trace import SpanKind, TracerProvider, get_current_span, get_tracer_provider

from redline.conversation.editor import EditedRequest
from redline.conversation.observing import DecidedRequest, ReportedUsage
from redline.engine.request import Request
from redline.plugins import package_version
from redline.policy.policy import EDITOR_POLICY, Policy, make_policy
from redline.policy.presets import PRESETS
from redline.prices.find import model_name, price_of
from redline.providers.apis import PROVIDERS, api_of
from redline.record.records import SavedTokens
from redline.rules import RULES
from redline.schedules.bill import OpenBill
from redline.telemetry.metrics import DECISION_METRICS, METRICS, MetricValue, usage_values

Attribute = str | bool | int | float | list[str]

_MOST_CONTENT_CHARS = 1_000_000
_TOKEN_BOUNDS: list[float] = [4**power for power in range(14)]
_SECOND_BOUNDS = [0.01 * 2**power for power in range(14)]
_DECIDE_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5]
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


class Instruments:
    """The tracer, an instrument for each metric of the table, and histograms."""

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None, *, content: bool = False
    ) -> None:
        self.content = content
        """Whether spans may hold what was said."""
        self.tracer = (tracer_provider or get_tracer_provider()).get_tracer("redline", package_version())
        meter = (meter_provider or get_meter_provider()).get_meter("redline", package_version())
        self._counters = {
            metric.otel.name: (meter.create_up_down_counter if metric.otel.may_fall else meter.create_counter)(
                metric.otel.name, metric.otel.unit, metric.text
            )
            for metric in (*METRICS, *DECISION_METRICS)
            if metric.otel is not None
        }

        def histogram(name: str, unit: str, text: str, bounds: list[float] | None = None) -> Histogram:
            return meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=bounds)

        self._held = histogram("redline.held", "{mark}", "Marks that wait, per request.")
        self._decide = histogram("redline.decide.duration", "s", "How long a decision takes.", _DECIDE_BOUNDS)
        self.token_usage = histogram("gen_ai.client.token.usage", "{token}", "Tokens of an operation.", _TOKEN_BOUNDS)
        self.operation_duration = histogram(
            "gen_ai.client.operation.duration", "s", "How long an operation takes.", _SECOND_BOUNDS
        )

    def add(self, values: Mapping[str, MetricValue], attributes: Mapping[str, Attribute]) -> None:
        """Count the values of one request, by the names of their metrics."""
        for metric in (*METRICS, *DECISION_METRICS):
            otel, value = metric.otel, values.get(metric.name)
            if otel is None or value is None or value == "":
                continue
            counter, own = self._counters[otel.name], {**attributes, **otel.attributes}
            if isinstance(value, int | float):
                amount = value if metric.kind == "sum" else 1
                counter.add(amount if otel.may_fall else max(amount, 0), own)
            elif not otel.label:
                counter.add(1, own)
            else:
                for label, count in {value: 1}.items() if isinstance(value, str) else value.items():
                    counter.add(count, {**own, otel.label: label})

    def add_decision(
        self, request: Request | None, outcome: str, attributes: Mapping[str, Attribute], *, seconds: float
    ) -> None:
        """Count one decision; `request` is None where Redline could not decide."""
        self._decide.record(seconds, attributes)
        values: dict[str, MetricValue] = {"outcome": outcome}
        if request is not None:
            self._held.record(len(request.held), attributes)
            values["strikes"] = _by_rule(strike.rule for strike in request.new_strikes)
            values["lifted"] = _by_rule(lift.strike.rule for lift in request.lifted)
            values["refused_marks"] = _by_rule(refusal.mark.rule for refusal in request.refused)
        self.add(values, attributes)


def common_attributes(provider: str, model: str, *, is_applied: bool) -> dict[str, Attribute]:
    """The attributes of every metric, for a provider or a format, and a model."""
    api = api_of(provider)
    known = api.provider if api else PROVIDERS.get(provider)
    named = {"gen_ai.provider.name": known.genai_name if known else "", "gen_ai.request.model": model_label(model)}
    return {**{name: value for name, value in named.items() if value}, "redline.applied": is_applied}


def request_attributes(request: Request, *, saved: SavedTokens, content: bool) -> dict[str, Attribute]:
    """The attributes of a decision's span: numbers, by rule; with `content` also reasons, and the messages that are sent."""
    new_folds, folds = (sum(one.is_fold for one in strikes) for strikes in (request.new_strikes, request.strikes))
    attributes: dict[str, Attribute] = {
        "redline.strikes.new": len(request.new_strikes) - new_folds,
        "redline.strikes.in_force": len(request.strikes) - folds,
        "redline.folds.new": new_folds,
        "redline.folds.in_force": folds,
        "redline.held": len(request.held),
        "redline.refused": len(request.refused),
        "redline.lifted": len(request.lifted),
        "redline.repairs": len(request.repairs),
        "redline.schedule": request.schedule,
        "redline.tokens.saved": saved.total,
        "redline.tokens.folded": saved.folded,
    }
    for when, strikes in (("new", request.new_strikes), ("in_force", request.strikes)):
        attributes |= {f"redline.rule.{rule}.{when}": count for rule, count in _by_rule(one.rule for one in strikes).items()}
    if content:
        attributes["redline.reasons"] = [f"{strike.rule}: {strike.because}" for strike in request.new_strikes]
        attributes["redline.messages"] = request.body.decode("utf-8", "replace")[:_MOST_CONTENT_CHARS]
    return attributes


def outcome_of(*, is_untouched: bool, is_struck: bool, is_folded: bool) -> str:
    """What became of a request, in a word; the word for strikes where it has both strikes and folds."""
    if is_untouched:
        return "untouched"
    return "struck" if is_struck else "folded" if is_folded else "unchanged"


def _by_rule(rules: Iterable[str]) -> Counter[str]:
    """Counts by the names of Redline's rules; a log may name any other, and what it says there may be anything."""
    return Counter(rule if rule in RULES else "other" for rule in rules)


def hashed(text: str) -> str:
    """A short hash, which tells names apart and does not give them away."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def model_label(model: str) -> str:
    """The model as the client named it; `other` for what no model is called."""
    return model if _MODEL.fullmatch(model) else "other" if model else ""


def session_label(session: str) -> str:
    """The id that a client gave the session; a hash where it is more than an id, as a path is."""
    return session if not session or _SESSION.fullmatch(session) else hashed(session)


def untouched_label(untouched: str, request: Request | None) -> str:
    """Why Redline did not edit a request. Editing of a history may have been stopped for a reason in anybody's words."""
    if isinstance(request, EditedRequest) and request.log and untouched == request.untouched:
        return "it is left alone" if untouched else ""
    return untouched.partition(" (")[0]


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
        is_struck, is_folded = (any(one.is_fold == kind for one in request.strikes) for kind in (False, True))
        outcome = outcome_of(is_untouched=bool(decided.untouched), is_struck=is_struck, is_folded=is_folded)
        saved = SavedTokens.of(request.strikes)
        attributes = request_attributes(request, saved=saved, content=self._instruments.content)
        common = common_attributes(request.format, request.model, is_applied=decided.is_applied)
        self._instruments.add_decision(request, outcome, common, seconds=decided.seconds)
        values = {"folded_tokens": saved.folded, "struck_tokens": saved.struck, "repairs": len(request.repairs)}
        self._instruments.add(values, common)
        attributes |= self._naming(decided) | {
            "redline.outcome": outcome,
            "redline.applied": decided.is_applied,
            "redline.policy": self._policy(decided.policy),
            "redline.decide.duration": decided.seconds,
        }
        current = get_current_span()
        operation = (getattr(current, "attributes", None) or {}).get("gen_ai.operation.name")
        if current.is_recording() and operation in _INFERENCE:  # a model call, as SDKs' instrumentations make them: it stays
            current.set_attributes({name: value for name, value in attributes.items() if name.startswith("redline.")})
            return
        span = self._instruments.tracer.start_span(
            "redline.request", kind=SpanKind.INTERNAL, attributes={**common, **attributes}, start_time=decided.start_ns
        )
        span.end(decided.start_ns + int(decided.seconds * 1e9))

    def reported(self, reported: ReportedUsage) -> None:
        """Tokens, and what they cost and saved, worked out as the proxy's accounts do."""
        usage, request, price = reported.usage, reported.request, price_of(reported.model)
        provider = request.format if request is not None else ""
        values = usage_values(usage)
        if price is not None:
            bill = request.bill if request is not None and reported.is_applied else OpenBill()
            settled = bill.settle(usage, price)
            values |= {"cost_usd": settled.paid, "saved_usd": settled.saved}
        self._instruments.add(values, common_attributes(provider, model_name(reported.model), is_applied=reported.is_applied))

    def _naming(self, decided: DecidedRequest) -> dict[str, Attribute]:
        """Which conversation, and why nothing was looked at. An address may be a path: a hash tells it apart."""
        if self._instruments.content:
            name, why = decided.session or decided.address, decided.untouched
        else:
            name = session_label(decided.session) or (hashed(decided.address) if decided.address else "")
            why = untouched_label(decided.untouched, decided.request)
        return {key: value for key, value in (("gen_ai.conversation.id", name), ("redline.untouched", why)) if value}

    def _policy(self, policy: Policy) -> str:
        """The name of a policy's preset, looked up once; `custom` for a policy that is no preset."""
        if id(policy) not in self._policies:
            presets = (name for name in PRESETS if policy == make_policy(name))
            name = "default" if policy in (Policy(), EDITOR_POLICY) else next(presets, "custom")
            self._policies[id(policy)] = policy, name
            if len(self._policies) > _MOST_POLICIES:
                self._policies.popitem(last=False)
        return self._policies[id(policy)][1]
