"""Messages and their parts: frozen values that keep the native payload they were read from."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from redline.values import payloads
from redline.values.payloads import Path, Payload

# The garbage collector passes over these values: they are frozen and made of JSON, so no cycle can begin in them.

Role = Literal["system", "user", "assistant", "tool"]
MediaSource = Literal["base64", "url", "file", "text"]


class Text(msgspec.Struct, frozen=True, gc=False):
    """Words, as said."""

    text: str
    at: Path = ()
    """Where the part is in the native payload. Empty for a part that was not read from one."""


class Reasoning(msgspec.Struct, frozen=True, gc=False):
    """What the model thought before it spoke."""

    text: str
    is_bound: bool = False
    """Signed or encrypted: valid only unchanged, and only with the provider that made it."""
    at: Path = ()


class Media(msgspec.Struct, frozen=True, gc=False):
    """A picture, sound, video or document."""

    media_type: str
    """As the provider names it (`image/png`); `image/*` and the like where it only says the kind."""
    source: str
    """Its base64 text, its URL, its file id at the provider, or its plain text."""
    source_type: MediaSource = "base64"
    at: Path = ()


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """A block Redline does not interpret; it is carried as it is."""

    kind: str
    native: Any = None
    at: Path = ()
    is_reference: bool = False
    """Names something that the provider holds, which may be a call."""


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """The model asks for a tool to be run."""

    id: str | None
    name: str
    input: Any = None
    """As the provider gave it: an object, its JSON text, or free text."""
    is_hosted: bool = False
    """Run by the provider itself; its result comes with it and needs no answer from the client."""
    at: Path = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """The input as an object; free text, or JSON that is no object, is under `input`."""
        if isinstance(self.input, dict):
            return self.input
        if not isinstance(self.input, str):
            return {} if self.input is None else {"input": self.input}
        if not self.input.strip():
            return {}
        try:
            parsed = payloads.decode_text(self.input)
        except (ValueError, RecursionError):
            parsed = None
        return parsed if isinstance(parsed, dict) else {"input": self.input}


class ToolResult(msgspec.Struct, frozen=True, gc=False):
    """What a tool gave back."""

    call_id: str | None
    parts: tuple["Text | Media | Opaque", ...] = ()
    name: str | None = None
    """The tool's name, where the result itself says it."""
    is_error: bool = False
    is_hosted: bool = False
    at: Path = ()

    @property
    def text(self) -> str:
        """Its words, media and unknown blocks aside."""
        parts = self.parts
        if len(parts) == 1 and type(parts[0]) is Text:
            return parts[0].text
        return "\n".join([part.text for part in parts if isinstance(part, Text)])


Part = Text | Reasoning | ToolCall | ToolResult | Media | Opaque


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message as said by the system, the user, the assistant or a tool."""

    role: Role
    parts: tuple[Part, ...]
    native: Payload
    """What it was read from: the very same object, or the very same bytes."""
    format: str
    """The name of the format that reads and writes it."""
    timestamp_ms: float | None = None

    @property
    def text(self) -> str:
        """Its words, everything else aside."""
        return "\n".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the client must answer."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall) and not part.is_hosted])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The answers to the client's calls."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult) and not part.is_hosted])

    def walk(self) -> Iterator[Part]:
        """Every part, and what lies inside the results."""
        for part in self.parts:
            yield part
            if isinstance(part, ToolResult):
                yield from part.parts


def identity(message: Message) -> str:
    """A stable hash of the content: the same for an object and its bytes, whatever the key order, spacing, escapes."""
    content = payloads.canonical(payloads.decode(message.native))
    return hashlib.sha256(message.format.encode() + b"\n" + content).hexdigest()


# --- parts by a short name, which a model can repeat: `#12.0` is the first part of message 12

_REFERENCE = re.compile(r"(?:(?<![\w.#-])(\d{1,4}))?#(\d{1,9})\.(\d{1,6})(?!\d)")


def reference_to(index: int, place: int, generation: int | None = None) -> str:
    """The name of a part: the index of its message in the record, its place in it.

    `0#12.0` is a part of the first of several conversations that go on from one another, whichever of them says it.
    """
    return f"{'' if generation is None else generation}#{index}.{place}"


def find_reference(text: str) -> tuple[int, int] | None:
    """The index and the place that a text names, if it names a part; of several the last counts."""
    found = _REFERENCE.findall(text)
    return (int(found[-1][1]), int(found[-1][2])) if found else None


def find_generation(text: str) -> int | None:
    """Which conversation of those that go on from one another the reference in a text is about, if it says so."""
    found = _REFERENCE.findall(text)
    return int(found[-1][0]) if found and found[-1][0] else None
