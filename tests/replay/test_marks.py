import pytest

from redline.replay.marks import MARK_SETS, due_marks, result_marks, rules_of
from redline.rules import make_rules
from redline.rules.presets import PRESET_RULES
from redline.values.messages import Text
from redline.values.words import EN
from tests.replay.recorded import recorded, step

LONG = "x = 1  # some line of code\n" * 30


def reads(count, *, path="/p/a.py"):
    turns = [("user", (Text("go"),))]
    for number in range(count):
        turns += step(number, "Read", {"file_path": path}, LONG)
    return [*turns, ("assistant", (Text("done"),))]


def test_a_mark_is_due_with_the_request_that_makes_it_so():
    """The sixth read of a file marks the first, before the request that shows the sixth."""
    [mark] = due_marks(recorded(reads(6)), rules_of("spec"))
    assert (mark.position, mark.request) == (2, 6)
    assert mark.saving == pytest.approx(result_marks(recorded(reads(6)))[0].saving, rel=0.2)


def test_time_makes_marks_due():
    """Command output goes out of date while nothing is said about it."""
    turns = [("user", (Text("go"),))]
    for number in range(8):
        turns += step(number, "Bash", {"command": "make"}, LONG)
    session = recorded([*turns, ("assistant", (Text("done"),))], every_ms=120_000.0)
    marks = due_marks(session, rules_of("spec"))
    assert [mark.position for mark in marks] == [2, 4, 6]
    for mark in marks:
        age_ms = session.requests[mark.request].time_ms - session.messages[mark.position].timestamp_ms
        assert age_ms > 900_000


def test_an_edit_supersedes_a_read():
    """With the second set a read may go once the file was changed."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, LONG)]
    turns += step(1, "Edit", {"file_path": "/p/a.py", "old_string": "1", "new_string": "2"}, "ok")
    session = recorded([*turns, ("assistant", (Text("done"),))])
    assert not due_marks(session, rules_of("spec"))
    assert [(mark.position, mark.request) for mark in due_marks(session, rules_of("superseded"))] == [(2, 2)]


def test_masking_leaves_the_last_ten():
    """Each result beyond the tenth marks the oldest."""
    assert [mark.position for mark in due_marks(recorded(reads(12)), rules_of("masking"))] == [2, 4]


def test_a_new_window_is_a_new_view():
    """What was read before a compaction does not count after it."""
    assert not due_marks(recorded(reads(6), compact_before=[5]), rules_of("spec"))


def test_every_set_is_known_by_name():
    """The names the replay compares have rules."""
    assert [len(rules_of(name)) for name in MARK_SETS] == [2, 3, 1]


@pytest.mark.parametrize("preset", PRESET_RULES)
def test_a_preset_is_a_set_of_marks(preset):
    """Its rules as they ship, with paths that start from where the session was."""
    assert rules_of(preset, "/p") == make_rules(PRESET_RULES[preset], words=EN, project_root="/p")


def test_results_are_due_when_first_sent():
    """Every result is there, with the request that sends it."""
    assert [(mark.position, mark.request) for mark in result_marks(recorded(reads(3)))] == [(2, 1), (4, 2), (6, 3)]
