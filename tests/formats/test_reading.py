import pytest

from redline.formats.reading import input_as_object, kind_of, known_role, split_data_url, string_at


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


@pytest.mark.parametrize(
    ("held", "wanted"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("ls", {"input": "ls"}), (None, {}), ("", {}), ([1], {"input": [1]})],
)
def test_input_as_an_object(held, wanted):
    """An object stays, its JSON text is parsed, anything else is under `input`."""
    assert input_as_object(held) == wanted


def test_types_of_blocks():
    """What names no type, or is no block, is unknown."""
    assert kind_of({"type": "text"}) == "text"
    assert [kind_of(block) for block in ({}, {"type": 7}, "text", None)] == ["unknown"] * 4


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
