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
        return index.is_file() and Path(path).stem in _observed_in_folder(str(index), _last_change(index))
    files = (Path(path), Path(f"{path}-wal")) if kind == "sqlite" else ()
    return conversation in _observed_in_database(place.partition("#")[0], sum(map(_last_change, files)))


def _last_change(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=8)
def _observed_in_folder(index: str, _: int) -> frozenset[str]:
    """Read without opening it as a log, which would tidy its end; the number is another one when the index has changed."""

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
def _observed_in_database(database: str, _: int) -> frozenset[str]:
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
