"""A process in which one call of the system after the other fails, in the middle of a small conversation.

python -m tests.faults.sweep FOLDER KIND FACE FAULT STEP, with the library of `faulty` loaded.
"""

import errno
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import redline
from redline import Policy
from redline.blobs import DirectoryBlobs
from redline.errors import RedlineError
from redline.rules import OffloadResults, StaleTerminal
from redline.testing import asks, conversation, says
from tests.faults.faulty import armed

__all__ = ["FACES", "FAULTS", "FaultKind", "main"]

MINUTE = 60_000


class FaultKind(NamedTuple):
    """Which calls fail, and how."""

    calls: str
    error: int
    is_lasting: bool = True
    is_short: bool = False


FAULTS = {
    "full": FaultKind("write+open", errno.ENOSPC),
    "full half way": FaultKind("write", errno.ENOSPC, is_short=True),
    "full and stuck": FaultKind("write+cut", errno.ENOSPC, is_short=True),
    "short": FaultKind("write", 0, is_lasting=False, is_short=True),
    "one write": FaultKind("write", errno.EIO, is_lasting=False),
    "sync": FaultKind("sync", errno.EIO),
    "one sync": FaultKind("sync", errno.EIO, is_lasting=False),
    "sync and cut": FaultKind("sync+cut", errno.EIO),
    "read": FaultKind("read", errno.EIO),
    "one read": FaultKind("read", errno.EIO, is_lasting=False),
    "open": FaultKind("open", errno.EACCES),
    "handles": FaultKind("open", errno.EMFILE, is_lasting=False),
    "name": FaultKind("name", errno.EIO),
}

MESSAGES: list[dict[str, Any]] = [
    *conversation("openai_chat", [says("user", "go")]),
    *itertools.chain.from_iterable(
        conversation("openai_chat", asks("terminal-execute", {"command": "ls"}, f"out {turn}\n" * 60, id=f"c{turn}"))
        for turn in range(4)
    ),
]
POLICY = Policy(rules=[OffloadResults(min_chars=200, keep_recent=1, preview_lines=1), StaleTerminal()], schedule="eager")


def main(folder: Path, kind: str, face: str, fault: str, step: int) -> None:
    """Sweep the number of the call that fails over all that there are, every so many; say how many that were."""
    for number in itertools.count(step=step):
        place = folder / f"{number}"
        handles = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        has_struck = FACES[face](place, kind, FAULTS[fault], number)
        left = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        assert left == handles, f"{left - handles} files were left open at call {number}"
        shutil.rmtree(place)
        if not has_struck:
            sys.stdout.write(f"{number // step}\n")
            return


def with_conversation(place: Path, kind: str, fault: FaultKind, number: int) -> bool:
    """Messages are added and requests made; what failed is done again when the cause is gone."""
    address = str(place / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{place}/chats.db#chat"

    def opened() -> redline.Conversation:
        return redline.open(address, format="openai_chat", policy=POLICY, blobs=DirectoryBlobs(place / "blobs"))

    talk = opened()
    if number % 2:  # a log that is there already; else the fault may strike while it is made
        talk.add(MESSAGES[0], timestamp_ms=0)
    missing = MESSAGES[len(talk.messages) :]
    acknowledged = list(talk.messages)
    struck = False
    with armed(place, fault.calls, number, error=fault.error, is_lasting=fault.is_lasting, is_short=fault.is_short) as first:
        for message in missing:
            problem = failure_of(lambda message=message: talk.add(message, timestamp_ms=0), place)
            if problem:
                break
            acknowledged.append(message)
            if failure_of(lambda: talk.request(now=60 * MINUTE), place):
                break
    struck = first.has_struck
    assert talk.messages[: len(acknowledged)] == acknowledged
    with opened() as again:  # as if the process had been killed
        assert again.messages[: len(acknowledged)] == acknowledged
        assert again.messages == MESSAGES[: len(again.messages)]
        assert len(again.messages) <= len(acknowledged) + 1
    for message in MESSAGES[len(talk.messages) :]:
        talk.add(message, timestamp_ms=0)
        talk.request(now=60 * MINUTE)
    assert talk.messages == MESSAGES
    sent = talk.request(now=60 * MINUTE).body
    talk.close()
    with opened() as again:
        assert again.messages == MESSAGES
        assert again.request(now=60 * MINUTE).body == sent
    return struck


def with_editor(place: Path, kind: str, fault: FaultKind, number: int) -> bool:
    """A growing list is edited; what failed is edited again when the cause is gone."""
    store = str(place / "chats") if kind == "jsonl" else f"sqlite:///{place}/chats.db"

    def opened() -> redline.Editor:
        return redline.Editor(store, policy=POLICY, blobs=DirectoryBlobs(place / "blobs"), durability="fsync")

    def edit(editor: redline.Editor, length: int) -> bytes:
        made = editor.edit(MESSAGES[:length], session="s", now=60 * MINUTE)
        editor.report(made, {"prompt_tokens": 100 + length, "completion_tokens": 1})
        return made.body

    lengths = range(1, len(MESSAGES) + 1, 2)
    editor, sent = opened(), list[bytes]()
    if number % 2:
        sent.append(edit(editor, lengths[0]))
    with armed(place, fault.calls, number, error=fault.error, is_lasting=fault.is_lasting, is_short=fault.is_short) as first:
        for length in lengths[len(sent) :]:
            if failure_of(lambda length=length: sent.append(edit(editor, length)), place):
                break
    for length in lengths[len(sent) :]:
        sent.append(edit(editor, length))
    settled = edit(editor, lengths[-1])  # what could not be offloaded at first is by now
    with opened() as again:
        assert edit(again, lengths[-1]) == settled
    with redline.Store(store) as logs, logs.open(*logs.names()) as talk:
        assert talk.messages == MESSAGES
        assert len(talk.all_messages) == len(MESSAGES)
    editor.close()
    return first.has_struck


FACES: dict[str, Callable[[Path, str, FaultKind, int], bool]] = {"conversation": with_conversation, "editor": with_editor}


def failure_of(work: Callable[[], object], place: Path) -> str:
    """What the error says, which names the file and what to do; empty if it went well."""
    try:
        work()
    except RedlineError as problem:
        said = str(problem)
        assert str(place) in said, f"it does not say where: {said}"
        assert any(words in said for words in ADVICE), f"it does not say what to do: {said}"
        return said
    return ""


ADVICE = ("Make room", "Check ", "Open it again", "wait for it", "Rescue", "then go on")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
