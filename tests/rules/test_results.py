"""What rules ask of a result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.rules.results import is_replaced, line_count, long_texts, may_replace, plain_words, size_chars
from redline.values.messages import Media, Opaque, Text, ToolResult
from redline.values.words import DOCUMENTS, EN


def result(*parts: Text | Media | Opaque) -> ToolResult:
    return ToolResult("c", parts, at=("content", 0))


def test_a_result_is_replaced_only_by_something_shorter():
    """Unless growing is allowed; media count with their length."""
    assert may_replace(result(Text("12345")), "1234", EN)
    assert not may_replace(result(Text("12345")), "12345", EN)
    assert may_replace(result(Text("12345")), "123456", EN, may_grow=True)
    assert may_replace(result(Text("1"), Media("image/png", "2345")), "1234", EN)


def test_placeholders_are_not_replaced():
    """Neither the rule's own nor any other."""
    assert is_replaced(result(Text("own")), EN, "own")
    assert is_replaced(result(Text(EN.masked_result)), DOCUMENTS)
    assert not is_replaced(result(Text("own"), Text("more")), EN, "own")


def test_size_counts_everything():
    """Words, media, and unknown blocks as their JSON."""
    assert size_chars(result(Opaque("x", {"n": 10**5000}))) == 0  # no JSON
    assert size_chars(result(Text("123"), Media("image/png", "12"), Opaque("x", {"a": 1}))) == 3 + 2 + 7


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((Text("a", ("content", 0, "content")),), "a"),
        ((Text("a", ("content",)), Media("image/png", "x", at=("images", 0))), "a"),
        ((Text("a", ("content", 0, "content", 0)),), None),
        ((Text("a"), Text("b")), None),
        ((), None),
    ],
)
def test_plain_words_are_one_string(parts, expected):
    """A list of blocks is something else, even with one text in it."""
    assert plain_words(result(*parts)) == expected


def test_long_words_beside_media_are_marked_alone():
    """Unless they stand where the result stands, for then what is beside them would go too."""
    image = Media("image/png", "x")
    inner, outer = Text("a" * 9, ("content", 0, "content", 0)), Text("a" * 9, ("content", 0))
    assert long_texts(result(inner, image), 9) == [inner]
    assert long_texts(result(outer, image), 9) == []
    assert long_texts(result(inner, image), 10) == []
    assert long_texts(result(outer), 9) == [result(outer)]


@given(st.text("a\n"))
def test_lines_are_counted_as_editors_do(text: str):
    """A line break at the end begins no new line."""
    assert line_count(text) == len(text.splitlines())
