import traceback

import pytest

from redline.errors import LogError, RedlineError, ValidationError
from redline.log.opening import list_conversations, open_log
from redline.log.postgres_database import PostgresDatabase


def test_address_that_is_none_is_refused():
    """What libpq cannot read is refused with an example."""
    with pytest.raises(
        ValidationError,
        match=r"no address of a PostgreSQL database: .*\?nonsense=1\. Write postgresql://user@host/database#NAME",
    ):
        PostgresDatabase("postgresql://host/db?nonsense=1", "fsync")


def test_database_is_named_without_password(postgres):
    """The name in errors says where, and no secret."""
    name = PostgresDatabase("postgresql://me:s3cret@example.org/chats", "fsync").name
    assert name == "PostgreSQL database 'chats' on example.org"


def test_missing_table_is_empty(postgres):
    """Reading what nobody has made yet finds nothing."""
    assert PostgresDatabase(postgres, "fsync").rows("SELECT 1 FROM no_such_table") == []


@pytest.mark.parametrize(
    ("durability", "server", "level"),
    [("fsync", "off", "on"), ("fsync", "remote_apply", "remote_apply"), ("fsync", "local", "on"), ("os", "on", "off")],
)
def test_promise_of_the_connection(postgres, durability, server, level):
    """`fsync` waits for the disk also where the server is set not to; what is safer still stays; `os` does not wait."""
    database = PostgresDatabase(f"{postgres}&options=-csynchronous_commit%3D{server}", durability)
    assert database.rows("SELECT current_setting('synchronous_commit')") == [(level,)]


def test_problem_is_told_with_what_the_server_said(postgres):
    """An error of the server becomes one of Redline's, and the connection can be used on."""
    database = PostgresDatabase(postgres, "fsync")
    with pytest.raises(LogError, match=r"PostgreSQL database 'postgres' on .*: division by zero. Nothing was added"):
        database.rows("SELECT 1 / 0")
    assert database.rows("SELECT 1") == [(1,)]


def test_broken_connection_is_made_again(postgres):
    """The call under way fails and says so; the next one connects again."""
    database = PostgresDatabase(postgres, "fsync")
    ((process,),) = database.rows("SELECT pg_backend_pid()")
    PostgresDatabase(postgres, "fsync").rows("SELECT pg_terminate_backend(%s)", (process,))
    with pytest.raises(LogError, match="the next call connects again"):
        database.rows("SELECT 1")
    assert database.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:my s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret%zz@127.0.0.1:1/db",
        "postgresql://me:p@s3cret@127.0.0.1:1/db",
        "postgresql://me:p/s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret/x@127.0.0.1:1/db",
        "postgresql://me:p?s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret#p@127.0.0.1:1/db",
        "postgresql://me:p#s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=me&password=s3cret",
        "postgresql://127.0.0.1:1/db?user=me&password=my s3cret",
        "postgresql://me:s3cret@127.0.0.1:1/db?nonsense=1",
    ],
)
def test_no_error_tells_the_password(address):
    """Whatever is wrong with an address or its server, and however the password is written (R64)."""
    for use in (open_log, list_conversations):
        with pytest.raises(RedlineError) as caught:
            use(address + "#chat")
        assert "s3cret" not in "".join(traceback.format_exception(caught.value, limit=0))
