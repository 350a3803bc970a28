"""The wire formats of the providers, by name, and the recognition of an unnamed one.

A folder per provider holds all that is known of it. In `messages`: how a message is read, changed and composed, and under
`_flaws` what the API refuses in it, which is the place for a new rule about one message. In `api`: the bodies and answers that
cross the wire, and what its SDK takes. A rule about a whole history is a law (`redline.providers.laws`). To add a format, write
a file like `ai_sdk/messages.py` and list its class in `FORMATS`; an API is listed in `redline.providers.apis`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.errors import FormatError, ValidationError
from redline.providers.ai_sdk.messages import AiSdk
from redline.providers.anthropic.messages import Anthropic
from redline.providers.format import Format, decode_object
from redline.providers.gemini.messages import Gemini
from redline.providers.openai_chat.messages import OpenAIChat
from redline.providers.openai_responses.messages import OpenAIResponses
from redline.values import payloads
from redline.values.checks import make_list
from redline.values.messages import Message, ToolResult
from redline.values.payloads import Payload

__all__ = [
    "FORMATS",
    "Format",
    "FormatVote",
    "check_message",
    "detect_format",
    "find_format",
    "format_of_model",
    "read_history",
    "read_messages",
]

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
    named = (name for name, one in FORMATS.items() if one.model_prefix and model.lower().startswith(one.model_prefix))
    return next(named, None)


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
    """The format that fits all of these messages, and of which most have something that only this format has."""
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


class FormatVote:
    """Every message votes once; a format that one cannot be of is out. With a single format left no more is decoded."""

    def __init__(self, fixed: Format | None = None) -> None:
        self._is_fixed = fixed is not None
        self._certain = dict.fromkeys((fixed.name,) if fixed else FORMATS, 0)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the formats that are still possible, in the order of the list of formats."""
        return tuple(self._certain)

    @property
    def votes(self) -> dict[str, int]:
        """By format that all messages can be of, how many speak for it; none where the format is fixed, as nobody counts."""
        return {} if self._is_fixed else dict(self._certain)

    def at(self, votes: Mapping[str, int]) -> "FormatVote | None":
        """With votes that were counted before; None if none were, or not for formats that are known."""
        if self._is_fixed:
            return self
        if not votes or not FORMATS.keys() >= votes.keys():
            return None
        vote = FormatVote()
        vote._certain = dict(votes)
        return vote

    @property
    def winner(self) -> Format:
        """The format that most messages speak for; the earlier in the list of formats where several are alike."""
        return FORMATS[max(self._certain, key=lambda name: self._certain[name])]

    def accepts(self, native: dict[str, Any]) -> bool:
        """Whether the message can be of a format that all messages before could be of."""
        return any(FORMATS[name].evidence(native) for name in self._certain)

    def add(self, payload: Payload) -> None:
        """Count a message that is accepted, while there is something to decide."""
        if len(self._certain) == 1:
            return
        native = decode_object(payload)
        evidence = {name: FORMATS[name].evidence(native) for name in self._certain}
        if not any(evidence.values()):
            raise FormatError("A message is of no format that the messages before it can be of. Give format=…")
        self._certain = {name: count + (evidence[name] == 2) for name, count in self._certain.items() if evidence[name]}


def check_message(payload: Payload, where: str = "The message") -> None:
    """Raise a ValidationError about `where` unless a format reads the payload, and it has content, even empty, or calls."""
    try:
        native = payloads.decode_once(payload)
    except ValueError as problem:
        raise ValidationError(f"{where} is not JSON: {problem}") from problem
    if not isinstance(native, dict):
        raise ValidationError(f"{where} must be an object with a role and content, not {type(native).__name__}")
    role, keys = native.get("role"), ", ".join(map(str, native)) or "none"
    has_content = native.get("content") is not None or native.get("parts") is not None
    reader = next((known for known in FORMATS.values() if known.evidence(native)), None)
    if reader is None and (not isinstance(role, str) or not role):
        raise ValidationError(f"{where} has no role (its keys are {keys}). Say who speaks, for example user.")
    if reader is None and has_content:
        raise FormatError(
            f"{where} (role {role!r}, keys {keys}) has the shape of no format that Redline knows ({', '.join(FORMATS)}). "
            "Check its role, and that its content is text or blocks of one format."
        )
    # Something may be said outside the content. Of a result its field must be there, which may be empty.
    parts = reader.read(native).parts if reader is not None and not has_content else ()
    is_said = any(not isinstance(part, ToolResult) or native.get(str(part.at[0])) is not None for part in parts)
    if not has_content and not is_said:
        raise ValidationError(f"{where} has neither content nor calls. Give it content; it may be empty.")
