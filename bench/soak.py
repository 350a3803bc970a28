"""Whether memory and time stay flat: a simulated agent of many turns with everything on, its logs opened by another process.

Every turn is a call with its result, said to a Conversation in SQLite and to an Editor in a folder, with the rules of `careful`
and offloading to blobs, usage reports, rewinds, and a compaction by the client whenever the list is long.

python -m bench.soak [--turns 100000]
"""

import argparse
import contextlib
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redline
from redline import Policy
from redline.record.blobs import DirectoryBlobs
from redline.rules import OffloadResults

__all__ = ["Agent", "Stretch", "main", "soak"]

_MODEL = "claude-sonnet-4-6"
_PARTS = 10
_TURN_MS = 20_000.0
_KEPT_BY_COMPACTION = 6
_REWOUND = 4
_PAGE_BYTES = resource.getpagesize()
_WORDS = ("def", "return", "self", "import", "error", "你好", '"quoted"', "line\n", "value", "0x1f")


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a part of the turns took."""

    turns: int
    turn_ms: float
    """Of the processor: other programs on the machine do not count."""
    memory_bytes: int
    stored_bytes: int
    """Written to logs and blobs in these turns."""
    looks: int
    """How often the other process opened the logs: all that a Conversation acknowledged is there, and both are legal."""


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--compact-at", type=int, default=400, help="messages at which the client compacts its list")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="redline-soak-") as folder:
        print(f"{given.turns:,} turns, a compaction at every {given.compact_at:,} messages\n")
        print(
            "| turns | CPU ms a turn | memory, MB | stored, MB | opened by another process |\n|---|---|---|---|---|", flush=True
        )
        stretches = []
        for stretch in soak(Path(folder), turns=given.turns, compact_at=given.compact_at):
            stretches.append(stretch)
            print(
                f"| {stretch.turns * len(stretches):,} | {stretch.turn_ms:.2f} | {stretch.memory_bytes / 1e6:.0f} | "
                f"{stretch.stored_bytes / 1e6:.1f} | {stretch.looks} |",
                flush=True,
            )
    first, last = stretches[0], stretches[-1]
    print(f"\nLast tenth to first: time {last.turn_ms / first.turn_ms:.2f}, ", end="")
    print(f"memory {last.memory_bytes / first.memory_bytes:.2f}, stored {last.stored_bytes / first.stored_bytes:.2f}")


def soak(folder: Path, *, turns: int, compact_at: int, look_every: int = 400) -> Iterator[Stretch]:
    """Run the agent, and give what each tenth of the turns took."""
    chance = random.Random(turns)
    with contextlib.closing(Agent(folder, compact_at)) as agent, _onlooker() as look:
        stored = 0
        for _ in range(_PARTS):
            start, looks = time.process_time(), 0
            for _ in range(turns // _PARTS):
                agent.take_turn()
                if chance.random() * look_every < 1:
                    look(agent.acknowledged())
                    looks += 1
            elapsed, before = time.process_time() - start, stored
            stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            count = turns // _PARTS
            yield Stretch(count, elapsed / count * 1000, _memory_bytes(), stored - before, looks)


def _memory_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


# --- the agent


@dataclass(slots=True)
class Agent:
    """Keeps its own list as most agents do, and a Conversation beside it."""

    folder: Path
    compact_at: int
    messages: list[dict[str, Any]] = field(default_factory=list)
    turn: int = 0
    now: float = 1_700_000_000_000.0
    _talk: redline.Conversation = field(init=False)
    _editor: redline.Editor = field(init=False)
    _log: str = field(init=False, default="")
    _chance: random.Random = field(init=False, default_factory=lambda: random.Random(7))

    def __post_init__(self) -> None:
        careful = Policy.careful(recall_tool="recall")
        policy = Policy(rules=(OffloadResults(min_chars=4_000), *careful.rules))
        blobs = DirectoryBlobs(self.folder / "blobs")
        address = f"sqlite:///{self.folder}/chats.db#talk"
        self._talk = redline.open(address, model=_MODEL, policy=policy, blobs=blobs, durability="os", clock=lambda: self.now)
        self._editor = redline.Editor(self.folder / "chats", policy=policy, blobs=blobs, clock=lambda: self.now)
        self._say({"role": "user", "content": "Find out why the total is wrong."})

    def take_turn(self) -> None:
        """One request, answered with a call, and its result; now and then a step back, or a list that is too long."""
        self.turn += 1
        self.now += _TURN_MS * (30 if self._chance.random() < 0.01 else 1)
        self._request()
        for message in self._call_with_result():
            self._say(message)
        if self.turn % 97 == 0 and len(self.messages) > 2 * _REWOUND:
            self._rewind()
        if len(self.messages) >= self.compact_at:
            self._compact()

    def _request(self) -> None:
        edited = self._editor.edit(self.messages, session="soak", model=_MODEL, preamble="You are an agent.")
        usage = {"input_tokens": 9, "cache_read_input_tokens": len(edited.said) * 300, "output_tokens": 50}
        self._editor.report(edited, usage)
        self._log = self._editor.address_of(edited)
        self._talk.request(preamble="You are an agent.")
        self._talk.record_usage(usage)

    def _call_with_result(self) -> tuple[dict[str, Any], dict[str, Any]]:
        id, path = f"toolu_{self.turn}", f"src/part_{self._chance.randrange(40)}.py"
        name, inputs = self._chance.choice((("Bash", {"command": f"cat {path}"}), ("Read", {"file_path": path})))
        words = 1_500 if self._chance.random() < 0.02 else self._chance.randrange(20, 200)
        text = f"{self.turn} " + " ".join(self._chance.choices(_WORDS, k=words))
        call = {"type": "tool_use", "id": id, "name": name, "input": inputs}
        result = {"type": "tool_result", "tool_use_id": id, "content": text}
        return {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}

    def _say(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._talk.add(message)

    def _rewind(self) -> None:
        del self.messages[-_REWOUND:]
        self._talk.rewind(self._talk.visible_indices[-1 - _REWOUND])

    def _compact(self) -> None:
        """The client makes a new list of a summary and what was said last, and the Conversation a new log."""
        summary = f"What was done in {self.turn} turns: the total is still wrong."
        before, self._talk = self._talk, self._talk.compact(lambda _: summary, keep_last=_KEPT_BY_COMPACTION)
        before.close()
        self.messages = list(self._talk.messages)

    def acknowledged(self) -> list[tuple[str, int]]:
        """The addresses of its logs, each with the number of messages that are stored for certain."""
        return [(self._talk.name, len(self._talk.all_messages)), (self._log, 1)]

    def close(self) -> None:
        """Let go of the files."""
        self._talk.close()
        self._editor.close()


# --- the other process

_LOOK = """
import sys, redline
for line in sys.stdin:
    address, count = line.rstrip().rsplit(" ", 1)
    with redline.open(address) as talk:
        found = len(talk.all_messages)
        legal = redline.check(talk.preview(now=2e12).messages) == []
    print("fine" if found >= int(count) and legal else f"{address} has {found} of {count} messages, legal: {legal}", flush=True)
"""


@contextlib.contextmanager
def _onlooker() -> Iterator[Callable[[list[tuple[str, int]]], None]]:
    """A process that opens logs while the agent goes on with them; what it found is asked for at the next look."""
    process = subprocess.Popen([sys.executable, "-c", _LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    said, told = process.stdin, process.stdout
    asked = 0

    def settle() -> None:
        nonlocal asked
        for _ in range(asked):
            answer = told.readline().strip()
            if answer != "fine":
                raise RuntimeError(answer or "the process that opens the logs has ended")
        asked = 0

    def look(logs: list[tuple[str, int]]) -> None:
        nonlocal asked
        settle()
        for address, count in logs:
            said.write(f"{address} {count}\n")
        said.flush()
        asked = len(logs)

    try:
        yield look
        settle()
    finally:
        said.close()
        process.wait(timeout=60)
        told.close()


if __name__ == "__main__":
    main(sys.argv[1:])
