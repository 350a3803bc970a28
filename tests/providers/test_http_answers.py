"""Answers read on the side."""

import gzip
import json
import zlib

import brotli
import pytest
import zstandard

from redline.providers.answers import AnswerReader
from redline.providers.usage import Usage
from redline.testing.endpoints import ENDPOINTS, stream_answer
from redline.values.messages import Text, ToolCall

PARTS = (Text("I look at it now, and then I tell you."), ToolCall("call_1", "read", {"path": "a.py"}))
USAGE = Usage(10, 5, 20)
SSE = "text/event-stream; charset=utf-8"


@pytest.fixture(params=ENDPOINTS, ids=lambda endpoint: endpoint.format)
def endpoint(request):
    return request.param


def whole(endpoint):
    return endpoint.answer("a-model", PARTS, USAGE)


def streamed(endpoint):
    return b"".join(stream_answer(endpoint.format, whole(endpoint), {"stream_options": {"include_usage": True}}))


def read(endpoint, body, content_type=SSE, encoding="", size=7, **settings):
    reader = AnswerReader(endpoint.format, content_type, encoding, **settings)
    for start in range(0, len(body), size):
        reader.feed(body[start : start + size])
    return reader.finish()


def test_a_whole_answer(endpoint):
    """What the model said, and what it cost."""
    answer = read(endpoint, json.dumps(whole(endpoint)).encode(), "application/json")
    assert (answer.usage, answer.model, answer.format) == (USAGE, "a-model", endpoint.format)
    assert "I look at it" in json.dumps(answer.messages)


def test_a_streamed_answer_is_that_in_one_piece(endpoint):
    """However its bytes are cut on the way."""
    expected = read(endpoint, json.dumps(whole(endpoint)).encode(), "application/json")
    for size in (1, 50, 100_000):
        assert read(endpoint, streamed(endpoint), size=size) == expected


def test_streams_are_read_leniently(endpoint):
    """Other ends of lines, comments, pings, events nobody knows, broken ones, and the mark at the end."""
    noise = b': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\ndata: [1]\n\n'
    noise += b'data: {"broken\n\nid: 7\nretry: 10\ndata:{"x":1}\n\n'
    body = (noise + streamed(endpoint)).replace(b"\n\n", b"\n\n" + noise, 3) + b"data: [DONE]\n\n"
    for end in (b"\n", b"\r\n", b"\r"):
        assert read(endpoint, b"\xef\xbb\xbf" + body.replace(b"\n", end)).usage == USAGE


def test_a_stream_cut_off_gives_the_usage_so_far(endpoint):
    """Anthropic and Gemini report what was sent at the start, OpenAI only at the end; no cut raises."""
    body = streamed(endpoint)
    found = [read(endpoint, body[:end], size=100_000) for end in range(0, len(body) * 2 // 3, 11)]
    seen = [answer.usage.input_tokens for answer in found if answer and answer.usage]
    assert set(seen) <= {USAGE.input_tokens}
    assert bool(seen) == (endpoint.format in ("anthropic", "gemini"))


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_answers_are_read(endpoint, encoding, compress):
    """Opened on the side; the client gets them as they are."""
    assert read(endpoint, compress(streamed(endpoint)), encoding=encoding).usage == USAGE


def test_a_compressed_stream_that_breaks_off_is_read_as_far_as_it_goes():
    """What the server flushed is there."""
    endpoint = ENDPOINTS[0]
    packer = zlib.compressobj(wbits=31)
    sent = packer.compress(streamed(endpoint)) + packer.flush(zlib.Z_SYNC_FLUSH)
    assert read(endpoint, sent, encoding="gzip").usage == USAGE


def test_long_answers_are_given_up_quietly(endpoint):
    """Before and after opening them; nothing of them is kept."""
    body = streamed(endpoint)
    reader = AnswerReader(endpoint.format, SSE, most_bytes=100)
    reader.feed(body)
    assert reader._kept is None
    reader.feed(b"more")
    assert reader.finish() is None
    assert read(endpoint, gzip.compress(b"data: " + b" " * 1_000_000), encoding="gzip", most_bytes=10_000) is None


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"", ""),
        (b"<html>Bad gateway</html>", ""),
        (b'{"error":{"message":"overloaded"}}', ""),
        (b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n', ""),
        (b'data: {"type":"message_start","message":7}\n\n', ""),
        (b'data: {"choices":[7]}\n\n', ""),
        (b'data: {"candidates":7}\n\n', ""),
        (b'data: {"type":"response.created"}\n\n', ""),
        (b"no gzip", "gzip"),
        (b"no zstd", "zstd"),
        (b"no br at all", "br"),
        (b"{}", "unheard-of"),
    ],
)
def test_what_is_no_answer_is_none(endpoint, body, encoding):
    """Errors, pages of gateways and nonsense do no harm, whatever they say they are."""
    for content_type in ("", SSE, "application/json"):
        answer = read(endpoint, body, content_type, encoding)
        assert answer is None or answer.usage is None


def test_a_stream_of_gemini_without_events():
    """Without alt=sse its stream is one list of chunks."""
    gemini = next(one for one in ENDPOINTS if one.format == "gemini")
    chunks = [json.loads(event[6:]) for event in stream_answer("gemini", whole(gemini), {})]
    assert read(gemini, json.dumps(chunks).encode(), "application/json").usage == USAGE
