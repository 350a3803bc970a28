"""What a picture costs, from its size as its first bytes tell it."""

import base64
import binascii
import math

from redline.values.messages import Media

__all__ = ["picture_size", "picture_tokens"]

_PIXELS_PER_TOKEN = 750
_LONGEST_EDGE = 1568
_MOST_TOKENS = 1600
"""Anthropic's rule: pictures are scaled to 1568 pixels and cost width x height / 750, at most about 1600 tokens.

https://docs.claude.com/en/docs/build-with-claude/vision
"""
_HEADER_BASE64_CHARS = 4 * 65536
"""A JPEG may carry a preview and a colour profile before it says its size."""


def picture_tokens(media: Media) -> int:
    """Tokens of a picture; as many as the largest has where the size is not known (a URL, a document, a sound)."""
    size = picture_size(media.source) if media.source_type == "base64" else None
    if size is None:
        return _MOST_TOKENS
    width, height = size
    scale = min(1.0, _LONGEST_EDGE / max(width, height, 1))
    return min(_MOST_TOKENS, math.ceil(width * scale * height * scale / _PIXELS_PER_TOKEN))


def picture_size(source: str) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, GIF or WebP in base64; None for anything else."""
    start = source.find("base64,") + len("base64,") if source.startswith("data:") else 0
    encoded = source[start : start + _HEADER_BASE64_CHARS]
    try:
        header = base64.b64decode(encoded[: len(encoded) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    if header.startswith(b"\x89PNG\r\n\x1a\n") and len(header) >= 24:
        return int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")
    if header.startswith((b"GIF87a", b"GIF89a")) and len(header) >= 10:
        return int.from_bytes(header[6:8], "little"), int.from_bytes(header[8:10], "little")
    return _webp(header) or _jpeg(header)


def _webp(header: bytes) -> tuple[int, int] | None:
    if header[:4] != b"RIFF" or header[8:12] != b"WEBP" or len(header) < 30:
        return None
    match header[12:16]:
        case b"VP8X":
            return int.from_bytes(header[24:27], "little") + 1, int.from_bytes(header[27:30], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(header[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return int.from_bytes(header[26:28], "little") & 0x3FFF, int.from_bytes(header[28:30], "little") & 0x3FFF
        case _:
            return None


_JPEG_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg(header: bytes) -> tuple[int, int] | None:
    if not header.startswith(b"\xff\xd8"):
        return None
    at = 2
    while at + 9 <= len(header) and header[at] == 0xFF:
        if header[at + 1] in _JPEG_SIZE_MARKERS:
            return int.from_bytes(header[at + 7 : at + 9], "big"), int.from_bytes(header[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(header[at + 2 : at + 4], "big")
    return None
