"""Requests of real SDKs through the transports."""

import asyncio
import gzip
import json
import logging
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import httpx2
import pytest

from redline import Store
from redline.errors import ValidationError
from redline.testing import fake_provider
from redline.transport.transport import AsyncRedlineTransport, RedlineTransport
from tests.transport.sdk_agents import ask, ask_async
from tests.transport.stand_in import StandInEditor

FORMATS = ("anthropic", "openai_chat", "openai_responses", "gemini")
BODY = b'{"messages":[{"role":"user","content":"STALE"}],"model":"m"}'
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 3, "output_tokens": 2}}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_sdk_passes_through(format, is_async, is_streamed, library):
    """The provider sees the struck words, the program gets the answer, the Editor hears what it cost."""
    if (format, library) == ("anthropic", "httpx"):
        pytest.skip("Anthropic's SDK takes clients of httpx2 only")
    editor = StandInEditor()
    with fake_provider() as provider:
        settings = {"is_streamed": is_streamed, "editor": editor, "session": "chat-1"}
        words = ["Keep this.", "STALE"]
        if is_async:
            said = asyncio.run(ask_async(format, provider.url, library, words, **settings))
        else:
            said = ask(format, provider.url, library, words, **settings)
    assert said == "Done."
    (exchange,) = provider.exchanges
    sent = json.dumps(exchange.body)
    assert ("struck" in sent, "STALE" in sent, "Keep this." in sent) == (True, False, True)
    assert exchange.is_streamed == is_streamed
    ((_, usage),) = editor.reported
    assert usage.input_tokens > 0
    (asked,) = editor.asked
    assert (asked["session"], asked["format"]) == ("chat-1", format)
    assert not editor.is_closed


class Server:
    """Keeps every request as it came, and answers as it is told."""

    def __init__(self, *answers):
        self.answers, self.requests, self.url = list(answers), [], ""
        self.is_left = threading.Event()
        """Whether a client went away in the middle of an answer."""


@contextmanager
def serving(*answers):
    """Each answer: status, headers, and the pieces of its body, without end if it is a function."""
    told = Server(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            told.requests.append((self.path, self.headers.items(), body))
            status, headers, pieces = told.answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in pieces:
                    self.wfile.write(piece)
            except OSError:
                told.is_left.set()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def whole(status=200, **answer):
    return status, {"content-type": "application/json"}, [json.dumps(answer or ANSWER).encode()]


def send(library, url, is_async, body=BODY, path="/v1/messages?beta=true", headers=None, **settings):
    """One request, read to its end."""
    headers = {"content-type": "application/json", **(headers or {})}

    async def send_async():
        async with LIBRARIES[library].AsyncClient(transport=AsyncRedlineTransport(**settings)) as client:
            return await client.post(url + path, content=body, headers=headers)

    if is_async:
        return asyncio.run(send_async())
    with LIBRARIES[library].Client(transport=RedlineTransport(**settings)) as client:
        return client.post(url + path, content=body, headers=headers)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request):
    return request.param


def test_all_but_the_body_is_the_clients(library, is_async):
    """The path with its query, every header in its place; only the length is that of the body."""
    headers = {"X-Api-Key": "k", "X-Odd": "1, 2", "Accept-Encoding": "br"}
    with serving(whole(), whole()) as server:
        with LIBRARIES[library].Client() as client:
            client.post(
                f"{server.url}/v1/messages?beta=true", content=BODY, headers={**headers, "content-type": "application/json"}
            )
        send(library, server.url, is_async, headers=headers, editor=StandInEditor())
    (path, plain, body), (path_through, through, body_through) = server.requests
    assert (path_through, body_through) == (path, body.replace(b"STALE", b"struck"))
    assert dict(through).pop("Content-Length") == str(len(body_through))
    assert sorted(set(plain) ^ set(through)) == sorted(
        {("Content-Length", str(len(body))), ("Content-Length", str(len(body_through)))}
    )


def test_what_is_not_changed_is_sent_as_it_is(library, is_async):
    """Also bodies that are no JSON, and paths where no model is asked."""
    bodies = {b'{"messages":[ {"role":"user","content":"news"}]}': "/v1/messages", b"STALE": "/v1/messages", BODY: "/v1/files"}
    with serving(*[whole()] * len(bodies)) as server:
        for body, path in bodies.items():
            send(library, server.url, is_async, body, path, editor=StandInEditor())
    assert [body for _, _, body in server.requests] == list(bodies)


@pytest.mark.parametrize("status", [400, 413])
def test_a_refusal_is_undone_once(library, is_async, status):
    """The provider refuses what was changed: it gets what the client gave, and the history is left alone."""
    editor = StandInEditor()
    with serving(whole(status, error="no"), whole(), whole(400, error="no")) as server:
        assert send(library, server.url, is_async, editor=editor).json() == ANSWER
        assert send(library, server.url, is_async, editor=editor).status_code == 400
    assert [body for _, _, body in server.requests] == [BODY.replace(b"STALE", b"struck"), BODY, BODY]
    assert editor.left_alone == [f"the provider answered {status} to a body that was changed"]


def test_other_errors_pass(library, is_async):
    """They are the client's to deal with, with all their headers, and nothing is sent again."""
    editor = StandInEditor()
    with serving((529, {"retry-after": "7"}, [b"busy"])) as server:
        response = send(library, server.url, is_async, editor=editor)
    assert (response.status_code, response.headers["retry-after"], response.content) == (529, "7", b"busy")
    assert (len(server.requests), editor.left_alone, editor.reported) == (1, [], [])


def test_a_mistake_of_ours_costs_the_client_nothing(library, is_async, caplog):
    """It is logged under redline.wire, and what was given is sent."""
    with serving(whole()) as server:
        editor = StandInEditor(fails=("edit", "recorded", "report"))
        assert send(library, server.url, is_async, editor=editor).json() == ANSWER
    assert server.requests[0][2] == BODY
    assert {record.name for record in caplog.records if record.levelno >= logging.ERROR} == {"redline.wire"}


def test_a_body_that_cannot_be_opened_is_sent_as_it_is(library, is_async, caplog):
    """Whatever it says it is compressed with."""
    with serving(whole()) as server:
        send(library, server.url, is_async, b"no gzip", headers={"content-encoding": "gzip"}, editor=StandInEditor())
    assert server.requests[0][2] == b"no gzip"
    assert "sent as it was given" in caplog.text


def test_compressed_bodies_stay_compressed(library, is_async):
    """Opened, edited, closed again; as they came where nothing changed."""
    headers, news = {"content-encoding": "gzip"}, gzip.compress(BODY.replace(b"STALE", b"news"), 1)
    with serving(whole(), whole()) as server:
        send(library, server.url, is_async, gzip.compress(BODY), headers=headers, editor=StandInEditor())
        send(library, server.url, is_async, news, headers=headers, editor=StandInEditor())
    assert gzip.decompress(server.requests[0][2]) == BODY.replace(b"STALE", b"struck")
    assert server.requests[1][2] == news


def test_a_compressed_answer_is_read_and_passed_on(library, is_async):
    """The client decodes it itself."""
    editor = StandInEditor()
    answer = (200, {"content-encoding": "gzip"}, [gzip.compress(json.dumps(ANSWER).encode())])
    with serving(answer) as server:
        assert send(library, server.url, is_async, editor=editor).json() == ANSWER
    assert editor.reported[0][1].input_tokens == 3


def endless():
    """A stream that ends only when nobody listens."""
    start = {**ANSWER, "type": "message", "content": []}
    yield f"data: {json.dumps({'type': 'message_start', 'message': start})}\n\n".encode()
    while True:
        time.sleep(0.002)
        yield b"event: ping\ndata: {}\n\n" * 100


def test_a_client_that_leaves_closes_the_stream(library):
    """At once, and what was reported so far is kept."""
    editor = StandInEditor()
    with serving((200, {"content-type": "text/event-stream"}, endless())) as server:
        client = LIBRARIES[library].Client(transport=RedlineTransport(editor))
        with client, client.stream("POST", f"{server.url}/v1/messages", content=BODY) as response:
            assert next(response.iter_bytes()).startswith(b"data: ")
        assert server.is_left.wait(5)
    assert editor.reported[0][1].input_tokens == 3


def test_a_task_that_is_cancelled_closes_the_stream(library):
    """A cancelled task leaves as a client does: the provider stops, and what was reported so far is kept."""
    editor = StandInEditor()

    async def listen(url, has_begun):
        client = LIBRARIES[library].AsyncClient(transport=AsyncRedlineTransport(editor))
        async with client, client.stream("POST", f"{url}/v1/messages", content=BODY) as response:
            async for _ in response.aiter_bytes():
                has_begun.set()
                await asyncio.sleep(0)

    async def leave(url):
        has_begun = asyncio.Event()
        listening = asyncio.create_task(listen(url, has_begun))
        await asyncio.wait_for(has_begun.wait(), 20)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening

    with serving((200, {"content-type": "text/event-stream"}, endless())) as server:
        asyncio.run(leave(server.url))
        assert server.is_left.wait(5)
    assert editor.reported[0][1].input_tokens == 3


def test_a_transport_of_the_callers_does_the_sending(library):
    """It is entered and closed with ours; its answers may be there in one piece."""
    asked, editor = [], StandInEditor()
    mocks = LIBRARIES[library]

    class Closing(mocks.MockTransport):
        is_closed = False

        def close(self):
            self.is_closed = True

    inner = Closing(lambda request: asked.append(request) or mocks.Response(200, json=ANSWER))
    with mocks.Client(transport=RedlineTransport(editor, transport=inner)) as client:
        assert client.post("https://api.anthropic.com/v1/messages", content=BODY).json() == ANSWER
    assert asked[0].content == BODY.replace(b"STALE", b"struck")
    assert editor.reported[0][1].input_tokens == 3
    assert inner.is_closed


def test_a_body_in_pieces_is_edited(library):
    """A client that sends its body bit by bit is read to the end of it first."""
    with serving(whole()) as server, LIBRARIES[library].Client(transport=RedlineTransport(StandInEditor())) as client:
        client.post(f"{server.url}/v1/messages", content=(BODY[at : at + 9] for at in range(0, len(BODY), 9)))
    assert server.requests[0][2] == BODY.replace(b"STALE", b"struck")


def test_an_editor_has_its_own_settings():
    """Given with an Editor, a store or a policy would do nothing."""
    with pytest.raises(ValidationError, match="policy"):
        RedlineTransport(StandInEditor(), policy=object())
    with pytest.raises(ValidationError, match="store"):
        RedlineTransport("chats", editor=StandInEditor())


def test_neither_library_is_needed_to_import():
    """They are looked for when a request comes."""
    code = "import sys, redline.transport.transport; print({'httpx', 'httpx2', 'anyio'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.parametrize("told", [{"session": "alice"}, {"namespace": "alice"}, {"headers": {"x-session-id": "alice"}}])
def test_users_who_begin_alike_have_a_log_each(told, tmp_path):
    """R153: two users of one key whose first message is the same, kept apart by session, header or namespace."""
    headers = {"x-api-key": "k", **told.get("headers", {})}
    settings = {name: value for name, value in told.items() if name != "headers"}
    with fake_provider() as provider:
        for more, sent in (({}, {"x-api-key": "k"}), (settings, headers)):
            with httpx.Client(transport=RedlineTransport(tmp_path, **more)) as client:
                client.post(f"{provider.url}/v1/messages", json=json.loads(BODY), headers=sent)
    assert len(Store(tmp_path).names()) == 2
    with pytest.raises(ValidationError, match="namespace"):
        RedlineTransport(tmp_path, namespace=5)
