"""What goes wrong: upstream, client, editor and store; nothing hangs, and nobody pays for a client that left."""

import contextlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from redline.agents.launching.runs import free_port
from redline.errors import LogError
from tests.effort import holds_once
from tests.proxy.support import ANSWER, QUESTION, PlainEditor, proxy, upstream

START = {"type": "message_start", "message": {**ANSWER, "content": []}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
HANGS = 30.0
"""Seconds that an editor takes which nobody waits for: longer than any client waits for its answer."""


@pytest.mark.parametrize("status", ["429 Too Many Requests", "529 Overloaded", "500 Oops", "401 No", "400 Bad"])
def test_errors_pass_with_their_hints(tmp_path, status):
    """An error of the provider reaches the client as it is, once, with its hint when to retry."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer({"type": "error"}, status, [("retry-after", "7"), ("x-should-retry", "true")])

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask()
        report = running.settled(1)["totals"]
    assert got.status == int(status[:3])
    assert (got.header("retry-after"), got.header("x-should-retry")) == (["7"], ["true"])
    assert len(up.seen) == 1
    assert report["errors"] == {status[:3]: 1}


def test_a_slow_provider_is_waited_for(tmp_path):
    """Nothing is sent to the client before the provider has answered, however long it thinks."""

    def serve(peer):
        peer.read_request()
        time.sleep(1.2)
        peer.answer(ANSWER)

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        client.send_request()
        client.sock.settimeout(0.6)
        with pytest.raises(TimeoutError):
            client.sock.recv(1)
        client.sock.settimeout(5)
        assert client.read_response().status == 200


def test_a_reset_in_mid_stream_reaches_the_client(tmp_path):
    """An answer that breaks off breaks off for the client too: no end is made up for it, and nothing is sent again."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        peer.start_stream()
        peer.event(START)
        time.sleep(0.1)
        peer.reset()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask()
        report = running.settled(1)["totals"]
    assert (got.status, got.is_whole) == (200, False)
    assert b"message_start" in got.body
    assert len(up.seen) == 1
    assert report["cut"] == {"upstream": 1}
    assert report["sent_tokens"] == 100  # what the stream had said until then


def test_an_answer_shorter_than_it_said_is_cut(tmp_path):
    """A body that ends before its length is not passed off as whole."""

    def serve(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask()
    assert (got.body, got.is_whole) == (b"half", False)


def test_a_client_gone_in_mid_stream_ends_the_request(tmp_path):
    """The provider sees within a second that nobody listens; what was used until then is counted."""

    def serve(peer):
        peer.read_request()
        peer.start_stream()
        peer.event(START)
        return peer.is_closed_within(3)

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        client = running.connect()
        client.send_request(headers=[("x-session-id", "s")])
        client.read_head()
        while b"message_start" not in client.buffer:
            client.buffer += client.sock.recv(65536)
        start = time.monotonic()
        client.leave()
        assert up.results.get(timeout=5) is True
        assert time.monotonic() - start < 1
        report = running.settled(1)
    assert report["totals"]["cut"] == {"client": 1}
    assert report["sessions"]["s"]["read_tokens"] == 70
    assert running.relay.open_requests == 0


@pytest.mark.parametrize("leaves", ["leave", "close"])
def test_a_client_gone_before_the_answer_ends_the_request(tmp_path, leaves):
    """A model that thinks for a minute is told at once that nobody waits for it."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        return peer.is_closed_within(3)

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        client = running.connect()
        client.send_request()
        while not up.seen:
            time.sleep(0.01)
        start = time.monotonic()
        getattr(client, leaves)()
        assert up.results.get(timeout=5) is True
        assert time.monotonic() - start < 1
        assert running.settled(1)["totals"]["cut"] == {"client": 1}


def test_a_client_gone_while_it_sends(tmp_path):
    """Half a request is not sent on."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        client = running.connect()
        client.sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
        time.sleep(0.1)
        client.leave()
        assert running.settled(1)["totals"]["cut"] == {"client": 1}
    assert up.seen == []


def test_a_client_gone_in_a_large_upload(tmp_path, monkeypatch):
    """An upload that is passed on as it comes ends upstream when it ends here."""
    monkeypatch.setattr("redline.proxy.relay._MOST_HELD", 10_000)

    def serve(peer):
        peer.seen.append(peer.read_head())
        return peer.is_closed_within(3)

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        client = running.connect()
        head = b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        client.sock.sendall(head + b"x" * 50_000)
        while not up.seen:
            time.sleep(0.01)
        client.leave()
        assert up.results.get(timeout=5) is True
        assert running.settled(1)["totals"]["cut"] == {"client": 1}


def test_a_provider_that_does_not_take_the_connection(tmp_path, monkeypatch):
    """504 after the time that a connection may take."""
    monkeypatch.setattr("redline.proxy.upstream_client._CONNECT_S", 0.3)
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # nobody accepts them, so that the next must wait
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        running = stack.enter_context(proxy(f"http://127.0.0.1:{full.getsockname()[1]}", tmp_path))
        assert running.ask().status == 504


def test_a_shutdown_ends_open_streams(tmp_path):
    """A proxy that is told to stop does not wait for a stream without end, closes it upstream, and counts it."""

    def serve(peer):
        peer.read_request()
        peer.start_stream()
        peer.event(START)
        return peer.is_closed_within(8)

    with upstream(serve) as up:
        with proxy(up.url, tmp_path) as running:
            client = running.connect()
            client.send_request()
            client.read_head()
        client.close()
        assert up.results.get(timeout=5) is True
        with proxy(up.url, tmp_path) as running:
            assert running.status()["totals"]["requests"] == 1


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/messages", {"type": "error", "error": {"type": "api_error"}}),
        ("/v1/responses", {"error": {"type": "api_error", "code": None}}),
        ("/v1beta/models/m:generateContent", {"error": {"code": 502, "status": "UNAVAILABLE"}}),
    ],
)
def test_an_upstream_that_cannot_be_reached(tmp_path, path, shape):
    """502 with an error in the provider's own shape."""
    with upstream() as up:
        pass  # its port is free now
    with proxy(up.url, tmp_path) as running:
        got = running.ask(path=path)
    said = json.loads(got.body)
    assert got.status == 502
    assert "cannot be reached" in said["error"].pop("message")
    assert shape["error"].items() <= said["error"].items()
    assert said.get("type") == shape.get("type")


@pytest.mark.parametrize(
    ("scheme", "host", "words"),
    [
        ("http", "127.0.0.1", "(connection refused)"),
        ("http", "no-such-host.invalid", "the name no-such-host.invalid cannot be resolved (DNS)"),
        ("https", "127.0.0.1", "TLS with 127.0.0.1"),
    ],
)
def test_a_provider_that_does_not_answer_is_told_with_the_reason(tmp_path, scheme, host, words):
    """R169: refused, DNS and TLS are told apart to the client and in the status, without the key that the query may hold."""
    with upstream(lambda peer: peer.answer(b"", "400 Bad Request")) as up:
        if scheme == "http":
            up.port = free_port()
        with proxy(f"{scheme}://{host}:{up.port}", tmp_path) as running:
            got = running.ask(path="/v1/messages?key=made-up")
            (reason,) = running.settled(1)["totals"]["unreachable"]
    assert (got.status, b"made-up" in got.body) == (502, False)
    assert words in json.loads(got.body)["error"]["message"]
    assert words in reason


def test_an_answer_that_is_no_http(tmp_path):
    """502 that says so, without the query of the request, in which there may be a key."""

    def serve(peer):
        peer.read_request()
        peer.send(b"nonsense\r\n\r\n")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask(path="/v1/messages?key=made-up")
    assert got.status == 502
    assert b"nonsense" in got.body
    assert b"made-up" not in got.body


def test_an_upstream_that_closes_without_an_answer(tmp_path):
    """On a new connection that is an error at once: the provider may have begun to work, so nothing is sent twice."""

    def serve(peer):
        peer.seen.append(peer.read_request())

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        assert running.ask().status == 502
    assert len(up.seen) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "GET"])
@pytest.mark.parametrize("ends", ["reset", "close", "half a head", "half a body"])
def test_what_was_sent_on_a_kept_connection_is_not_sent_again(tmp_path, method, ends):
    """R129: a kept connection that takes a request and closes may have done the work: the request is paid once, never twice."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        peer.answer(ANSWER)
        if ends == "half a body":
            peer.seen.append(peer.read_head())
        else:
            peer.seen.append(peer.read_request())
        if ends == "half a head":
            peer.send(b"HTTP/1.1 200 O")
        if ends == "reset":
            peer.reset()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        assert running.ask().status == 200
        body = None if method == "GET" else QUESTION * (20_000 if ends == "half a body" else 1)
        got = running.ask(method, "/v1/messages", body)
        report = running.settled(2)["totals"]
    assert got.status == 502
    assert [seen.connection for seen in up.seen if seen is not None] == [1, 1]
    if ends in ("reset", "close"):
        assert "sent again" in json.loads(got.body)["error"]["message"]
        assert sum(report["unreachable"].values()) == 1


@pytest.mark.parametrize("ends", ["reset", "close"])
def test_a_connection_that_was_closed_before_is_not_used(tmp_path, ends):
    """R129: what the provider closed while nothing was under way costs the client nothing, and takes nothing twice."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        peer.answer(ANSWER)
        if ends == "reset":
            time.sleep(0.02)  # so that the answer is read before the reset
            peer.reset()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        for _ in range(10):
            assert running.ask().status == 200
            up.results.get(timeout=5)
            time.sleep(0.01)
    assert [(seen.connection, seen.body == QUESTION) for seen in up.seen] == [(number, True) for number in range(1, 11)]


def test_our_own_400_is_undone_once(tmp_path):
    """A changed body that is refused is sent again as the client wrote it, and the editor is told."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            if b"Ho" in seen.body:
                peer.answer({"type": "error"}, "400 Bad Request")
            else:
                peer.answer(ANSWER)

    with upstream(serve) as up, proxy(up.url, tmp_path, editor=PlainEditor(b"Hi", b"Ho")) as running:
        got = running.ask()
        report = running.settled(1)["totals"]
    assert got.status == 200
    assert [seen.body for seen in up.seen] == [QUESTION.replace(b"Hi", b"Ho"), QUESTION]
    assert running.editor.refusals == [400]
    assert running.editor.answers == []
    assert (report["refused"], report["errors"]) == (1, {})


@pytest.mark.parametrize("status", ["400 Bad Request", "429 Too Many Requests", "529 Overloaded"])
def test_a_400_is_ours_only_if_the_original_is_taken(tmp_path, status):
    """Where the client's own bytes fail as well, nobody knows whose fault it was, and the history is not left alone."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer({"type": "error"}, "400 Bad Request" if b"Ho" in seen.body else status)

    with upstream(serve) as up, proxy(up.url, tmp_path, editor=PlainEditor(b"Hi", b"Ho")) as running:
        got = running.ask()
        running.settled(1)
    assert got.status == int(status[:3])
    assert len(up.seen) == 2
    assert running.editor.refusals == []


def test_a_400_to_the_clients_own_bytes_is_the_clients(tmp_path):
    """What was not changed is not sent again."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer({"type": "error"}, "400 Bad Request")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        assert running.ask().status == 400
        running.settled(1)
    assert len(up.seen) == 1
    assert running.editor.refusals == []


def test_an_edit_past_its_deadline_is_dropped(tmp_path):
    """The request goes out with what was recorded before; the late edit is withdrawn, as nobody was sent it."""
    editor = PlainEditor(b"Hi", b"Ho", delay=HANGS)
    with upstream() as up, proxy(up.url, tmp_path, editor=editor, deadline_ms=100) as running:
        assert running.ask().status == 200
        report = running.settled(1)["totals"]
        assert editor.withdrawn == []
        editor.released.set()
        end = time.monotonic() + 20
        while not editor.withdrawn and time.monotonic() < end:
            time.sleep(0.01)
    assert up.seen[0].body == QUESTION
    assert len(editor.retreats) == 1
    assert editor.withdrawn == [QUESTION.replace(b"Hi", b"Ho")]
    assert report["retreats"] == 1


def test_who_comes_late_waits_for_a_thread_and_is_edited(tmp_path):
    """The deadline is for the editing of a request, not for waiting until others are edited."""
    editor = PlainEditor(b"Hi", b"Ho", delay=0.4)
    with upstream() as up, proxy(up.url, tmp_path, editor=editor, deadline_ms=1_600) as running:
        with ThreadPoolExecutor(32) as clients:
            assert [answer.status for answer in clients.map(lambda _: running.ask(), range(32))] == [200] * 32
        assert running.settled(32)["totals"]["retreats"] == 0
    assert {seen.body for seen in up.seen} == {QUESTION.replace(b"Hi", b"Ho")}


def test_who_waits_behind_a_stuck_editor_is_let_go(tmp_path):
    """What cannot be edited, because every thread hangs, passes soon and not when its turn would have come."""
    editor = PlainEditor(delay=HANGS)
    with upstream() as up, proxy(up.url, tmp_path, editor=editor, deadline_ms=100) as running:
        with ThreadPoolExecutor(12) as clients:
            assert [answer.status for answer in clients.map(lambda _: running.ask(), range(12))] == [200] * 12
        editor.released.set()
    assert [seen.body for seen in up.seen] == [QUESTION] * 12
    assert len(editor.retreats) == 12


def test_a_stuck_editor_holds_nobody_up(tmp_path):
    """When every thread hangs, requests pass at once instead of waiting for a deadline each."""
    editor = PlainEditor(delay=HANGS, retreat_delay=HANGS)

    def seconds():
        start = time.monotonic()
        assert running.ask().status == 200
        return time.monotonic() - start

    with upstream() as up, proxy(up.url, tmp_path, editor=editor, deadline_ms=250) as running:
        for _ in range(4):
            assert running.ask().status == 200
        assert holds_once(lambda: seconds() < 0.2)
        editor.released.set()
    assert {seen.body for seen in up.seen} == {QUESTION}


def test_an_editor_that_raises_costs_nothing(tmp_path):
    """A bug in the editor is logged, and the client's bytes are sent."""

    class Broken(PlainEditor):
        def edit(self, call):
            raise RuntimeError("a bug")

        def fall_back(self, call):
            raise RuntimeError("another")

        def answered(self, edited, answer):
            raise RuntimeError("a third")

    with upstream() as up, proxy(up.url, tmp_path, editor=Broken()) as running:
        assert running.ask().status == 200
        assert running.settled(1)["totals"]["retreats"] == 1
    assert up.seen[0].body == QUESTION


def test_a_store_that_is_down_is_said_once(tmp_path, caplog):
    """Requests pass unchanged; the log says so once, and the status as long as it lasts."""

    def open_editor():
        raise LogError("the database does not answer")

    with upstream() as up, proxy(up.url, tmp_path, open_editor=open_editor) as running:
        for _ in range(3):
            assert running.ask().status == 200
        status = running.settled(3)
    assert status["store_problem"] == "the database does not answer"
    assert status["totals"]["untouched"] == {"the store cannot be used": 3}
    assert [record.getMessage() for record in caplog.records if "does not answer" in record.getMessage()] == [
        "The store cannot be used. Requests pass unchanged, or as struck before: the database does not answer"
    ]


def test_accounts_that_cannot_be_written(tmp_path):
    """A store folder that cannot be made stops no request; the sums are then this process's own."""
    (tmp_path / "store").write_text("a file where a folder should be")
    with upstream() as up, proxy(up.url, tmp_path) as running:
        assert running.ask().status == 200
        status = running.settled(1)
    assert status["totals"]["requests"] == 1
    assert status["accounts_problem"]


def test_lifetime_sums_survive_a_restart(tmp_path):
    """A proxy that is started again goes on with the sums, and counts its own run from zero."""
    with upstream() as up:
        with proxy(up.url, tmp_path) as running:
            running.ask()
            running.settled(1)
        with proxy(up.url, tmp_path) as running:
            running.ask()
            assert running.settled(2)["totals"]["sent_tokens"] == 200


def test_what_is_refused_without_its_repair_is_edited_after_all(tmp_path):
    """An edit that comes too late is waited for once the provider has refused what was sent in its place."""

    def refuse_unrepaired(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer(
                ANSWER if b"Ho" in seen.body else {"type": "error"}, "200 OK" if b"Ho" in seen.body else "400 Bad Request"
            )

    editor = PlainEditor(b"Hi", b"Ho", delay=0.3)
    with upstream(refuse_unrepaired) as up, proxy(up.url, tmp_path, editor=editor, deadline_ms=50.0) as running:
        got = running.ask()
        entry = running.settled(1)["totals"]
    assert got.status == 200
    assert [b"Ho" in seen.body for seen in up.seen] == [False, True]
    assert entry["refused"] == 0
