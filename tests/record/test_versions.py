"""Logs that earlier versions of Redline have written: they are opened, read to the last byte, and go on."""

import shutil
import sqlite3
from itertools import count
from pathlib import Path

import msgspec
import psycopg
import pytest

import redline
from redline.record import codec
from redline.record.opening import list_conversations, open_log
from redline.record.records import VERSION, MessageAdded, ViewChanged
from tests.record.logs import KINDS, message
from tests.record.test_codec import sealed

VERSIONS = Path(__file__).parent / "versions"
NAMES = sorted(folder.name for folder in VERSIONS.iterdir() if folder.is_dir())

_databases = count(1)


@pytest.fixture(params=NAMES)
def version(request):
    return request.param


@pytest.fixture(params=KINDS)
def address(request, version, tmp_path):
    """Of the logs of a version, without the name of a conversation: a function from that to the address."""
    folder = VERSIONS / version
    match request.param:
        case "jsonl":
            for file in folder.glob("*.jsonl"):
                shutil.copyfile(file, tmp_path / file.name)
            return lambda name: str(tmp_path / f"{name}.jsonl")
        case "sqlite":
            connection = sqlite3.connect(tmp_path / "chats.db")
            connection.executescript((folder / "sqlite.sql").read_text())
            connection.close()
            return lambda name: f"sqlite:///{tmp_path / 'chats.db'}#{name}"
    server = request.getfixturevalue("postgres")
    name = f"version_{next(_databases)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    place = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(place) as connection:
        connection.execute((folder / "postgres.sql").read_bytes())
    return lambda name: f"{place}#{name}"


def written(version):
    """The records that a version has written, as the JSON that it wrote, each in its place."""
    lines = (VERSIONS / version / "records.jsonl").read_bytes().splitlines()[1:]
    return [msgspec.json.decode(line) for line in lines]


def test_there_is_a_log_of_every_earlier_version():
    """Whoever changes the version adds one."""
    assert {int(name.partition("-")[0]) for name in NAMES} == set(range(1, VERSION))
    for name in NAMES:
        assert {line["version"] for line in written(name)} == {int(name.partition("-")[0])}


def test_every_record_is_read_as_it_was_written(address, version):
    """Of every type that the version had: all fields that it wrote, and payloads byte for byte."""
    log = open_log(address("records"))
    found, before = list(log.read()), written(version)
    assert log.torn == ()
    assert [(one.number, one.parent) for one in found] == [(line["number"], line["parent"]) for line in before]
    for one, line in zip(found, before, strict=True):
        now = msgspec.json.decode(codec.encode_record(one.record))
        assert {name: now.get(name) for name in line["record"] if line["record"][name] is not None} == {
            name: value for name, value in line["record"].items() if value is not None
        }
    odd = [b'{"a":\n1}', b'{"a":"\xff"}', b"no json", b'{"b": 1E2, "b": 2}', b'{"on":"a branch"}']
    payloads = [one.record.payload for one in found if isinstance(one.record, MessageAdded)]
    assert payloads[1:] == odd
    hello = '{"role": "user",  "content":"你好"}'.encode()
    (view,) = (one.record for one in found if isinstance(one.record, ViewChanged))
    assert (payloads[0], view.appended, view.replaced) == (hello, (hello,), ((3, hello),))


def test_records_of_this_version_follow(address, version):
    """What is appended comes after what was there, which stays as it is."""
    log = open_log(address("records"))
    before = list(log.read())
    end = log.append([message("now"), message("and now")], parent=before[-1].number)
    log.close()
    again = list(open_log(address("records")).read())
    assert again[: len(before)] == before
    assert [one.number for one in again[len(before) :]] == [end - 1, end] == [len(before), len(before) + 1]


def test_conversation_goes_on(address):
    """With its branch and what is hidden of it; in its store it can be described, searched and deleted."""
    with redline.open(address("talk"), format="openai_chat", exclusive=True) as talk:
        assert [one["content"] for one in talk.messages] == ["two", "three"]
        assert [one["content"] for one in talk.all_messages] == ["one", "two", "three"]
        assert [(branch.messages, branch.is_race) for branch in talk.branches] == [(3, False), (3, False)]
        talk.add({"role": "user", "content": "four"})
        talk.request()
    place = address("talk").partition("#")[0]
    store = redline.Store(place if "://" in place else Path(place).parent)
    assert store.names() == ("records", "talk")
    store.describe("talk", title="old", tags=["kept"])
    (found,) = (one for one in store.search("four", tag="kept") if not one.conversation.problem)
    assert (found.conversation.title, found.conversation.messages) == ("old", 5)
    store.delete("talk")
    assert store.names() == ("records",)


def test_database_takes_new_conversations(address):
    """Also one whose schema knows deleted conversations: a key is not given twice."""
    if "://" not in address("new"):
        pytest.skip("a file is one conversation")
    log = open_log(address("new"))
    assert log.append([message("a")], parent=-1) == 0
    assert list_conversations(address("new")) == ["new", "records", "talk"]
    assert len(list(open_log(address("talk")).read())) == 8


def test_line_of_the_next_version_is_left_to_it(address):
    """An old log that a newer Redline went on with is not guessed at."""
    if "://" in address("talk"):
        pytest.skip("tests/record/backends/test_database.py has it")
    with Path(address("talk")).open("ab") as file:
        file.write(sealed(f'"version":{VERSION + 1},"number":8,"parent":7,"record":{{"type":"new"}}}}'))
    with pytest.raises(redline.LogError, match="written by a newer Redline"):
        list(open_log(address("talk")).read())
