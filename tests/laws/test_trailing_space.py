import pytest

from redline.laws.trailing_space import TrailingSpace
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("trailing_space"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(TrailingSpace(), case["messages"], case["format"])
    assert case["format"] in TrailingSpace.rules


def test_the_last_words_are_named():
    """The last part of the last message."""
    said = {"role": "assistant", "content": [{"type": "text", "text": word} for word in ("so", "it is ")]}
    assert broken_by(TrailingSpace(), [{"role": "user", "content": "hi"}, said], "anthropic") == [(1, 1)]
