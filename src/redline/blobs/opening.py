"""Blobs by their address: a directory, or a bucket of an object store."""

import re
from os import PathLike, fspath
from urllib.parse import unquote, urlsplit

from redline.blobs.blobs import Blobs, LastingBlobs
from redline.blobs.bucket import BUCKET_SCHEMES
from redline.blobs.directory import DirectoryBlobs
from redline.blobs.object_store import ObjectStoreBlobs
from redline.errors import ValidationError
from redline.values.checks import check_methods

__all__ = ["make_blobs", "open_blobs"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def make_blobs(given: Blobs | str | PathLike[str] | None) -> Blobs | None:
    """Blobs as a caller gives them: themselves, or their address; None for none."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        return open_blobs(given)
    check_methods("blobs", given, "put", "get")
    return given


def open_blobs(address: str | PathLike[str], *, max_seconds: float = 10.0, **options: object) -> LastingBlobs:
    """The blobs at an address: a directory's path, or `s3://bucket/prefix`, `gs://…`, `az://…`.

    Buckets need the extra `s3`. They take their settings from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
    `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, …) and from options, named as obstore names them. One that does not
    answer within `max_seconds` is a BlobStoreError.
    """
    text = fspath(address) if isinstance(address, str | PathLike) else None
    if not isinstance(text, str):
        raise ValidationError(f"Blobs are at a directory's path or at s3://bucket/prefix, not at {type(address).__name__}.")
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else None
    if scheme in BUCKET_SCHEMES:
        return ObjectStoreBlobs(text, max_seconds=max_seconds, **options)
    if scheme not in (None, "file"):
        known = ", ".join(f"{name}://" for name in (*BUCKET_SCHEMES, "file"))
        raise ValidationError(f"There are no blobs of the kind {scheme}://. Known are a directory's path, {known}.")
    if options:
        raise ValidationError(f"A directory takes no options, but {text} was given {', '.join(options)}.")
    return DirectoryBlobs(unquote(urlsplit(text).path) if scheme else text)
