"""A list of messages as its caller gave it: of which format, what its messages say, and where the conversation in it begins."""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redline.errors import FormatError, ValidationError
from redline.formats import detect_format, find_format
from redline.formats.base import Format
from redline.formats.sdk_objects import plain_message
from redline.histories.digests import Digests, KnownMessage, chained
from redline.log.log import Redact
from redline.values import payloads
from redline.values.checks import check_text, make_list, shown
from redline.values.payloads import Payload
from redline.values.times import check_time_ms

__all__ = ["GivenList", "ListReader", "log_name"]

_CERTAIN = 2
"""Evidence that no other format gives."""
_MOST_BEGINNINGS = 1000
"""How many lists are remembered by their first message."""


@dataclass(frozen=True, slots=True)
class GivenList:
    """A list as its caller gave it."""

    messages: tuple[Payload, ...]
    natives: list[bytes]
    """The messages as bytes: the caller's own where it gave bytes."""
    stored: list[bytes]
    """The messages as they are stored: without secrets, if they are redacted."""
    lead: int
    """How many messages of the system it begins with: they are sent ahead of the conversation, and may be others each time."""
    format: Format
    digests: list[bytes]
    """Of the messages after the lead."""
    times: tuple[float | None, ...]
    """Of the messages after the lead, where the caller knows them; as many, or none at all."""
    session: str
    namespace: str
    most_marks: int
    """At most so many cache breakpoints are in it."""
    why_untouched: str = ""
    """Why it cannot be followed; empty if it can."""

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
    ) -> GivenList:
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
        marks = sum(message.most_marks for message in found)
        return GivenList(said, natives, stored, lead, known, digests, stamps[lead:], session, namespace, marks, why)

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
        return payloads.encode(message if isinstance(message, dict) else _plain_object(message, position))
    except (TypeError, ValueError, RecursionError) as problem:
        plain = plain_message(message)
        if plain is not message:
            return _as_bytes(plain, position)
        raise ValidationError(f"Message {position} is not JSON: {problem}") from problem


def _plain_object(message: object, position: int) -> dict[str, Any]:
    plain = plain_message(message)
    if not isinstance(plain, dict):
        raise ValidationError(f"Message {position} must be a dict, or its JSON as bytes, not {shown(message)}")
    return plain
