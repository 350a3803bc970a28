"""Blobs behind a proxy: a result that was stored is not stored again each time its request comes again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator

from redline.blobs.blobs import Blobs, reference_of

__all__ = ["StoredResults"]

_KNOWN_S = 300.0
"""For so long; whoever tidies up leaves what is younger than that alone."""
_MOST_KNOWN = 10_000


class StoredResults:
    """Blobs that remember what they stored lately.

    An edit has a tenth of a second, and a bucket often takes longer. The edit is then given up, but its result gets stored; the
    next request finds it here and is edited in time.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, content: bytes) -> str:
        """Store the bytes, unless that was done lately."""
        reference = reference_of(content)
        if time.monotonic() - self._known.get(reference, float("-inf")) < _KNOWN_S:
            return reference
        self._blobs.put(content)
        with self._lock:
            self._known[reference] = time.monotonic()
            self._known.move_to_end(reference)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes."""
        return self._blobs.get(reference)

    def list(self) -> Iterator[str]:
        """The references of all that is stored."""
        return self._blobs.list()

    def delete(self, reference: str) -> None:
        """Forget the bytes."""
        self._known.pop(reference, None)
        self._blobs.delete(reference)
