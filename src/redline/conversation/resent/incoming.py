"""A list of messages as its caller gave it: of which format, what its messages say, and where the conversation in it begins."""

import contextlib
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from redline.errors import FormatError, ValidationError
from redline.providers import detect_format, find_format
from redline.providers.anthropic.cache_control import most_marks_in
from redline.providers.flaws import KNOWN_FIELDS
from redline.providers.format import Format, decode_object
from redline.providers.laws.hosted_results import hosted_results, stray_hosted_results
from redline.providers.sdk_objects import plain_message
from redline.record.codec import redacted_payload
from redline.record.log import Redact
from redline.values import payloads
from redline.values.checks import check_text, check_time_ms, make_list, short_repr
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.pairs import CallMatcher
from redline.values.payloads import Path, Payload

_BYTES = 16
_START = b""

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
    said: Any = None
    match part:
        case Text(text):
            said = text
        case ToolCall(id, name, input, is_hosted):
            said = "call", None if format.invents_call_ids or is_hosted else id, name, input
        case ToolResult(call_id, _, name, is_error, is_hosted):
            inner = [_said(one, native, format) for one in lasting_parts(part)]
            said = "result", None if format.invents_call_ids or is_hosted else call_id, name, is_error, inner
        case Media(media_type, source, source_type):
            said = "media", media_type, source_type, source
        case Opaque(kind, other):
            return "other", kind, format.said_besides(other, frozenset())
    held: Any = native
    for key in part.at:  # of a result without words, the place is not there
        held = held.get(key) if isinstance(held, dict) else held[key]
    besides = format.said_besides(held, format.told_block_fields) if isinstance(held, dict) and held is not native else None
    return ["besides", said, besides] if besides else said


def common_start(before: Sequence[bytes], natives: Sequence[bytes]) -> int:
    """With how many messages a list begins as one before it did: all but a few, in which clients move a mark; else none."""
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
                flawed.add(hosted_results.name)
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


_CERTAIN = 2
"""Evidence that no other format gives."""
_MOST_BEGINNINGS = 1000
"""How many lists are remembered by their first message."""


@dataclass(frozen=True)
class IncomingList:
    """A list as its caller gave it."""

    messages: tuple[Payload, ...]
    natives: list[bytes]
    """The messages as bytes: the caller's own where it gave bytes."""
    stored: list[bytes]
    leading_system_messages: int
    """How many messages of the system it begins with: they are sent ahead of the conversation, and may be others each time."""
    format: Format
    digests: list[bytes]
    """Of the messages after the lead."""
    times: tuple[float | None, ...]
    """Of the messages after the lead, where the caller knows them; as many, or none at all."""
    session: str
    namespace: str
    most_marks: int
    why_untouched: str = ""
    """Why it cannot be followed; empty if it can."""

    @cached_property
    def chains(self) -> list[bytes]:
        """For each message after the lead what it is known by together with all before it."""
        return list(chained(self.digests))

    @property
    def has_no_answer(self) -> bool:
        """Whether the model has said nothing in it yet."""
        return all(self.format.read(native).role != "assistant" for native in self.natives)

    @property
    def own_log(self) -> str:
        """The name of the log that this session's lists with this first message have to themselves."""
        return log_name(self.namespace, self.digests[:1], self.session)

    def shared_log(self, length: int = 1) -> str:
        """The name of the log for lists of no session that begin with the same messages, so many of them."""
        return log_name(self.namespace, list(chained(self.digests[:length]))[1:] or self.digests[:1])


def log_name(namespace: str, begun: Sequence[bytes], session: str = "") -> str:
    """Where no session is named, lists with one first message have had this name since the first version."""
    known_by = [namespace.encode("utf-8", "surrogatepass"), b"".join(begun[-1:])]
    if session:
        known_by.append(session.encode("utf-8", "surrogatepass"))
    kind = b"session" if session else b""
    return hashlib.blake2b(b"\0".join(known_by), digest_size=12, person=kind).hexdigest()


class ListReader:
    """Reads lists; messages that come again are not redacted, decoded and hashed anew."""

    def __init__(self, redact: Redact | None = None) -> None:
        self._digests = Digests(redact)
        self._formats: dict[bytes, Format] = {}
        """By first message, what settled the format of a list that began with it."""
        self._checked: tuple[float | None, ...] = ()
        """The times that were last given: the next list has mostly the same ones."""

    def read(
        self,
        messages: Sequence[Payload],
        *,
        format: str = "auto",
        session: str = "",
        namespace: str = "",
        times: Sequence[float | None] = (),
        preferred: str | None = None,
    ) -> IncomingList:
        """The list, checked; a ValidationError names what is wrong with it. `preferred` is the format where several fit."""
        said, stamps = make_list("messages", messages), make_list("times", times)
        check_text("session", session)
        check_text("namespace", namespace)
        if stamps and len(stamps) != len(said):
            raise ValidationError(f"times must be one for each of the {len(said)} messages (None: unknown), not {len(stamps)}")
        is_longer = stamps[: len(self._checked)] == self._checked
        for stamp in stamps[len(self._checked) if is_longer else 0 :]:
            if stamp is not None:
                check_time_ms(stamp, "The time of a message")
        self._checked = stamps
        natives: list[Any] = list(said)
        if set(map(type, said)) != {bytes}:
            natives = [one if type(one) is bytes else _as_bytes(one, position) for position, one in enumerate(said)]
        known, found = self._recognised(natives, format, preferred)
        lead = next((place for place, message in enumerate(found) if not message.is_system), len(found))
        why = "" if lead < len(found) else "there is no message in it"
        if not why and found[lead].begins_with_result:
            why = "it begins with a result: the provider keeps the history"
        stored, digests = [message.stored for message in found], [message.digest for message in found[lead:]]
        marks = sum([message.most_marks for message in found])
        return IncomingList(said, natives, stored, lead, known, digests, stamps[lead:], session, namespace, marks, why)

    def _recognised(self, natives: list[bytes], format: str, preferred: str | None) -> tuple[Format, list[KnownMessage]]:
        """The format of a list and what is known of its messages; one that began alike tells it, unless that does not fit."""
        if format != "auto":
            known = find_format(format)
            return known, self._digests.of(natives, known)
        if not natives:
            return find_format("anthropic"), []
        remembered = self._formats.get(natives[0])
        if remembered is not None:
            with contextlib.suppress(FormatError):
                return remembered, self._digests.of(natives, remembered)
        known = detect_format(natives)
        if any(known.evidence(payloads.decode(native)) == _CERTAIN for native in natives):
            if len(self._formats) >= _MOST_BEGINNINGS:
                self._formats.clear()
            self._formats[natives[0]] = known
        elif preferred is not None:
            with contextlib.suppress(FormatError):
                return find_format(preferred), self._digests.of(natives, find_format(preferred))
        return known, self._digests.of(natives, known)


def _as_bytes(message: object, position: int) -> bytes:
    """The JSON of a message, which may be an object of an SDK, or hold some as `content=response.content` does."""
    try:
        whole = message if isinstance(message, dict) else plain_message(message)
        if isinstance(whole, dict):
            return payloads.encode(whole)
    except (TypeError, ValueError, RecursionError) as problem:
        plain = plain_message(message)
        if plain is not message:
            return _as_bytes(plain, position)
        raise ValidationError(f"Message {position} is not JSON: {problem}") from problem
    raise ValidationError(f"Message {position} must be a dict, or its JSON as bytes, not {short_repr(message)}")
