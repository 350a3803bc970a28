"""Telemetry on and off: without it OpenTelemetry is not imported, and nobody is told of a request.

A program hands over its own providers. The proxy makes some that export to where the standard variables OTEL_… say.
"""

import os
import threading
import time
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from redline.conversation.observing import observe
from redline.errors import MissingExtraError, ValidationError

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from redline.telemetry.instruments import Instruments

_EXTRA = "otlp"
_FEATURE = "exporting telemetry"
_SERVICE = "redline-proxy"
_LAST_EXPORT_S = 3.0
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITHOUT_CONTENT = ("", "false", "no_content", "event_only")


def instrument(
    tracer_provider: "TracerProvider | None" = None, meter_provider: "MeterProvider | None" = None, content: bool = False
) -> None:
    """Give a span and metrics for every request of this process: of conversations, Editors, transports and adapters.

    The providers are OpenTelemetry's global ones if none are given. Called again, it starts anew with what it is given. With
    `content`, spans also hold reasons, names and the messages that are sent.
    """
    instruments = make_instruments(tracer_provider, meter_provider, content=content)
    from redline.telemetry.instruments import LibraryTelemetry

    observe(LibraryTelemetry(instruments))


def uninstrument() -> None:
    """Tell nobody any more."""
    observe(None)


def make_instruments(
    tracer_provider: "TracerProvider | None" = None, meter_provider: "MeterProvider | None" = None, *, content: bool = False
) -> "Instruments":
    """The tracer and the metrics of these providers."""
    try:
        from redline.telemetry.instruments import Instruments
    except ImportError as missing:
        raise MissingExtraError("telemetry", "otel") from missing
    return Instruments(tracer_provider, meter_provider, content=content)


def check_exporters() -> None:
    """Refuse to start without what the variables ask for; nothing is opened."""
    try:
        import opentelemetry.sdk  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(_FEATURE, _EXTRA) from missing
    _named("traces"), _named("metrics")


def exporting_instruments() -> "tuple[Instruments, Callable[[], None]]":
    """Spans and metrics that go to the exporters named by OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER, `otlp` if none is;
    and what sends the last of them."""
    check_exporters()
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    is_named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if is_named else {"service.name": _SERVICE})
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in (found.load()() for found in _named("traces")):
        spans.add_span_processor(BatchSpanProcessor(exporter))
    made = (found.load()() for found in _named("metrics"))
    readers = [one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one) for one in made]
    metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    content = os.environ.get(_CONTENT, "").lower() not in _WITHOUT_CONTENT

    def send_last() -> None:
        """A collector that does not answer is tried again for long: nobody who ends a proxy waits for that."""
        threads = [threading.Thread(target=end, daemon=True) for end in (spans.shutdown, metrics.shutdown)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _LAST_EXPORT_S
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))

    return make_instruments(spans, metrics, content=content), send_last


def _named(signal: str) -> list[EntryPoint]:
    """The exporters of a signal, which packages of OpenTelemetry announce under their names."""
    said = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "") or "otlp"
    return [_find(signal, name.strip()) for name in said.split(",") if name.strip() not in ("", "none")]


def _find(signal: str, name: str) -> EntryPoint:
    known = entry_points(group=f"opentelemetry_{signal}_exporter")
    if name == "otlp":
        general = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
        protocol = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "") or general
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    if found := next(iter(known.select(name=name)), None):
        return found
    if name == "otlp_proto_http":
        raise MissingExtraError(_FEATURE, _EXTRA)
    raise ValidationError(
        f"There is no exporter {name!r} for {signal}. Install the package that brings it, or set "
        f"OTEL_{signal.upper()}_EXPORTER to one of: {', '.join(sorted({*known.names, 'otlp', 'none'}))}."
    )
