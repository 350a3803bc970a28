"""Where the work on many sessions is done: in processes of this machine. `ray_engine` does it on a cluster."""

import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Generic, TypeVar

__all__ = ["Results", "in_processes", "process_pool"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Results(Collection[_Item], Generic[_Item, _Result]):
    """Items, one after the other as they are done, and what became of each."""

    def __init__(self, items: Sequence[_Item], done: Iterable[_Item], result_of: Callable[[_Item], _Result]) -> None:
        self._items, self._done = items, done
        self.result_of = result_of
        """Waits for the result of an item. What went wrong with it is raised."""

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._done)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items


@contextmanager
def in_processes(items: Sequence[_Item], job: Callable[[_Item], _Result], jobs: int) -> Iterator[Results[_Item, _Result]]:
    """The job on every item, in as many processes as are of use."""
    if min(jobs, len(items)) <= 1:
        yield Results(items, items, job)
        return
    pool = process_pool(min(jobs, len(items)))
    try:
        waiting = {item: pool.submit(job, item) for item in items}
        yield Results(items, items, lambda item: waiting[item].result())
    finally:
        pool.shutdown(cancel_futures=True)


def process_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that Ctrl-C ends without a word; whoever waits for one is told."""
    # A process with threads must not be forked. Those of obstore are none of Python's, and a fork that reads waits for ever.
    has_threads = threading.active_count() > 1 or "obstore" in sys.modules
    context = get_context("spawn") if has_threads else None
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL))
