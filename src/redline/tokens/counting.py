"""Tokens of a message, by kind of part, and the counter that is used when nobody names one."""

from functools import lru_cache
from importlib.util import find_spec

import msgspec

from redline.errors import ValidationError
from redline.tokens.counter import Counter
from redline.tokens.estimate import Estimate
from redline.tokens.exact import Exact
from redline.tokens.pictures import picture_tokens
from redline.tokens.remembered import Remembered
from redline.values import payloads
from redline.values.checks import has_methods, shown
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["MessageTokens", "check_counter", "count_message", "count_part", "default_counter"]

_PER_MESSAGE = 4
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
    overhead: int = _PER_MESSAGE

    @property
    def total(self) -> int:
        """All of it."""
        return self.text + self.reasoning + self.calls + self.results + self.media + self.opaque + self.overhead


def count_message(message: Message, counter: Counter | None = None) -> MessageTokens:
    """The tokens of a message and of what lies inside its results."""
    counter = counter or default_counter()
    sums = dict.fromkeys(MessageTokens.__struct_fields__, 0)
    sums["overhead"] = _PER_MESSAGE
    for part in message.parts:
        pictures = [inner for inner in part.parts if isinstance(inner, Media)] if isinstance(part, ToolResult) else []
        media = sum(count_part(picture, counter) for picture in pictures)
        sums[_KINDS[type(part)]] += count_part(part, counter) - media
        sums["media"] += media
    return MessageTokens(**sums)


def count_part(part: Part, counter: Counter | None = None) -> int:
    """The tokens of one part: a call is its name and its input as compact JSON, a result all that lies in it."""
    counter = counter or default_counter()
    match part:
        case Text() | Reasoning():
            return counter.count(part.text)
        case ToolCall():
            return _PER_CALL + counter.count(part.name) + counter.count(_as_text(part.input))
        case ToolResult():
            return _PER_CALL + sum(count_part(inner, counter) for inner in part.parts)
        case Media(source_type="text"):
            return counter.count(part.source)
        case Media():
            return picture_tokens(part)
        case Opaque():
            return counter.count(_as_text(part.native))


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
        raise ValidationError(f"counter must be an object with a `name` and a method `count`, not {shown(counter)}")
