import pytest
from hypothesis import given

from redline.formats.reading import kind_of, known_role, read_block, split_data_url, string_at
from redline.testing import json_values
from redline.values.messages import Opaque, Text


def test_strings_only():
    """An id, name or text is taken where it is a string, and nowhere else."""
    assert string_at({"id": "a"}, "id") == "a"
    assert string_at({"id": 7}, "id") is None
    assert string_at({}, "id") is None


def test_roles_by_the_names_of_a_format():
    """A role that the format does not know is none."""
    assert known_role({"role": "model"}, {"model": "assistant"}) == "assistant"
    assert known_role({"role": ["model"]}, {"model": "assistant"}) is None
    assert known_role({}, {"model": "assistant"}) is None


@given(json_values())
def test_any_block_becomes_a_part(block):
    """Whatever stands in a list of blocks is read, and carried as it is where no reader knows it."""
    part = read_block(block, ("content", 0), {})
    assert part == Opaque(kind_of(block), block, ("content", 0))


def test_reader_by_type_and_what_it_refuses():
    """The type picks the reader; a block that its reader refuses is carried as it is."""
    readers = {"text": lambda block, at: Text(block["text"], at) if "text" in block else None}
    assert read_block({"type": "text", "text": "hi"}, ("c",), readers) == Text("hi", ("c",))
    assert read_block({"type": "text"}, ("c",), readers) == Opaque("text", {"type": "text"}, ("c",))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("data:image/png;base64,QUJD", ("image/png", "QUJD")),
        ("data:;base64,QUJD", ("", "QUJD")),
        ("data:text/plain,hello", None),
        ("https://example.com/a.png", None),
    ],
)
def test_data_urls_are_taken_apart(url, expected):
    """Only base64 data URLs hold content."""
    assert split_data_url(url) == expected
