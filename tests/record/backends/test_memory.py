from redline.record.backends.memory import MemoryLog
from redline.record.log import ROOT
from redline.record.records import MessageAdded


def test_records_come_back_in_order_each_after_its_parent():
    """What was appended is read from the beginning, or from after a number; two with one parent are branches."""
    log = MemoryLog()
    last = log.append([MessageAdded(b"a"), MessageAdded(b"b")], parent=ROOT)
    log.append([MessageAdded(b"c")], parent=last)
    log.append([MessageAdded(b"d")], parent=last)
    assert [(one.number, one.parent, one.record.payload) for one in log.read()] == [
        (0, ROOT, b"a"),
        (1, 0, b"b"),
        (2, 1, b"c"),
        (3, 1, b"d"),
    ]
    assert [one.number for one in log.read(after=2)] == [3]
