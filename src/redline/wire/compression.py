"""Compressed bodies, opened and closed again: gzip, deflate, br and zstd, never to more bytes than the caller allows."""

import gzip
import importlib
import io
import zlib
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType

from redline.errors import MissingExtraError, ValidationError

__all__ = ["ENCODINGS", "compress", "decompress"]

_PIECE_BYTES = 1 << 16
_MOST_NAMES = 4
"""Encodings of one body, one in the other."""
_MOST_RATIO = 1_000
_ANY_BYTES = 1 << 20
"""A body may open to so many times its size, and to this much in any case: of what is said, nothing is as repetitive."""


def decompress(body: bytes, encoding: str, *, most_bytes: int) -> bytes:
    """What was compressed; of a body that breaks off, as much as there is. `encoding` is the header content-encoding.

    A ValidationError for an encoding that is unknown, a body that is damaged, and one that would be too long.
    """
    most_bytes = min(most_bytes, max(_ANY_BYTES, _MOST_RATIO * len(body)))
    for name in reversed(_named(encoding)):
        try:
            body = _OPENERS[name](body, most_bytes)
        except _errors_of(name) as problem:
            raise ValidationError(f"The body says that it is {name}, but it cannot be opened: {problem}") from problem
        if len(body) > most_bytes:
            raise ValidationError(f"The body in {name} opens to more than {most_bytes:,} bytes, which is the limit here.")
    return body


def compress(body: bytes, encoding: str) -> bytes:
    """The body in an encoding, or in several, as the header content-encoding names them."""
    for name in _named(encoding):
        body = _CLOSERS[name](body)
    return body


def _named(encoding: str) -> list[str]:
    names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if unknown := next((name for name in names if name not in ENCODINGS), None):
        raise ValidationError(f"{unknown!r:.50} is no encoding that Redline opens. It opens {', '.join(ENCODINGS)}.")
    if len(names) > _MOST_NAMES:
        raise ValidationError(f"The body is compressed {len(names)} times; Redline opens it up to {_MOST_NAMES} times.")
    return names


# --- opening: each gives a little more than it may, so that the caller sees that there is more


def _open_gzip(body: bytes, most_bytes: int) -> bytes:
    opened = bytearray()
    with suppress(EOFError), gzip.GzipFile(fileobj=io.BytesIO(body)) as reader:  # it may break off
        while len(opened) <= most_bytes and (piece := reader.read1(_PIECE_BYTES)):
            opened += piece
    return bytes(opened)


def _open_deflate(body: bytes, most_bytes: int) -> bytes:
    """With the header that the standard asks for, or without, as some send it."""
    try:
        return zlib.decompressobj(15).decompress(body, most_bytes + 1)
    except zlib.error:
        return zlib.decompressobj(-15).decompress(body, most_bytes + 1)


def _open_br(body: bytes, most_bytes: int) -> bytes:
    decompressor = _brotli().Decompressor()
    opened, piece = bytearray(), decompressor.process(body, output_buffer_limit=_PIECE_BYTES)
    while piece and len(opened) <= most_bytes:
        opened += piece
        piece = decompressor.process(b"", output_buffer_limit=_PIECE_BYTES)
    return bytes(opened)


def _open_zstd(body: bytes, most_bytes: int) -> bytes:
    reader, opened = _zstandard().ZstdDecompressor().stream_reader(io.BytesIO(body), read_across_frames=True), bytearray()
    while len(opened) <= most_bytes and (piece := reader.read(_PIECE_BYTES)):
        opened += piece
    return bytes(opened)


_OPENERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _open_gzip,
    "x-gzip": _open_gzip,
    "deflate": _open_deflate,
    "br": _open_br,
    "zstd": _open_zstd,
}
_CLOSERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "x-gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "deflate": zlib.compress,
    "br": lambda body: bytes(_brotli().compress(body, quality=5)),
    "zstd": lambda body: bytes(_zstandard().ZstdCompressor().compress(body)),
}
ENCODINGS = tuple(_OPENERS)
"""The names that the header content-encoding may have."""


# --- the libraries, which only those need who meet such bodies


def _brotli() -> ModuleType:
    try:
        return importlib.import_module("brotli")
    except ImportError:
        raise MissingExtraError("Opening bodies in br", "proxy") from None


def _zstandard() -> ModuleType:
    try:
        return importlib.import_module("zstandard")
    except ImportError:
        raise MissingExtraError("Opening bodies in zstd", "proxy") from None


def _errors_of(name: str) -> tuple[type[Exception], ...]:
    """What an opener raises for a body that is damaged."""
    match name:
        case "br":
            return (_brotli().error,)
        case "zstd":
            return (_zstandard().ZstdError,)
    return (zlib.error, gzip.BadGzipFile)
