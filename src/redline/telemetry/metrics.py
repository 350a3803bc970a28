"""The table of metrics: each row names a number for `/redline/status`, Prometheus, OpenTelemetry and the proxy's log line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from redline.providers.usage import Usage

MetricValue = float | str | Mapping[str, int] | None
"""What one request adds: an amount, a label, an amount for each of several labels; None or an empty label adds nothing."""


@dataclass(frozen=True, slots=True)
class Otel:
    """How OpenTelemetry knows a metric. Two metrics may share an instrument and differ in attributes."""

    name: str
    unit: str
    label: str = ""
    """The attribute that holds the label, of a metric that is counted by label."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes that are always the same."""
    may_fall: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that is summed up over requests."""

    name: str
    """Its key in `/redline/status`."""
    text: str
    prometheus: str = ""
    """Its name for Prometheus; a counter's ends in `_total`, any other is a gauge's."""
    otel: Otel | None = None
    log: str = ""
    """Its name in the log line; empty where the line leaves it out."""
    kind: Literal["sum", "count", "labels"] = "sum"
    """`sum` adds amounts up, `count` counts the requests that have a value, `labels` counts requests by their label."""
    label: str = ""
    """What Prometheus calls the label."""
    old_name: str = ""
    """A name for Prometheus that it had before, and still has."""


_USD = {"redline.currency": "USD"}
_REPAIRS = Otel("redline.repairs", "{repair}")
_ASKED_AGAIN = Otel("redline.asked_again", "{result}")
_SAVED = Otel("redline.saved", "{USD}", attributes=_USD, may_fall=True)
_BY_PROVIDER = Otel("redline.refused", "{mark}", attributes={"redline.refused_by": "provider"})
_BY_LAW = Otel("redline.refused", "{mark}", "redline.rule", {"redline.refused_by": "law"})


def _tokens(name: str, **attributes: str) -> Otel:
    return Otel(f"redline.tokens.{name}", "{token}", attributes={f"redline.{key}": value for key, value in attributes.items()})


_STRUCK, _FOLDED = _tokens("saved", saved_by="strikes"), _tokens("saved", saved_by="folds")


METRICS: tuple[Metric, ...] = (
    Metric("requests", "Requests that were relayed.", "redline_requests_total"),
    Metric("sent_tokens", "Tokens sent, cached or not.", "redline_sent_tokens_total", _tokens("sent"), "sent"),
    Metric("read_tokens", "Tokens read from the provider's cache.", "redline_read_tokens_total", _tokens("cache_read"), "read"),
    Metric("written_tokens", "Tokens written to it.", "redline_written_tokens_total", _tokens("cache_write"), "written"),
    Metric("fresh_tokens", "Tokens sent, neither read from the cache nor written to it."),
    Metric("output_tokens", "Tokens that models answered.", "redline_output_tokens_total", _tokens("output"), "output"),
    Metric("folded_tokens", "Tokens that folds took out.", "redline_folded_tokens_total", _FOLDED, "folded"),
    Metric("would_fold_tokens", "Tokens that dry runs would have folded.", "", _FOLDED, "would_fold"),
    Metric("struck_tokens", "Tokens that strikes took out.", "redline_struck_tokens_total", _STRUCK, "struck"),
    Metric("would_strike_tokens", "Tokens that dry runs would have struck.", "", _STRUCK, "would_strike"),
    Metric("asked_again", "Results asked for again after a strike.", "redline_asked_again_total", _ASKED_AGAIN, "asked_again"),
    Metric("repairs", "Repairs, counted in every request.", "redline_repairs_total", _REPAIRS, "repairs"),
    Metric("would_repair", "Repairs that dry runs would have made.", "", _REPAIRS, "repairs"),
    Metric(
        "cost_usd", "Dollars paid, at list prices.", "redline_cost_usd_total", Otel("redline.cost", "{USD}", attributes=_USD)
    ),
    Metric("saved_usd", "Dollars saved, less what rewriting the cache cost.", "redline_saved_usd", _SAVED, "saved"),
    Metric("would_save_usd", "Dollars that dry runs would have saved.", "redline_would_save_usd", _SAVED, "would_save"),
    Metric("unpriced_requests", "Requests without a known price: they are in no sum of money.", kind="count"),
    Metric(
        "why",
        "Expensive requests by reason.",
        "redline_expensive_requests_total",
        log="why",
        kind="labels",
        label="why",
        old_name="redline_dear_requests_total",
    ),
    Metric(
        "cache_breaks",
        "Requests for which much of the provider's cache was lost, by cause.",
        "redline_cache_breaks_total",
        Otel("redline.cache_breaks", "{request}", "redline.cause"),
        "broke",
        "labels",
        "cause",
    ),
    Metric(
        "lost_tokens", "Tokens that could have been read from the cache.", "redline_lost_tokens_total", _tokens("lost"), "lost"
    ),
    Metric(
        "lost_usd",
        "Dollars paid for them, at list prices.",
        "redline_lost_usd_total",
        Otel("redline.cost.lost", "{USD}", attributes=_USD),
    ),
    Metric("errors", "Errors that were passed through.", "redline_errors_total", kind="labels", label="status"),
    Metric("retreats", "Requests for which editing took too long.", "redline_retreats_total", None, "retreat", "count"),
    Metric("refused", "Changed requests that the provider refused.", "redline_refused_total", _BY_PROVIDER, "refused", "count"),
    Metric(
        "limits",
        "Requests that met a limit of the provider, by what was done.",
        "redline_limits_total",
        Otel("redline.limits", "{request}", "redline.limit"),
        log="limit",
        kind="labels",
        label="done",
    ),
    Metric("over_limit", "Requests refused by a limit on dollars.", "redline_over_limit_total", None, "over_limit", "count"),
    Metric("unreachable", "Requests that no provider answered, by reason.", log="unreachable", kind="labels"),
    Metric("cut", "Answers cut off.", "redline_cut_total", log="cut", kind="labels", label="by"),
    Metric("untouched", "Requests that were not edited, by reason.", log="untouched", kind="labels"),
    Metric("models", "Requests by model.", kind="labels"),
)
"""In the order of the log line. A new row needs its value in `values_of` (`proxy/exchange.py`), and a row in the docs."""

DECISION_METRICS: tuple[Metric, ...] = (
    Metric("outcome", "Decisions by outcome.", otel=Otel("redline.requests", "{request}", "redline.outcome"), kind="labels"),
    Metric("strikes", "New strikes, by rule.", otel=Otel("redline.strikes", "{strike}", "redline.rule"), kind="labels"),
    Metric("lifted", "Strikes that no longer count.", otel=Otel("redline.lifted", "{strike}", "redline.rule"), kind="labels"),
    Metric("refused_marks", "Marks that a law refused, by rule.", otel=_BY_LAW, kind="labels"),
)
"""What only OpenTelemetry is told of: one decision may add to several labels."""


def usage_values(usage: Usage | None) -> dict[str, MetricValue]:
    """The values of the token metrics for one reported usage."""
    if usage is None:
        return {}
    return {
        "sent_tokens": usage.input_tokens,
        "read_tokens": usage.cache_read_tokens,
        "written_tokens": usage.cache_write_tokens,
        "fresh_tokens": usage.fresh_tokens,
        "output_tokens": usage.output_tokens,
    }
