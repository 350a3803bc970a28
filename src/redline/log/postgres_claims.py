"""Claims to be the only writer of conversations in PostgreSQL: advisory locks of one connection, beside those of the pool."""

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from redline.errors import LogError
from redline.log.claims import WriterName, in_use_error
from redline.log.database import shared
from redline.log.postgres_pool import PooledConnection, PostgresServerAddress

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["IS_CLAIMED", "MAY_WRITE", "PostgresClaim"]

_Result = TypeVar("_Result")

_LOCK = "locktype = 'advisory' AND objsubid = 1 AND granted AND ((classid::bigint << 32) | objid::bigint) = %b"

MAY_WRITE = "(SELECT pg_try_advisory_xact_lock_shared(%b))"
"""Whether nobody has a claim; until the transaction ends nobody can get one. As a query of its own it is asked once."""
IS_CLAIMED = f"EXISTS (SELECT FROM pg_locks WHERE {_LOCK} AND mode = 'ExclusiveLock' AND pid = %b)"
"""Whether the claim is held by a connection: one that the server has ended holds none."""
_HOLDER = (
    "SELECT application_name, (extract(epoch FROM backend_start) * 1000)::float8, pg_locks.pid, client_hostname "
    f"FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE {_LOCK} AND mode = 'ExclusiveLock'"
)
_WAIT = "SET LOCAL lock_timeout = '500ms'"
"""For appends that are under way, which keep a claim out until they end."""


class PostgresClaim:
    """The claim to one conversation, known by its name, so that it can be claimed before it is made."""

    def __init__(self, server: PostgresServerAddress, conversation: str, what: str) -> None:
        digest = hashlib.blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8, person=b"redline")
        self.key = int.from_bytes(digest.digest(), "big", signed=True)
        self._server, self._what = server, what
        self._holder: _ClaimHolder | None = None

    @property
    def process(self) -> int:
        """The server's process that holds the claim; 0 if it is not claimed."""
        return 0 if self._holder is None else self._holder.process

    def take(self) -> None:
        """Become the only writer, or be so again after the connection broke; a LogError that names the one there is."""
        holder = self._holder or shared(("claims", self._server.address), lambda: _ClaimHolder(self._server))
        if not holder.take(self.key, is_mine=self._holder is not None):
            raise self.in_use()
        self._holder = holder

    def in_use(self) -> LogError:
        """The error that names the writer."""
        with contextlib.closing(_ClaimHolder(self._server)) as another:
            return in_use_error(self._what, another.find_holder(self.key))

    def release(self) -> None:
        """Let others write."""
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.release(self.key)


class _ClaimHolder(PooledConnection):
    """The one connection that holds all claims of this process in a database; they go with it."""

    def __init__(self, server: PostgresServerAddress) -> None:
        super().__init__(server)
        self._claimed = set[int]()
        self._locked_on: Connection | None = None
        self.process = 0

    def take(self, key: int, *, is_mine: bool) -> bool:
        """Whether the claim could be had. Those that a lost connection held are taken again, as far as they are free."""

        def lock(connection: "Connection") -> bool:
            connection.execute("SELECT set_config('application_name', %s, false)", (_name_of_this_process(),))
            if connection is not self._locked_on:
                self._claimed = {one for one in self._claimed if _lock(connection, one)}
                self._locked_on, self.process = connection, connection.info.backend_pid
            if key in self._claimed:  # PostgreSQL would give it to the same connection twice
                return is_mine
            if not _lock(connection, key):
                return False
            self._claimed.add(key)
            return True

        return self.do(lock)

    def release(self, key: int) -> None:
        """Give a claim up; a server that is gone has taken it back already."""
        self._claimed.discard(key)
        if self._connection is not None and not self._connection.closed:
            self.do(lambda connection: connection.execute("SELECT pg_advisory_unlock(%s)", (key,)))

    def find_holder(self, key: int) -> WriterName | None:
        """Who has the claim, as far as the server tells."""
        found = self.do(lambda connection: connection.execute(_HOLDER.encode(), (key,)).fetchone())
        if found is None or found[0] is None:
            return None
        name, since_ms, process, machine = found
        host, _, pid = name.removeprefix(_PREFIX).rpartition(":")
        if not pid.isdecimal():
            return WriterName(pid=process, host=f"the server (from {machine or 'an unknown machine'})", since_ms=since_ms)
        return WriterName(pid=int(pid), host=host, since_ms=since_ms)

    def do(self, work: Callable[["Connection"], _Result]) -> _Result:
        return self.run(work, "fsync", wait_seconds=-1)

    def forget(self) -> None:
        """In a forked child: the claims are the parent's."""
        super().forget()
        self._claimed, self._locked_on, self.process = set(), None, 0


def _lock(connection: "Connection", key: int) -> bool:
    from psycopg.errors import LockNotAvailable

    try:
        with connection.transaction():
            connection.execute(_WAIT)
            connection.execute("SELECT pg_advisory_lock(%s)", (key,))
    except LockNotAvailable:
        return False
    return True


_PREFIX = "redline "
_MOST_NAME = 63 - len(_PREFIX) - 12  # what the server keeps of a name


def _name_of_this_process() -> str:
    return f"{_PREFIX}{socket.gethostname()[:_MOST_NAME]}:{os.getpid()}"
