"""Blobs by their address."""

import pytest

from redline.errors import ValidationError
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.blobs.object_store import ObjectStoreBlobs
from redline.record.blobs.opening import open_blobs


def test_a_path_is_a_directory(tmp_path):
    """As a text, as a path, or as the address of a file."""
    for address in (tmp_path / "a b", str(tmp_path / "a b"), (tmp_path / "a b").as_uri()):
        blobs = open_blobs(address)
        assert isinstance(blobs, DirectoryBlobs)
        assert blobs.path == tmp_path / "a b"


def test_a_bucket_takes_options(bucket):
    """Named as obstore names them."""
    blobs = open_blobs(f"{bucket.address}/options", **bucket.options)
    assert blobs.get(blobs.put(b"a")) == b"a"


def test_a_bucket_takes_its_settings_from_the_environment(bucket, monkeypatch):
    """The provider's usual variables."""
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    blobs = open_blobs(f"{bucket.address}/environment")
    assert blobs.get(blobs.put(b"a")) == b"a"


@pytest.mark.parametrize(
    ("address", "options"), [("gs://bucket/x", {}), ("az://container/x", {"account_name": "a", "account_key": "YQ=="})]
)
def test_other_providers_are_known(address, options):
    """Nothing is sent before the first use."""
    assert isinstance(open_blobs(address, **options), ObjectStoreBlobs)


def test_other_addresses_are_refused():
    """The error names the kinds there are."""
    with pytest.raises(ValidationError, match="s3://, gs://, az://"):
        open_blobs("ftp://host/x")


def test_a_directory_takes_no_options(tmp_path):
    """A misspelt address would otherwise go unnoticed."""
    with pytest.raises(ValidationError, match="endpoint"):
        open_blobs(tmp_path, endpoint="http://x")
