"""The wire formats of the providers, by name, and the recognition of an unnamed one."""

from collections.abc import Sequence
from typing import Any

from redline.errors import FormatError, ValidationError
from redline.formats.ai_sdk import AiSdk
from redline.formats.anthropic import Anthropic
from redline.formats.base import Format, decode_object
from redline.formats.gemini import Gemini
from redline.formats.openai_chat import OpenAIChat
from redline.formats.openai_responses import OpenAIResponses
from redline.messages import Message
from redline.payloads import Payload

__all__ = ["FORMATS", "Format", "detect_format", "find_format", "read_messages"]

FORMATS: dict[str, Format] = {
    format.name: format for format in (OpenAIChat(), Anthropic(), OpenAIResponses(), Gemini(), AiSdk())
}
"""Every format by its name. The earlier one wins where a list fits several alike."""


def find_format(name: str, messages: Sequence[Payload] = ()) -> Format:
    """The format of this name; `auto` recognises it from the messages."""
    if name == "auto":
        return detect_format(messages)
    try:
        return FORMATS[name]
    except KeyError:
        known = ", ".join(("auto", *FORMATS))
        raise ValidationError(f"There is no format named {name!r}. Known are: {known}.") from None


def detect_format(messages: Sequence[Payload]) -> Format:
    """The format that every message could be of, and that most of them speak for."""
    natives = [decode_object(payload) for payload in messages]
    votes = {name: _votes(format, natives) for name, format in FORMATS.items()}
    best = max(votes, key=lambda name: votes[name][0])
    if votes[best][0] >= 0:
        return FORMATS[best]
    best, (_, first_misfit) = max(votes.items(), key=lambda vote: vote[1][1])
    raise FormatError(
        f"The messages are of no format that Redline knows: {best} fits best, but not message {first_misfit} "
        f"(keys {sorted(natives[first_misfit])}). Name the format, or correct the message."
    )


def read_messages(messages: Sequence[Payload], format: str = "auto") -> tuple[Message, ...]:
    """The messages of a plain list."""
    chosen = find_format(format, messages)
    return tuple(chosen.read(payload) for payload in messages)


def _votes(format: Format, natives: list[dict[str, Any]]) -> tuple[int, int]:
    """How many messages only this format could have written; -1 and the first misfit if one cannot be of it."""
    certain = 0
    for position, native in enumerate(natives):
        evidence = format.evidence(native)
        if evidence == 0:
            return -1, position
        certain += evidence == 2
    return certain, len(natives)
