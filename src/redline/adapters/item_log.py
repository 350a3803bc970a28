"""A list of items in a log, for frameworks that take a store for their history: added to, and taken back from its end."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from threading import RLock
from typing import Any

from redline.conversation.conversation import now_ms
from redline.engine.state import runs_of
from redline.record.log import ROOT, Header
from redline.record.opening import LogStore
from redline.record.records import MessageAdded, Record, ViewChanged
from redline.record.timeline import RecordTree
from redline.values import payloads


class ItemLog:
    """Items of one format in the log of a name. What is taken back is no longer visible, and stays in the log.

    For use from any number of threads and processes: what one adds, all others see at their next call, and nothing is lost.
    """

    def __init__(self, store: str | os.PathLike[str] | None, name: str, *, title: str, format: str) -> None:
        self.name = name
        self._store, self._header = LogStore(store), Header(conversation=title, message_format=format)
        self._lock = RLock()
        self._forget()

    def read(self) -> list[Any]:
        """The items, as they were added."""
        with self._lock:
            self._follow()
            return [payloads.decode(self._items[index]) for index in self._visible]

    def add(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Store items after those that there are."""
        now = now_ms()
        added: list[Record] = [MessageAdded(payloads.encode(item), now) for item in items]
        with self._lock:
            self._append(lambda: added)

    def pop(self) -> Any | None:
        """Take back the last item and return it; None if there is none."""
        with self._lock:
            last: list[int] = []

            def take_back() -> list[Record]:
                last[:] = self._visible[-1:]
                return [ViewChanged(runs_of(self._visible[:-1]))] if last else []

            self._append(take_back)
            return payloads.decode(self._items[last[0]]) if last else None

    def clear(self) -> None:
        """Take back all items."""
        with self._lock:
            self._append(lambda: [ViewChanged(())] if self._visible else [])

    def close(self) -> None:
        """Let go of files and connections. What was added is stored already."""
        with self._lock:
            if self._records is not None:
                self._records.log.close()
            self._store.close()
            self._forget()

    def _forget(self) -> None:
        self._records: RecordTree | None = None
        self._head, self._items, self._visible = ROOT, list[bytes](), list[int]()

    def _append(self, make: Callable[[], list[Record]]) -> None:
        """Store what is made of the list as it is; if another process was quicker, what is made of the list as it is then."""
        while True:
            tree = self._follow()
            head, made = self._head, make()
            if not made:
                return
            first = tree.append(made, parent=head) - len(made) + 1
            self._follow()
            if tree.children[head][0] == first:
                return

    def _follow(self) -> RecordTree:
        """Take in what was stored since. Of records that were made on the same one, the first counts, for everybody."""
        if self._records is None:
            self._records = RecordTree(self._store.open(self.name, self._header))
        else:
            self._records.read()
        while following := self._records.children.get(self._head):
            self._head = following[0]
            match self._records.stored[self._head].record:
                case MessageAdded(payload=payload):
                    self._visible.append(len(self._items))
                    self._items.append(payload)
                case ViewChanged(indices=runs):
                    self._visible = list(chain.from_iterable(range(*run) for run in runs))
        return self._records
