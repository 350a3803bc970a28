"""How a blob is named, and what every store of blobs does."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.blobs import check_content, check_reference, is_reference, reference_of, unknown_reference
from tests.effort import tries


@given(st.binary())
def test_the_reference_is_the_hash(content: bytes):
    """SHA-256, in hexadecimal digits."""
    assert reference_of(content) == hashlib.sha256(content).hexdigest()
    check_reference(reference_of(content))


@pytest.mark.parametrize("text", ["", "../etc/passwd", "0" * 63, "0" * 65, "G" * 64, "A" * 64, "0" * 64 + "\n"])
def test_other_texts_are_none(text):
    """The error says where to find it."""
    assert not is_reference(text)
    with pytest.raises(ValidationError, match="stub"):
        check_reference(text)


def test_the_error_for_an_unknown_one_says_what_to_do():
    """Copy it again, or make the call again."""
    assert "made again" in str(unknown_reference("0" * 64))


@given(st.binary(), st.binary())
def test_content_is_what_its_reference_says(content: bytes, other: bytes):
    """Other content is refused, and the error says where it is."""
    check_content(reference_of(content), content, "here")
    if other != content:
        with pytest.raises(ExecutionError, match="here is damaged"):
            check_content(reference_of(content), other, "here")


contents = st.sampled_from([b"", b"a", b"b", "结果".encode() * 100]) | st.binary(max_size=40)
steps = st.lists(st.tuples(st.sampled_from(["put", "put", "get", "delete", "list"]), contents), max_size=12)


@tries(40)
@given(steps=steps)
def test_every_store_does_the_same(new_blobs, steps):
    """Whatever is put, read, listed and deleted in whatever order: a store is a dictionary from hash to bytes."""
    blobs, expected = new_blobs(), {}
    for step, content in steps:
        reference = reference_of(content)
        match step:
            case "put":
                assert blobs.put(content) == reference
                expected[reference] = content
            case "get" if reference in expected:
                assert blobs.get(reference) == content
            case "get":
                with pytest.raises(ExecutionError, match=f"Nothing is stored under the reference {reference}"):
                    blobs.get(reference)
            case "delete":
                blobs.delete(reference)
                expected.pop(reference, None)
        assert list(blobs.list()) == sorted(expected)
    assert {reference: blobs.get(reference) for reference in blobs.list()} == expected


@pytest.mark.parametrize("reference", ["../secret", "/etc/passwd", "secret", "", "0" * 63])
def test_what_is_no_reference_is_refused_by_every_store(new_blobs, reference):
    """Before anything is looked for."""
    blobs = new_blobs()
    for use in (blobs.get, blobs.delete):
        with pytest.raises(ValidationError, match="no reference"):
            use(reference)


def test_large_content_survives_in_every_store(new_blobs):
    """Larger than what is uploaded in one piece."""
    blobs, content = new_blobs(), bytes(range(256)) * 50_000
    assert blobs.get(blobs.put(content)) == content
    assert blobs.put(content) == reference_of(content)
