from redline.record.backends.memory import MemoryLog
from redline.record.log import ROOT
from redline.record.records import HeadMoved, MessageAdded, ViewChanged
from redline.record.timeline import Timeline


def said(text):
    return MessageAdded(text.encode())


def payloads(timeline, head=None):
    return [one.record.payload.decode() for one in timeline.path(head) if isinstance(one.record, MessageAdded)]


def test_path_is_what_led_to_the_head():
    """Records of other branches are not on it."""
    timeline = Timeline(MemoryLog())
    timeline.append([said("a"), said("b")])
    timeline.append([HeadMoved()], parent=0)
    timeline.append([said("c")])
    assert payloads(timeline) == ["a", "c"]
    assert [(branch.after, branch.messages, branch.is_current) for branch in timeline.branches()] == [
        (1, 2, False),
        (2, 2, True),
    ]


def test_two_that_go_on_from_one_place_make_a_branch():
    """The second is told, and neither is lost."""
    log = MemoryLog()
    first, second = Timeline(log), Timeline(log)
    assert first.append([said("a")])
    assert not second.append([said("b")])
    assert [branch.messages for branch in first.branches()] == [1]
    first.read()
    assert len(first.branches()) == 2
    assert payloads(first) == ["a"]
    assert payloads(second) == ["b"]
    assert payloads(Timeline(log)) == ["b"]


def test_record_that_brought_a_message():
    """Messages are counted along the path, those that an operation stored included."""
    timeline = Timeline(MemoryLog())
    timeline.append([said("a"), ViewChanged((), (b"b", b"c")), said("d")])
    assert [timeline.record_of_message(index) for index in range(4)] == [0, 1, 1, 2]


def test_empty_log_stands_at_the_root():
    """Nothing was said: there is no path and no branch."""
    timeline = Timeline(MemoryLog())
    assert (timeline.head, timeline.path(), timeline.branches()) == (ROOT, [], [])


def test_branch_of_a_race_is_marked():
    """It left the present path where two went on from the same record; a rewind is none."""
    log = MemoryLog()
    first, second = Timeline(log), Timeline(log)
    first.append([said("a")])
    first.append([said("b")])
    second.append([said("c")])
    second.append([said("d")])
    second.append([HeadMoved()], parent=second.head)
    second.append([HeadMoved()], parent=2)
    second.append([said("e")])
    found = {payloads(second, branch.number)[-1]: branch.is_race for branch in second.branches()}
    assert found == {"b": True, "d": False, "e": False}
    assert second.records.races == 1
    assert [branch.is_race for branch in Timeline(log).branches()] == [True, False, False]


def test_branch_that_was_visited_and_left_is_still_one():
    """Going to the end of a branch, and from there to another, hides neither."""
    timeline = Timeline(MemoryLog())
    timeline.append([said("a"), said("b")])
    timeline.append([HeadMoved()], parent=0)
    timeline.append([said("c")])
    ends = [branch.number for branch in timeline.branches()]
    for end in (*ends, *ends):
        timeline.append([HeadMoved()], parent=end)
    assert sorted(payloads(timeline, branch.number)[-1] for branch in timeline.branches()) == ["b", "c"]
