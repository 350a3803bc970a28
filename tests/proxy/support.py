"""A proxy in this process, raw upstreams that do what a test tells them, and clients that say every byte themselves."""

import contextlib
import json
import queue
import socket
import threading
import time
from dataclasses import dataclass, field, replace

import uvicorn

from redline.providers.apis import find_api
from redline.proxy.accounts import Accounts
from redline.proxy.http import HttpProtocol
from redline.proxy.relay import Relay
from redline.proxy.settings import ProxySettings, parse_upstreams
from redline.servers.listening import bind
from redline.transport.editing import Edited

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Hello"}],
    "model": "claude-opus-4-6",
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 70,
        "output_tokens": 5,
    },
}
QUESTION = b'{"model": "claude-opus-4-6", "max_tokens": 9,  "messages": [{"role":"user","content":"Hi"}]}'


@dataclass
class Seen:
    """A request as an upstream saw it."""

    method: str
    target: str
    headers: list
    body: bytes
    connection: int = 0

    def header(self, name):
        return [value for one, value in self.headers if one.lower() == name]


class Peer:
    """One connection of an upstream."""

    def __init__(self, sock, number):
        self.sock, self.number, self.buffer = sock, number, b""

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            chunk = self.sock.recv(65536)
            if not chunk:
                return None
            self.buffer += chunk
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [tuple(line.split(": ", 1)) for line in lines]
        return Seen(method, target, headers, b"", self.number)

    def read_request(self):
        seen = self.read_head()
        if seen is None:
            return None
        if seen.header("transfer-encoding"):
            seen.body = self._read_chunks()
        elif length := seen.header("content-length"):
            seen.body = self._take(int(length[0]))
        return seen

    def _take(self, size):
        parts, have = [self.buffer], len(self.buffer)
        while have < size:
            chunk = self.sock.recv(1 << 18)
            assert chunk, "the body ended early"
            parts.append(chunk)
            have += len(chunk)
        whole = b"".join(parts)
        self.buffer = whole[size:]
        return whole[:size]

    def _read_chunks(self):
        body = b""
        while True:
            while b"\r\n" not in self.buffer:
                self.buffer += self.sock.recv(65536)
            size, _, self.buffer = self.buffer.partition(b"\r\n")
            piece = self._take(int(size, 16) + 2)[:-2]
            if not piece:
                return body
            body += piece

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, body=b"", status="200 OK", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers = (("Content-Type", "application/json"), *headers)
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), f"Content-Length: {len(body)}"]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def start_stream(self, headers=()):
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
        self.send("\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers)]).encode() + b"\r\n\r\n")

    def event(self, value):
        self.chunk(f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode())

    def chunk(self, data):
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end_stream(self):
        self.send(b"0\r\n\r\n")

    def is_closed_within(self, seconds):
        """Whether the other side closes its end in time."""
        self.sock.settimeout(seconds)
        try:
            while self.sock.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.sock.close()


def say_hello(peer):
    """Answers every request of a connection."""
    while (seen := peer.read_request()) is not None:
        peer.seen.append(seen)
        peer.answer(ANSWER)


@dataclass
class Upstream:
    port: int
    seen: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    results: "queue.Queue" = field(default_factory=queue.Queue)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def upstream(serve=say_hello):
    """An upstream that runs `serve(peer)` for each connection, in a thread. What it returns is in `results`."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    made = Upstream(listening.getsockname()[1])
    open_sockets = []

    def run(peer):
        peer.seen, peer.problems = made.seen, made.problems
        try:
            made.results.put(serve(peer))
        except OSError:
            made.results.put(None)
        finally:
            with contextlib.suppress(OSError):
                peer.sock.close()

    def accept():
        number = 0
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            number += 1
            open_sockets.append(sock)
            threading.Thread(target=run, args=(Peer(sock, number),), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for sock in open_sockets:
            with contextlib.suppress(OSError):
                sock.close()


class PlainEditor:
    """Edits by replacing bytes, as the contract of WireEditor has it, and remembers what it was told."""

    whole_problem = ""

    def __init__(self, old=b"", new=b"", *, delay=0.0, retreat_delay=0.0):
        self.old, self.new, self.delay, self.retreat_delay = old, new, delay, retreat_delay
        self.released = threading.Event()
        """Once it is set nothing is delayed any more."""
        self.calls, self.retreats, self.refusals, self.answers, self.withdrawn = [], [], [], [], []

    def edit(self, call):
        self.calls.append(call)
        self.released.wait(self.delay)
        return self._edited(call, call.body.replace(self.old, self.new) if self.old in call.body and self.old else call.body)

    def fall_back(self, call):
        self.retreats.append(call)
        self.released.wait(self.retreat_delay)
        return self._edited(call, call.body)

    def _edited(self, call, body):
        read = find_api(call.method, call.path).read(call.body, call.path)
        return Edited(call, body, session=call.headers.get("x-session-id", ""), model=read.model, read=read)

    def shrink(self, edited, status, error):
        return None

    def withdraw(self, edited):
        self.withdrawn.append(edited.body)

    def refused(self, edited, status, answer=None, broke=None):
        self.refusals.append(status)

    def answering(self, edited):
        """Nothing waits."""

    def answered(self, edited, answer, broke=None):
        self.answers.append(answer)


@dataclass
class Running:
    port: int
    relay: Relay
    editor: object

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def connect(self):
        return Client(socket.create_connection(self.address, timeout=20))

    def ask(self, method="POST", path="/v1/messages", body=QUESTION, headers=(), host="localhost"):
        """One request on a connection of its own; the response."""
        with contextlib.closing(self.connect()) as client:
            client.send_request(method, path, body, headers, host=host)
            return client.read_response(is_head=method == "HEAD")

    def status(self):
        return json.loads(self.ask("GET", "/redline/status", None).body)

    def settled(self, requests, within=30.0):
        """The status once so many requests are counted."""
        end = time.monotonic() + within
        while (status := self.status())["totals"]["requests"] < requests:
            assert time.monotonic() < end, status
            time.sleep(0.02)
        return status


@dataclass
class Got:
    status: int
    headers: list
    body: bytes
    is_whole: bool = True

    def header(self, name):
        return [value for one, value in self.headers if one.lower() == name]


class Client:
    """A client that says and reads every byte itself."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def send_request(self, method="POST", path="/v1/messages", body=QUESTION, headers=(), host="localhost"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.sock.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            chunk = self.sock.recv(65536)
            assert chunk, "closed before an answer"
            self.buffer += chunk
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        return Got(int(first.split(" ")[1]), [tuple(line.split(": ", 1)) for line in lines], b"")

    def read_response(self, is_head=False):
        got = self.read_head()
        if is_head or got.status in (204, 304):
            return got
        if got.header("transfer-encoding"):
            got.body, got.is_whole = self.read_chunks()
            return got
        size = int(got.header("content-length")[0])
        while len(self.buffer) < size:
            chunk = self._more()
            if not chunk:
                got.is_whole = False
                break
            self.buffer += chunk
        got.body, self.buffer = self.buffer[:size], self.buffer[size:]
        return got

    def _more(self):
        try:
            return self.sock.recv(1 << 18)
        except ConnectionResetError:
            return b""

    def read_chunks(self):
        """The body, and whether it came to its end."""
        pieces = []
        while True:
            while b"\r\n" not in self.buffer:
                if not (chunk := self._more()):
                    return b"".join(pieces), False
                self.buffer += chunk
            size, _, rest = self.buffer.partition(b"\r\n")
            wanted = int(size, 16)
            while len(rest) < wanted + 2:
                if not (chunk := self._more()):
                    return b"".join([*pieces, rest]), False
                rest += chunk
            pieces.append(rest[:wanted])
            self.buffer = rest[wanted + 2 :]
            if not wanted:
                return b"".join(pieces), True

    def leave(self):
        """Go without a word, as a killed client does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.sock.close()

    def close(self):
        self.sock.close()


@contextlib.contextmanager
def proxy(url, tmp_path, *, editor=None, open_editor=None, observer=None, accounts=None, **settings):
    """A proxy to `url` for all providers, for as long as the block lasts."""
    editor = editor or PlainEditor()
    chosen = ProxySettings(
        upstreams=parse_upstreams([f"{name}={url}" for name in ("anthropic", "openai", "gemini")]),
        **{"store": str(tmp_path / "store"), "deadline_ms": 5_000.0, "started_at": time.time(), **settings},
    )
    listening = bind("127.0.0.1", 0)
    chosen = replace(chosen, port=listening.getsockname()[1])
    path = accounts or tmp_path / "store" / "proxy.accounts"
    counted_in = Accounts(path, limits=chosen.limits, prices=chosen.prices)
    relay = Relay(chosen, open_editor or (lambda: editor), counted_in, observer)
    config = uvicorn.Config(
        relay,
        loop="uvloop",
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the proxy did not start"
        time.sleep(0.005)
    try:
        yield Running(chosen.port, relay, editor)
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
        assert not thread.is_alive(), "the proxy did not end"
