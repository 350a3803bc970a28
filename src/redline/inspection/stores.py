"""Which logs of a store were only observed: their requests were recorded and sent as they came."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from redline.errors import RedlineError
from redline.log import codec
from redline.log.addresses import parse_address
from redline.log.opening import open_log
from redline.log.records import HistoryStarted, Record
from redline.log.store import INDEX

__all__ = ["is_observed"]

_OBSERVED = "observed "
"""How the namespaces of such logs begin; see `redline.wire.editing`."""


def is_observed(place: str) -> bool:
    """Whether the index of the store that a log is in says so."""
    kind, path, conversation = parse_address(place)
    if kind == "file":
        index = Path(path).parent / INDEX
        with suppress(OSError):
            return Path(path).stem in _observed_in_folder(str(index), index.stat().st_mtime_ns)
        return False
    return conversation in _observed_in_database(place.partition("#")[0])


@lru_cache(maxsize=8)
def _observed_in_folder(index: str, _: int) -> frozenset[str]:
    """The index is read without opening it as a log, which would tidy its end; the time says which state of it."""

    def records() -> Iterator[Record]:
        with Path(index).open("rb") as file:
            next(file, None)  # the header
            for line in file:
                with suppress(RedlineError):
                    read = codec.decode(line)
                    if read is not None:
                        yield read.stored.record

    return _observed(records())


@lru_cache(maxsize=8)
def _observed_in_database(database: str) -> frozenset[str]:
    try:
        log = open_log(f"{database}#{INDEX}")
    except RedlineError:
        return frozenset()
    try:
        return _observed(one.record for one in log.read())
    except RedlineError:
        return frozenset()
    finally:
        log.close()


def _observed(records: Iterator[Record]) -> frozenset[str]:
    return frozenset(one.log for one in records if isinstance(one, HistoryStarted) and one.namespace.startswith(_OBSERVED))
