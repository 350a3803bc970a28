"""Providers that export to where the standard variables OTEL_… say, for a process that is nobody's own program: the proxy."""

import os
import threading
import time
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from redline.errors import MissingExtraError, ValidationError
from redline.telemetry.switch import make_instruments

if TYPE_CHECKING:
    from redline.telemetry.instruments import Instruments

__all__ = ["check_exporters", "exporting_instruments"]

_EXTRA = "otlp"
_FEATURE = "exporting telemetry"
_SERVICE = "redline-proxy"
_LAST_EXPORT_S = 3.0
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITHOUT_CONTENT = ("", "false", "no_content", "event_only")


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
    for exporter in _made("traces"):
        spans.add_span_processor(BatchSpanProcessor(exporter))
    readers = [one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one) for one in _made("metrics")]
    metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    content = os.environ.get(_CONTENT, "").lower() not in _WITHOUT_CONTENT
    return make_instruments(spans, metrics, content=content), lambda: _end_in_time(spans.shutdown, metrics.shutdown)


def _end_in_time(*ends: Callable[[], object]) -> None:
    """A collector that does not answer is tried again for long: nobody who ends a proxy waits for that."""
    threads = [threading.Thread(target=end, daemon=True) for end in ends]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _LAST_EXPORT_S
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))


def _made(signal: str) -> list[Any]:
    return [found.load()() for found in _named(signal)]


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
