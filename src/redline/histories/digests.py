"""What a message is known by when it comes again: what it says, not how its client happens to write it this time."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redline.errors import FormatError
from redline.formats.base import Format, decode_object
from redline.formats.cache_control import most_marks_in
from redline.formats.flaws import KNOWN_FIELDS
from redline.laws.hosted_results import HostedResults, stray_hosted_results
from redline.log.acceptance import redacted_payload
from redline.log.log import Redact
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.pairs import CallMatcher
from redline.values.payloads import Path

__all__ = ["Digests", "KnownMessage", "chained", "common_start", "digest_of", "lasting_parts", "same_parts"]

_BYTES = 16
_START = b""
"""The chain of no messages."""

_ORPHAN = b"answers nothing"
_MOST_LISTS = 64
_MOST_BYTES = 16 << 20
"""Of messages whose digests are remembered, in each of two generations, and of lists that may come again."""
_BYTES_BESIDE = 300
"""What a message takes in memory besides its own bytes."""


def digest_of(message: Message, format: Format) -> bytes:
    """Of all that the message says. Left out is only what clients move about, as docs/resent-lists.md lists it: cache marks,
    whether a text is a string or a block, the order of keys, fields without a value, ids that the provider gives or the client
    invents, and reasoning, which clients strip after a refusal.
    """
    native = decode_object(message.native)
    said = [message.role, *(_said(part, native, format) for part in lasting_parts(message))]
    if len(said) == 1:  # nothing but reasoning, or settings
        said.append([type(part).__name__ for part in message.parts])
    elif besides := format.said_besides(native, format.told_fields):
        said.append(["besides", besides])
    return hashlib.blake2b(format.name.encode() + payloads.canonical(said), digest_size=_BYTES).digest()


def chained(digests: Sequence[bytes], after: bytes = _START) -> Iterator[bytes]:
    """For each message what it is known by together with all before it."""
    for digest in digests:
        after = hashlib.blake2b(after + digest, digest_size=_BYTES).digest()
        yield after


def lasting_parts(message: Message | ToolResult) -> list[Part]:
    """What of a message, or of a result, is the same each time it comes: all but reasoning and empty texts."""
    return [
        part for part in message.parts if not isinstance(part, Reasoning) and not (isinstance(part, Text) and not part.text)
    ]


def same_parts(stored: Message, present: Message) -> dict[Path, Path]:
    """From the places of a message's parts to their places in the form in which it comes now; both have the same digest.

    Reasoning is found again only if all of it is there.
    """
    pairs = list(zip(lasting_parts(stored), lasting_parts(present), strict=True))
    thoughts = [[part for part in one.parts if isinstance(part, Reasoning)] for one in (stored, present)]
    if len(thoughts[0]) == len(thoughts[1]):
        pairs += zip(*thoughts, strict=True)
    places: dict[Path, Path] = {}
    for old, new in pairs:
        if isinstance(old, ToolResult) and isinstance(new, ToolResult):
            places |= {inner.at: other.at for inner, other in zip(lasting_parts(old), lasting_parts(new), strict=True)}
    return places | {old.at: new.at for old, new in pairs}  # where a result and its words share a place, the result is meant


def _said(part: Part, native: dict[str, Any], format: Format) -> Any:
    """What a part says, and what its block says besides."""
    said = _told(part, native, format)
    held: Any = native
    for key in part.at if not isinstance(part, Opaque) else ():  # of a result without words, the place is not there
        held = held.get(key) if isinstance(held, dict) else held[key]
    besides = format.said_besides(held, format.told_block_fields) if isinstance(held, dict) and held is not native else None
    return ["besides", said, besides] if besides else said


def _told(part: Part, native: dict[str, Any], format: Format) -> Any:
    match part:
        case Text(text):
            return text
        case ToolCall(id, name, input, is_hosted):
            return "call", None if format.invents_call_ids or is_hosted else id, name, input
        case ToolResult(call_id, _, name, is_error, is_hosted):
            inner = [_said(one, native, format) for one in lasting_parts(part)]
            return "result", None if format.invents_call_ids or is_hosted else call_id, name, is_error, inner
        case Media(media_type, source, source_type):
            return "media", media_type, source_type, source
        case Opaque(kind, other):
            return "other", kind, format.said_besides(other, frozenset())
        case _:
            return None


def common_start(before: Sequence[bytes], natives: Sequence[bytes]) -> int:
    """With how many messages a list begins as one before it did, if it is all of that but for a few at its end: clients move a
    mark through their last messages, so that these may be spelled in another way than before. Else none."""
    return next((end for end in range(len(before), max(len(before) - 5, 0), -1) if natives[:end] == before[:end]), 0)


class KnownMessage(NamedTuple):
    """What is remembered of a message."""

    native: bytes
    stored: bytes
    """As it is stored: without secrets, if they are redacted."""
    digest: bytes
    is_system: bool
    begins_with_result: bool
    most_marks: int
    """At most so many cache breakpoints are in it."""


class Digests:
    """Remembers messages by their bytes, so that one that comes again is not redacted, decoded and digested anew. For any
    thread.

    Two generations: when the younger is full it becomes the older one, whose messages are forgotten unless they come again.
    """

    def __init__(self, redact: Redact | None = None, *, most_bytes: int = _MOST_BYTES) -> None:
        self._redact = redact
        self._most_bytes = most_bytes
        self._young: dict[str, dict[bytes, KnownMessage]] = {}
        self._old: dict[str, dict[bytes, KnownMessage]] = {}
        """By format and bytes."""
        self._young_bytes = 0
        self._lock = threading.Lock()
        self._last_bytes = 0
        self._last: OrderedDict[tuple[str, bytes], tuple[list[bytes], list[KnownMessage]]] = OrderedDict()
        """By format and first message, the list that last began with it: the next has mostly the same messages, and to compare
        them takes a fifth of the time that it takes to hash them."""

    def of(self, natives: Sequence[bytes], format: Format) -> list[KnownMessage]:
        """What is known of each message; a FormatError names the position of one that cannot be of the format."""
        if not natives:
            return []
        key = format.name, natives[0]
        before, known = self._last.get(key, ([], []))
        same = common_start(before, natives)
        found, young = known[:same], self._young.setdefault(format.name, {}).get
        for native in natives[same:]:
            try:
                found.append(young(native) or self._find(native, format))
            except FormatError as problem:
                raise FormatError(f"Message {len(found)}: {problem}") from problem
        if format.invents_call_ids:
            _mark_orphans(found, same, format)
        with self._lock:
            replaced, _ = self._last.pop(key, ([], []))
            self._last[key] = [*before[:same], *(message.native for message in found[same:])], found
            self._last_bytes += sum(map(len, natives)) - sum(map(len, replaced))
            while len(self._last) > 1 and (len(self._last) > _MOST_LISTS or self._last_bytes > self._most_bytes):
                _, (gone, _) = self._last.popitem(last=False)
                self._last_bytes -= sum(map(len, gone))
        return found

    def _find(self, native: bytes, format: Format) -> KnownMessage:
        known = self._old.get(format.name, {}).get(native)
        if known is None:
            stored = native if self._redact is None else redacted_payload(native, self._redact)
            message, plain = format.read(stored), payloads.decode_once(stored)
            if not format.evidence(plain):
                raise FormatError(f"it is no message of {format.name}")
            is_answer = bool(message.results) and not message.calls
            digest = digest_of(message, format)
            flawed = {flaw.law for flaw in format.flaws(plain)} - {KNOWN_FIELDS}
            if stray_hosted_results(message, ()):
                flawed.add(HostedResults.name)
            if flawed:  # it was whole before, perhaps: sent as it comes now, it would be refused
                digest = hashlib.blake2b(digest + payloads.canonical(sorted(flawed)), digest_size=_BYTES).digest()
            known = KnownMessage(native, stored, digest, message.role == "system", is_answer, most_marks_in(native))
        if self._young_bytes > self._most_bytes:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young.setdefault(format.name, {})[native] = known
        self._young_bytes += len(native) + _BYTES_BESIDE + (len(known.stored) if known.stored is not native else 0)
        return known


def _mark_orphans(found: list[KnownMessage], start: int, format: Format) -> None:
    """From `start` on, give messages with results that answer no call before them another digest: with ids left out of it, it
    would be that of the same results as answers."""
    matcher, first = CallMatcher(items_are_messages=format.items_are_messages), min(start, len(found) - 1)
    while first > 0 and format.read(found[first].stored).role != "assistant":
        first -= 1
    for position in range(first, len(found)):
        known = found[position]
        orphans = matcher.add(format.read(known.stored))
        if orphans and position >= start:
            found[position] = known._replace(digest=hashlib.blake2b(known.digest + _ORPHAN, digest_size=_BYTES).digest())
