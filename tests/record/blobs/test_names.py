"""What users import from `redline.record.blobs` in one line."""

import subprocess
import sys

import pytest

import redline.record.blobs
from redline.record.blobs import DirectoryBlobs, MemoryBlobs, open_blobs, recall
from tests.cli.run import SOURCE


@pytest.mark.parametrize("name", redline.record.blobs.__all__)
def test_every_public_name_is_there(name):
    """Each is loaded from its file, once, and no file of the package has its name."""
    assert getattr(redline.record.blobs, name) is getattr(redline.record.blobs, name)
    assert type(getattr(redline.record.blobs, name)) is not type(redline.record.blobs)
    assert name in dir(redline.record.blobs)


def test_they_work_together(tmp_path):
    """What is put is recalled."""
    for blobs in (MemoryBlobs(), open_blobs(tmp_path)):
        assert recall(blobs.put(b"text"), blobs) == "text"
    assert isinstance(open_blobs(tmp_path), DirectoryBlobs)


def test_other_names_are_refused():
    """As for any module."""
    with pytest.raises(AttributeError, match=r"redline\.record\.blobs.*no attribute 'Globs'"):
        redline.record.blobs.Globs  # noqa: B018 - looking for it is what raises


def test_importing_is_light():
    """No client of an object store is loaded before one is opened."""
    script = """
import sys
import redline.record.blobs
from redline.record.blobs import Blobs, DirectoryBlobs, MemoryBlobs, ObjectStoreBlobs, open_blobs, recall, recall_tool
loaded = {"sqlite3", "psycopg", "obstore"} & set(sys.modules)
sys.exit(f"{loaded} was loaded" if loaded else 0)
"""
    # Not measured by `make coverage`, which loads sqlite3 itself.
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(SOURCE)})
