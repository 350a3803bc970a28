"""What telemetry costs a request: with it and without, in turns in one run, in conversations and lists of growing length.

python -m bench.telemetry
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from redline import Conversation, Editor, Policy
from redline.conversation.observing import observe
from redline.telemetry.instruments import LibraryTelemetry
from redline.telemetry.switch import make_instruments

__all__ = ["main"]

_MODEL = "claude-sonnet-4-5"
_SIZES = (20, 200, 1000)
_REQUESTS = 200


def main() -> None:
    """Print the table."""
    tracer_provider, meter_provider = TracerProvider(), MeterProvider([InMemoryMetricReader()])
    tracer_provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))

    telemetry = LibraryTelemetry(make_instruments(tracer_provider, meter_provider))
    print(f"A request without and with telemetry, µs (median of {_REQUESTS} each, in turns)\n")
    print("| messages | conversation | with | ratio | Editor | with | ratio |")
    print("|---|---|---|---|---|---|---|")
    for size in _SIZES:
        cells = [cell for make in (_conversation, _editor) for cell in _compared(make(size), telemetry)]
        print(f"| {size:,} | " + " | ".join(cells) + " |")
    tracer_provider.shutdown()


def _compared(ask: Callable[[int], object], telemetry: LibraryTelemetry) -> list[str]:
    """The medians, and how many times the one the other is."""
    spent: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * _REQUESTS):
        is_on = number % 2 == 1
        observe(telemetry if is_on else None)
        start = time.perf_counter()
        ask(number)
        spent[is_on].append((time.perf_counter() - start) * 1e6)
    observe(None)
    off, on = statistics.median(spent[False]), statistics.median(spent[True])
    return [f"{off:.0f}", f"{on:.0f}", f"{on / off:.2f}"]


def _history(count: int) -> list[dict[str, Any]]:
    """One file read again and again, so that there are strikes to count."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Begin."}]
    while len(messages) < count:
        id = f"toolu_{len(messages)}"
        call = {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": f"/p/{len(messages) // 20}.py"}}
        result = {"type": "tool_result", "tool_use_id": id, "content": f"line {id}\n" * 50}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def _conversation(size: int) -> Callable[[int], object]:
    history = _history(size + 4 * _REQUESTS + 2)
    talk = Conversation(history[:size], policy=Policy.documents(), model=_MODEL)
    talk.request()

    def ask(number: int) -> object:
        for message in history[size + 2 * number : size + 2 * number + 2]:
            talk.add(message)
        return talk.request()

    return ask


def _editor(size: int) -> Callable[[int], object]:
    history = _history(size + 4 * _REQUESTS + 2)
    editor = Editor(policy=Policy.documents())

    def ask(number: int) -> object:
        return editor.edit(history[: size + 2 * number], model=_MODEL)

    ask(0)
    return ask


if __name__ == "__main__":
    main()
