"""Two versions of Redline on one log: the older refuses what it cannot know and writes nothing, the newer reads all."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest

import redline
from redline import LogError
from redline.record.records import VERSION

ROOT = Path(__file__).parents[2]
NEWER = b'"version":%d,"number":%d,"parent":%d,"record":{"type":"unheard of"}}\n'


def user(text):
    return {"role": "user", "content": text}


def sealed(content):
    return b'{"crc":"%08x",' % crc32(content) + content


@pytest.fixture(params=["jsonl", "sqlite", "postgres"])
def shared(request, tmp_path):
    """An address, and what appends a record of a newer Redline to the log there."""
    if request.param == "jsonl":
        address = str(tmp_path / "chat.jsonl")

        def append(line):
            with Path(address).open("ab") as file:
                file.write(line)

    elif request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/chats.db#chat"

        def append(line):
            with contextlib.closing(sqlite3.connect(tmp_path / "chats.db")) as database, database:
                database.execute("INSERT INTO records SELECT max(place) + 1, ? FROM records", (line,))

    else:
        psycopg = pytest.importorskip("psycopg")
        server = request.getfixturevalue("postgres")
        address = f"{server}#{tmp_path}"

        def append(line):
            new = (
                "INSERT INTO redline_records SELECT conversation, max(number) + 1, %s FROM redline_records "
                "JOIN redline_conversations ON key = conversation WHERE id = %s GROUP BY conversation"
            )
            with psycopg.connect(server) as connection:
                connection.execute(new, (line, str(tmp_path)))

    return address, append


def test_newer_record_in_an_open_log(shared):
    """Nobody goes on from it, however often it is tried: nothing is added, and the error says what to install."""
    address, append = shared
    talk = redline.open(address)
    talk.add(user("one"))
    append(sealed(NEWER % (VERSION + 1, 1, 0)))
    for _ in range(3):
        with pytest.raises(LogError, match=r"newer Redline .*pip install -U redline-context"):
            talk.add(user("two"))
    assert talk.messages == [user("one")]
    with pytest.raises(LogError, match=r"newer Redline .*pip install -U redline-context"):
        redline.open(address)
    talk.close()


def test_unknown_record_of_this_version_is_passed_over(shared):
    """One that another program made: it is reported, and what does not hang on it goes on."""
    address, append = shared
    talk = redline.open(address)
    talk.add(user("one"))
    append(sealed(NEWER % (VERSION, 1, 0)))
    talk.add(user("two"))
    talk.close()
    with redline.open(address) as again:
        assert again.messages == [user("one"), user("two")]


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The sources of the last commit that wrote records of the version before."""
    folder = tmp_path_factory.mktemp("older")
    find = ["git", "-C", str(ROOT), "log", "--format=%H", f"-SVERSION = {VERSION}", "--", "src/redline/record/records.py"]
    found = (subprocess.run(find, capture_output=True, text=True, check=False).stdout.split() or [""])[-1]  # the first of all
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", f"{found}^", "src"], capture_output=True, check=False)
    if not found or archive.returncode:
        pytest.skip("the history of the repository is not here, so there is no older Redline to run")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


OLD_PROGRAM = """
import sys, redline
from redline.record.records import VERSION
talk = redline.open(sys.argv[1])
for text in sys.argv[2:]:
    talk.add({"role": "user", "content": text})
    print(VERSION, len(talk.messages), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_older_redline_beside_this_one(tmp_path, older, kind):
    """What the older one wrote is read and gone on with. It looks only after an append, so that it may leave a branch, and ends
    with an error that says what to install; what both have said is there."""
    address = str(tmp_path / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{tmp_path}/chats.db#chat"
    process = subprocess.Popen(
        [sys.executable, "-c", OLD_PROGRAM, address, "one", "two", "three"],
        env={"PYTHONPATH": str(older)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == f"{VERSION - 1} 1\n"
    with redline.open(address) as talk:
        assert talk.messages == [user("one")]
        talk.add(user("new"))
        assert "pip install -U redline" in process.communicate(os.linesep * 9)[1]
    with redline.open(address) as again:
        said = []
        for branch in again.branches:
            again.switch(branch)
            said.append([message["content"] for message in again.messages])
        assert ["one", "new"] in said
        assert len(said) <= 2
