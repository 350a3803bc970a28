"""The arm of an experiment that a history belongs to: recorded once in its log, and kept by whatever goes on from there."""

import hashlib
from typing import Literal

from redline.conversation.resent.incoming import IncomingList
from redline.conversation.resent.open_histories import OpenHistories, OpenTree
from redline.record.log import ROOT
from redline.record.records import Described

Arm = Literal["edited", "holdout"]
NO_ARM = ""
"""That of a history which began before the experiment: it is left out."""
_KEY = b"redline holdout"


def drawn_arm(share: float, session: str, given: IncomingList) -> Arm:
    """By a hash of the session's name; without a name by that of the first message and of whose history it is."""
    first = given.digests[0] if given.digests else b""
    name = b"name\0" + session.encode() if session else b"first\0" + given.namespace.encode() + b"\0" + first
    drawn = int.from_bytes(hashlib.blake2b(name, key=_KEY, digest_size=8).digest())
    return "holdout" if drawn < share * 2**64 else "edited"


def known_arm(histories: OpenHistories, given: IncomingList) -> str | None:
    """The arm of what a list goes on with: its session's, that of a history it was forked from, or of one its client compacted.
    None if it goes on with nothing."""
    logs = histories.logs_of(given.session, given.namespace) if given.session else ()
    found = histories.open(logs[-1], given.namespace) if logs else histories.find(given)
    if not logs and not found.tree.find(given.digests, given.session).length:
        fork = histories.fork_of(given)
        origin = fork[0] if fork else histories.origin_of(given, found.name)
        if origin is None:
            return None
        found = origin
    with found.lock:
        return recorded_arm(found)


def recorded_arm(tree: OpenTree) -> str:
    """What the log of a history says."""
    told = (one.record.arm for one in tree.tree.stored.values() if isinstance(one.record, Described) and one.record.arm)
    return next(told, NO_ARM)


def record_arm(tree: OpenTree, arm: Arm, time_ms: float) -> None:
    """Write it down, once; the conversation itself does not change."""
    with tree.lock:
        tree.tree.read()
        if not recorded_arm(tree):
            tree.tree.append([Described(time_ms, arm=arm)], parent=ROOT)
