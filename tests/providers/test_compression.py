"""Compressed bodies."""

import gzip
import zlib

import brotli
import pytest
import zstandard

from redline.errors import ValidationError
from redline.providers.compression import ENCODINGS, compress, decompress

BODY = b'{"messages":[]}' * 1_000


@pytest.mark.parametrize("encoding", [*ENCODINGS, "", "identity", "GZIP", "gzip, zstd"])
def test_what_was_closed_opens(encoding):
    """Each encoding, several of them, and none."""
    closed = compress(BODY, encoding)
    assert decompress(closed, encoding, most_bytes=len(BODY)) == BODY
    assert (closed is BODY) == (encoding in ("", "identity"))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_more_than_the_limit_is_opened(encoding):
    """A small body may hold a very large one: it is not opened further than allowed."""
    bomb = compress(b"\0" * 50_000_000, encoding)
    with pytest.raises(ValidationError, match="more than 1,000 bytes"):
        decompress(bomb, encoding, most_bytes=1_000)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_damaged_is_refused(encoding):
    """With an error that names the encoding."""
    with pytest.raises(ValidationError, match=encoding):
        decompress(b"this is no such body", encoding, most_bytes=1_000)


def test_other_encodings_are_refused():
    """The error says which are known."""
    with pytest.raises(ValidationError, match="It opens gzip"):
        decompress(b"", "compress", most_bytes=1)


def test_all_ways_in_which_servers_write_it():
    """Several gzip members, deflate without its header, zstd in several frames and without its size, brotli in pieces."""
    raw = zlib.compressobj(wbits=-15)
    frames = zstandard.ZstdCompressor(write_content_size=False)
    pieces = brotli.Compressor()
    written = {
        "gzip": gzip.compress(BODY) + gzip.compress(BODY),
        "deflate": raw.compress(BODY + BODY) + raw.flush(),
        "zstd": frames.compress(BODY) + frames.compress(BODY),
        "br": pieces.process(BODY) + pieces.flush() + pieces.process(BODY) + pieces.finish(),
    }
    for encoding, body in written.items():
        assert decompress(body, encoding, most_bytes=100_000) == BODY + BODY
