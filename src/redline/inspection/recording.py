"""A conversation as it was recorded: everything that was said, by index, the requests that were made, and their strikes."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import msgspec

from redline.formats.usage import Usage
from redline.log.records import Strike
from redline.replay.session import RecordedRequest, requests_in
from redline.transcripts import Entry, RecordedConversation, Transcript
from redline.values.messages import Message

__all__ = ["MadeRequest", "MadeStrike", "Recording", "Runs", "recording_of"]

Runs = tuple[tuple[int, int], ...]
"""Indices in the order in which they are sent, as runs: from, to (not included)."""


class MadeRequest(msgspec.Struct, frozen=True):
    """One request to a model."""

    number: int
    end: int
    """How many messages had been said by then."""
    visible: Runs
    time_ms: float
    """0 where nobody says."""
    model: str | None = None
    usage: Usage | None = None
    is_new_view: bool = False
    """Whether it does not simply go on from the request before: the first, one after a compaction or a change of the view."""
    record: int | None = None
    """The record of the log up to which it was made."""


class MadeStrike(msgspec.Struct, frozen=True):
    """A strike, and in which requests it was in force."""

    strike: Strike
    first: int
    """The first request that was sent with it."""
    end: int | None = None
    """The first request that was sent without it again."""
    ended_because: str = ""


@dataclass(frozen=True)
class Recording:
    """One conversation of a session, by index. What it says is read when it is asked for."""

    id: str
    agent: str
    format: str
    """Of its messages: a name in `redline.formats`."""
    count: int
    """How many messages it has."""
    load: Callable[[int], Message]
    """The message of an index, with its time."""
    times: Sequence[float | None]
    requests: tuple[MadeRequest, ...]
    strikes: tuple[MadeStrike, ...] = ()
    system: str = ""
    project: str = ""
    models: dict[int, str] = field(default_factory=dict)
    """By the index of an answer."""
    pins: frozenset[int] = frozenset()
    is_log: bool = False
    is_subagent: bool = False
    observed: str = ""
    """Why nothing of it was changed, though strikes are recorded; empty if what is recorded was sent."""

    @cached_property
    def ends(self) -> list[int]:
        """Of each request, how many messages had been said."""
        return [request.end for request in self.requests]

    def request_of(self, index: int, role: str) -> int | None:
        """The request that a message answers, or the one in which it is first sent; None if there was none."""
        said_after = bisect_right(self.ends, index) - 1
        number = said_after if role == "assistant" else said_after + 1
        return number if 0 <= number < len(self.requests) else None


def recording_of(transcript: Transcript, conversation: RecordedConversation, *, is_subagent: bool = False) -> Recording:
    """A conversation of an agent's session file: what was sent is what is recorded."""
    told = list(conversation.entries)
    messages = _Loaded(told)
    made: list[MadeRequest] = []
    for request in requests_in(conversation, told, messages):
        made.append(_made(request, made[-1] if made else None))
    return Recording(
        id=conversation.id,
        agent=transcript.format,
        format=conversation.format,
        count=len(told),
        load=messages.__getitem__,
        times=[entry.timestamp_ms for entry in told],
        requests=tuple(made),
        system=conversation.system or "",
        project=str(conversation.metadata.get("cwd") or ""),
        models={index: entry.model for index, entry in enumerate(told) if entry.model},
        is_subagent=is_subagent,
    )


def _made(request: RecordedRequest, before: MadeRequest | None) -> MadeRequest:
    return MadeRequest(
        number=before.number + 1 if before is not None else 0,
        end=request.end,
        visible=((request.start, request.end),),
        time_ms=request.time_ms,
        model=request.model,
        usage=request.usage,
        is_new_view=before is None or before.visible[0][0] != request.start,
    )


class _Loaded(Sequence[Message]):
    """The messages of a file, each decoded once, when it is first asked for, with the time that the file tells."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._known: dict[int, Message] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        known = self._known.get(index)
        if known is None:
            entry = self._entries[index]
            known = self._known[index] = msgspec.structs.replace(entry.message, timestamp_ms=entry.timestamp_ms)
        return known
