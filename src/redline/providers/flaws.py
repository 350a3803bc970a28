"""A flaw is a place in one message that its provider refuses, with the value that makes it acceptable."""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import msgspec

from redline.values import payloads
from redline.values.payloads import Path, Payload


def names(text: str) -> frozenset[str]:
    """A set of names that are written with spaces between."""
    return frozenset(text.split())


KNOWN_FIELDS = "known_fields"
"""The law that refuses unknown fields; they are taken out of every message that is sent."""

STORED_FIELDS = names(
    "timestamp timestamp_ms uuid parentUuid parent_uuid sessionId session_id messageStatus createdAt created_at stop_reason "
    "stop_sequence finish_reason usage parsed parsed_output parsed_arguments"
)
"""Written beside messages by agents that store them and by SDKs that return them; taken by no provider."""


_MOST_IN_BYTES = 100
"""Each flaw is looked for in the bytes from their start, so that thousands would take minutes."""


class Flaw(msgspec.Struct, frozen=True):
    """Something that the provider refuses wherever the message is."""

    law: str
    """The name of the law it breaks: see `redline.providers.laws`."""
    path: Path
    found: str
    replacement: Any = msgspec.UNSET
    """What the provider takes there; unset if nothing: the place is removed."""


def corrected(payload: Payload, flaws: Iterable[Flaw]) -> Payload:
    """The payload without these flaws: the very same object or bytes if there are none."""
    flaws, removed = list(flaws), []
    if len(flaws) > _MOST_IN_BYTES and isinstance(payload, bytes):
        return payloads.encode(corrected(payloads.decode(payload), flaws))
    for flaw in flaws:
        if flaw.replacement is msgspec.UNSET:
            removed.append(flaw.path)
        else:
            payload = payloads.replace(payload, flaw.path, flaw.replacement)
    return payloads.remove(payload, removed) if removed else payload


def fields_in(held: Mapping[str, Any], refused: Set[str], at: Path = ()) -> Iterator[Flaw]:
    """The fields of an object that are among those refused."""
    if not refused.isdisjoint(held):
        for key in held:
            if key in refused:
                yield Flaw(KNOWN_FIELDS, (*at, key), f"the field {key!r} is not taken there")


def stored_fields_in(items: Iterable[object], at: Path) -> Iterator[Flaw]:
    """The fields of a list's objects that only a store or an SDK writes there."""
    for position, item in enumerate(items):
        if isinstance(item, dict):
            yield from fields_in(item, STORED_FIELDS, (*at, position))


def null_fields_in(held: Mapping[str, Any], names: Iterable[str], at: Path = ()) -> Iterator[Flaw]:
    """The fields that may be left out but not be null."""
    for key in names:
        if key in held and held[key] is None:
            yield Flaw(KNOWN_FIELDS, (*at, key), f"the field {key!r} is null")
