"""The weight of messages: their bytes, and of each picture, document and result in them what limits ask for."""

import base64
import binascii
import re
from typing import Literal

import msgspec

from redline.tokens import picture_size, picture_tokens
from redline.values import payloads
from redline.values.messages import Media, Message, ToolResult
from redline.values.payloads import Path

PartKind = Literal["picture", "document", "media", "result"]

_MEDIA_SIGN = re.compile(
    rb'"(?:image|document|file|media|audio|video|input_(?:image|file|audio)|image_url|images|inline_?[dD]ata|file_?[dD]ata|'
    rb'(?:image|file)-[a-z-]+|resource|blob)"'
)
"""The types and fields of media, in quotes: a message written as bytes without any holds nothing but words."""
_LEAST_RESULT_CHARS = 1_000
"""A shorter result frees nothing worth its line."""
_TOKEN_CHARS = 4
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PAGE_COUNT = re.compile(rb"/Count\s+(\d{1,6})")


class HeavyPart(msgspec.Struct, frozen=True):
    """A picture, another medium, or the words of a result, of those that may give way to a line."""

    index: int
    """Of its message."""
    at: Path
    kind: PartKind
    chars: int
    """As it is sent: a picture's base64, the words of a result."""
    tokens: int
    media_type: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    """What it counts among pictures and pages: 1 for a picture."""
    may_go: bool = True

    @property
    def size_words(self) -> str:
        """Its size as a line says it: `1280x800, 134 kB`."""
        size = self.chars * 3 // 4 if self.kind != "result" else self.chars
        said = f"{size} B" if size < 1_000 else f"{size // 1_000:,} kB" if size < 1_000_000 else f"{size / 1_000_000:,.1f} MB"
        pages = f"{self.pages} pages, " if self.kind == "document" and self.pages > 1 else ""
        return f"{self.width}x{self.height}, {said}" if self.width else f"{pages}{said}"


def may_hold_media(payload: bytes) -> bool:
    """Whether a message, written as bytes, may hold more than words."""
    return _MEDIA_SIGN.search(payload) is not None


def heavy_parts(message: Message, index: int) -> tuple[HeavyPart, ...]:
    """What of a message may give way where a request is too large, in its order."""
    found: list[HeavyPart] = []
    for part in message.parts:
        inner = part.parts if isinstance(part, ToolResult) else (part,)
        found += [_media_weight(one, index) for one in inner if isinstance(one, Media)]
        is_words = isinstance(part, ToolResult) and not part.is_hosted and not any(isinstance(one, Media) for one in inner)
        if isinstance(part, ToolResult) and is_words and (chars := len(part.text)) >= _LEAST_RESULT_CHARS:
            found.append(HeavyPart(index, part.at, "result", chars, chars // _TOKEN_CHARS))
    return tuple(found)


def _media_weight(media: Media, index: int) -> HeavyPart:
    is_inline = media.source_type == "base64"
    kind: PartKind = "media"
    if media.media_type.startswith("image/"):
        kind = "picture"
    elif media.media_type == "application/pdf":
        kind = "document"
    width, height = (picture_size(media.source) or (0, 0)) if is_inline and kind == "picture" else (0, 0)
    pages = _page_count(media.source) if is_inline and kind == "document" else int(kind in ("picture", "document"))
    return HeavyPart(
        index, media.at, kind, len(media.source), picture_tokens(media) * max(pages, 1), media.media_type, width, height, pages
    )


def _page_count(source: str) -> int:
    """Pages of a PDF in base64: all that are listed, or the highest number given; 1 for a PDF that says neither."""
    try:
        content = base64.b64decode(source.partition("base64,")[2] or source)
    except (binascii.Error, ValueError):
        return 1
    counts = (int(found[1]) for found in _PAGE_COUNT.finditer(content))
    return max(len(_PAGE.findall(content)), max(counts, default=0), 1)


def sent_bytes(message: Message) -> int:
    """How many bytes a message has in a request's body."""
    native = message.native
    return len(native if isinstance(native, bytes) else payloads.encode(native)) + 1
