from redline import Conversation
from redline.log.log import ROOT, Stored
from redline.log.records import MessageAdded


class Shelf:
    """The least that is a log."""

    def __init__(self):
        self.stored = []

    def append(self, records, *, parent):
        for record in records:
            self.stored.append(Stored(len(self.stored), parent, record))
            parent = len(self.stored) - 1
        return parent

    def read(self, after=ROOT):
        return iter(self.stored[after + 1 :])

    def close(self):
        pass


def test_anything_that_appends_and_reads_is_a_log():
    """A conversation can be kept in a log of one's own, and opened from it again."""
    shelf = Shelf()
    Conversation([{"role": "user", "content": "hi"}], log=shelf)
    assert [type(one.record) for one in shelf.stored] == [MessageAdded]
    assert Conversation(log=shelf).messages == [{"role": "user", "content": "hi"}]
