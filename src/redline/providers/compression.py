"""Compressed bodies, opened and closed again: gzip, deflate, br and zstd, never to more bytes than the caller allows."""

import gzip
import importlib
import io
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redline.errors import MissingExtraError, ValidationError

ENCODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd")
"""The names that the header content-encoding may have."""

_PIECE_BYTES = 1 << 16
_MOST_NAMES = 4
"""Encodings of one body, one in the other."""
_MOST_RATIO = 1_000
_ANY_BYTES = 1 << 20
"""A body may open to so many times its size, and to this much in any case: of what is said, nothing is as repetitive."""


def decompress(body: bytes, encoding: str, *, most_bytes: int) -> bytes:
    """What was compressed with the header's encodings, as far as it goes; a ValidationError if damaged, unknown, too long."""
    most_bytes = min(most_bytes, max(_ANY_BYTES, _MOST_RATIO * len(body)))
    for name in reversed(_named(encoding)):
        errors: tuple[type[Exception], ...] = (zlib.error, gzip.BadGzipFile)
        if name in ("br", "zstd"):
            errors = (_library("brotli").error if name == "br" else _library("zstandard").ZstdError,)
        try:
            body = _open(body, name, most_bytes)
        except errors as problem:
            raise ValidationError(f"The body says that it is {name}, but it cannot be opened: {problem}") from problem
        if len(body) > most_bytes:
            raise ValidationError(f"The body in {name} opens to more than {most_bytes:,} bytes, which is the limit here.")
    return body


def compress(body: bytes, encoding: str) -> bytes:
    """The body in an encoding, or in several, as the header content-encoding names them."""
    for name in _named(encoding):
        match name:
            case "br":
                body = bytes(_library("brotli").compress(body, quality=5))
            case "zstd":
                body = bytes(_library("zstandard").ZstdCompressor().compress(body))
            case "deflate":
                body = zlib.compress(body)
            case _:
                body = gzip.compress(body, 6, mtime=0)
    return body


def _named(encoding: str) -> list[str]:
    names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if unknown := next((name for name in names if name not in ENCODINGS), None):
        raise ValidationError(f"{unknown!r:.50} is no encoding that Redline opens. It opens {', '.join(ENCODINGS)}.")
    if len(names) > _MOST_NAMES:
        raise ValidationError(f"The body is compressed {len(names)} times; Redline opens it up to {_MOST_NAMES} times.")
    return names


def _open(body: bytes, name: str, most_bytes: int) -> bytes:
    """The opened body, or a little more of it than there may be, so that the caller sees that there is more."""
    match name:
        case "br":
            decompressor, pieces = _library("brotli").Decompressor(), iter((body,))
            return _read(lambda size: decompressor.process(next(pieces, b""), output_buffer_limit=size), most_bytes)
        case "zstd":
            opener = _library("zstandard").ZstdDecompressor()
            return _read(opener.stream_reader(io.BytesIO(body), read_across_frames=True).read, most_bytes)
        case "deflate":
            try:  # with the header that the standard asks for, or without, as some send it
                return zlib.decompressobj(15).decompress(body, most_bytes + 1)
            except zlib.error:
                return zlib.decompressobj(-15).decompress(body, most_bytes + 1)
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as reader:
        return _read(reader.read1, most_bytes)


def _read(read: Callable[[int], bytes], most_bytes: int) -> bytes:
    opened = bytearray()
    with suppress(EOFError):  # it may break off
        while len(opened) <= most_bytes and (piece := read(_PIECE_BYTES)):
            opened += piece
    return bytes(opened)


def _library(module: str) -> Any:
    """An optional library, imported when the first such body comes."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"Opening bodies in {'br' if module == 'brotli' else 'zstd'}", "proxy") from None
