"""Requests watched as they are answered: each compared with those before it, for what broke the provider's cache."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from redline.cache_breaks.causes import agent_of
from redline.cache_breaks.diagnose import Difference, Finding, ReportedRequest, closest, diagnose
from redline.cache_breaks.excerpts import Excerpt, excerpt_of
from redline.cache_breaks.pieces import CachePiece, PieceReader, SentPieces
from redline.prices import Price
from redline.prices.find import price_of
from redline.providers import find_format
from redline.providers.apis import api_of
from redline.providers.usage import Usage
from redline.record.records import CacheBroke
from redline.schedules.bill import cost_of_lost

_MOST_NAMES = 300
_MOST_EACH = 6
"""Requests of a session that are remembered: the next goes on from one of the latest, and titles are asked for in between."""


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A request as it was sent, and the provider's report."""

    format: str
    model: str
    written: Mapping[str, bytes]
    """The fields of its body besides the messages."""
    headers: Mapping[str, str]
    """By their names in lower case."""
    messages: Sequence[tuple[bytes, bytes]]
    """Each as it was sent, and as the client wrote it."""
    usage: Usage
    at: float
    """In seconds since 1970."""
    rules: tuple[str, ...] = ()
    """Those whose strikes are new in it."""


class SentDelta(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The pieces of a request, told by what is new since an earlier one."""

    id: str
    base: str = ""
    """The id of the earlier one; empty for none."""
    first: str = ""
    """A digest of the first message."""
    same_ahead: int = 0
    ahead: tuple[CachePiece, ...] = ()
    same_messages: int = 0
    messages: tuple[CachePiece, ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    is_marked_only: bool = False


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """What became of a look at a call."""

    delta: SentDelta
    request: ReportedRequest
    broke: CacheBroke | None = None


@dataclass(slots=True)
class _Session:
    latest: OrderedDict[str, ReportedRequest] = field(default_factory=OrderedDict)
    has_cache: bool = False


class CacheWatch:
    """Remembers the last requests of each session as digests, and some of their texts for as long as there is room."""

    def __init__(self, find_price: Callable[[str], Price | None] = price_of) -> None:
        self._find_price = find_price
        self._reader = PieceReader()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._looked: OrderedDict[str, ReportedRequest] = OrderedDict()
        """By the ids of their deltas, requests of this process that are not added yet: their pieces need not be made again."""
        self._lock = threading.Lock()

    def look(self, call: AnsweredCall, names: Iterable[str]) -> WatchedCall | None:
        """Compare a call with those before it under any of these names; None for an API without a cache key."""
        api = api_of(call.format)
        if api is None:
            return None
        with self._lock:
            pieces = self._reader.read(api, call.model, call.written, call.headers, call.messages)
            request = ReportedRequest(pieces, call.usage, call.at, find_format(api.name).takes_cache_breakpoints)
            first = pieces.messages[0].meaning if pieces.messages else ""
            sessions = [self._sessions[name] for name in _names(names, first) if name in self._sessions]
            earlier = {id: one for session in sessions for id, one in session.latest.items()}
            previous = closest(sorted(earlier.values(), key=lambda one: one.at), request)
            base = next((id for id, one in earlier.items() if one is previous), "")
            delta = _delta_of(request, base, previous)
            self._looked[delta.id] = request
            if len(self._looked) > _MOST_NAMES:
                self._looked.popitem(last=False)
            if previous is None:
                return WatchedCall(delta, request)
            price, has_cache = self._find_price(call.model), any(session.has_cache for session in sessions)
            found = diagnose(previous, request, price, has_cache=has_cache)
            return WatchedCall(delta, request, self._told(found, call) if found is not None else None)

    def add(self, delta: SentDelta, names: Iterable[str], usage: Usage, at: float) -> None:
        """Remember a request, also one that another process has sent."""
        with self._lock:
            wanted = list(_names(names, delta.first))
            base = next(
                (one.latest[delta.base] for name in wanted if (one := self._sessions.get(name)) and delta.base in one.latest),
                None,
            )
            if base is None and delta.base:
                return
            ahead, messages = (base.pieces.ahead, base.pieces.messages) if base is not None else ((), ())
            pieces = SentPieces(
                (*ahead[: delta.same_ahead], *delta.ahead), (*messages[: delta.same_messages], *delta.messages), delta.marks
            )
            request = self._looked.pop(delta.id, None) or ReportedRequest(pieces, usage, at, delta.is_marked_only)
            for name in wanted:
                session = self._sessions.setdefault(name, _Session())
                session.has_cache |= usage.cache_read_tokens + usage.cache_write_tokens > 0
                session.latest[delta.id] = request
                if len(session.latest) > _MOST_EACH:
                    session.latest.popitem(last=False)
                self._sessions.move_to_end(name)
            while len(self._sessions) > _MOST_NAMES:
                self._sessions.popitem(last=False)

    def keep_only(self, names: Iterable[str]) -> None:
        """Forget all other sessions."""
        with self._lock:
            kept = set(names)
            self._sessions = OrderedDict((name, one) for name, one in self._sessions.items() if name in kept)

    def _told(self, found: Finding, call: AnsweredCall) -> CacheBroke:
        """The record of a finding, with the words at its place."""
        cause, price = found.cause, self._find_price(call.model)
        if cause.kind in ("compaction", "rewind", "another") or (cause.before is None and cause.after is None):
            excerpt = Excerpt()
        elif cause.kind == "model":
            excerpt = Excerpt("", cause.before.name if cause.before else "", cause.after.name if cause.after else "")
        else:
            excerpt = excerpt_of(self._reader.text_of(cause.before), self._reader.text_of(cause.after))
        is_key_order = cause.kind == "spelling" and excerpt.what == "the order of the keys"
        what = ", ".join(dict.fromkeys(call.rules)) if cause.kind == "strike" else excerpt.what
        return CacheBroke(
            call.at * 1000,
            "key_order" if is_key_order else cause.kind,
            _place(cause, excerpt),
            "" if is_key_order else what,
            excerpt.before,
            excerpt.after,
            found.lost_tokens,
            None if price is None else round(cost_of_lost(call.usage, found.lost_tokens, price), 6),
            call.model,
            agent_of(call.headers.get("user-agent", "")),
            found.others,
        )


def _names(names: Iterable[str], first: str) -> list[str]:
    """The names of a session; of one without any, what its first message says."""
    return [name for name in dict.fromkeys(names) if name] or [f"first {first}"]


def _place(cause: Difference, excerpt: Excerpt) -> str:
    """The piece, and the place in it."""
    at = excerpt.at.removesuffix("text").removesuffix(".")
    at = at and f"{':' if at and cause.kind in ('message', 'strike', 'unstruck') else ', '}{at}"
    return cause.place + at + (f", line {excerpt.line}" if excerpt.line else "")


def _delta_of(request: ReportedRequest, base: str, previous: ReportedRequest | None) -> SentDelta:
    pieces, same_ahead, same = request.pieces, 0, 0
    if previous is not None:
        same_ahead = _same(previous.pieces.ahead, pieces.ahead)
        same = _same(previous.pieces.messages, pieces.messages)
    return SentDelta(
        os.urandom(6).hex(),
        base,
        pieces.messages[0].meaning if pieces.messages else "",
        same_ahead,
        pieces.ahead[same_ahead:],
        same,
        pieces.messages[same:],
        pieces.marks,
        request.is_marked_only,
    )


def _same(old: Sequence[CachePiece], new: Sequence[CachePiece]) -> int:
    """How many pieces both begin with, in every field."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other and one != other:
            return number
    return min(len(old), len(new))
