"""A process that appends to a log until it is done or killed, and says each record that it was promised: number, text."""

import sys

import msgspec

from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import MessageAdded


def text_of(name: str, turn: int) -> str:
    """What a writer says at a turn; a loud one now and then so much that the system may write it in pieces."""
    return f"{name}:{turn}:" + "x" * (300_000 if name.startswith("loud") and turn % 5 == 3 else turn % 200)


def main(address: str, durability: str, name: str, turns: int, is_listening: bool) -> None:
    """Append, with everything that others appended taken into account if it is listening."""
    _say("ready")
    log = open_log(address, durability=durability)
    head = max((stored.number for stored in log.read()), default=ROOT)
    for turn in range(turns):
        if is_listening:
            head = max((stored.number for stored in log.read(head)), default=head)
        payload = msgspec.json.encode({"role": "user", "content": text_of(name, turn)})
        head = log.append([MessageAdded(payload)], parent=head)
        _say(f"{head} {turn}")


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "listening")
