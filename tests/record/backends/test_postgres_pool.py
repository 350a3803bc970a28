import contextlib
import os
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, unquote

import psycopg
import pytest

import redline
from redline.errors import LogError, ValidationError
from redline.record.backends.postgres import PostgresLog
from redline.record.backends.postgres_server import PostgresDatabase
from redline.record.log import ROOT
from redline.record.opening import open_log
from tests.postgres import running_postgres
from tests.record.logs import append_each, message, said

NAME = "redline-pool"
MOST = 10


def counted(address):
    """The address with a name by which the server knows the connections that are made with it."""
    return f"{address}&application_name={NAME}-{os.getpid()}-{time.monotonic_ns()}"


def connections(address):
    """How many connections the server has of an address."""
    name = address.partition("application_name=")[2].partition("&")[0].partition("#")[0]
    with psycopg.connect(address.partition("&application_name")[0]) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,))
    return count


def in_threads(work, things, threads=32):
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, things))


def test_thousand_open_conversations_take_ten_connections(postgres):
    """Opened one by one, through a store and by an Editor, used by 32 threads: never more than ten connections together."""
    address, seen, is_over = counted(postgres), [], threading.Event()
    watcher = threading.Thread(
        target=lambda: [seen.append(connections(address)) for _ in iter(lambda: is_over.wait(0.1), True)]
    )
    watcher.start()
    store = redline.Store(address)
    talks = in_threads(lambda number: redline.open(f"{address}#many-{number}", format="openai_chat"), range(500))
    talks += in_threads(lambda number: store.open(f"more-{number}", format="openai_chat"), range(500))
    in_threads(lambda talk: talk.add({"role": "user", "content": talk.name[-8:]}), talks)
    editor = redline.Editor(address)
    editor.edit([{"role": "user", "content": "hello"}])
    assert len(store.names()) >= 1000
    is_over.set()
    watcher.join()
    assert 1 < max(seen) <= MOST
    for talk in talks:
        talk.close()
    editor.close()
    store.close()
    give_up_at = time.monotonic() + 10
    while connections(address):  # a server takes a moment to end one
        assert time.monotonic() < give_up_at


def test_one_thread_needs_one_connection(postgres, tmp_path):
    """A connection is made when all others are in use, not before."""
    address = counted(postgres)
    logs = [PostgresLog(address, f"{tmp_path}-{number}") for number in range(20)]
    for log in logs:
        append_each(log, ["one"])
    assert connections(address) == 1


def test_size_of_the_pool_is_a_parameter_of_the_address(postgres, tmp_path):
    """`pool=2` holds also when many threads want one at once, and they all get their turn."""
    address = f"{counted(postgres)}&pool=2"
    logs = [PostgresLog(address, f"{tmp_path}-{number}", durability="os") for number in range(24)]
    in_threads(lambda log: append_each(log, "abcdefgh"), logs, threads=24)
    assert connections(address) == 2
    assert all(said(log) == list("abcdefgh") for log in logs)


@pytest.mark.parametrize(
    "option", ["pool=0", "pool=many", "pool=", "pool_wait=-1", "pool_wait=long", "pool_wait=nan", "pool=1e3"]
)
def test_nonsense_is_refused(option):
    """The error names the parameter."""
    with pytest.raises(ValidationError, match=rf"{option.partition('=')[0]}= in a PostgreSQL address must be a number"):
        PostgresDatabase(f"postgresql://host/db?{option}", "fsync")


def test_promise_is_kept_on_a_shared_connection(postgres):
    """Who wants `fsync` gets it on a connection that was used without, and the other way round."""
    address = f"{postgres}&pool=1"
    safe, quick = PostgresDatabase(address, "fsync"), PostgresDatabase(address, "os")
    for _ in range(2):
        assert safe.rows("SELECT current_setting('synchronous_commit')") == [("on",)]
        assert quick.rows("SELECT current_setting('synchronous_commit')") == [("off",)]
    assert safe.rows("SELECT pg_backend_pid()") == quick.rows("SELECT pg_backend_pid()")


# --- servers that go away


def test_broken_connection_is_made_again(postgres):
    """Nobody notices that the server has ended a connection; without patience the call fails, and the next one connects."""
    database = PostgresDatabase(postgres, "fsync")
    ended = end_connection(database, postgres)
    assert database.rows("SELECT pg_backend_pid()") != ended
    impatient = PostgresDatabase(f"{postgres}&pool_wait=0", "fsync")
    end_connection(impatient, postgres)
    with pytest.raises(LogError, match="the next call connects again"):
        impatient.rows("SELECT 1")
    assert impatient.rows("SELECT 1") == [(1,)]


def end_connection(database, postgres):
    found = database.rows("SELECT pg_backend_pid()")
    with psycopg.connect(postgres) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", found[0])
    return found


def test_server_that_was_never_there_is_an_error_at_once(tmp_path):
    """Only a server that answered before is waited for."""
    started = time.monotonic()
    with pytest.raises(LogError, match="Check the address and the server"):
        open_log(f"postgresql://postgres@/postgres?host={tmp_path}#chat")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("is_alone", [True, False])
def test_append_whose_answer_was_lost_is_not_doubled(postgres, tmp_path, count, is_alone):
    """The server stored it, and the connection broke before it could say so: done again, it is found and counts once."""
    with Relay(postgres, tmp_path) as relay:
        log = PostgresLog(relay.address, str(tmp_path))
        append_each(log, ["one", "two"])
        log._is_alone = is_alone
        relay.lose_answer_to = b"" if is_alone else b"COMMIT"
        assert log.append([message("three")] * count, parent=1) == 1 + count
        assert relay.lose_answer_to is None
        assert said(log) == said(PostgresLog(postgres, str(tmp_path))) == ["one", "two", *["three"] * count]
        assert log.append([message("four")], parent=1 + count) == 2 + count


def test_append_that_was_not_stored_is_done_again(postgres, tmp_path):
    """Another writer took its number while its connection was gone: it gets the next one."""
    log, other = PostgresLog(postgres, str(tmp_path)), PostgresLog(f"{postgres}&pool=1", str(tmp_path))
    append_each(log, ["one", "two"])
    append_each(other, ["three"])
    end_connection(log._database, postgres)
    assert log.append([message("three, too")], parent=1) == 3
    assert said(other) == ["one", "two", "three", "three, too"]


class Relay:
    """A way to the server on which an answer can be lost: it is not passed on, and the connection is cut."""

    def __init__(self, address, folder):
        self.address = address.partition("host=")[0] + f"host={quote(str(folder), safe='')}"
        self.lose_answer_to: bytes | None = None
        self._server = f"{unquote(address.partition('host=')[2])}/.s.PGSQL.5432"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(f"{folder}/.s.PGSQL.5432")

    def __enter__(self):
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._pass_on, args=(self._socket.accept()[0],), daemon=True).start()

    def _pass_on(self, client):
        """What was asked and what was answered, in turns, as a client that waits for each answer makes them."""
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._server)
            while True:
                for one in select.select([client, server], [], [])[0]:
                    piece = one.recv(1 << 20)
                    (server if one is client else client).sendall(piece)
                    if not piece:
                        return
                    if one is client and self.lose_answer_to is not None and self.lose_answer_to in piece:
                        self.lose_answer_to = None
                        server.recv(1 << 20)
                        return


def test_restart_in_the_middle_loses_and_doubles_nothing():
    """While threads append through the pool, the server crashes and comes back: every append succeeds, each is there once."""
    with running_postgres() as server:
        logs = [PostgresLog(server.address, f"chat-{number}") for number in range(30)]
        texts = [str(turn) for turn in range(30)]
        for log in logs:
            append_each(log, ["first"])
        restart = threading.Timer(0.3, lambda: (server.stop("immediate"), server.start()))
        restart.start()
        in_threads(lambda log: [(time.sleep(0.03), append_each(log, [text])) for text in texts], logs, threads=30)
        restart.join()
        assert all(said(log) == ["first", *texts] for log in logs)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_child_of_a_fork_has_connections_of_its_own(postgres, tmp_path):
    """What the child does leaves the parent's connections as they are."""
    log = PostgresLog(postgres, str(tmp_path))
    append_each(log, ["parent"])
    before = log._database.rows("SELECT pg_backend_pid()")
    child = os.fork()
    if child == 0:
        try:
            append_each(log, ["child"])
            os._exit(0 if log._database.rows("SELECT pg_backend_pid()") != before else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert log._database.rows("SELECT pg_backend_pid()") == before
    assert log.append([message("again")], parent=ROOT) == 2
