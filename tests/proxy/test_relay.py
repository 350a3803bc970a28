"""What passes through the proxy, and that it passes as it came."""

import contextlib
import gzip
import json
import queue
import random
import time
import zlib

import brotli
import pytest
import zstandard

from tests.proxy.support import ANSWER, QUESTION, PlainEditor, proxy, upstream

COMPRESSORS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def test_an_unchanged_body_arrives_byte_for_byte(tmp_path):
    """Without a strike the client's own bytes and headers arrive, in their order, with nothing added."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        sent = [("X-Api-Key", "k"), ("Anthropic-Beta", "a,b"), ("Anthropic-Beta", "c"), ("X-Odd", "é")]
        got = running.ask(headers=sent, path="/v1/messages?beta=true&key=s%2Fx")
    assert got.status == 200
    assert json.loads(got.body) == ANSWER
    (seen,) = up.seen
    assert seen.body == QUESTION
    assert seen.target == "/v1/messages?beta=true&key=s%2Fx"
    assert [(name.lower(), value) for name, value in seen.headers if name.lower() not in ("host", "content-length")] == [
        ("x-api-key", "k"),
        ("anthropic-beta", "a,b"),
        ("anthropic-beta", "c"),
        ("x-odd", "é"),
    ]
    assert seen.header("host") == [f"127.0.0.1:{up.port}"]


def test_headers_of_one_connection_do_not_pass(tmp_path):
    """Hop-by-hop headers, and those that `connection` names, are for the proxy alone; so is its token."""
    sent = [("Connection", "keep-alive, X-Private"), ("X-Private", "1"), ("TE", "trailers"), ("X-Redline-Token", "t" * 16)]
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask(headers=sent)
    assert {name.lower() for name, _ in up.seen[0].headers} == {"host", "content-length"}


def test_the_answer_keeps_its_headers(tmp_path):
    """Status, repeated headers, encodings and hints to retry reach the client as the provider sent them; none is added."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        body = gzip.compress(json.dumps(ANSWER).encode())
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Encoding", "gzip"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("request-id", "req_1"),
            ("Keep-Alive", "timeout=5"),
        ]
        peer.answer(body, headers=headers)

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask()
        status = running.settled(1)
    assert gzip.decompress(got.body) == json.dumps(ANSWER).encode()
    assert got.headers == [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("request-id", "req_1"),
        ("content-length", str(len(got.body))),
    ]
    assert status["totals"]["read_tokens"] == 70  # the usage was read from the compressed answer


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("HEAD", "/api/hello", None),
        ("GET", "/v1/models?client_version=1", None),
        ("DELETE", "/v1/files/x%2Fy", None),
        ("PUT", "/unknown//path/", b"\x00\xff"),
        ("PATCH", "/v1/messages", b"{}"),
        ("POST", "/v1/messages/count_tokens", QUESTION),
        ("POST", "/v1/responses/compact", b"not json"),
        ("OPTIONS", "/v1/messages", None),
        ("POST", "/v1/messages", b"not json"),
        ("POST", "/v1/messages", b""),
    ],
)
def test_any_method_and_path_pass(tmp_path, method, path, body):
    """What Redline does not know is relayed all the same, path and query as they were written."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            if seen.method == "HEAD":
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
            else:
                peer.answer(b"anything", status="418 I am a teapot")

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask(method, path, body)
    assert got.status == (200 if method == "HEAD" else 418)
    assert got.header("content-length") == ["12" if method == "HEAD" else "8"]
    (seen,) = up.seen
    assert (seen.method, seen.target, seen.body) == (method, path, body or b"")
    assert bool(seen.header("content-length")) == (body is not None or method in ("DELETE",))


@pytest.mark.parametrize(("method", "target"), [("OPTIONS", "*"), ("CONNECT", "host.example:443"), ("CONNECT", "/v1/messages")])
def test_a_target_that_is_no_path_is_refused(tmp_path, method, target):
    """`OPTIONS *` is about the server itself; put behind an upstream's address it would name another host."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        got = running.ask(method, target, None)
    assert (got.status, up.seen) == (400, [])


def test_labels_are_taken_off_and_handed_on(tmp_path):
    """`/s/<name>` before a path names the project; the provider never sees it."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask(path="/s/my%20app/v1/messages")
        status = running.settled(1)
    assert up.seen[0].target == "/v1/messages"
    assert running.editor.calls[0].label == "my app"
    assert status["projects"]["my app"]["requests"] == 1


@pytest.mark.parametrize("encoding", COMPRESSORS)
def test_compressed_bodies_pass_as_they_came(tmp_path, encoding):
    """An unchanged body is sent in the client's own compression; a changed one plain, and without the header."""
    packed = COMPRESSORS[encoding](QUESTION)
    with upstream() as up, proxy(up.url, tmp_path, editor=PlainEditor(b"Ho", b"Ha")) as running:
        running.ask(body=COMPRESSORS[encoding](QUESTION.replace(b"Hi", b"Ho")), headers=[("Content-Encoding", encoding)])
        running.ask(body=packed, headers=[("Content-Encoding", encoding)])
    changed, unchanged = up.seen
    assert changed.body == QUESTION.replace(b"Hi", b"Ha")
    assert changed.header("content-encoding") == []
    assert unchanged.body == packed
    assert unchanged.header("content-encoding") == [encoding]
    assert [call.body for call in running.editor.calls] == [QUESTION.replace(b"Hi", b"Ho"), QUESTION]


def test_what_cannot_be_decompressed_passes(tmp_path):
    """A body in a damaged or unknown encoding is the provider's to refuse."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        for encoding in ("gzip", "rot13"):
            running.ask(body=b"damaged", headers=[("Content-Encoding", encoding)])
        status = running.settled(2)
    assert [seen.body for seen in up.seen] == [b"damaged", b"damaged"]
    assert status["totals"]["untouched"] == {"its body cannot be decompressed": 2}


def test_32_megabytes_pass(tmp_path):
    """A body as large as a provider takes arrives whole, edited or not, and so does a large answer."""
    big = b'{"model": "m", "messages": [{"role":"user","content":"%s Hi"}]}' % (b"x" * (32 << 20))
    answer = random.Random(1).randbytes(8 << 20)

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer(answer)

    with upstream(serve) as up, proxy(up.url, tmp_path, editor=PlainEditor(b" Hi", b" Ho")) as running:
        assert running.ask(body=big).body == answer
    assert up.seen[0].body == big.replace(b" Hi", b" Ho")


def test_what_is_too_large_to_be_held_passes_as_it_comes(tmp_path, monkeypatch):
    """Of a body beyond what the proxy holds, the rest is streamed, with its length or in chunks."""
    monkeypatch.setattr("redline.proxy.relay._MOST_HELD", 100_000)
    big = random.Random(1).randbytes(3_000_000)
    with upstream() as up, proxy(up.url, tmp_path) as running:
        assert running.ask(path="/v1/files", body=big).status == 200
        with contextlib.closing(running.connect()) as client:
            client.send_request(path="/v1/files", body=None, headers=[("Transfer-Encoding", "chunked")])
            for start in range(0, len(big), 50_000):
                client.sock.sendall(b"c350\r\n" + big[start : start + 50_000] + b"\r\n")
            client.sock.sendall(b"0\r\n\r\n")
            assert client.read_response().status == 200
    assert [seen.body == big for seen in up.seen] == [True, True]
    assert up.seen[0].header("content-length") == [str(len(big))]
    assert up.seen[1].header("transfer-encoding") == ["chunked"]


def test_chunked_requests_and_100_continue(tmp_path):
    """A body in chunks arrives whole; who asks whether to send it is told to go on."""
    with upstream() as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        client.send_request(body=None, headers=[("Transfer-Encoding", "chunked"), ("Expect", "100-continue")])
        assert client.read_head().status == 100
        for piece in (QUESTION[:30], QUESTION[30:]):
            client.sock.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        client.sock.sendall(b"0\r\n\r\n")
        assert client.read_response().status == 200
    (seen,) = up.seen
    assert seen.body == QUESTION
    assert seen.header("expect") == []


@pytest.mark.parametrize("size", [10_000, 7])
@pytest.mark.parametrize("length", [f"Content-Length: {len(QUESTION)}\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n%x\r\n"])
def test_an_offer_of_http_2_is_passed_over(tmp_path, length, size):
    """Java's HTTP client makes it with every request: the body arrives, however it is sent, and so does the next request."""
    head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    head += "HTTP2-Settings: AAEAAEAA\r\nX-Api-Key: k\r\n" + (length % len(QUESTION) if "%" in length else length)
    whole = head.encode() + QUESTION + (b"\r\n0\r\n\r\n" if "%" in length else b"")
    with upstream() as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        for _ in range(2):
            for start in range(0, len(whole), size):
                client.sock.sendall(whole[start : start + size])
                time.sleep(0.001)
            assert client.read_response().status == 200
    assert [seen.body for seen in up.seen] == [QUESTION] * 2
    assert {name.lower() for name, _ in up.seen[0].headers} == {"host", "x-api-key", "content-length"}


def test_websockets_are_refused_over_http(tmp_path):
    """426 to an upgrade, at once: Codex then sends whole histories over HTTP."""
    upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "x"), ("Sec-WebSocket-Version", "13")]
    with upstream() as up, proxy(up.url, tmp_path) as running:
        got = running.ask("GET", "/v1/responses", None, upgrade)
    assert got.status == 426
    assert "WebSockets" in json.loads(got.body)["error"]["message"]
    assert up.seen == []


def test_connections_are_kept(tmp_path):
    """Requests of one client on one connection go over one connection to the provider."""
    with upstream() as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        for _ in range(3):
            client.send_request()
            assert client.read_response().status == 200
    assert [seen.connection for seen in up.seen] == [1, 1, 1]


def test_streams_are_not_buffered(tmp_path):
    """Each event is with the client before the provider sends the next; pings and unknown events too."""

    events = (b": ping\n\n", b"event: new_kind\ndata: {}\n\n", b"data: [DONE]\n\n")
    gate = queue.Queue()

    def serve(peer):
        peer.read_request()
        peer.start_stream()
        for text in events:
            peer.chunk(text)
            gate.get(timeout=5)
        peer.end_stream()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        client.send_request()
        assert client.read_head().header("content-type") == ["text/event-stream"]
        for text in events:
            while text not in client.buffer:
                client.buffer += client.sock.recv(65536)
            client.buffer = b""
            gate.put(True)
        while b"0\r\n\r\n" not in client.buffer:
            client.buffer += client.sock.recv(65536)


def test_a_slow_client_slows_the_provider(tmp_path):
    """While a client does not read, the proxy stops reading too, and does not fill its memory with the answer."""
    sent = [0]

    def serve(peer):
        peer.read_request()
        peer.start_stream()
        piece = b"x" * 65536
        for _ in range(640):
            peer.chunk(piece)
            sent[0] += len(piece)
        peer.end_stream()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        client.send_request()
        client.read_head()
        last = -1
        while sent[0] != last:
            last = sent[0]
            time.sleep(0.2)
        assert last < 25_000_000, "42 MB are on their way, and nobody reads"
        body, is_whole = client.read_chunks()
        assert is_whole
        assert len(body) == 640 * 65536


def test_fifty_streams_at_once(tmp_path):
    """Fifty clients stream side by side, and each gets its own answer whole."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.start_stream()
            for number in range(5):
                peer.chunk(b"data: %d %s\n\n" % (number, seen.body))
                time.sleep(0.02)
            peer.end_stream()

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(running.connect())) for _ in range(50)]
        for number, client in enumerate(clients):
            client.send_request(path="/anything", body=b"%d" % number)
        for number, client in enumerate(clients):
            got = client.read_response()
            assert got.is_whole
            assert got.body == b"".join(b"data: %d %d\n\n" % (event, number) for event in range(5))
        assert running.settled(50)["totals"]["requests"] == 50


def test_cookies_of_one_client_are_not_sent_for_another(tmp_path):
    """The proxy keeps no cookies."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer(b"{}", headers=[("Set-Cookie", "session=1; Path=/")])

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        running.ask()
        running.ask()
    assert [seen.header("cookie") for seen in up.seen] == [[], []]


def test_redirects_are_the_clients_to_follow(tmp_path):
    """A redirect is relayed: its target is no upstream that the user named."""

    def serve(peer):
        peer.seen.append(peer.read_request())
        peer.answer(b"", status="307 Temporary Redirect", headers=[("Location", "http://elsewhere.invalid/")])

    with upstream(serve) as up, proxy(up.url, tmp_path) as running:
        got = running.ask()
    assert (got.status, got.header("location")) == (307, ["http://elsewhere.invalid/"])


@pytest.mark.parametrize(("status", "passed"), [(204, 204), (304, 304), (599, 599), (101, 502), (999, 502)])
def test_odd_statuses_leave_the_connection_usable(tmp_path, status, passed):
    """Those that HTTP allows pass, a 304 without the length of what it does not send; for others there is a 502."""

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            length = "" if status in (101, 204) else f"Content-Length: {55 if status == 304 else 0}\r\n"
            peer.send(f"HTTP/1.1 {status} Odd\r\nETag: x\r\n{length}\r\n".encode())

    with upstream(serve) as up, proxy(up.url, tmp_path) as running, contextlib.closing(running.connect()) as client:
        for _ in range(2):
            client.send_request("GET", "/v1/models", None)
            assert client.read_response().status == passed
    assert len(up.seen) == 2


def test_base_paths_and_versions(tmp_path):
    """A base path in the upstream's address is kept, and no version is doubled or lost."""
    with upstream() as up:
        with proxy(f"{up.url}/base/v1", tmp_path) as running:
            running.ask(path="/v1/messages")
            running.ask(path="/messages")
        with proxy(f"{up.url}/base", tmp_path) as running:
            running.ask(path="/v1/messages?beta=true")
        with proxy(up.url, tmp_path) as running:
            running.ask(path="/chat/completions")
            running.ask("GET", "/models", None)
    assert [seen.target for seen in up.seen] == [
        "/base/v1/messages",
        "/base/v1/messages",
        "/base/v1/messages?beta=true",
        "/v1/chat/completions",
        "/v1/models",
    ]
