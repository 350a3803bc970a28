"""A PostgreSQL server killed in the middle of appends, and an object store that refuses, is slow or hangs up."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import redline
from redline import BlobStoreError, LogError, Policy
from redline.record.blobs import ObjectStoreBlobs
from redline.rules import MaskedResults, OffloadResults
from redline.testing import asks, conversation, says
from tests.postgres import running_postgres

# --- PostgreSQL


def kill(server):
    """As the system does when memory runs out: no process of the server gets to say a word."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    children = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == first]  # noqa: PTH208
    for pid in (first, *children):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while any(is_running(pid) for pid in (first, *children)):
        time.sleep(0.01)
    # In a container nobody may take note of their end, so that they seem to be there still.
    for lock in (server.data / "postmaster.pid", *server.folder.glob(".s.PGSQL.*.lock")):
        lock.unlink()


def parent_of(pid) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return -1


def is_running(pid) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the server's processes are found in /proc")  # noqa: PTH112
def test_server_killed_in_the_middle_of_appends():
    """What was acknowledged is there, in order and once, for a conversation and an Editor that live on; errors say why."""
    with running_postgres() as server:
        address = f"{server.address}&pool_wait=0.2"
        talk = redline.open(f"{address}#chat", format="openai_chat")
        editor = redline.Editor(address, durability="fsync")
        said, listed = list[dict[str, str]](), [{"role": "user", "content": "begin"}]
        for turn in range(3):
            killer = threading.Timer(0.05 + 0.03 * turn, kill, [server])
            killer.start()
            problems = add_until_it_fails(talk, said), edit_until_it_fails(editor, listed)
            killer.join()
            for problem in problems:
                assert "PostgreSQL database 'postgres'" in str(problem)
                assert "the next call connects again" in str(problem)
            server.start()
            assert talk.messages == said
        talk.add({"role": "user", "content": "the end"})
        with redline.open(f"{server.address}#chat") as again:
            assert again.messages == [*said, {"role": "user", "content": "the end"}]
        edited = editor.edit(listed, session="s", now=0)
        assert edited.messages == listed
        with redline.open(editor.address_of(edited)) as again:
            assert again.messages == again.all_messages == listed
        talk.close()
        editor.close()


def add_until_it_fails(talk, said) -> LogError:
    while True:
        message = {"role": "user", "content": f"number {len(said)}"}
        try:
            talk.add(message)
        except LogError as problem:
            return problem
        said.append(message)


def edit_until_it_fails(editor, listed) -> LogError:
    """The list only ever grows by what was not refused, but for its last message, which is tried again."""
    while True:
        try:
            editor.edit(listed, session="s", now=0)
        except LogError as problem:
            return problem
        listed.append({"role": "user" if len(listed) % 2 == 0 else "assistant", "content": f"number {len(listed)}"})


# --- object stores

MESSAGES = [
    *conversation("openai_chat", [says("user", "go")]),
    *conversation("openai_chat", asks("terminal-execute", {"command": "ls"}, "a line\n" * 500, id="c0")),
    *conversation("openai_chat", asks("terminal-execute", {"command": "pwd"}, "here", id="c1")),
]
POLICY = Policy(rules=[OffloadResults(min_chars=500, preview_lines=1)], schedule="eager")


class StubbornStore(BaseHTTPRequestHandler):
    """Answers as its server is told to: a status, nothing for a while, or nothing at all; 200 stores what it is sent."""

    def do_PUT(self) -> None:
        """Store an object."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_let_through():
            self.server.objects[self.path] = content
            self._answer(200, b"", ETag='"x"')

    def do_GET(self) -> None:
        """Give an object back."""
        if self._is_let_through():
            content = self.server.objects[self.path]
            self._answer(200, content, ETag='"x"', **{"Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT"})

    def _is_let_through(self) -> bool:
        match self.server.mood:
            case "hang up":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "half":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"x\"\r\n"
                                 b"Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\nhalf")  # fmt: skip
                self.connection.shutdown(socket.SHUT_RDWR)
            case "slow":
                self.server.is_over.wait(5)
                self.connection.shutdown(socket.SHUT_RDWR)
            case int(status) if status != 200:
                self._answer(status, b"<Error><Code>Refused</Code></Error>")
            case _:
                return True
        return False

    def _answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def store() -> Iterator[ThreadingHTTPServer]:
    """A server that stores until its mood changes."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubbornStore)
    server.objects, server.mood, server.is_over = {}, 200, threading.Event()
    server.handle_error = lambda *_: None  # connections that were cut are what this is about
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.is_over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def blobs(store) -> ObjectStoreBlobs:
    return ObjectStoreBlobs(
        "s3://bucket/x",
        max_seconds=0.4,
        endpoint=f"http://127.0.0.1:{store.server_port}",
        access_key_id="a",
        secret_access_key="b",
        region="us-east-1",
        client_options={"allow_http": True},
        retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=0.2)},
    )


@pytest.mark.parametrize("mood", [500, 503, 403, "hang up", "slow"])
def test_object_store_that_fails_holds_nothing_up(store, blobs, mood):
    """The request goes out with the result whole and a reason; when the store answers again, the result moves there."""
    store.mood = mood
    talk = redline.Conversation(MESSAGES, policy=POLICY, blobs=blobs, format="openai_chat")
    editor = redline.Editor(policy=POLICY, blobs=blobs)
    began = time.monotonic()
    for sent in (talk.request(now=0), editor.edit(MESSAGES, session="s", now=0)):
        assert "a line\n" * 500 in sent.body.decode().replace("\\n", "\n")
        assert sent.new_strikes == ()
    assert time.monotonic() - began < 5
    with pytest.raises(BlobStoreError, match=r"s3://bucket/x/[0-9a-f]{64} cannot be stored: .*Check the bucket"):
        blobs.put(b"content")
    store.mood = 200
    for sent in (talk.request(now=0), editor.edit(MESSAGES, session="s", now=0)):
        (strike,) = sent.new_strikes
        assert len(sent.body) < 2000
    assert talk.recall(f"#{strike.index}.0") == "a line\n" * 500
    editor.close()


@pytest.mark.parametrize("mood", [500, 403, "hang up", "half", "slow"])
def test_object_that_cannot_be_read_is_an_error_not_a_part_of_it(store, blobs, mood):
    """What comes back is whole or an error that names it; asked again it is there."""
    reference = blobs.put(b"content" * 100)
    store.mood = mood
    with pytest.raises(BlobStoreError, match=f"s3://bucket/x/{reference} cannot be read: .*Check the bucket"):
        blobs.get(reference)
    store.mood = 200
    assert blobs.get(reference) == b"content" * 100


def test_a_bucket_that_is_down_is_remembered(store):
    """R161: who waited in vain does not wait again at the next request; other marks are applied; later it is asked again."""
    blobs = ObjectStoreBlobs(
        "s3://bucket/x",
        max_seconds=1.0,
        endpoint=f"http://127.0.0.1:{store.server_port}",
        access_key_id="a",
        secret_access_key="b",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    store.mood = "slow"
    policy = Policy(rules=[OffloadResults(min_chars=500, preview_lines=1), MaskedResults(keep_recent=1)], schedule="eager")
    editor = redline.Editor(policy=policy, blobs=blobs)
    later = [turn for number in (2, 3) for turn in asks("terminal-execute", {"command": "id"}, "me " * 50, id=f"c{number}")]
    history = [*MESSAGES, *conversation("openai_chat", later)]
    with pytest.raises(BlobStoreError, match="no answer within 1 seconds"):
        blobs.put(b"content")
    began = time.monotonic()
    for number in range(20):
        sent = editor.edit([*history[:1], {"role": "user", "content": str(number)}, *history[1:]], now=0)
        assert {strike.rule for strike in sent.new_strikes} == {"masked_results"}
    assert time.monotonic() - began < 10  # twenty times a second would be more
    with pytest.raises(BlobStoreError, match=r"did not answer, and is asked again in \d+ seconds"):
        blobs.put(b"content")
    store.mood, blobs._failed_at = 200, blobs._failed_at - 61
    assert blobs.get(blobs.put(b"content")) == b"content"
