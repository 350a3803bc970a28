import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.tokens import Exact

EXACT = Exact()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello", 1),
        ("hello world", 2),
        ("<|endoftext|>", 7),
        ("你好，世界", 3),
        ("a\ud800b", 3),
        ("1234567", 3),
    ],
)
def test_known_counts(text: str, count: int) -> None:
    """Counts of o200k_base; a special token spelled out is text, a lone surrogate an unknown character."""
    assert EXACT.count(text) == count


@given(st.text() | st.text(alphabet=st.characters(categories=["Cs", "L"])))
def test_no_text_breaks_it(text: str) -> None:
    """Every text has a count: at most one token for each byte, and none only if it is empty."""
    count = EXACT.count(text)
    assert (count == 0) == (text == "")
    assert count <= 4 * len(text)


def test_other_vocabularies() -> None:
    """The vocabulary is a setting and names the counter."""
    assert Exact("cl100k_base").name == "cl100k_base"
    assert Exact("cl100k_base").count("hello world") == 2


def test_an_unknown_vocabulary_is_refused() -> None:
    """The error says what was asked for and what there is."""
    with pytest.raises(ValidationError, match=r"no vocabulary 'claude'.*o200k_base"):
        Exact("claude")
