"""Of each file only the latest reads stay."""

from collections import Counter

import pytest
from hypothesis import given

from redline.errors import ValidationError
from redline.messages import Message
from redline.rules.files import read_paths
from redline.rules.historical_reads import HistoricalReads
from tests.rules.folding import check_laws, histories, marked, marks_of, native, read, seen_in, step, steps

CONTENT = "the content of a file, which is longer than the placeholder"


def reading(*paths: str) -> list:
    return steps(*(("Read", {"file_path": path}, CONTENT) for path in paths))


def test_older_reads_of_a_file_go():
    """Of six reads the oldest goes, whatever the spelling of the path."""
    turns = reading("a.py", "./a.py", "/p/a.py", "src/../a.py", "a.py", "a.py", "b.py")
    assert marked(HistoricalReads(project_root="/p"), turns) == [2]
    assert marked(HistoricalReads(project_root="/elsewhere"), turns) == []


def test_commands_that_show_files_are_reads():
    """`cat` in a terminal counts as a read; a command that does more does not."""
    commands = [("Bash", {"command": command}, CONTENT) for command in ("cat a.py", "cat a.py; ls", "cat a.py")]
    assert marked(HistoricalReads(keep_recent=1), steps(*commands)) == [2]


def test_several_files_in_one_call_go_together_or_not_at_all():
    """A result stays while one of its files has not been read often enough since."""
    both = ("filesystem-read", {"filePath": ["a.py", "b.py"]}, CONTENT)
    one, other = (("filesystem-read", {"filePath": path}, CONTENT) for path in ("a.py", "b.py"))
    assert marked(HistoricalReads(keep_recent=1), steps(both, one)) == []
    assert marked(HistoricalReads(keep_recent=1), steps(both, one, other)) == [2]


def test_the_time_decides_not_the_place():
    """A read that stands later but was made earlier is the older one."""
    payloads = native(reading("a.py", "a.py"))
    payloads[4]["timestamp"] = 0
    assert [mark.index for mark in marks_of(HistoricalReads(keep_recent=1), read(payloads))] == [4]


def test_failed_reads_stay_and_do_not_count():
    """A read that failed neither goes nor pushes another out."""
    turns = [
        *reading("a.py"),
        *step(7, "Read", {"file_path": "a.py"}, "Error: gone " * 9),
        *step(8, "Read", {"file_path": "a.py"}, "no " * 40, is_error=True),
    ]
    assert marked(HistoricalReads(keep_recent=1), turns) == []


def test_named_tools_count_alone():
    """With names given, results of other tools are no reads."""
    assert marked(HistoricalReads(keep_recent=0, tools=frozenset({"other"})), reading("a.py")) == []


def test_the_reason_names_the_file():
    """A mark says which file was read again."""
    (mark,) = marks_of(HistoricalReads(keep_recent=1, project_root="/p"), read(native(reading("/p/a.py", "a.py"))))
    assert mark.because == "1 newer reads of a.py"


def test_a_negative_number_is_refused():
    """Fewer than no reads cannot be kept."""
    with pytest.raises(ValidationError, match="keep_recent"):
        HistoricalReads(keep_recent=-1)


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, twice is once, and no file loses a read it was promised."""
    rule = HistoricalReads(keep_recent=1, project_root="/p", may_grow=False)
    gone = {(mark.index, mark.at) for mark in check_laws(rule, messages)}
    left, there = Counter(), Counter()
    for seen in seen_in(messages):
        if seen.result is not None and not seen.is_error and seen.timestamp_ms is not None:
            paths = read_paths(seen, "/p")
            there.update(paths)
            left.update(paths if (seen.index, seen.part.at) not in gone else ())
    assert all(left[path] >= 1 for path in there)
