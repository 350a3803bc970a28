"""Telemetry on and off: without it OpenTelemetry is not imported, and nobody is told of a request."""

from typing import TYPE_CHECKING

from redline.errors import MissingExtraError
from redline.observing import observe

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from redline.telemetry.instruments import Instruments

__all__ = ["instrument", "make_instruments", "uninstrument"]


def instrument(
    tracer_provider: "TracerProvider | None" = None, meter_provider: "MeterProvider | None" = None, content: bool = False
) -> None:
    """Give a span and metrics for every request of this process: of conversations, Editors, transports and adapters.

    The providers are OpenTelemetry's global ones if none are given. Called again, it starts anew with what it is given. With
    `content`, spans also hold reasons, names and the messages that are sent.
    """
    instruments = make_instruments(tracer_provider, meter_provider, content=content)
    from redline.telemetry.library import LibraryTelemetry

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
