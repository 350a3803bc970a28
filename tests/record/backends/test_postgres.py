import os
import random
import shutil
import traceback

import pytest

from redline.errors import LogError, RedlineError, ValidationError
from redline.record.backends.postgres import PostgresBackend, PostgresLog
from redline.record.backends.postgres_server import PostgresDatabase
from redline.record.log import ROOT
from redline.record.opening import list_conversations, open_log
from tests.postgres import running_postgres
from tests.record.logs import append_each, message, said

TEXTS = ["one", "two", "three 你好", "four", "five"]
TORN_PLACES = int(os.environ.get("REDLINE_TORN_PLACES", "3"))
"""How many places of the server's journal are damaged, in each way: the server takes seconds to recover from each."""


@pytest.fixture
def log(postgres, tmp_path):
    return PostgresLog(postgres, str(tmp_path))


def test_server_that_crashes_keeps_what_it_promised():
    """After the server was killed and started again the same log goes on, and all is there."""
    with running_postgres() as server:
        log = PostgresLog(f"{server.address}&pool_wait=0", "chat")
        append_each(log, TEXTS)
        server.stop("immediate")
        with pytest.raises(LogError, match="Read the log before repeating an append"):
            log.append([message("lost")], parent=4)
        with pytest.raises(LogError, match="the next call connects again"):
            list(log.read())
        server.start()
        assert said(log) == TEXTS
        append_each(log, ["six"])
        assert said(PostgresLog(server.address, "chat")) == [*TEXTS, "six"]


@pytest.mark.parametrize("is_cut", [True, False])
def test_damaged_journal_of_the_server_loses_nothing_before_it(is_cut):
    """With its journal cut short, or a byte of it changed, in the last three records the server starts with all before."""
    with running_postgres() as server:
        log = PostgresLog(server.address, "chat")
        log.append([message("before the checkpoint")], parent=ROOT)
        _checkpoint(log)
        append_each(log, TEXTS)
        server.stop("immediate")
        saved = server.folder / "saved"
        shutil.copytree(server.data, saved)
        _give_to_owner_of(server.data, saved)
        for hit, place in _places(saved):
            shutil.rmtree(server.data)
            shutil.copytree(saved, server.data)
            _damage(server.data, place, is_cut=is_cut)
            _give_to_owner_of(saved, server.data)
            server.start()
            log = PostgresLog(server.address, "chat")
            texts = said(log)
            assert texts == ["before the checkpoint", *TEXTS][: len(texts)]
            assert len(texts) >= 1 + hit
            append_each(log, ["more"])
            assert said(log) == [*texts, "more"]
            log.close()
            server.stop("immediate")


def _checkpoint(log):
    log._database.run(lambda connection: connection.execute("CHECKPOINT"))


def _journals(data):
    return sorted(file for file in (data / "pg_wal").iterdir() if file.is_file() and len(file.name) == 24)


def _places(data):
    """The numbers of records, and for each a file and a byte in the middle of what the journal says of it."""
    rng, found = random.Random(TORN_PLACES), []
    for turn in range(TORN_PLACES):
        hit = len(TEXTS) - 3 + turn % 3
        for file in _journals(data):
            at = file.read_bytes().rfind(b'"content":"' + TEXTS[hit].encode() + b'"')
            if at >= 0:
                found.append((hit, (file.name, at - rng.randrange(90))))
    assert len(found) == TORN_PLACES
    return found


def _damage(data, place, *, is_cut):
    name, at = place
    file = data / "pg_wal" / name
    content = bytearray(file.read_bytes())
    if is_cut:  # files of the journal have one size; what was not written is zero
        content[at:] = bytes(len(content) - at)
    else:
        content[at] ^= 0x01
    file.write_bytes(content)


def _give_to_owner_of(model, folder):
    owner = model.stat()
    folder.chmod(0o700)
    for place in (folder, *folder.rglob("*")):
        os.chown(place, owner.st_uid, owner.st_gid)


def test_damaged_row_is_noticed(log):
    """A line that was changed in the database is reported, and nothing that hangs on it is shown."""
    append_each(log, TEXTS)
    change = "UPDATE redline_records SET line = set_byte(line, 40, 0) WHERE conversation = %s AND number = 2"
    log._database.run(lambda connection: connection.execute(change, (log._key,)))
    again = PostgresLog(log._database.server.address, log._conversation)
    assert said(again) == ["one", "two"]
    assert [torn.place for torn in again.torn] == [f"Record 2 of the {log._name}"]
    assert again.append([message("on a new branch")], parent=1) == 5
    assert said(again) == ["one", "two", "on a new branch"]


def test_append_finds_its_way_past_others(postgres, tmp_path):
    """Whoever thought to be alone is refused its number, takes the lock, and gets the next one."""
    one, two = PostgresLog(postgres, str(tmp_path)), PostgresLog(postgres, str(tmp_path))
    numbers = []
    for turn in range(4):
        numbers += [one.append([message(f"a{turn}")], parent=ROOT), one.append([message(f"b{turn}")], parent=ROOT)]
        numbers += [two.append([message(f"c{turn}"), message(f"d{turn}")], parent=ROOT)]
    assert numbers == [0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15]
    assert said(one) == [f"{name}{turn}" for turn in range(4) for name in "abcd"]


def test_user_who_may_not_write_can_read(postgres, log):
    """A read-only session shows the conversation; an append says what is wrong and adds nothing."""
    append_each(log, TEXTS)
    reader = PostgresLog(f"{postgres}&options=-cdefault_transaction_read_only%3Don", log._conversation)
    assert said(reader) == TEXTS
    with pytest.raises(LogError, match=r"read-only transaction. Use a database and a user that may write; nothing was added"):
        reader.append([message("six")], parent=4)
    assert said(log) == TEXTS


def test_reader_without_rights_to_make_tables(postgres):
    """Reading asks for no right to make anything, also where there is nothing to read."""
    with running_postgres() as server:
        reader = PostgresLog(f"{server.address}&options=-cdefault_transaction_read_only%3Don", "chat")
        assert list(reader.read()) == []


def test_lines_are_bytes_in_the_database(log):
    """The rows hold the very bytes, in no type that rewrites JSON."""
    append_each(log, ["\0 你好"])
    rows = log._database.rows(
        "SELECT pg_typeof(line)::text, convert_from(line, 'UTF8') FROM redline_records WHERE conversation = %s", (log._key,)
    )
    assert rows[0][0] == "bytea"
    assert rows[0][1].endswith('{"type":"message","payload":{"role":"user","content":"\\u0000 你好"}}}\n')


def test_conversations_are_listed(postgres, log):
    """By name, those of other tests too."""
    append_each(log, "a")
    assert log._conversation in PostgresBackend().names(postgres)


# --- the database


def test_address_that_is_none_is_refused():
    """What libpq cannot read is refused with an example."""
    with pytest.raises(
        ValidationError,
        match=r"no address of a PostgreSQL database: .*\?nonsense=\*\*\*\. Write postgresql://user@host/database#NAME",
    ):
        PostgresDatabase("postgresql://host/db?nonsense=1", "fsync")


def test_database_is_named_without_password(postgres):
    """The name in errors says where, and no secret."""
    name = PostgresDatabase("postgresql://me:s3cret@example.org/chats", "fsync").server.name
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
