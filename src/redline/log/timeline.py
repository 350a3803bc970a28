"""The records of a log as a tree: the path to the head is the conversation, the other ends are its branches."""

from collections.abc import Iterator
from dataclasses import dataclass

from redline.errors import StaleLogError
from redline.log.log import ROOT, Log, Stored
from redline.log.records import Checkpoint, HeadMoved, MessageAdded, Record, ViewChanged

__all__ = ["Branch", "RecordTree", "Timeline"]


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


class RecordTree:
    """Every record of a log, each after the one that it was made on. Several timelines may share one."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.stored: dict[int, Stored] = {}
        """By number: damage in a log leaves gaps."""
        self.last = ROOT
        self.has_appended = False
        """Whether this process has added anything."""
        self.children: dict[int, list[int]] = {}
        """By record, those that were made on it, checkpoints apart, in order."""
        self.checkpoints: dict[int, Checkpoint] = {}
        """By the record that they hang on."""
        self.is_stale = False
        """Whether the log is no longer what was read."""
        self.read()

    def append(self, records: list[Record], *, parent: int) -> int:
        """Store records after another record; the number of the last is returned."""
        try:
            end = self.log.append(records, parent=parent)
        except StaleLogError:
            self.is_stale = True
            raise
        self.has_appended = True
        if end == self.last + len(records):  # nobody else's are in between, so they need not be read
            before = parent
            for record in records:
                self.take(Stored(self.last + 1, before, record))
                before = self.last
        else:
            self.read()
        return end

    def read(self) -> None:
        """Take in what was appended since, by this process or another."""
        try:
            for one in self.log.read(self.last):
                self.take(one)
        except StaleLogError:
            self.is_stale = True
            raise

    def take(self, one: Stored) -> None:
        """Take in the next record."""
        self.stored[one.number] = one
        self.last = one.number
        if isinstance(one.record, Checkpoint):
            self.checkpoints[one.parent] = one.record
        else:
            self.children.setdefault(one.parent, []).append(one.number)

    def path(self, number: int) -> list[Stored]:
        """The records from the first to this one."""
        path: list[Stored] = []
        while number != ROOT:
            one = self.stored[number]
            path.append(one)
            number = one.parent
        return path[::-1]


class Timeline:
    """Where in the tree of a log's records a conversation is."""

    def __init__(self, records: Log | RecordTree, head: int | None = None) -> None:
        self.records = records if isinstance(records, RecordTree) else RecordTree(records)
        self.log = self.records.log
        said = (number for number, one in reversed(self.records.stored.items()) if not isinstance(one.record, Checkpoint))
        self.head = next(said, ROOT) if head is None else head
        """The record that the next one is made on."""

    @property
    def has_appended(self) -> bool:
        """Whether this process has added anything."""
        return self.records.has_appended

    def append(self, records: list[Record], *, parent: int | None = None) -> bool:
        """Store records after the head, or after another record, and go there. False if someone else was there first."""
        made_on = self.head if parent is None else parent
        self.head = self.records.append(records, parent=made_on)
        return parent is not None or len(self.records.children[made_on]) == 1

    def note(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint beside the path: the next record is made on the same one as if it were not there."""
        self.records.append([checkpoint], parent=self.head)

    def read(self) -> None:
        """Take in what was appended since, by this process or another."""
        self.records.read()

    def path(self, head: int | None = None) -> list[Stored]:
        """The records from the first to the head."""
        return self.records.path(self.head if head is None else head)

    def path_by_checkpoints(self, head: int) -> Iterator[tuple[list[Record], Checkpoint | None]]:
        """The path to the head, cut after each that a checkpoint hangs on: pieces with that checkpoint, the last with none."""
        records: list[Record] = []
        for one in self.path(head):
            records.append(one.record)
            if one.number in self.records.checkpoints:
                yield records, self.records.checkpoints[one.number]
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
        for one in self.records.stored.values():  # each after the one that it was made on
            shared, messages = counts[one.parent]
            own = _messages_in(one.record)
            shared, messages = counts[one.number] = shared + own * (one.number in mine), messages + own
            is_current = one.number == self.head
            is_end = one.number not in self.records.children and not isinstance(one.record, HeadMoved | Checkpoint)
            if is_end or is_current:
                found.append(Branch(one.number, shared, messages, is_current))
        return found


def _messages_in(record: Record) -> int:
    if isinstance(record, ViewChanged):
        return len(record.appended)
    return int(isinstance(record, MessageAdded))
