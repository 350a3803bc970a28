"""OpenTelemetry (the extra `otel`): spans and metrics of what was decided, used and saved, and nothing that was said."""

from redline.telemetry.switch import instrument, uninstrument

__all__ = ["instrument", "uninstrument"]
