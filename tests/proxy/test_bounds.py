"""R139: what a client may send passes exactly, and nothing that a client does grows without end."""

import contextlib
import time
import tracemalloc
from pathlib import Path

import pytest

import redline
from redline.conversation.editor import Editor
from redline.conversation.resent.incoming import Digests
from redline.errors import ValidationError
from redline.policy.policy import Policy
from redline.providers import find_format
from redline.providers.compression import compress, decompress
from redline.proxy.accounts import Accounts, ProxiedRequest, accounts_path
from redline.proxy.settings import parse_upstreams
from redline.servers.listening import Access
from redline.testing import asks, conversation, says
from redline.tokens import Estimate
from redline.transport.editing import Call, WireEditor
from tests.proxy.support import QUESTION, proxy, upstream


@pytest.mark.parametrize(
    ("base", "path", "wanted"),
    [
        ("/v1", "//v1/messages", "/v1/messages"),
        ("/v1", "/v1/messages", "/v1/messages"),
        ("/v1", "/v1", "/v1"),
        ("/v1", "/v11/messages", "/v1/v11/messages"),
        ("/v1", "/messages", "/v1/messages"),
        ("/base/v1", "///v1/messages", "/base/v1/messages"),
        ("/base", "//v1/messages", "/base//v1/messages"),
        ("", "//v1/messages", "//v1/messages"),
        ("", "/v1/messages/", "/v1/messages/"),
        ("", "/messages", "/v1/messages"),
        ("/v1", "/v1//messages", "/v1//messages"),
        ("/v1", "/", "/v1/"),
    ],
)
def test_paths_are_exact(base, path, wanted):
    """R139: a version is there once, and no other character of a path is lost or made up."""
    assert parse_upstreams([f"anthropic=http://h{base}"])["anthropic"].url(path, "") == f"http://h{wanted}"


def test_bytes_that_are_no_utf8_pass(tmp_path):
    """R139: in headers, both ways, beside others that are UTF-8."""
    odd, path = b"caf\xe9 \xff\xfe", b"/v1/files/caf%E9?q=%E9"

    def serve(peer):
        while b"\r\n\r\n" not in peer.buffer:
            peer.buffer += peer.sock.recv(65536)
        peer.seen.append(peer.buffer)
        peer.send(b"HTTP/1.1 200 OK\r\nX-Odd: " + odd + b"\r\nContent-Length: 2\r\n\r\n{}")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        head = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nX-Odd: " + odd + b"\r\nX-Good: \xc3\xa9\r\n\r\n"
        client.sock.sendall(head)
        got = client.read_response()
    assert got.status == 200
    assert got.header("x-odd")[0].encode("latin-1") == odd
    (seen,) = up.seen
    assert seen.startswith(b"GET " + path + b" HTTP/1.1\r\n")
    assert b": " + odd + b"\r\n" in seen
    assert b": \xc3\xa9\r\n" in seen


@pytest.mark.parametrize("host", ["[::1].evil", "[::1]evil:80", "[::1", "[::1]:80:80", "[::1]@evil", "localhost.evil", "[a].x"])
def test_hosts_that_only_begin_like_this_machine(host):
    """R139: a name is taken whole or not at all."""
    assert Access("127.0.0.1").host_problem({"host": host})
    assert Access("::1").host_problem({"host": host})


@pytest.mark.parametrize("host", ["[::1]", "[::1]:8484", "127.0.0.1:1", "localhost", "LOCALHOST:8484", "[::1]:"])
def test_hosts_of_this_machine(host):
    """Every way to name it is taken."""
    assert not Access("127.0.0.1").host_problem({"host": host})


@pytest.mark.parametrize("said", [b"", b"POST /v1/messages HTTP/1.1\r\nHost: loc", None])
def test_half_open_connections_end(tmp_path, monkeypatch, said):
    """R139: a client that says nothing, half a head or half a body is let go of; one that waits for its answer is not."""
    monkeypatch.setattr("redline.proxy.http._IDLE_S", 0.4)
    half = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{" if said is None else said

    def serve(peer):
        peer.read_request()
        time.sleep(1.5)
        peer.answer(b"{}")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        with contextlib.closing(running.connect()) as client:
            client.sock.sendall(half)
            client.sock.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                while client.sock.recv(65536):
                    pass
        with contextlib.closing(running.connect()) as client:
            head = f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(QUESTION)}\r\n\r\n"
            client.sock.sendall(head.encode())
            for start in range(0, len(QUESTION), 20):  # slow, but never silent for long
                client.sock.sendall(QUESTION[start : start + 20])
                time.sleep(0.15)
            assert client.read_response().status == 200


def test_accepted_connections_are_asked_whether_they_are_there(tmp_path):
    """R139: TCP keepalive is on, so that a client whose machine is gone does not stay for ever."""
    with upstream() as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        client.send_request()
        assert client.read_response().status == 200
        listed = Path("/proc/net/tcp").read_text().splitlines()
        here, there = (f":{port:04X}" for port in (running.port, client.sock.getsockname()[1]))
        (timer,) = [line.split()[5] for line in listed if line.split()[1].endswith(here) and line.split()[2].endswith(there)]
    assert timer.startswith("02:")  # proc(5): the keepalive timer


@pytest.mark.parametrize("encoding", ["br", "gzip", "deflate", "zstd"])
def test_a_small_body_does_not_expand_hugely(encoding):
    """R139: a few hundred bytes open to a megabyte at most, and no more memory than that is held on the way."""
    packed = compress(bytes(47_000_000), encoding)
    with pytest.raises(ValidationError, match="opens to more than"):
        decompress(packed, encoding, most_bytes=256 << 20)
    tracemalloc.start()
    try:
        with contextlib.suppress(ValidationError):
            assert len(decompress(packed[:281], encoding, most_bytes=256 << 20)) <= 1 << 20
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    text = QUESTION * 3000
    assert decompress(compress(text, encoding), encoding, most_bytes=1 << 20) == text


def test_encodings_of_encodings_are_bounded():
    """R139: a header may not ask for a body to be opened a hundred times."""
    with pytest.raises(ValidationError, match="100 times"):
        decompress(b"x", ",".join(["gzip"] * 100), most_bytes=1 << 20)


def test_accounts_are_bounded(tmp_path):
    """R139: labels, sessions, models and reasons come from clients; of ten thousand, a thousand sums are left and the total."""
    accounts = Accounts(tmp_path / "accounts")
    for number in range(10_000):
        name = f"name-{number}"
        accounts.add(ProxiedRequest(1.0, 200, session=name, project=name, chain=name, model=name, untouched=name, why=name))
    accounts.refresh()
    assert accounts.totals.sums["requests"] == 10_000
    assert max(len(accounts.projects), len(accounts.sessions)) <= 1_000
    assert "name-9999" in accounts.projects
    assert max(map(len, accounts.totals.labels.values())) <= 101
    assert accounts.totals.labels["untouched"]["others"] == 9_900


def test_what_is_remembered_of_sessions_holds_nothing_that_was_said():
    """R139: a thousand sessions are remembered to keep their caches warm, not what they said."""
    editor = WireEditor(Editor(policy=Policy.documents(), counter=Estimate()))
    for number in range(3):
        headers = {"x-api-key": "k", "x-session-id": f"s{number}"}
        editor.edit(Call("POST", "/v1/messages", headers, QUESTION))
    assert [(tuple(one.said), bool(one.log)) for one in editor._last.values()] == [((), True)] * 3
    touched = editor.edit(Call("POST", "/v1/messages/cache_touch", {"x-api-key": "k", "x-session-id": "s1"}, b"{}"))
    assert touched.untouched


def test_what_is_known_of_logs_is_bounded(tmp_path, monkeypatch):
    """R139: of sessions that begin alike, and of any others, the last are known, and their forks keep their strikes."""
    monkeypatch.setattr("redline.conversation.resent.open_histories._MOST_INDEXED", 60)
    policy = Policy.documents(words=redline.EN)
    turns = [says("user", "Go on.")]
    for number in range(9):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{number}")
    messages = conversation("anthropic", turns)
    with Editor(tmp_path, policy=policy, counter=Estimate()) as editor:
        for number in range(100):
            editor.edit(messages[:5], session=f"s{number}", now=0)
        before = editor.edit(messages, session="last", now=0)
        after = editor.edit([*messages, {"role": "user", "content": "x"}], session="fork", now=60_000)
        assert len(before.strikes) > 2
        assert [strike.index for strike in after.strikes] == [strike.index for strike in before.strikes]
        assert not after.new_strikes
        index = editor._histories._index
        assert (len(index.by_session), len(index.by_chain) <= 60, index.stored) == (60, True, {})
        assert max(map(len, index.by_chain.values())) < 10


def test_remembered_messages_are_bounded_by_all_that_they_take():
    """R139: many small messages take more than their bytes, and a few long lists more than many short ones."""
    digests = Digests(most_bytes=200_000)
    format = find_format("anthropic")
    for number in range(2_000):
        digests.of([b'{"role": "user", "content": "%d"}' % number], format)
    held = sum(len(known) for generation in (digests._young, digests._old) for known in generation.values())
    assert held < 2 * 200_000 / 300 + 2
    for number in range(20):
        digests.of([b'{"role": "user", "content": "%d"}' % number, b'{"role":"user","content":"%s"}' % (b"x" * 50_000)], format)
    assert len(digests._last) <= 4
    assert digests._last_bytes == sum(len(one) for natives, _ in digests._last.values() for one in natives)


@pytest.mark.parametrize("address", ["{}/store", "sqlite:///{}/chats.db"])
def test_a_sessions_name_is_gone_after_it_is_deleted(tmp_path, address):
    """R139: neither the store nor the accounts beside it hold the name that the client gave the session; the sums stay."""
    store = address.format(tmp_path)
    with Editor(store) as editor:
        log = editor.edit([{"role": "user", "content": "hi"}], session="secret-name").log
    accounts = Accounts(accounts_path(store))
    for name, chain in (("secret-name", log), ("other", "x")):
        accounts.add(ProxiedRequest(1.0, 200, session=name, chain=chain, project="p", model="m"))
    redline.Store(store).delete(log)
    accounts.add(ProxiedRequest(2.0, 200, session="other", project="p"))
    held = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [one for one in held if b"secret-name" in one]
    again = Accounts(accounts_path(store))
    again.refresh()
    assert (again.totals.sums["requests"], set(again.sessions)) == (3, {"other"})
