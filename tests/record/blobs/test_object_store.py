"""Blobs as objects of a bucket, on a real S3-compatible server."""

import contextlib
import socket
import sys
import time
from datetime import timedelta

import pytest
from obstore.store import from_url

from redline.errors import BlobStoreError, ExecutionError, MissingExtraError, ValidationError
from redline.record.blobs import object_store
from redline.record.blobs.blobs import reference_of
from redline.record.blobs.object_store import ObjectStoreBlobs


@pytest.fixture
def blobs(new_object_store):
    return new_object_store()


@pytest.fixture
def raw(blobs, bucket):
    """The bucket without Redline between."""
    return from_url(blobs.address, **bucket.options)


def test_an_object_is_written_once(blobs, raw):
    """To put it again soon after leaves it as it is: the server would say so if it were written."""
    reference = blobs.put(b"a")
    before = raw.head(reference)
    time.sleep(1.1)  # the server's dates have whole seconds
    assert blobs.put(b"a") == reference
    assert raw.head(reference) == before


def test_an_old_object_is_made_new(blobs, raw, monkeypatch):
    """What is put must not look forgotten, so its date is brought up to now."""
    reference = blobs.put(b"a")
    before = raw.head(reference)["last_modified"]
    monkeypatch.setattr(object_store, "_FRESH_MS", 0.0)
    time.sleep(1.1)
    blobs.put(b"a")
    assert raw.head(reference)["last_modified"] > before


def test_a_tampered_object_is_an_error(blobs, raw):
    """Reading checks the hash; the error names the object. Storing the content again mends what is too short."""
    reference = blobs.put(b"content")
    raw.put(reference, b"conTent")
    with pytest.raises(ExecutionError, match=f"{blobs.address}/{reference} is damaged"):
        blobs.get(reference)
    raw.put(reference, b"conte")
    blobs.put(b"content")
    assert blobs.get(reference) == b"content"


def test_stores_of_different_prefixes_are_apart(blobs, raw):
    """And what else lies under the prefix is not listed."""
    raw.put("notes.txt", b"x")
    raw.put(f"deeper/{reference_of(b'x')}", b"x")
    assert list(blobs.list()) == []


def test_entries_say_size_and_date(blobs):
    """As the server has them."""
    references = sorted(blobs.put(content) for content in (b"a", b"bb"))
    first, second = blobs.entries()
    assert [first.reference, second.reference] == references
    assert {first.size_bytes, second.size_bytes} == {1, 2}
    assert abs(first.put_ms - time.time() * 1000) < 60_000


def test_only_what_is_older_is_deleted(blobs):
    """What was put at that time or later stays, as does what is not there."""
    reference = blobs.put(b"a")
    (entry,) = blobs.entries()
    assert not blobs.delete_older(reference, than_ms=entry.put_ms)
    assert blobs.delete_older(reference, than_ms=entry.put_ms + 1)
    assert not blobs.delete_older(reference, than_ms=entry.put_ms + 1)
    assert list(blobs.list()) == []


def test_a_missing_bucket_is_no_missing_blob(bucket):
    """Every use says what to check."""
    blobs = ObjectStoreBlobs("s3://no-such-bucket/x", **bucket.options)
    reference = reference_of(b"a")
    uses = [
        lambda: blobs.put(b"a"),
        lambda: blobs.get(reference),
        lambda: list(blobs.list()),
        lambda: blobs.delete(reference),
    ]
    for use in uses:
        with pytest.raises(ExecutionError, match="Check the bucket"):
            use()


def test_a_server_that_is_not_there_is_one_line(bucket):
    """The error says what could not be done, and not what happened inside."""
    options = {**bucket.options, "endpoint": "http://127.0.0.1:9", "retry_config": {"retry_timeout": timedelta(seconds=0)}}
    with pytest.raises(ExecutionError, match="cannot be stored") as caught:
        ObjectStoreBlobs("s3://redline-test", **options).put(b"a")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("address", "options"), [("s3://", {}), ("s3://b", {"endpiont": "x"}), ("s3://b", {"endpoint": 3})])
def test_a_wrong_address_or_option_is_refused(address, options):
    """When the store is opened, not when it is first used."""
    with pytest.raises(ValidationError, match="cannot be opened"):
        ObjectStoreBlobs(address, **options)


def test_without_the_extra_the_error_names_it(monkeypatch):
    """The library is loaded only where it is used."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "obstore"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"redline-context\[s3\]"):
        ObjectStoreBlobs("s3://b")


@contextlib.contextmanager
def silent_server(*, is_accepting):
    """A server that takes connections and never says a word; or does not even take them, once its queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=100 if is_accepting else 0) as server:
        waiting = [socket.socket() for _ in range(0 if is_accepting else 4)]
        for one in waiting:
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        for one in waiting:
            one.close()


@pytest.mark.parametrize("is_accepting", [True, False])
def test_a_server_that_does_not_answer_is_waited_for_only_so_long(bucket, is_accepting):
    """Each use ends with an error that says so; without a limit it would be three minutes (R11)."""
    with silent_server(is_accepting=is_accepting) as endpoint:
        blobs = ObjectStoreBlobs("s3://redline-test", max_seconds=0.5, **{**bucket.options, "endpoint": endpoint})
        reference = reference_of(b"a")
        uses = [
            lambda: blobs.put(b"a"),
            lambda: blobs.get(reference),
            lambda: blobs.delete(reference),
            lambda: list(blobs.list()),
        ]
        for use in uses:
            began = time.monotonic()
            with pytest.raises(BlobStoreError, match=r"s3://redline-test/.* cannot be .*Check the bucket"):
                use()
            assert time.monotonic() - began < 30


@pytest.mark.parametrize("max_seconds", [0, -1, float("nan"), float("inf"), "ten", None, True])
def test_a_limit_that_is_none_is_refused(max_seconds):
    """When the store is opened (R11)."""
    with pytest.raises(ValidationError, match="max_seconds must be a number of seconds above 0"):
        ObjectStoreBlobs("s3://b", max_seconds=max_seconds)
