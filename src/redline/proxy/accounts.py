"""The proxy's accounts: a line for every request, in a file that several workers append to, and the sums over them."""

import contextlib
import errno
import logging
import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from redline.errors import LogError
from redline.files import create_private
from redline.formats.usage import Usage
from redline.log.log import ROOT
from redline.store.proxy_accounts import NAMES_GONE, accounts_path

__all__ = ["Accounts", "ProxiedRequest", "Tally", "accounts_path"]

_log = logging.getLogger("redline.proxy")

_MOST_SESSIONS = 1_000
"""Sessions, and projects, whose sums are kept; the one that was quiet the longest goes first. All are in the totals."""
_MOST_NAMES = 100
_OTHERS = "others"
"""Names of models and reasons come from others, too: beyond so many in one sum they are counted together."""
_MOST_PREVIOUS = 5_000
"""Last requests, of sessions and of chains, that are kept to compare the next with."""
_CHUNK = 1 << 20


class ProxiedRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request in numbers: nothing that was said, no query, no credential."""

    at: float
    """When it was answered, in seconds since 1970."""
    status: int
    """0 where nothing was answered."""
    provider: str = ""
    session: str = ""
    project: str = ""
    """The label in its path."""
    chain: str = ""
    """The name of the log that it goes on with: a title or a side question has another than the conversation it is about."""
    model: str = ""
    sent_bytes: int = 0
    """The client's body, decoded."""
    usage: Usage | None = None
    struck_tokens: int = 0
    new_struck_tokens: int = 0
    repairs: int = 0
    is_unchanged: bool = False
    """Then strikes and repairs are those that would have been made, were it no dry run and no subscription's."""
    cost: float | None = None
    """US dollars; None where no price or no usage is known."""
    saved: float | None = None
    why: str = ""
    """Why it was dear."""
    retreat: str = ""
    untouched: str = ""
    refused: int = 0
    """The status with which the provider refused what was changed, before it was sent unchanged."""
    unreachable: str = ""
    """Why the provider gave no answer."""
    cut: str = ""
    """`client` or `upstream`, whichever closed the connection before the end."""
    seconds: float = 0.0
    edit_ms: float = 0.0
    run: str = ""
    """The run of `redline run` that it belongs to."""
    record: int = ROOT
    """The last record of its way through the log."""
    asks: tuple[str, ...] = ()
    """The tools of `redline mcp` that the answer calls: by them the server knows which session asks."""


@dataclass(slots=True)
class Tally:
    """Sums over requests."""

    requests: int = 0
    usage: Counter[str] = field(default_factory=Counter)
    struck_tokens: int = 0
    would_strike_tokens: int = 0
    """In dry runs, and where requests are only observed."""
    repairs: int = 0
    would_repair: int = 0
    cost: float = 0.0
    saved: float = 0.0
    would_save: float = 0.0
    unpriced: int = 0
    """Requests with usage of models whose price nobody knows: they are in no sum of money."""
    why: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    untouched: Counter[str] = field(default_factory=Counter)
    retreats: int = 0
    refused: int = 0
    unreachable: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    last_at: float = 0.0
    models: Counter[str] = field(default_factory=Counter)

    def add(self, one: ProxiedRequest) -> None:
        """Count a request in."""
        self.requests += 1
        self.last_at = max(self.last_at, one.at)
        self.retreats += bool(one.retreat)
        self.refused += bool(one.refused)
        if one.usage is not None:
            self.usage.update(msgspec.structs.asdict(one.usage))
            _count_in(self.models, one.model)
            self.unpriced += one.cost is None
        self.cost += one.cost or 0.0
        if one.is_unchanged:
            self.would_strike_tokens += one.struck_tokens
            self.would_repair += one.repairs
            self.would_save += one.saved or 0.0
        else:
            self.struck_tokens += one.struck_tokens
            self.repairs += one.repairs
            self.saved += one.saved or 0.0
        counters: tuple[tuple[Counter[Any], object], ...] = (
            (self.why, one.why),
            (self.untouched, one.untouched),
            (self.unreachable, one.unreachable),
            (self.cut, one.cut),
        )
        if one.status >= 400:
            self.errors[one.status] += 1
        for counter, value in counters:
            if value:
                _count_in(counter, value)

    def report(self) -> dict[str, Any]:
        """The sums as JSON values."""
        read, written, fresh = (self.usage[f"{kind}_tokens"] for kind in ("cache_read", "cache_write", "fresh"))
        sent = read + written + fresh
        return {
            "requests": self.requests,
            "sent_tokens": sent,
            "read_tokens": read,
            "written_tokens": written,
            "fresh_tokens": fresh,
            "output_tokens": self.usage["output_tokens"],
            "cache_hit_rate": round(read / sent, 4) if sent else None,
            "struck_tokens": self.struck_tokens,
            "struck_share_of_sent": round(self.struck_tokens / (sent + self.struck_tokens), 4) if sent else None,
            "struck_share_of_new": round(self.struck_tokens / (sent - read + self.struck_tokens), 4) if sent > read else None,
            "would_strike_tokens": self.would_strike_tokens,
            "repairs": self.repairs,
            "would_repair": self.would_repair,
            "cost_usd": round(self.cost, 6),
            "saved_usd": round(self.saved, 6),
            "would_save_usd": round(self.would_save, 6),
            "unpriced_requests": self.unpriced,
            "why": dict(self.why),
            "errors": {str(status): count for status, count in sorted(self.errors.items())},
            "untouched": dict(self.untouched),
            "retreats": self.retreats,
            "refused": self.refused,
            "unreachable": dict(self.unreachable),
            "cut": dict(self.cut),
            "models": dict(self.models),
            "last_at": self.last_at,
        }


class Accounts:
    """Appends requests to the file, and sums up all that is in it, whoever wrote it.

    A line is one write at the end of the file, so that lines of several processes do not mix; a torn one is passed over.
    """

    def __init__(self, path: Path | None, *, since: float = 0.0) -> None:
        self._path = path
        self._since = since
        self._handle: int | None = None
        self._offset = 0
        self._unread = b""
        self._is_torn = False  # whether the last line has no end
        self._lock = threading.RLock()
        self.problem = ""
        """Why the file cannot be used; then the sums are those of this process."""
        self.totals, self.run = Tally(), Tally()
        self.sessions: dict[str, Tally] = {}
        self.projects: dict[str, Tally] = {}
        self._previous: dict[tuple[str, str], ProxiedRequest] = {}

    def add(self, one: ProxiedRequest) -> None:
        """Write a line; where the file cannot be written, count it here alone, and say so once."""
        with self._lock:
            try:
                if (handle := self._opened()) is not None:
                    line = (b"\n" if self._is_torn else b"") + msgspec.json.encode(one) + b"\n"
                    written = os.write(handle, line)
                    self._is_torn = 0 < written < len(line)
                    if self._is_torn:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a disk that takes a part of a line is full
                    self.problem = ""
                    return
            except (OSError, LogError) as problem:
                if not self.problem:
                    _log.warning("The accounts cannot be written to %s: %s", self._path, problem)
                self.problem = str(problem)
            self._count(one)

    def refresh(self) -> None:
        """Read what was appended since the last time, by any process."""
        with self._lock:
            try:
                handle = self._opened()
            except (OSError, LogError) as problem:
                self.problem = str(problem)
                return
            are_names_gone = False
            while handle is not None and (chunk := os.pread(handle, _CHUNK, self._offset)):
                self._offset += len(chunk)
                *lines, self._unread = (self._unread + chunk).split(b"\n")
                for line in lines:
                    if line == NAMES_GONE:
                        are_names_gone = True
                        continue
                    try:
                        self._count(_DECODER.decode(line))
                    except msgspec.DecodeError:
                        _log.warning("A line of %s is damaged and is not counted", self._path)
            if are_names_gone:
                self._keep_names_in_file()

    def previous(self, name: str, model: str) -> ProxiedRequest | None:
        """The last request to a model of a session or a chain, whichever has this name."""
        return self._previous.get((name, model)) if name else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def _opened(self) -> int | None:
        if self._handle is None and self._path is not None:
            self._handle = create_private(self._path)
        return self._handle

    def _keep_names_in_file(self) -> None:
        """Let go of the names of sessions that were deleted, which are in the file no longer; what they cost stays in sums."""
        assert self._path is not None, "what was read came from a file"
        there = set[str]()
        with contextlib.suppress(OSError), self._path.open("rb") as file:
            for line in file:
                with contextlib.suppress(msgspec.DecodeError):
                    one = _NAMES_DECODER.decode(line)
                    there |= {one.session, one.chain}
        self.sessions = {name: tally for name, tally in self.sessions.items() if name in there}
        self._previous = {key: one for key, one in self._previous.items() if key[0] in there}

    def _count(self, one: ProxiedRequest) -> None:
        self.totals.add(one)
        if one.at >= self._since:
            self.run.add(one)
        for tallies, key in ((self.projects, one.project), (self.sessions, one.session)):
            if key:
                tally = tallies.pop(key, None) or Tally()
                tally.add(one)
                tallies[key] = tally
                if len(tallies) > _MOST_SESSIONS:
                    del tallies[next(iter(tallies))]
        for name in filter(None, (one.session, one.chain)):
            self._previous.pop((name, one.model), None)
            self._previous[name, one.model] = one
            if len(self._previous) > _MOST_PREVIOUS:
                del self._previous[next(iter(self._previous))]


def _count_in(counter: Counter[Any], name: Any) -> None:
    counter[name if name in counter or len(counter) < _MOST_NAMES else _OTHERS] += 1


class _Names(msgspec.Struct):
    session: str = ""
    chain: str = ""


_DECODER = msgspec.json.Decoder(ProxiedRequest)
_NAMES_DECODER = msgspec.json.Decoder(_Names)
