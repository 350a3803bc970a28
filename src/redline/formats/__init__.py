"""The wire formats of the providers, by name, and the recognition of an unnamed one.

One file per provider holds its field names: how a message is read, changed and composed, and under `_flaws` what the API
refuses in it, which is the place for a new rule about one message; a rule about a whole history is a law (`redline.laws`). To
add a format, write a file like `ai_sdk.py` and list its class in `FORMATS`.

What the SDKs take is in `arguments` and `tool_definitions`, what they return in `answers`, `streamed` and `usage`.
"""

from collections.abc import Sequence
from typing import Any

from redline.errors import FormatError, ValidationError
from redline.formats.ai_sdk import AiSdk
from redline.formats.anthropic import Anthropic
from redline.formats.base import Format, decode_object
from redline.formats.gemini import Gemini
from redline.formats.openai_chat import OpenAIChat
from redline.formats.openai_responses import OpenAIResponses
from redline.values.checks import make_list
from redline.values.messages import Message
from redline.values.payloads import Payload

__all__ = ["FORMATS", "Format", "detect_format", "find_format", "format_of_model", "read_history", "read_messages"]

FORMATS: dict[str, Format] = {
    format.name: format for format in (OpenAIChat(), Anthropic(), OpenAIResponses(), Gemini(), AiSdk())
}
"""Every format by its name. The earlier one wins where a list fits several alike."""


def find_format(name: str, messages: Sequence[Payload] = ()) -> Format:
    """The format of this name; `auto` recognises it from the messages."""
    return detect_format(messages) if name == "auto" else _named(name)


def detect_format(messages: Sequence[Payload]) -> Format:
    """The format that every message could be of, and that most of them speak for."""
    return _recognised(_decoded(make_list("messages", messages)))


def read_history(messages: Sequence[Payload], format: str = "auto") -> tuple[Format, list[Message]]:
    """The messages of a plain list, and the format they are read by, which `auto` recognises from them."""
    messages = make_list("messages", messages)
    natives = _decoded(messages)
    chosen = _recognised(natives) if format == "auto" else _named(format)
    return chosen, [chosen.interpret(native, payload) for native, payload in zip(natives, messages, strict=True)]


def read_messages(messages: Sequence[Payload], format: str = "auto") -> tuple[Message, ...]:
    """The messages of a plain list."""
    return tuple(read_history(messages, format)[1])


def format_of_model(model: str) -> str | None:
    """The format of the API that serves a model under its maker's own name; None where several could."""
    makers = {"claude-": "anthropic", "gemini-": "gemini"}
    return next((format for prefix, format in makers.items() if model.lower().startswith(prefix)), None)


def _named(name: str) -> Format:
    if isinstance(name, str) and name in FORMATS:
        return FORMATS[name]
    raise ValidationError(f"There is no format named {name!r}. Known are: {', '.join(('auto', *FORMATS))}.")


def _decoded(messages: Sequence[Payload]) -> list[dict[str, Any]]:
    """The messages as objects; the error for one that is none names its position."""
    natives: list[dict[str, Any]] = []
    try:
        for payload in messages:
            natives.append(payload if type(payload) is dict else decode_object(payload))
    except FormatError as problem:
        raise FormatError(f"Message {len(natives)}: {problem}") from problem
    return natives


def _recognised(natives: list[dict[str, Any]]) -> Format:
    """The format that all of them could be of, and that most of them speak for."""
    votes: dict[str, int] = {}
    first_misfits: dict[str, int] = {}
    for name, format in FORMATS.items():
        certain, evidence_of = 0, format.evidence
        for position, native in enumerate(natives):
            evidence = evidence_of(native)
            if evidence == 0:
                first_misfits[name] = position
                break
            certain += evidence == 2
        else:
            votes[name] = certain
    if votes:
        return FORMATS[max(votes, key=votes.__getitem__)]
    best, misfit = max(first_misfits.items(), key=lambda found: found[1])
    raise FormatError(
        f"The messages are of no format that Redline knows: {best} fits best, but not message {misfit} "
        f"(keys {sorted(map(str, natives[misfit]))}). Name the format, or correct the message."
    )
