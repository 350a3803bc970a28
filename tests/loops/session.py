"""An agent's memory: a conversation of which every message is on disk at once, and what the SDKs need of it."""

from pathlib import Path

import redline
from redline.providers.answers import read_answer
from redline.providers.arguments import sdk_arguments
from redline.rules.historical_reads import HistoricalReads
from redline.rules.offload_results import OffloadResults
from redline.rules.stale_terminal import StaleTerminal
from tests.loops.scenario import DESCRIPTIONS, SYSTEM

RULES = (
    StaleTerminal(placeholder=redline.EN.stale_terminal),
    HistoricalReads(project_root="/home/dev/shop", placeholder=redline.EN.historical_read),
    OffloadResults(min_chars=20_000, stub=redline.EN.offloaded),
)


class Session:
    def __init__(self, folder, format, model, tools, clock):
        self.format, self.model, self.tools, self.clock = format, model, tools, clock
        self.blobs = redline.DirectoryBlobs(Path(folder, "blobs"))
        self.talk = redline.open(Path(folder, "chat.jsonl"), blobs=self.blobs, project_root="/home/dev/shop")
        self.usages = []

    def add(self, message):
        self.talk.add(message, timestamp_ms=self.clock())

    def arguments(self, **more):
        """What the SDK's method takes."""
        request = self.talk.request(now=self.clock(), rules=RULES)
        messages = request.with_breakpoints() if request.format == "anthropic" else request.messages
        tools = [*DESCRIPTIONS, redline.recall_tool(self.format)]
        return sdk_arguments(self.format, messages, model=self.model, system=SYSTEM, tools=tools, **more)

    def add_response(self, response):
        """Keep what the SDK returned."""
        answer = read_answer(response, self.format)
        for message in answer.messages:
            self.add(message)
        usage = answer.usage
        self.usages.append(usage)
        self.talk.record_usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )

    def use(self, tool, arguments):
        """Run a tool."""
        if tool != "recall":
            return self.tools[tool](**arguments)
        try:
            return redline.recall(**arguments, blobs=self.blobs)
        except redline.RedlineError as problem:
            return f"Error: {problem}"
