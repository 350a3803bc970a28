"""A bucket of an object store (S3, Google Cloud Storage, Azure), opened by its address; what takes too long is an error."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redline.errors import BlobStoreError, MissingExtraError, ValidationError

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

__all__ = ["BUCKET_SCHEMES", "Bucket"]

BUCKET_SCHEMES = ("s3", "gs", "az")

_Result = TypeVar("_Result")


class Bucket:
    """Credentials, region and endpoint come from the provider's usual environment variables; options go before those."""

    def __init__(self, address: str, what: str, *, max_seconds: float = 10.0, options: dict[str, Any] | None = None) -> None:
        self.address = address.rstrip("/")
        self._max_seconds = max_seconds
        self.store = _open_store(address, what, max_seconds, options or {})

    def in_time(self, work: Callable[[], _Result]) -> _Result:
        """What the work gives. A thread does it, which one can stop waiting for; obstore ends it within a minute."""
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
