"""One API of a provider: where it listens, and how a body sent to it is cut into messages without being decoded."""

import dataclasses
import json
import re
from abc import ABC
from typing import Any, ClassVar

import msgspec

from redline.errors import FormatError
from redline.formats import find_format
from redline.values import payloads
from redline.values.messages import ToolResult
from redline.wire.body import Body

__all__ = ["ABSENT", "MOST_BODY_BYTES", "Api", "Cut", "read_raw"]

MOST_BODY_BYTES = 64 << 20
"""Longer bodies are passed on unread. The providers take 32 MB at most."""
ABSENT = msgspec.Raw(b"")
"""A field that the client did not write."""

_BOM = b"\xef\xbb\xbf"
_MOST_LEADING = 32
"""How many messages ahead of the first one said by somebody are looked at."""


class Cut(msgspec.Struct, kw_only=True):
    """A body's fields as they are written, none of them decoded; each API adds its own, and `messages` under its name."""

    messages: list[msgspec.Raw]
    model: msgspec.Raw = ABSENT
    stream: msgspec.Raw = ABSENT


class Api(ABC):
    """What Redline must know of one API to read what is sent to it."""

    name: ClassVar[str]
    """Also the name of the format of its messages."""
    provider: ClassVar[str]
    path: ClassVar[re.Pattern[str]]
    """How the path ends where a model is asked with a history."""
    fields: ClassVar[type[Cut]]
    in_cache_key: ClassVar[tuple[str, ...]] = ()
    """Fields beside the messages that are part of what the provider's cache is looked up by."""

    def __init__(self) -> None:
        self._decode = msgspec.json.Decoder(self.fields).decode

    def takes(self, method: str, path: str) -> bool:
        """Whether a model is asked here, behind whatever prefix; `path` has neither query nor label."""
        return method == "POST" and self.path.search(path) is not None

    def read(self, body: bytes, path: str) -> Body:
        """What the body says. It is never refused: what cannot be read is untouchable."""
        if len(body) > MOST_BODY_BYTES:
            return Body(body, self.name, untouchable=f"it is longer than {MOST_BODY_BYTES >> 20} MB")
        try:
            cut = self._decode(body[len(_BOM) :] if body.startswith(_BOM) else body)
        except msgspec.ValidationError:
            return Body(body, self.name, untouchable="it has no list of messages")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            try:
                cut = self._cut_unusual(body.decode("utf-8-sig"))
            except (ValueError, LookupError, RecursionError):
                return Body(body, self.name, untouchable="it is not JSON, or has no list of messages, or is nested too deeply")
        messages = tuple(map(bytes, cut.messages))
        try:
            read = self._read(body, messages, cut, path)
        except (ValueError, RecursionError):
            return Body(body, self.name, messages, untouchable="it holds what no parser takes")
        reason = read.untouchable or self._why_untouchable(messages)
        return dataclasses.replace(read, untouchable=reason) if reason != read.untouchable else read

    def _read(self, raw: bytes, messages: tuple[bytes, ...], cut: Any, path: str) -> Body:  # noqa: ARG002 - Gemini looks at it
        """The body with all that the fields say, as OpenAI has them."""
        preamble = {name: read_raw(getattr(cut, name)) for name in self.in_cache_key}
        model, session = read_raw(cut.model), read_raw(cut.prompt_cache_key)
        return Body(
            raw,
            self.name,
            messages,
            model if isinstance(model, str) else "",
            {name: held for name, held in preamble.items() if held is not None},
            session if isinstance(session, str) else "",
            is_streamed=read_raw(cut.stream) is True,
            untouchable=self._why_kept_elsewhere(cut, messages),
        )

    def _why_kept_elsewhere(self, cut: Any, messages: tuple[bytes, ...]) -> str:  # noqa: ARG002 - for those who look
        """Why the list is not the whole history; empty if it is."""
        return ""

    def _cut_unusual(self, text: str) -> Cut:
        """A body that the fast parser refuses: tools cut texts inside of an emoji, and the half of it is sent as an escape."""
        json.loads(text, strict=False)
        top = payloads.skip_space(text, 0)
        written: dict[Any, str] = {name: text[start:end] for name, _, start, end in payloads.members_of(text, top)}
        listed = written[find_format(self.name).messages_field]
        if not listed.startswith("["):
            raise ValueError("the messages are no list")
        others = [name for name in self.fields.__struct_fields__ if name != "messages" and name in written]
        return self.fields(
            messages=[msgspec.Raw(listed[start:end].encode()) for _, _, start, end in payloads.members_of(listed, 0)],
            **{name: msgspec.Raw(written[name].encode()) for name in others},
        )

    def _why_untouchable(self, messages: tuple[bytes, ...]) -> str:
        """What is wrong with the list, whichever API it is of."""
        if not messages:
            return "it has no messages"
        if {message[:1] for message in messages} != {b"{"}:
            return "a message is no object"
        return "the list begins with a result: the service keeps what came before" if self._begins_with_result(messages) else ""

    def _begins_with_result(self, messages: tuple[bytes, ...]) -> bool:
        """Whether the first message that is not a system prompt answers a call that is not there."""
        format = find_format(self.name)
        for payload in messages[:_MOST_LEADING]:
            try:
                message = format.read(payload)
            except FormatError:
                return False
            if message.role != "system":
                return any(isinstance(part, ToolResult) for part in message.parts)
        return False


def read_raw(field: msgspec.Raw) -> Any:
    """The value of a field; None where it is absent."""
    written = bytes(field)
    return payloads.decode(written) if written else None
