"""Once a file was changed, earlier reads of it are out of date."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.rules.superseded_reads import SupersededReads
from redline.values.messages import Message
from tests.rules.folding import check_laws, histories, marked, step, steps

CONTENT = "the content of a file, which is longer than the placeholder " * 2
READ = ("Read", {"file_path": "a.py"}, CONTENT)
EDIT = ("Edit", {"file_path": "/p/a.py", "old_string": "x", "new_string": "y"}, "done")


def test_a_read_before_a_change_goes_when_the_file_is_read_again():
    """By default the model keeps what it knows until it has the new content."""
    rule = SupersededReads(project_root="/p")
    assert marked(rule, steps(READ, EDIT)) == []
    assert marked(rule, steps(READ, EDIT, READ)) == [2]


def test_a_read_before_a_change_goes_at_once_on_request():
    """Without waiting, the change itself makes the read go."""
    rule = SupersededReads(project_root="/p", until_read_again=False)
    assert marked(rule, steps(READ, READ, EDIT, READ)) == [2, 4]


@pytest.mark.parametrize("other", [READ, ("Edit", {"file_path": "b.py"}, "done"), ("Grep", {"pattern": "x"}, "a.py:1")])
def test_what_does_not_change_the_file_leaves_its_reads(other):
    """Another read, a change of another file and a search make nothing outdated."""
    assert marked(SupersededReads(until_read_again=False), steps(READ, other)) == []


def test_a_change_that_failed_changes_nothing():
    """A read stays valid when the edit reported a failure."""
    failed = step(5, "Edit", {"file_path": "a.py"}, "not found", is_error=True)
    assert marked(SupersededReads(until_read_again=False), [*steps(READ), *failed]) == []


def test_a_result_with_several_files_goes_when_all_have_changed():
    """One file that is as shown keeps the whole result."""
    both = ("filesystem-read", {"filePath": ["a.py", "b.py"]}, CONTENT)
    one, other = (("Edit", {"file_path": path}, "done") for path in ("a.py", "b.py"))
    rule = SupersededReads(until_read_again=False)
    assert marked(rule, steps(both, one)) == []
    assert marked(rule, steps(both, one, other)) == [2]


@given(histories(), st.booleans())
def test_laws(messages: list[Message], until_read_again: bool):
    """Errors stay, nothing grows, and twice is once."""
    check_laws(SupersededReads(project_root="/p", until_read_again=until_read_again), messages)
