"""The records of a log as a tree: the path to the head is the conversation, the other ends are its branches."""

from collections.abc import Iterator
from dataclasses import dataclass

from redline.errors import StaleLogError
from redline.record.log import ROOT, Log, Stored
from redline.record.records import (
    BESIDE,
    Checkpoint,
    HeadMoved,
    MessageAdded,
    Record,
    SessionNamed,
    StrikesApplied,
    messages_in,
)


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
    is_race: bool = False
    """Whether it left the present path because two writers went on from the same record, not by a rewind or a switch."""


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
        """By record, those that were made on it, in order."""
        self.checkpoints: dict[int, Checkpoint] = {}
        """By the record that they hang on."""
        self.is_stale = False
        """Whether the log is no longer what was read."""
        self.races = 0
        """How often a writer went on from a record from which another one had gone on already."""
        self.next_strike = 0
        """Higher than the number of any strike on any branch."""
        self.is_resent = False
        """Whether it holds lists that are sent again and again, which go several ways by themselves."""
        self.read()

    def append(self, records: list[Record], *, parent: int) -> int:
        """Store records after another record; the number of the last is returned."""
        try:
            end = self.log.append(records, parent=parent)
        except StaleLogError:
            self.is_stale = True
            raise
        self.has_appended = True
        if end != self.last + len(records):  # somebody else's are in between, or damaged ones
            self.read()
        if end > self.last:  # what one has written oneself need not be read
            before = parent
            for number, record in enumerate(records, end - len(records) + 1):
                self.take(Stored(number, before, record))
                before = number
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
        if isinstance(one.record, BESIDE):
            if isinstance(one.record, Checkpoint):
                self.checkpoints[one.parent] = one.record
            return
        if isinstance(one.record, StrikesApplied | HeadMoved):
            self.next_strike = max(self.next_strike, *(strike.number + 1 for strike in one.record.strikes), 0)
        self.is_resent |= isinstance(one.record, SessionNamed) or (
            isinstance(one.record, MessageAdded) and one.record.digest != b""
        )
        siblings = self.children.setdefault(one.parent, [])
        siblings.append(one.number)
        self.races += len(siblings) > 1 and self.is_of_race(one.number)

    def is_of_race(self, number: int) -> bool:
        """Whether another record went on from the same one, and neither says that it goes back there on purpose."""
        siblings = self.children[self.stored[number].parent]
        went_on = [one for one in siblings if not isinstance(self.stored[one].record, HeadMoved)]
        return len(went_on) > 1 and number in went_on and not self.is_resent

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
        self.head = self.latest() if head is None else head
        """The record that the next one is made on."""

    @property
    def has_appended(self) -> bool:
        """Whether this process has added anything."""
        return self.records.has_appended

    def latest(self) -> int:
        """The record that was added last, by whomever; those beside the path apart."""
        said = (number for number, one in reversed(self.records.stored.items()) if not isinstance(one.record, BESIDE))
        return next(said, ROOT)

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
            count += len(messages_in(one.record))
            if count > index:
                return one.number
        raise IndexError(index)

    def branches(self) -> list[Branch]:
        """Every end of the tree, the present one among them. An end where nothing was said is only a place one was at."""
        tree, mine = self.records, {one.number for one in self.path()}
        counts, found, of_race = {ROOT: (0, 0)}, list[Branch](), set[int]()
        leads_on = self._with_something_after()
        for one in tree.stored.values():  # each after the one that it was made on
            if isinstance(one.record, BESIDE):
                continue
            number, own = one.number, len(messages_in(one.record))
            shared, messages = counts[one.parent]
            shared, messages = counts[number] = shared + own * (number in mine), messages + own
            if number not in mine and (one.parent in of_race or tree.is_of_race(number)):
                of_race.add(number)
            is_current = number == self.head
            is_end = number not in leads_on and not isinstance(one.record, HeadMoved)
            if is_end or is_current:
                found.append(Branch(number, shared, messages, is_current, number in of_race))
        return found

    def _with_something_after(self) -> set[int]:
        """The records after which something was done, or the head is: more than going there and leaving again."""
        found = set[int]()
        for one in reversed(self.records.stored.values()):
            is_place = isinstance(one.record, HeadMoved) and one.number != self.head and one.number not in found
            if not is_place and not isinstance(one.record, BESIDE):
                found.add(one.parent)
        return found
