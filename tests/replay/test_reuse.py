from itertools import pairwise

import pytest

from bench.corpus import recorded_files
from bench.reuse import ResultUse, measured_uses, shares_by_age
from redline.errors import ValidationError
from redline.replay.reuse import AGES, CHANCES, KINDS, chance_of_use, kind_of
from redline.tools import DEFAULT
from redline.values.messages import ToolCall
from tests.corpus import needs_corpus


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Bash", {"command": "make"}, "terminal"),
        ("Bash", {"command": "cat a.py"}, "file read"),
        ("Bash", {"command": "make && cat a.py"}, "terminal"),
        ("Read", {"file_path": "a.py"}, "file read"),
        ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "edit"),
        ("Write", {"file_path": "a.py", "content": "a"}, "edit"),
        ("Grep", {"pattern": "a"}, "search"),
        ("Glob", {"pattern": "*.py"}, "search"),
        ("TodoWrite", {"todos": []}, "other"),
        ("nobody_knows_it", {"path": "a.py"}, "other"),
    ],
)
def test_the_kind_is_what_the_call_does(name, arguments, kind):
    """Whatever the tool is called; a command that only shows a file is a read of it."""
    assert kind_of(ToolCall("c", name, arguments)) == kind


def test_tools_of_ones_own_have_a_kind():
    """As the book says."""
    assert kind_of(ToolCall("c", "mine", {"where": "a.py"}), DEFAULT.with_tool("mine", reads="where")) == "file read"


def test_every_kind_has_a_chance_for_every_age():
    """Shares, smaller with age as far as what was measured is not too little to tell."""
    assert tuple(CHANCES) == KINDS
    for chances in CHANCES.values():
        assert len(chances) == len(AGES)
        assert all(0 <= later <= earlier + 0.005 for earlier, later in pairwise(chances))


def test_between_two_ages_the_younger_one_counts():
    """What is 7 requests old is at least 5 old; nothing is younger than new."""
    assert chance_of_use("file read", 7) == chance_of_use("file read", 5) > chance_of_use("file read", 10)
    assert chance_of_use("search", 1_000) == CHANCES["search"][-1]
    assert chance_of_use("edit", -1) == chance_of_use("edit", 0)


def test_an_unknown_kind_is_refused():
    """The error names those that are known."""
    with pytest.raises(ValidationError, match="terminal, file read"):
        chance_of_use("magic", 0)


def test_shares_are_of_all_or_of_those_that_got_so_old():
    """Two reads, of which one was used at age 3 and lived to 6; the other one was sent once."""
    found = [ResultUse("file read", 10, 3, 6), ResultUse("file read", 10, -1, 0)]
    assert shares_by_age(found, of_aged=False)["file read"] == (0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert shares_by_age(found, of_aged=True)["file read"] == (0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)


@needs_corpus
def test_the_table_is_what_was_measured():
    """The numbers are those of the recorded sessions, which may have become a few more."""
    found = [one for path in recorded_files() for one in measured_uses(path)]
    for kind, chances in shares_by_age(found, of_aged=True).items():
        assert chances == pytest.approx(CHANCES[kind], abs=0.04)
