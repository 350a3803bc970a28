"""Session files in an object store, on a real S3-compatible server."""

import json
import sys

import pytest
from obstore.store import from_url

import redline as library
from redline import TranscriptError
from redline.sessions.catalog import session_files
from redline.sessions.catalog.session_files import find_sessions, is_object_address
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.object_server import object_server


@pytest.fixture(scope="module")
def server():
    with object_server() as found:
        yield found


@pytest.fixture
def bucket(server, monkeypatch):
    """The settings come from the environment, as users give them."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def put(bucket):
    store = from_url(bucket.address, **bucket.options)

    def put(key, content):
        store.put(key, content)
        return f"{bucket.address}/{key}"

    return put


@pytest.fixture
def session_bytes(tmp_path):
    return write_session(tmp_path / "s.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("place", "is_one"),
    [("s3://b/x", True), ("GS://b", True), ("az://c/x", True), ("s3:/b", False), ("sqlite:///s3.db", False), ("s3", False)],
)
def test_addresses_of_object_stores_are_known(place, is_one):
    """By what they begin with, whatever its case."""
    assert is_object_address(place) is is_one


def test_a_prefix_is_the_sessions_below_it(bucket, put, session_bytes):
    """Sorted, each once, and nothing but session files; a prefix ends at a slash."""
    for key in ("list/b.jsonl", "list/deep/a.json", "list/notes.md", "listed/c.jsonl"):
        put(key, session_bytes)
    found = find_sessions([f"{bucket.address}/list", f"{bucket.address}/list/", f"{bucket.address}/list/b.jsonl"])
    assert [one.name for one in found] == [f"{bucket.address}/list/{name}" for name in ("b.jsonl", "deep/a.json")]
    assert all(one.is_found and one.path is None for one in found)


@pytest.mark.parametrize("name", ["a b.jsonl", "c%d.jsonl", "100%25.jsonl", "ü#x?.jsonl", "u:p@h.jsonl", "n" * 300 + ".jsonl"])
def test_any_name_is_found_and_read(bucket, put, session_bytes, name):
    """And the name that is shown can be given to a command again."""
    put(f"names-{len(name)}-{ord(name[0])}/{name}", session_bytes)
    (found,) = find_sessions([f"{bucket.address}/names-{len(name)}-{ord(name[0])}"])
    assert found.read().format == "claude-code"
    (again,) = find_sessions([found.name])
    assert again.place == found.place


def test_what_is_read_is_still_there_after_its_file(bucket, put, session_bytes, tmp_path, monkeypatch):
    """Nothing is left on the disk, and the messages can be looked at."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (found,) = find_sessions([put("read/s.jsonl", session_bytes)])
    transcript = found.read()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [entry.message.role for entry in transcript.conversations[0].entries][:2] == ["user", "assistant"]


def test_what_cannot_be_read_says_why(bucket, put, monkeypatch):
    """By the address that was given."""
    put("bad/s.jsonl", b"no json\n")
    put("bad/large/s.jsonl", bytes(1000))
    monkeypatch.setattr(session_files, "MOST_OBJECT_BYTES", 100)
    cases = {
        f"{bucket.address}/bad/s.jsonl": "is not JSON",
        f"{bucket.address}/bad/large/s.jsonl": "the most that is downloaded",
        f"{bucket.address}/bad/gone.jsonl": "cannot be read",
        f"{bucket.address}/nothing": "holds no session file",
        "s3://no-such-bucket/x": "Check the bucket",
        "s3:///x": "is no address of an object",
        "s3://b/x\0.jsonl": "is no address of an object",
    }
    for address, words in cases.items():
        (found,) = find_sessions([address])
        with pytest.raises(TranscriptError, match=words) as refused:
            found.read()
        assert "/tmp/" not in str(refused.value)


def test_a_bucket_beyond_measure_is_refused(bucket, put, monkeypatch):
    """As a folder is."""
    monkeypatch.setattr(session_files, "MOST_FILES", 2)
    for number in range(4):
        put(f"many/{number}.jsonl", b"x")
    (found,) = find_sessions([f"{bucket.address}/many"])
    assert "Name a longer prefix" in found.problem


@pytest.mark.parametrize(
    "command",
    [
        ("inspect",),
        ("check",),
        ("repair",),
        ("export",),
        ("export", "--body", "--to", "gemini"),
        ("show",),
        ("log",),
        ("sessions",),
    ],
    ids=lambda command: command[0],
)
def test_every_command_reads_objects(bucket, put, session_bytes, tmp_path, command):
    """An agent's session, and a log of Redline's own."""
    with library.open(tmp_path / "chat.jsonl") as talk:
        talk.add({"role": "user", "content": "hi"})
    put("commands/s.jsonl", session_bytes)
    put("commands/chat.jsonl", (tmp_path / "chat.jsonl").read_bytes())
    for name in ("s.jsonl", "chat.jsonl"):
        done = redline(*command, f"{bucket.address}/commands/{name}", HOME=str(tmp_path), **bucket.environment)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout


def test_replay_adds_up_objects_as_files(bucket, put, tmp_path):
    """In several processes too: none is forked with half of the store's client in it."""
    (tmp_path / "folder").mkdir()
    for number in range(4):
        path = write_session(tmp_path / "folder" / f"{number}.jsonl")
        put(f"replay/{number}.jsonl", path.read_bytes())
    files = redline("replay", "--json", tmp_path / "folder")
    objects = redline("replay", "--json", "--jobs", 2, f"{bucket.address}/replay", **bucket.environment)
    assert (objects.returncode, objects.stderr, objects.stdout) == (0, "", files.stdout)
    assert json.loads(objects.stdout)["sessions"] == 4


def test_blobs_are_not_collected_by_logs_in_a_store(bucket, put, tmp_path):
    """What such a log refers to would look forgotten."""
    with library.open(tmp_path / "chat.jsonl") as talk:
        talk.add({"role": "user", "content": "hi"})
    put("gc/chat.jsonl", (tmp_path / "chat.jsonl").read_bytes())
    done = redline("rm", "--unused", "--blobs", tmp_path, f"{bucket.address}/gc", **bucket.environment)
    assert (done.returncode, "Download it first" in done.stderr) == (2, True)


def test_without_the_extra_the_error_names_it(monkeypatch):
    """As for blobs."""
    for name in ("obstore", "obstore.exceptions", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    (found,) = find_sessions(["s3://bucket/prefix"])
    assert "pip install 'redline-context[s3]'" in found.problem
