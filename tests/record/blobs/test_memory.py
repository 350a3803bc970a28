"""Blobs in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.blobs import Blobs, MemoryBlobs


@given(st.sets(st.binary()))
def test_what_is_put_is_found(contents: set[bytes]):
    """Under the reference that `put` gave, and in the list of all."""
    blobs: Blobs = MemoryBlobs()
    references = {blobs.put(content): content for content in contents}
    assert {reference: blobs.get(reference) for reference in blobs.list()} == references


def test_the_same_bytes_are_stored_once():
    """They have the same reference."""
    blobs = MemoryBlobs()
    assert blobs.put(b"a") == blobs.put(b"a")
    assert len(list(blobs.list())) == 1


def test_what_is_deleted_is_gone():
    """To delete it again does nothing."""
    blobs = MemoryBlobs()
    reference = blobs.put(b"a")
    blobs.delete(reference)
    blobs.delete(reference)
    with pytest.raises(ExecutionError, match=reference):
        blobs.get(reference)


def test_what_is_no_reference_is_refused():
    """Before it is looked for."""
    with pytest.raises(ValidationError, match="no reference"):
        MemoryBlobs().get("x")
    with pytest.raises(ValidationError, match="no reference"):
        MemoryBlobs().delete("x")
