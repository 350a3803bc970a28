"""Only the latest results are shown."""

from hypothesis import given
from hypothesis import strategies as st

from redline.rules.masked_results import MaskedResults
from redline.values.messages import Message
from tests.rules.folding import check_laws, histories, marked, seen_in, step, steps

LONG = "a result that is longer than the placeholder"


def test_all_but_the_latest_results_go():
    """What tool gave them does not matter."""
    turns = steps(("Read", {"file_path": "a"}, LONG), ("Grep", {"pattern": "x"}, LONG), ("mystery", {}, LONG))
    assert marked(MaskedResults(keep_recent=2), turns) == [2]
    assert marked(MaskedResults(keep_recent=0), turns) == [2, 4, 6]


def test_spared_tools_and_failures_stay_and_take_no_place():
    """They are there besides the latest ones."""
    failed = step(8, "Bash", {"command": "make"}, LONG, is_error=True)
    turns = [*steps(("Read", {"file_path": "a"}, LONG), ("plan", {}, LONG)), *failed]
    assert marked(MaskedResults(keep_recent=1, spared_tools=frozenset({"plan"})), turns) == []
    assert marked(MaskedResults(keep_recent=0, spared_tools=frozenset({"plan"})), turns) == [2]


@given(histories(), st.integers(0, 4))
def test_laws(messages: list[Message], keep_recent: int):
    """Errors stay, nothing grows, twice is once, and the latest results are untouched."""
    gone = {(mark.index, mark.at) for mark in check_laws(MaskedResults(keep_recent), messages)}
    results = [(seen.index, seen.part.at) for seen in seen_in(messages) if seen.result is not None and not seen.is_error]
    assert gone.isdisjoint(results[len(results) - keep_recent :] if keep_recent else ())
