"""The trees of a store: those in use, which session fills which, and which one a client's compaction goes on from."""

import threading
from collections import OrderedDict

from redline.engine.destination import DestinationFinder
from redline.engine.engine import Engine
from redline.errors import ExecutionError
from redline.histories.given import GivenList
from redline.histories.present import StruckMessages
from redline.histories.tree import HistoryTree
from redline.log.log import ROOT, Header
from redline.log.records import HistoryStarted, MessageAdded
from redline.log.store import INDEX, LogStore
from redline.log.timeline import RecordTree
from redline.tokens import Counter

__all__ = ["Forest", "OpenTree"]

_MOST_TREES = 256
_MOST_BYTES = 192 << 20
"""Of messages that are kept in memory. What was not used for longest goes first, and is read again from the store."""
_MOST_READY_BYTES = 32 << 20
"""Of messages in trees with engines, each of which takes many times as much as its messages. Beyond it they are made anew."""
_PATIENCE_S = 0.05
"""So long one waits for others who open trees."""
_MOST_ORIGINS = 4
"""How many logs are looked through for messages that a new one has, too."""


class OpenTree:
    """A log that is in use: its records, and the engines of the ways that were last gone."""

    def __init__(self, name: str, namespace: str | None, tree: HistoryTree, counter: Counter) -> None:
        self.name, self.namespace, self.tree = name, namespace, tree
        self.lock = threading.RLock()
        self.engines: OrderedDict[int, Engine] = OrderedDict()
        """By the record at which they are, those last used at the end."""
        self.struck = StruckMessages()
        """What was last sent with strikes."""
        self.destinations = DestinationFinder(counter)
        messages = (one.record for one in tree.stored.values() if isinstance(one.record, MessageAdded))
        self.size_bytes = sum(len(message.payload) for message in messages)

    def rest(self) -> None:
        """Forget what is only there to be quick, unless another thread is using it."""
        if self.lock.acquire(blocking=False):
            try:
                self.engines.clear()
                self.struck = StruckMessages()
            finally:
                self.lock.release()


class Forest:
    """Opens trees by name and keeps those in memory that were last used. For use from any number of threads."""

    def __init__(self, store: LogStore, counter: Counter) -> None:
        self.store, self._counter = store, counter
        self._trees: OrderedDict[str, OpenTree] = OrderedDict()
        self._index: RecordTree | None = None
        self._lock = threading.RLock()
        self._is_closed = False

    def open(self, name: str, namespace: str | None = None) -> OpenTree:
        """The tree of a name; of no namespace until somebody says of which it is."""
        with self._lock:
            if self._is_closed:
                raise ExecutionError("This Editor was closed. Make another one.")
            if name not in self._trees or self._trees[name].tree.is_stale:
                tree = HistoryTree(self.store.open(name, Header(conversation=name)))
                self._trees[name] = OpenTree(name, namespace, tree, self._counter)
            if namespace is not None:
                self._trees[name].namespace = namespace
            self._trees.move_to_end(name)
            kept = sum(one.size_bytes for one in self._trees.values())
            while len(self._trees) > 1 and (kept > _MOST_BYTES or len(self._trees) > _MOST_TREES):
                _, oldest = self._trees.popitem(last=False)
                kept -= oldest.size_bytes
            ready = 0
            for one in reversed(self._trees.values()):
                ready += one.size_bytes
                if ready > _MOST_READY_BYTES and one.name != name:
                    one.rest()
            return self._trees[name]

    def find(self, name: str, namespace: str) -> OpenTree | None:
        """The tree of a name, as it was last read if it is in memory: for who cannot wait until the store answers.

        None where another thread holds up the opening of trees for long, as it does while the store is away.
        """
        if (held := self._trees.get(name)) is not None:
            return held
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return None
        try:
            return self.open(name, namespace)
        finally:
            self._lock.release()

    def leave(self, tree: OpenTree) -> None:
        """Keep a tree no longer in memory: its client has gone on in another one."""
        with self._lock:
            if self._trees.get(tree.name) is tree:
                del self._trees[tree.name]

    def enter(self, given: GivenList) -> None:
        """Write down which log a session begins to fill."""
        if given.session:
            with self._lock:
                self._read_index().append([HistoryStarted(given.log, given.session, given.namespace)], parent=ROOT)

    def origin_of(self, given: GivenList) -> OpenTree | None:
        """The tree of which a new list has messages, so that it must be what a client's compaction left of it.

        One message in common will do for a log that the same session filled; for others it must be two.
        """
        with self._lock:
            entered = [one.record for one in self._read_index().stored.values()] if given.session else []
            own = [
                record.log
                for record in entered
                if isinstance(record, HistoryStarted) and (record.session, record.namespace) == (given.session, given.namespace)
            ]
            recent = [name for name, one in reversed(self._trees.items()) if one.namespace == given.namespace]
        own = own[: -_MOST_ORIGINS - 1 : -1]
        for name in dict.fromkeys((*own, *recent[:_MOST_ORIGINS])):
            if name != given.log:
                found = self.open(name, given.namespace)
                common = sum(found.tree.first_seen(digest) is not None for digest in set(given.digests[1:]))
                if common >= (1 if name in own else 2):
                    return found
        return None

    def close(self) -> None:
        """Let go of files and connections. What was worked out is stored, so that it need not be again."""
        with self._lock:
            self._is_closed = True
            for one in self._trees.values():
                with one.lock:
                    for engine in one.engines.values():
                        engine.save_checkpoints()
                    one.tree.log.close()
            self._trees.clear()
            if self._index is not None:
                self._index.log.close()
                self._index = None
            self.store.close()

    def _read_index(self) -> RecordTree:
        if self._index is None or self._index.is_stale:
            self._index = RecordTree(self.store.open(INDEX, Header(conversation=INDEX)))
        else:
            self._index.read()
        return self._index
