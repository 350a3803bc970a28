"""An agent's memory: a conversation of which every message is on disk before anything else happens."""

import json
from pathlib import Path

import redline
from redline.rules.historical_reads import HistoricalReads
from redline.rules.offload import OffloadResults
from redline.rules.stale_terminal import StaleTerminal

RULES = (
    StaleTerminal(placeholder=redline.EN.stale_terminal),
    HistoricalReads(project_root="/home/dev/shop", placeholder=redline.EN.historical_read),
    OffloadResults(min_chars=20_000, stub=redline.EN.offloaded),
)


class Session:
    def __init__(self, folder, format, tools, clock):
        self.path, self.tools, self.clock = Path(folder, "chat.jsonl"), tools, clock
        self.blobs = redline.DirectoryBlobs(Path(folder, "blobs"))
        self.talk = redline.Conversation(format=format, blobs=self.blobs, project_root="/home/dev/shop")
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            self.talk.add(**json.loads(line))

    def add(self, message):
        line = {"message": message, "timestamp_ms": self.clock()}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self.talk.add(**line)

    def request(self):
        return self.talk.request(now=self.clock(), rules=RULES)

    def use(self, tool, arguments):
        if tool != "recall":
            return self.tools[tool](**arguments)
        try:
            return redline.recall(**arguments, blobs=self.blobs)
        except redline.RedlineError as problem:
            return f"Error: {problem}"
