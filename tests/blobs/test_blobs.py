"""How a blob is named."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.blobs.blobs import check_reference, is_reference, reference_of, unknown_reference
from redline.errors import ValidationError


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
