"""Clocks that jump by hours, forwards and back: the record stays whole, requests legal, and what was struck stays struck."""

import sys
import time
from itertools import accumulate
from pathlib import Path

import pytest

import redline
from redline import Policy
from redline.record.blobs import DirectoryBlobs
from redline.testing import asks, conversation, says
from tests.faults.faulty import move_clock, needs_compiler, run_faulty

HOUR_MS = 3_600_000
NOON = 1_750_000_000_000
JUMPS = [0, HOUR_MS, -6 * HOUR_MS, 48 * HOUR_MS, -49 * HOUR_MS, 1, -HOUR_MS, 5 * HOUR_MS, 0]
MODEL = "claude-sonnet-4-6"


def turn(number):
    return conversation("anthropic", asks("terminal-execute", {"command": "ls"}, f"out {number}\n" * 80, id=f"c{number}"))


@pytest.mark.parametrize("policy", ["documents", "careful", "bold"])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_clock_of_a_conversation_and_an_editor_jumps(tmp_path, kind, policy):
    """At every time both send what is legal; opened again they send the same bytes, and no strike is lost on the way."""
    address = str(tmp_path / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{tmp_path}/chats.db#chat"
    store = str(tmp_path / "chats") if kind == "jsonl" else f"sqlite:///{tmp_path}/others.db"
    now = [float(NOON)]
    settings = {"policy": policy, "clock": lambda: now[0]}
    talk, editor = redline.open(address, model=MODEL, **settings), redline.Editor(store, **settings)
    messages = conversation("anthropic", [says("user", "go")])
    talk.add(messages[0])
    struck: set[int] = set()
    for number, time_ms in enumerate(accumulate(JUMPS, initial=NOON)):
        now[0] = float(time_ms)
        for message in turn(number):
            messages.append(message)
            talk.add(message)
        sent, edited = talk.request(), editor.edit(messages, session="s", model=MODEL)
        assert redline.check(sent.messages) == redline.check(edited.messages) == []
        assert struck <= {strike.number for strike in talk.strikes}
        struck = {strike.number for strike in talk.strikes}
    with redline.open(address, model=MODEL, **settings) as again, redline.Editor(store, **settings) as other:
        assert again.messages == talk.messages
        assert again.request().body == talk.request().body
        assert other.edit(messages, session="s", model=MODEL).body == editor.edit(messages, session="s", model=MODEL).body
    talk.close()
    editor.close()


@needs_compiler
def test_wall_clock_of_the_process_jumps(tmp_path):
    """Nobody waits longer for it, no time that was read is refused, and no blob that is new is taken for an old one."""
    assert run_faulty(tmp_path, "tests.faults.test_clock", str(tmp_path)) == "done\n"


def live_through_jumps(folder: Path) -> None:
    """In a process whose wall clock can be moved."""
    blobs = DirectoryBlobs(folder / "blobs")
    began, real = time.monotonic(), time.time()
    for kind in ("jsonl", "sqlite"):
        address = str(folder / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{folder}/chats.db#chat"
        said = []
        for hours in (0, 5, -7, 100, -100):
            move_clock(hours * 3600)
            assert abs(time.time() - real - hours * 3600) < 600
            with redline.open(address, model=MODEL, policy=Policy.careful(), blobs=blobs) as talk:
                said.append({"role": "user", "content": f"at {hours}"})
                talk.add(said[-1])
                assert talk.messages == said
                assert redline.check(talk.request().messages) == []
            reference = blobs.put(f"{kind} {hours}".encode())
            assert not blobs.delete_older(reference, than_ms=(real - 600) * 1000)
    assert time.monotonic() - began < 60
    sys.stdout.write("done\n")


if __name__ == "__main__":
    live_through_jumps(Path(sys.argv[1]))
