"""The records of a log as a tree: the path to the head is the conversation, the other ends are its branches."""

from collections.abc import Iterator
from dataclasses import dataclass

from redline.log.log import ROOT, Log, Stored
from redline.log.records import Checkpoint, HeadMoved, MessageAdded, Record, ViewChanged

__all__ = ["Branch", "Timeline"]


@dataclass(frozen=True, slots=True)
class Branch:
    """One end of a conversation that went several ways."""

    number: int
    """Of its last record; the branch's name for `switch`."""
    after: int
    """How many messages it shares with the present path, from the beginning."""
    messages: int
    """How many messages were said on it, those included."""
    is_current: bool


class Timeline:
    """Knows every record of a log, and where in the tree this conversation is."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._stored: dict[int, Stored] = {}
        """By number: damage in a log leaves gaps."""
        self._last = ROOT
        self.has_appended = False
        """Whether this process has added anything."""
        self._has_child: set[int] = set()
        self._checkpoints: dict[int, Checkpoint] = {}
        """By the record that they hang on."""
        self.read()
        said = (number for number, one in reversed(self._stored.items()) if not isinstance(one.record, Checkpoint))
        self.head = next(said, ROOT)
        """The record that the next one is made on."""

    def append(self, records: list[Record], *, parent: int | None = None) -> bool:
        """Store records after the head, or after another record, and go there. False if someone else was there first."""
        made_on = self.head if parent is None else parent
        self.head = self.log.append(records, parent=made_on)
        self.has_appended = True
        if self.head == self._last + len(records):  # nobody else's are in between, so they need not be read
            before = made_on
            for record in records:
                self._take(Stored(self._last + 1, before, record))
                before = self._last
        else:
            self.read()
        if parent is not None:
            return True
        later = filter(None, map(self._stored.get, range(made_on + 1, self._last + 1)))
        return sum(one.parent == made_on and not isinstance(one.record, Checkpoint) for one in later) == 1

    def note(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint beside the path: the next record is made on the same one as if it were not there."""
        self.log.append([checkpoint], parent=self.head)
        self.read()

    def read(self) -> None:
        """Take in what was appended since, by this process or another."""
        for one in self.log.read(self._last):
            self._take(one)

    def _take(self, one: Stored) -> None:
        self._stored[one.number] = one
        self._last = one.number
        if isinstance(one.record, Checkpoint):
            self._checkpoints[one.parent] = one.record
        else:
            self._has_child.add(one.parent)

    def path(self, head: int | None = None) -> list[Stored]:
        """The records from the first to the head."""
        path: list[Stored] = []
        number = self.head if head is None else head
        while number != ROOT:
            one = self._stored[number]
            path.append(one)
            number = one.parent
        return path[::-1]

    def path_by_checkpoints(self, head: int) -> Iterator[tuple[list[Record], Checkpoint | None]]:
        """The path to the head, cut after each that a checkpoint hangs on: pieces with that checkpoint, the last with none."""
        records: list[Record] = []
        for one in self.path(head):
            records.append(one.record)
            if one.number in self._checkpoints:
                yield records, self._checkpoints[one.number]
                records = []
        yield records, None

    def record_of_message(self, index: int) -> int:
        """The number of the record on the present path that brought a message; IndexError if it has no such message."""
        count = 0
        for one in self.path():
            count += _messages_in(one.record)
            if count > index:
                return one.number
        raise IndexError(index)

    def branches(self) -> list[Branch]:
        """Every end of the tree, the present one among them. An end where nothing was said is only a place one was at."""
        mine = {one.number for one in self.path()}
        counts, found = {ROOT: (0, 0)}, list[Branch]()
        for one in self._stored.values():  # each after the one that it was made on
            shared, messages = counts[one.parent]
            own = _messages_in(one.record)
            shared, messages = counts[one.number] = shared + own * (one.number in mine), messages + own
            is_current = one.number == self.head
            is_end = one.number not in self._has_child and not isinstance(one.record, HeadMoved | Checkpoint)
            if is_end or is_current:
                found.append(Branch(one.number, shared, messages, is_current))
        return found


def _messages_in(record: Record) -> int:
    if isinstance(record, ViewChanged):
        return len(record.appended)
    return int(isinstance(record, MessageAdded))
