"""A process in which one call of the system after the other fails, in the middle of a small conversation.

python -m tests.faults.sweep FOLDER KIND FACE STEP, with the library of `faulty` loaded.
"""

import errno
import itertools
import logging
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import redline
from redline import Policy
from redline.errors import RedlineError
from redline.record.blobs import DirectoryBlobs
from redline.rules import OffloadResults, StaleTerminal
from redline.testing import asks, conversation, says
from tests.faults.faulty import FaultKind, armed

__all__ = ["FACES", "FAULTS", "fill_file_system", "main"]

MINUTE = 60_000


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


def main(folder: Path, kind: str, face: str, step: int) -> None:
    """For each fault sweep the number of the call that fails over all that there are, every so many; say how many struck."""
    logging.disable(logging.WARNING)
    for name, fault in FAULTS.items():
        for number in itertools.count(step=step):
            place = folder / f"{number}"
            handles = open_files()
            try:
                has_struck = FACES[face](place, kind, fault, number)
            except BaseException as problem:
                problem.add_note(f"the fault was {name!r}, at call {number}")
                raise
            assert open_files() == handles, f"files were left open by {name!r} at call {number}"
            shutil.rmtree(place)
            if not has_struck:
                sys.stdout.write(f"{number // step}\n")
                break


def open_files() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208


def with_conversation(place: Path, kind: str, fault: FaultKind, number: int) -> bool:
    """Messages are added and requests made; what failed is done again when the cause is gone."""
    opened = partial(open_conversation, place, kind)
    talk = opened()
    if number % 2:  # a log that is there already; else the fault may strike while it is made
        talk.add(MESSAGES[0], timestamp_ms=0)
    acknowledged = list(talk.messages)
    with armed(place, fault, number) as struck:
        for message in MESSAGES[len(acknowledged) :]:
            if failure_of(partial(talk.add, message, timestamp_ms=0), place):
                break
            acknowledged.append(message)
            if failure_of(partial(talk.request, now=60 * MINUTE), place):
                break
    assert talk.messages == acknowledged
    with opened() as again:  # as if the process had been killed
        assert again.messages == MESSAGES[: len(again.messages)]
        assert len(acknowledged) <= len(again.messages) <= len(acknowledged) + 1
    for message in MESSAGES[len(acknowledged) :]:
        talk.add(message, timestamp_ms=0)
        talk.request(now=60 * MINUTE)
    sent = talk.request(now=60 * MINUTE).body
    talk.close()
    with opened() as again:
        assert again.messages == MESSAGES
        assert again.request(now=60 * MINUTE).body == sent
    return struck.is_true


def with_opening(place: Path, kind: str, fault: FaultKind, number: int) -> bool:
    """A conversation that is there is opened and asked for a request: all of it or an error, never a part."""
    opened = partial(open_conversation, place, kind)
    with opened() as talk:
        for message in MESSAGES:
            talk.add(message, timestamp_ms=0)
        sent = talk.request(now=60 * MINUTE).body

    def ask() -> None:
        with opened() as again:
            assert again.messages == MESSAGES
            assert again.request(now=60 * MINUTE).body == sent

    with armed(place, fault, number) as struck:
        failure_of(ask, place)
    ask()
    return struck.is_true


def with_editor(place: Path, kind: str, fault: FaultKind, number: int) -> bool:
    """A growing list is edited; what failed is edited again when the cause is gone."""
    store = str(place / "chats") if kind == "jsonl" else f"sqlite:///{place}/chats.db"
    opened = partial(redline.Editor, store, policy=POLICY, blobs=DirectoryBlobs(place / "blobs"), durability="fsync")

    def edit(editor: redline.Editor, length: int) -> bytes:
        made = editor.edit(MESSAGES[:length], session="s", now=60 * MINUTE)
        editor.report(made, {"prompt_tokens": 100 + length, "completion_tokens": 1})
        return made.body

    lengths = list(range(1, len(MESSAGES) + 1, 2))
    editor = opened()
    if number % 2:
        edit(editor, lengths.pop(0))
    with armed(place, fault, number) as struck:
        while lengths and not failure_of(partial(edit, editor, lengths[0]), place):
            del lengths[0]
    for length in (*lengths, len(MESSAGES)):  # what could not be offloaded at first is by now
        settled = edit(editor, length)
    with opened() as again:
        assert edit(again, len(MESSAGES)) == settled
    editor.close()
    with redline.Store(store) as logs, logs.open(*logs.names()) as talk:
        assert talk.messages == talk.all_messages == MESSAGES
    return struck.is_true


def open_conversation(place: Path, kind: str) -> redline.Conversation:
    """The conversation of a place, which is made if it is not there."""
    address = str(place / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{place}/chats.db#chat"
    return redline.open(address, format="openai_chat", policy=POLICY, blobs=DirectoryBlobs(place / "blobs"))


def fill_file_system(folder: Path, kind: str) -> None:
    """Add until nothing fits any more, make room, and go on."""
    talk = open_conversation(folder, kind)
    editor = redline.Editor(folder / "chats" if kind == "jsonl" else f"sqlite:///{folder}/others.db", durability="fsync")
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(128 << 10))
    said: list[dict[str, Any]] = []
    while not failure_of(partial(talk.add, message := {"role": "user", "content": f"{len(said)} " * 900}), folder):
        said.append(message)
    listed = [*said, {"role": "user", "content": "x" * 100_000}]
    assert failure_of(partial(editor.edit, listed, session="s"), folder)
    assert talk.messages == said
    ballast.unlink()
    talk.add(message)
    editor.edit(said[:9], session="s")
    for open_one in (talk, open_conversation(folder, kind)):
        assert open_one.messages == [*said, message]
        open_one.close()
    editor.close()


FACES: dict[str, Callable[[Path, str, FaultKind, int], bool]] = {
    "conversation": with_conversation,
    "editor": with_editor,
    "opening": with_opening,
}


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


ADVICE = ("Make room", "Close some files", "Check ", "Open it again", "wait for it", "Rescue", "then go on")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
