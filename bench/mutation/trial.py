"""One mutant and the tests that touch it, in a process of its own."""

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from bench.mutation.importing import replace_code
from bench.mutation.mutants import Mutant

__all__ = ["ARGUMENTS", "Deselect", "Selection", "plan", "start", "try_mutant"]

ARGUMENTS = ("--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
_MOST_MEMORY = 4 << 30
_SECONDS_TO_IMPORT = 60.0
_SLOWER, _SECONDS_MORE = 10.0, 10.0
"""A test that takes so many times as long as it did, and so much more, hangs."""
_MOST_SECONDS = 20.0
"""The tests that run a statement, the quickest first, for as long: what only slower ones notice is taken to survive."""
_LEFT_OUT = ("test_growth.py", "costs_no_more", "costs_the_same", "takes_ten_times", "takes_time_by_its_length", "postgresql")
"""Tests that compare times say nothing on a machine that is busy with mutants, and no server is started for each of them."""

settings.register_profile(
    "mutation",  # as `gate` in tests/conftest.py, without making a failure small
    max_examples=10,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


class Deselect:
    """A pytest plugin that leaves out what is no use here: tests that measure time, and those that need a server."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the rest."""
        items[:] = [item for item in items if not self._is_left_out(item)]

    def _is_left_out(self, item: pytest.Item) -> bool:
        return "postgres" in getattr(item, "fixturenames", ()) or any(part in item.nodeid for part in _LEFT_OUT)


class Selection:
    """A pytest plugin that runs these tests only, the quickest first, and ends the process when one hangs."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are selected."""
        chosen = [item for item in items if item.nodeid in self._seconds]
        items[:] = sorted(chosen, key=lambda item: self._seconds[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """No handler is set, so that the signal ends the process, whatever it is doing."""
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_MORE + _SLOWER * self._seconds[item.nodeid])
        result = yield
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_IMPORT)
        return result


def plan(mutant: Mutant, names: Iterable[str], seconds: Mapping[str, float]) -> list[dict[str, float]]:
    """The tests, with their seconds, in the order in which they are tried: by file, that of the same name first."""
    own = f"test_{mutant.path.stem}.py"
    files: dict[str, dict[str, float]] = {}
    left = _MOST_SECONDS
    for name in sorted(names, key=lambda name: (own not in name, seconds[name])):
        if (left := left - seconds[name]) >= 0.0 or not files:
            files.setdefault(name.partition("::")[0], {})[name] = seconds[name]
    order = sorted(files, key=lambda file: (own not in file, sum(files[file].values())))
    return [files[file] for file in order]


def start(job: Callable[[], int], folder: Path) -> int:
    """Fork a process, the leader of a group, that does the job and ends with its status; what it says is in `output`."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 70
    try:
        os.setsid()
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        tempfile.tempdir = str(folder)
        status = job()
    finally:
        os._exit(status)


def try_mutant(mutant: Mutant, tests: Sequence[Mapping[str, float]], folder: Path) -> int:
    """Run the tests file by file until one notices the fault: 0 if none does."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_IMPORT)
    code = mutant.code()
    replace_code(lambda path: code if path == mutant.path else None)
    for number, seconds in enumerate(tests):
        file = next(iter(seconds)).partition("::")[0]
        arguments = [*ARGUMENTS, "-x", f"--basetemp={folder}/{number}", file]
        if pytest.main(arguments, plugins=[Deselect(), Selection(seconds)]) != pytest.ExitCode.OK:
            return 1
    return 0
