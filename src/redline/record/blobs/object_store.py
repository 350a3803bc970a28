"""Blobs as objects of a bucket: S3, Google Cloud Storage or Azure, written once and checked when they are read."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redline.errors import BlobStoreError, MissingExtraError, ValidationError
from redline.record.blobs.blobs import StoredBlob, check_content, check_reference, is_reference, reference_of, unknown_reference

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

_DAY_SECONDS = 86_400

_FRESH_MS = 600_000.0
"""An object older than this is written again when it is put: nothing refers to it yet, and it must not look old."""
_LONG_WAIT_SECONDS = 1.0
_DOWN_SECONDS = 60.0
"""A failure that took that long is remembered for this long: every request would wait as long again."""
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")
"""What S3, Azure and Google say."""


class ObjectStoreBlobs:
    """Keeps blobs in a bucket, under a prefix. Several machines may share it.

    The address is `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. Credentials, region and endpoint come
    from the provider's usual environment variables; options, named as obstore names them, go before those.

    A server that is down or slow is a BlobStoreError after `max_seconds`, retries included; a list of all blobs takes that long
    at most for each of its pages.
    """

    def __init__(self, address: str, *, max_seconds: float = 10.0, **options: object) -> None:
        if isinstance(max_seconds, bool) or not isinstance(max_seconds, int | float) or not 0 < max_seconds < _DAY_SECONDS:
            raise ValidationError(f"max_seconds must be a number of seconds above 0, not {max_seconds!r:.40}.")
        self.address = address.rstrip("/")
        self._bucket = Bucket(address, "Blobs", max_seconds=max_seconds, options=options)
        self._store = self._bucket.store
        self._failed_at = float("-inf")
        """When the bucket was last waited for in vain."""

    def put(self, content: bytes) -> str:
        """Store the bytes, unless they are there already. A bucket that made one wait in vain is left alone for a minute."""
        from obstore.exceptions import AlreadyExistsError

        reference = reference_of(content)
        began = time.monotonic()

        def write() -> None:
            try:
                self._store.put(reference, content, mode="create")
            except AlreadyExistsError:  # left alone if it is as long as it should be, and too new to be taken for forgotten
                entry = self._entry(reference)
                if entry is None or entry.size_bytes != len(content) or time.time() * 1000 - entry.put_ms >= _FRESH_MS:
                    self._store.put(reference, content)

        with self._bucket.reporting(reference, "stored"):
            if began - self._failed_at < _DOWN_SECONDS:
                again = _DOWN_SECONDS - (began - self._failed_at)
                raise TimeoutError(f"it did not answer, and is asked again in {again:.0f} seconds")
            try:
                self._bucket.in_time(write)
            except BaseException:
                if time.monotonic() - began >= _LONG_WAIT_SECONDS:
                    self._failed_at = time.monotonic()
                raise
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes, if they are what the reference says."""
        check_reference(reference)
        content = None
        with self._bucket.reporting(reference, "read"), _absence_allowed():
            content = self._bucket.in_time(lambda: bytes(self._store.get(reference).bytes()))
        if content is None:
            raise unknown_reference(reference)
        check_content(reference, content, f"{self.address}/{reference}")
        return content

    def list(self) -> Iterator[str]:
        """The references of all that is stored, in order."""
        for entry in self.entries():
            yield entry.reference

    def entries(self) -> Iterator[StoredBlob]:
        """All that is stored, in the order of the references."""
        with self._bucket.reporting("", "listed"):
            found = [_entry(meta) for meta in self._bucket.objects() if is_reference(meta["path"])]
        yield from sorted(found, key=lambda entry: entry.reference)

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""
        check_reference(reference)
        with self._bucket.reporting(reference, "deleted"), _absence_allowed():
            self._bucket.in_time(lambda: self._store.delete(reference))

    def delete_older(self, reference: str, *, than_ms: float) -> bool:
        """Forget the bytes if they were last put before that time; whether they were forgotten.

        Stores cannot delete on a condition: what is put in the moment between the look at the date and the delete is lost.
        """
        check_reference(reference)
        with self._bucket.reporting(reference, "deleted"):
            entry = self._bucket.in_time(lambda: self._entry(reference))
        if entry is None or entry.put_ms >= than_ms:
            return False
        self.delete(reference)
        return True

    def _entry(self, reference: str) -> StoredBlob | None:
        with _absence_allowed():
            return _entry(self._store.head(reference))
        return None


def _entry(meta: "ObjectMeta") -> StoredBlob:
    return StoredBlob(meta["path"], meta["size"], meta["last_modified"].timestamp() * 1000)


@contextlib.contextmanager
def _absence_allowed() -> Iterator[None]:
    """The object may be missing; its bucket may not."""
    try:
        yield
    except FileNotFoundError as problem:
        if any(words in str(problem) for words in _NO_BUCKET):
            raise


# --- buckets

BUCKET_SCHEMES = ("s3", "gs", "az")

_Result = TypeVar("_Result")


class Bucket:
    """Credentials, region and endpoint come from the provider's usual environment variables; options go before those."""

    def __init__(self, address: str, what: str, *, max_seconds: float = 10.0, options: dict[str, Any] | None = None) -> None:
        self.address = address.rstrip("/")
        self._max_seconds = max_seconds
        self.store = _open_store(address, what, max_seconds, options or {})

    def in_time(self, work: Callable[[], _Result]) -> _Result:
        """Do work in a thread, and give its result; after the time limit obstore ends the thread within a minute."""
        future: Future[_Result] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as problem:
                future.set_exception(problem)

        threading.Thread(target=run, name="redline-blobs", daemon=True).start()
        try:
            return future.result(self._max_seconds)
        except TimeoutError as problem:
            raise TimeoutError(f"no answer within {self._max_seconds:g} seconds") from problem

    def objects(self, prefix: str | None = None) -> "Iterator[ObjectMeta]":
        """All that is stored, or what is below a prefix, as the store lists it: page by page."""
        pages = iter(self.in_time(lambda: self.store.list(prefix=prefix)))
        while (page := self.in_time(lambda: next(pages, None))) is not None:
            yield from page

    @contextlib.contextmanager
    def reporting(self, name: str, done: str) -> Iterator[None]:
        """What goes wrong with an object in the block is a BlobStoreError that names it."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as problem:
            raise BlobStoreError(
                f"{self.address}/{name} cannot be {done}: {_in_short(problem)}. "
                "Check the bucket, the credentials and the connection."
            ) from problem


def _open_store(address: str, what: str, max_seconds: float, options: dict[str, Any]) -> "ObjectStore":
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as problem:
        raise MissingExtraError(f"{what} in {address}", "s3") from problem
    try:
        retries = {"retry_timeout": timedelta(seconds=max_seconds), **options.get("retry_config", {})}
        # The options of three providers have three types; obstore itself says which of them it does not know.
        return cast("ObjectStore", cast("Any", from_url)(address, **{**options, "retry_config": retries}))
    except (BaseError, TypeError, ValueError) as problem:
        raise ValidationError(
            f"{address} cannot be opened: {_in_short(problem)}. Check the address and the options, named as obstore names them."
        ) from problem


def _in_short(problem: Exception) -> str:
    """The first line; obstore adds a page about its own insides."""
    return str(problem).partition("\n")[0].rstrip(" .:")[:300]
