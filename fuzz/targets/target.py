"""A target: where cases go in, what real inputs of it look like, and what is tried with each case."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from fuzz.sandbox import Sandbox

__all__ = ["Target", "Trial", "each_case"]

Trial = Callable[[bytes], None]
"""Tries a case. It may raise a RedlineError; whatever else it raises is a finding."""


@dataclass(frozen=True, slots=True)
class Target:
    """One way in."""

    name: str
    make_seeds: Callable[[], Sequence[bytes]]
    """Real inputs, which cases are changed copies of."""
    open: Callable[[Sandbox], AbstractContextManager[Trial]]
    """Prepares what all cases of a process share."""
    programs: tuple[str, ...] = ()
    """Programs that a case may start, by a part of their command."""


def each_case(trial: Callable[[Sandbox, bytes], None]) -> Callable[[Sandbox], AbstractContextManager[Trial]]:
    """For a target whose cases share nothing."""

    @contextmanager
    def opened(sandbox: Sandbox) -> Iterator[Trial]:
        yield lambda case: trial(sandbox, case)

    return opened
