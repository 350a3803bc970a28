"""Tokens of texts and messages, counted offline: exactly, or estimated, and corrected by reported usage."""

import base64
import binascii
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.util import find_spec
from statistics import median
from typing import Protocol

import msgspec

from redline.errors import ValidationError
from redline.tokens.estimate import Estimate, Exact
from redline.values import payloads
from redline.values.checks import has_methods, short_repr
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = [
    "PER_MESSAGE",
    "Calibrated",
    "CountMemory",
    "Counter",
    "Estimate",
    "Exact",
    "MessageTokens",
    "Remembered",
    "calibrate",
    "check_counter",
    "count_message",
    "count_part",
    "count_parts",
    "default_counter",
    "picture_size",
    "picture_tokens",
]

_MOST_DEVIATIONS = 5.0
"""Pairs further than this from the median, in median deviations, are taken to be about something else."""
_LEAST_DEVIATION = 0.02
_LONGEST_KEPT = 256
"""Longer texts are known by their hash, so that the memory does not keep them alive."""

_HASHED_AT_ONCE = 1_000_000
"""Characters, so that a long text is not copied whole."""


class Counter(Protocol):
    """Counts the tokens of a text. Any object with a name and this method will do."""

    @property
    def name(self) -> str:
        """Which counter this is: two counters of one name give the same counts."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens, never negative, 0 for the empty text."""
        ...


class Calibrated:
    """A counter times a factor."""

    def __init__(self, counter: Counter, factor: float) -> None:
        if not (math.isfinite(factor) and factor > 0):
            raise ValidationError(f"a calibration factor must be a positive number, not {factor}; see redline.tokens.calibrate")
        self.name = f"{counter.name} x {factor:.6g}"
        self._counter = counter
        self._factor = factor

    def count(self, text: str) -> int:
        """The corrected count, rounded up."""
        return math.ceil(self._counter.count(text) * self._factor)


def calibrate(pairs: Iterable[tuple[float, float]]) -> float:
    """The factor that takes counted tokens to reported ones; 1 if nothing was learned.

    A pair is what was counted and what the provider reported for the same content: best the growth between two
    requests, where system prompt and tools, which both contain, cancel out. Pairs far from the others (a rewritten
    history, a picture) are left aside; of the rest the large ones weigh most.
    """
    known = [(counted, reported) for counted, reported in pairs if counted > 0 and reported > 0]
    if not known:
        return 1.0
    middle = median(reported / counted for counted, reported in known)
    spread = median(abs(reported / counted - middle) for counted, reported in known)
    reach = _MOST_DEVIATIONS * max(spread, _LEAST_DEVIATION * middle)
    near = [(counted, reported) for counted, reported in known if abs(reported / counted - middle) <= reach]
    return sum(counted * reported for counted, reported in near) / sum(counted * counted for counted, _ in near)


class CountMemory:
    """A bounded memory of counts, for any number of counters; of its two generations the older is forgotten when full."""

    def __init__(self, limit: int = 65536) -> None:
        self._half = max(limit // 2, 1)
        self._young: dict[tuple[str, str | bytes], int] = {}
        self._old: dict[tuple[str, str | bytes], int] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def count(self, counter: Counter, text: str) -> int:
        """The count of the text, from memory if it is there."""
        known_by: str | bytes = text
        if len(text) > _LONGEST_KEPT:
            digest = blake2b(digest_size=16)
            for start in range(0, len(text), _HASHED_AT_ONCE):
                digest.update(text[start : start + _HASHED_AT_ONCE].encode("utf-8", "surrogatepass"))
            known_by = digest.digest()
        key = (counter.name, known_by)
        found = self._young.get(key)
        if found is not None:
            return found
        remembered = self._old.get(key)
        count = counter.count(text) if remembered is None else remembered
        if len(self._young) >= self._half:
            self._young, self._old = {}, self._young
        self._young[key] = count
        return count


_SHARED = CountMemory()


class Remembered:
    """A counter that remembers its counts, by default in a memory that the whole process shares."""

    def __init__(self, counter: Counter, memory: CountMemory = _SHARED) -> None:
        self.name = counter.name
        self.count: Callable[[str], int] = partial(memory.count, counter)
        """The count of the wrapped counter."""


PER_MESSAGE = 4
"""The marks around a message and the name of its role."""
_PER_CALL = 8
"""The marks around a call or a result and the id that ties them together."""


class MessageTokens(msgspec.Struct, frozen=True):
    """What a message costs to send."""

    text: int = 0
    reasoning: int = 0
    calls: int = 0
    results: int = 0
    """Without the pictures in them, which are media."""
    media: int = 0
    opaque: int = 0
    overhead: int = PER_MESSAGE

    @property
    def total(self) -> int:
        """All of it."""
        return self.text + self.reasoning + self.calls + self.results + self.media + self.opaque + self.overhead


def count_message(message: Message, counter: Counter | None = None) -> MessageTokens:
    """The tokens of a message and of what lies inside its results."""
    counter = counter or default_counter()
    sums = dict.fromkeys(MessageTokens.__struct_fields__, 0)
    sums["overhead"] = PER_MESSAGE
    for part in message.parts:
        pictures = [inner for inner in part.parts if isinstance(inner, Media)] if isinstance(part, ToolResult) else []
        media = sum(count_part(picture, counter) for picture in pictures)
        sums[_KINDS[type(part)]] += count_part(part, counter) - media
        sums["media"] += media
    return MessageTokens(**sums)


def count_part(part: Part, counter: Counter | None = None) -> int:
    """The tokens of one part: a call is its name and its input as compact JSON, a result all that lies in it."""
    return count_parts((part,), counter or default_counter())


def count_parts(parts: Sequence[Part], counter: Counter) -> int:
    """The tokens of several parts. Those of a message have `PER_MESSAGE` besides, as in `count_message`."""
    tokens = 0
    for part in parts:
        match part:
            case Text() | Reasoning():
                tokens += counter.count(part.text)
            case ToolCall():
                tokens += _PER_CALL + counter.count(part.name) + counter.count(_as_text(part.input))
            case ToolResult():
                texts = [one.text for one in part.parts if type(one) is Text]
                tokens += _PER_CALL + sum(map(counter.count, texts))
                if len(texts) < len(part.parts):
                    tokens += count_parts([one for one in part.parts if type(one) is not Text], counter)
            case Media(source_type="text"):
                tokens += counter.count(part.source)
            case Media():
                tokens += picture_tokens(part)
            case Opaque():
                tokens += counter.count(_as_text(part.native))
    return tokens


@lru_cache(maxsize=1)
def default_counter() -> Counter:
    """Exact if the extra `tokens` is installed, else the estimate; either way counts are remembered."""
    return Remembered(Exact() if find_spec("splintr") else Estimate())


_KINDS: dict[type[Part], str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "calls",
    ToolResult: "results",
    Media: "media",
    Opaque: "opaque",
}
"""The field of `MessageTokens` that a part counts to."""


def _as_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return payloads.encode(value).decode()


def check_counter(counter: object) -> None:
    """Refuse what does not count tokens under a name."""
    if not has_methods(counter, "count") or not isinstance(getattr(counter, "name", None), str):
        raise ValidationError(f"counter must be an object with a `name` and a method `count`, not {short_repr(counter)}")


# --- pictures, from their size as their first bytes tell it

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
    if header.startswith(b"\x89PNG\r\n\x1a\n") and header[12:16] == b"IHDR" and len(header) >= 24:
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
