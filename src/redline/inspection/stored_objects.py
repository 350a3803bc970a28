"""Session files in an object store: which there are below an address, and one of them as a file while it is read."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from redline.blobs.bucket import BUCKET_SCHEMES, Bucket
from redline.errors import BlobStoreError, ValidationError

__all__ = ["MOST_OBJECT_BYTES", "downloaded", "is_object_address", "object_address", "objects_below"]

MOST_OBJECT_BYTES = 4 * 1024**3
"""How much of one object is downloaded."""

_PIECE_BYTES = 1 << 20
_LONGEST_NAME = 80
"""In characters, of which each takes four bytes at most: file systems allow 255."""


def is_object_address(place: str) -> bool:
    """Whether it begins as the address of an object store does."""
    scheme, separator, _ = place.partition("://")
    return bool(separator) and scheme.lower() in BUCKET_SCHEMES


def object_address(address: str) -> str:
    """The address spelled in the one way in which a listing spells it."""
    store, key = _parts(address)
    return f"{store}/{quote(key)}"


def objects_below(address: str, suffixes: Collection[str]) -> Iterator[str]:
    """The addresses of the objects below an address whose names end so, in the order of the store."""
    store, prefix = _parts(address)
    bucket = Bucket(store, "Sessions")
    with bucket.reporting(quote(prefix), "listed"):
        for found in bucket.objects(prefix.strip("/") or None):
            if PurePosixPath(found["path"]).suffix in suffixes:
                yield f"{store}/{quote(found['path'])}"


@contextmanager
def downloaded(address: str) -> Iterator[Path]:
    """An object as a file of the same name, which is removed after the block. Who has it open may go on reading."""
    store, key = _parts(address)
    bucket = Bucket(store, "Sessions")
    with tempfile.TemporaryDirectory(prefix="redline-") as folder:
        path = Path(folder, PurePosixPath(key).name[-_LONGEST_NAME:])
        with bucket.reporting(quote(key), "read"), path.open("wb") as file:
            answer = bucket.in_time(lambda: bucket.store.get(key))
            pieces = iter(answer.stream(min_chunk_size=_PIECE_BYTES))
            while (piece := bucket.in_time(lambda: next(pieces, None))) is not None:
                file.write(piece)
                if file.tell() > MOST_OBJECT_BYTES:
                    most = f"{MOST_OBJECT_BYTES >> 20:,} MB"
                    raise BlobStoreError(f"{address} has more than {most}, the most that is downloaded.")
        yield path


def _parts(address: str) -> tuple[str, str]:
    """The store, as `s3://bucket`, and the key in it. What has no bucket, or no name a file can have, is refused."""
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket or "\0" in unquote(key):
        raise ValidationError(f"{address!r} is no address of an object. Write s3://BUCKET/PREFIX, gs://… or az://…")
    return f"{scheme.lower()}://{bucket}", unquote(key)
