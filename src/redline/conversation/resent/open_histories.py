"""The trees of a store: those in use, which session fills which, and which one a client's compaction goes on from."""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeVar

from redline.conversation.resent.incoming import IncomingList
from redline.conversation.resent.outgoing import StruckMessages
from redline.conversation.resent.tree import HistoryTree, KnownPath
from redline.engine.engine import Engine
from redline.engine.project import DestinationFinder
from redline.errors import ExecutionError
from redline.providers.format import Format
from redline.record.blobs import Blobs
from redline.record.blobs.whole_results import WholeFolders
from redline.record.log import INDEX, ROOT, Header, Log, Stored
from redline.record.opening import LogStore
from redline.record.records import LogIndexed, MessageAdded, Record
from redline.record.timeline import RecordTree, Timeline
from redline.tokens import Counter

_Key = TypeVar("_Key")

_MOST_ENGINES = 4
"""Of one log: ways that are kept ready to be gone on with."""
_MOST_TREES = 256
_MOST_BYTES = 192 << 20
"""Of messages that are kept in memory. What was not used for longest goes first, and is read again from the store."""
_MOST_READY_BYTES = 32 << 20
"""Of messages in trees with engines, each of which takes many times as much as its messages. Beyond it they are made anew."""
_PATIENCE_S = 0.05
"""So long one waits for others who open trees."""
_MOST_ORIGINS = 4
"""How many logs are looked through for messages that a new one has, too."""
_MOST_INDEXED = 10_000
"""Sessions, and beginnings, whose logs are known without a look into the store. Older ones are not taken for forks."""
_INDEXED_LENGTHS = tuple(4**power for power in range(8))
"""How many messages a log has when the index is told what they say."""


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

    def read(self) -> None:
        """Take in what other processes have added, unless another thread is using it, which does so itself."""
        if self.lock.acquire(blocking=False):
            try:
                self.tree.read()
            finally:
                self.lock.release()

    def engine_at(self, record: int, format: Format, counter: Counter, blobs: Blobs | None, wholes: WholeFolders) -> Engine:
        """An engine that is there, or was on the way there when another process went on, or a new one."""
        missed: list[Stored] = []
        number = record
        while number not in self.engines and number != ROOT:
            missed.append(self.tree.stored[number])
            number = missed[-1].parent
        engine = self.engines.pop(number, None)
        while len(self.engines) >= _MOST_ENGINES:
            self.engines.popitem(last=False)
        if engine is None:
            return Engine(Timeline(self.tree, record), format, counter, blobs, wholes)
        engine.follow(missed[::-1])
        return engine

    def drop_caches(self) -> None:
        """Forget what is only there to be quick, unless another thread is using it."""
        if self.lock.acquire(blocking=False):
            try:
                self.engines.clear()
                self.struck = StruckMessages()
            finally:
                self.lock.release()


class OpenHistories:
    """Opens trees by name and keeps those in memory that were last used. For use from any number of threads."""

    def __init__(self, store: LogStore, counter: Counter) -> None:
        self.store, self._counter = store, counter
        self._trees: OrderedDict[str, OpenTree] = OrderedDict()
        self._index: _SessionIndex | None = None
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
                    one.drop_caches()
            return self._trees[name]

    def find(self, given: IncomingList) -> OpenTree:
        """The tree in which a list goes on: its session's own. Stores of older versions keep sessions with one first message in
        one log; those go on there.

        Lists of no session go on where the first that began so did, until they turn off from it: then in one of their own.
        """
        return _tree_of(given, lambda name: self.open(name, given.namespace))

    def find_now(self, given: IncomingList) -> OpenTree | None:
        """The tree in which a list goes on, as it was last read if it is in memory: for callers that cannot wait for the store.

        None where another thread holds up the opening of trees for long, as it does while the store is away.
        """
        with contextlib.suppress(KeyError):
            return _tree_of(given, self._trees.__getitem__)
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return None
        try:
            return self.find(given)
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def going_on(self, given: IncomingList) -> Iterator[OpenTree]:
        """The tree in which a list goes on, for this thread alone and with what other processes have added."""
        while True:
            found = self.find(given)
            with found.lock:
                found.tree.read()
                if self.find(given) is found:
                    yield found
                    return

    def evict(self, tree: OpenTree) -> None:
        """Keep a tree no longer in memory: its client has gone on in another one."""
        with self._lock:
            if self._trees.get(tree.name) is tree:
                del self._trees[tree.name]

    def register_session(self, given: IncomingList, log: str, lengths: range) -> None:
        """Write down which log a session fills, and how what is in it begins, when the log has grown by these lengths."""
        indexed = [length for length in _INDEXED_LENGTHS if length in lengths]
        if indexed and (given.session or given.namespace):
            started = [LogIndexed(log, given.session, given.namespace, given.chains[length - 1]) for length in indexed]
            with self._lock:
                self._read_index().append(list[Record](started), parent=ROOT)

    def logs_of(self, session: str, namespace: str) -> tuple[str, ...]:
        """The logs that a session has filled last, in order."""
        with self._lock:
            return self._read_index().by_session.get((session, namespace), ())

    def fork_of(self, given: IncomingList) -> tuple[OpenTree, KnownPath] | None:
        """Where the history is that a list goes on with, if it begins a log: a fork under another name, whose strikes are in
        the provider's cache. None if nobody has said more of it than the first message."""
        chains = given.chains
        with self._lock:
            index = self._read_index()
            named = [
                log
                for length in reversed(_INDEXED_LENGTHS[1:])
                if length <= len(chains)
                for log in reversed(index.by_chain.get((given.namespace, chains[length - 1]), ()))
            ]
        best: tuple[OpenTree, KnownPath] | None = None
        for name in dict.fromkeys((*named[:_MOST_ORIGINS], given.shared_log())):
            one = self.open(name, given.namespace)
            one.read()
            spot = place_to_go_on(given, one.tree)
            if spot.length > (best[1].length if best else 1):
                best = one, spot
        return best

    def origin_of(self, given: IncomingList, log: str) -> OpenTree | None:
        """The tree of which a new list has messages, so that it must be what a client's compaction left of it.

        One message in common will do for a log that the same session filled; for others it must be two.
        """
        with self._lock:
            own = self._read_index().by_session.get((given.session, given.namespace), ()) if given.session else ()
            recent = [name for name, one in reversed(self._trees.items()) if one.namespace == given.namespace]
        own = own[: -_MOST_ORIGINS - 1 : -1]
        for name in dict.fromkeys((*own, *recent[:_MOST_ORIGINS])):
            if name != log:
                found = self.open(name, given.namespace)
                common = len(found.tree.first_seen.keys() & set(given.digests[1:]))
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

    def _read_index(self) -> "_SessionIndex":
        if self._index is None or self._index.is_stale:
            self._index = _SessionIndex(self.store.open(INDEX, Header(conversation=INDEX)))
        else:
            self._index.read()
        return self._index


def _tree_of(given: IncomingList, tree_named: Callable[[str], OpenTree]) -> OpenTree:
    if given.session:
        own = tree_named(given.own_log)
        if own.tree.stored:
            return own
        shared = tree_named(given.shared_log())
        return shared if given.session in shared.tree.sessions else own
    length = 0
    while True:
        found = tree_named(given.shared_log(length + 1))
        spot = found.tree.find(given.digests, "")
        is_whole = spot.length <= length or spot.length == len(given.digests)
        if is_whole or not found.tree.is_turned_off_from(spot):
            return found
        length = spot.length


def place_to_go_on(given: IncomingList, tree: HistoryTree) -> KnownPath:
    """How far a list with something new is known; less the last message if its calls had other ids, as clients invent them."""
    spot = tree.find(given.digests, given.session)
    if not given.format.invents_call_ids or spot.length == 0:
        return spot
    known = next(one.record.payload for one in reversed(tree.path(spot.record)) if isinstance(one.record, MessageAdded))
    present = given.stored[given.leading_system_messages + spot.length - 1]
    calls = [[call.id for call in given.format.read(native).calls] for native in (known, present)]
    return spot if calls[0] == calls[1] else tree.find(given.digests[: spot.length - 1], given.session)


class _SessionIndex(RecordTree):
    """The log of which session fills which log. Its records are many: only the last sessions are kept in memory."""

    def __init__(self, log: Log) -> None:
        self.by_session: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        """By session and namespace, the logs that it has filled last, in order."""
        self.by_chain: OrderedDict[tuple[str, bytes], tuple[str, ...]] = OrderedDict()
        """By namespace and chain, the last logs that begin with such messages, in order."""
        super().__init__(log)

    def take(self, one: Stored) -> None:
        """Take in the next record."""
        self.last = one.number
        if isinstance(record := one.record, LogIndexed):
            _remember(self.by_session, (record.session, record.namespace), record.log)
            _remember(self.by_chain, (record.namespace, record.chain), record.log)


def _remember(table: OrderedDict[_Key, tuple[str, ...]], key: _Key, log: str) -> None:
    """Note a log, as long as it is among the last of its key, and its key among the last of the table."""
    known = table.pop(key, ())
    table[key] = known if log in known else (*known, log)[-_MOST_ORIGINS - 1 :]
    if len(table) > _MOST_INDEXED:
        table.popitem(last=False)
