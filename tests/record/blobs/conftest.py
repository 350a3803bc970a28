"""The stores that the tests of blobs try out."""

import itertools

import pytest

from redline.record.blobs.blobs import MemoryBlobs
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.blobs.object_store import ObjectStoreBlobs
from tests.object_server import object_server


@pytest.fixture(scope="session")
def bucket():
    """A bucket on a server that runs while the tests do."""
    with object_server() as found:
        yield found


@pytest.fixture(scope="session")
def new_object_store(bucket):
    """Makes an empty object store."""
    numbers = itertools.count()
    return lambda: ObjectStoreBlobs(f"{bucket.address}/store-{next(numbers)}", **bucket.options)


@pytest.fixture(scope="session", params=["memory", "directory", "object_store"])
def new_blobs(request, tmp_path_factory):
    """Makes an empty store, of each kind in turn."""
    match request.param:
        case "memory":
            return MemoryBlobs
        case "directory":
            return lambda: DirectoryBlobs(tmp_path_factory.mktemp("store") / "blobs")
    return request.getfixturevalue("new_object_store")
