"""Telemetry that stays in memory, and a history that has something to strike and a phrase that must not get out."""

import contextlib
from dataclasses import dataclass

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from redline import convert
from redline.telemetry import instrument, uninstrument

MARK = "Ostrakon"
"""In every text, path, argument, tool's name and prompt of `history`."""
MODELS = {
    "anthropic": "claude-opus-4-6",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}
FORMATS = tuple(MODELS)


@dataclass
class Recording:
    """What was exported."""

    tracer_provider: TracerProvider
    meter_provider: MeterProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self):
        return self.exporter.get_finished_spans()

    def points(self):
        """By metric, its points as (attributes, value); a histogram's value is its sum."""
        data = self.reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {
            metric.name: [(dict(one.attributes), value_of(one)) for one in metric.data.data_points]
            for scope in scopes
            for metric in scope.metrics
        }

    def totals(self, **wanted):
        """By metric, the sum of its points that have these attributes, dots written as underscores."""
        named = {name.replace("__", "."): value for name, value in wanted.items()}
        return {
            name: sum(value for attributes, value in points if named.items() <= attributes.items())
            for name, points in self.points().items()
        }

    def everything(self):
        """All that was exported, as one text."""
        return "\n".join([*(span.to_json() for span in self.spans), self.reader_text()])

    def reader_text(self):
        data = self.reader.get_metrics_data()
        return data.to_json() if data else ""


def value_of(point):
    return point.sum if hasattr(point, "sum") else point.value


def recording():
    """Providers that keep all they are given."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Recording(tracer_provider, MeterProvider([reader]), exporter, reader)


@contextlib.contextmanager
def instrumented(**settings):
    """The library with telemetry, for as long as the block lasts."""
    made = recording()
    instrument(made.tracer_provider, made.meter_provider, **settings)
    try:
        yield made
    finally:
        uninstrument()


def history(count, format="anthropic"):
    """One file read again and again, then a command."""
    messages = [{"role": "user", "content": f"{MARK}, read it."}]
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": f"/{MARK}/a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{MARK} {number}\n" * 200}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    command = {"type": "tool_use", "id": "c", "name": f"run_{MARK}", "input": {"command": f"echo {MARK}"}}
    output = {"type": "tool_result", "tool_use_id": "c", "content": f"{MARK}!", "is_error": True}
    messages += [{"role": "assistant", "content": [command]}, {"role": "user", "content": [output]}]
    return messages if format == "anthropic" else convert(messages, source="anthropic", target=format).messages


def call(format, count):
    """The path and the body of a request with such a history."""
    messages, model, system = history(count, format), MODELS[format], f"You are {MARK}."
    match format:
        case "anthropic":
            return "/v1/messages", {"model": model, "max_tokens": 9, "system": system, "messages": messages}
        case "openai_chat":
            return "/v1/chat/completions", {"model": model, "messages": [{"role": "system", "content": system}, *messages]}
        case "openai_responses":
            return "/v1/responses", {"model": model, "instructions": system, "store": False, "input": messages}
    spoken = {"parts": [{"text": system}]}
    return f"/v1beta/models/{model}:generateContent", {"systemInstruction": spoken, "contents": messages}
