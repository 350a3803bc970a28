"""The proxy's accounts: a line for every request, in a file that several workers append to, and the sums over them."""

import contextlib
import errno
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from redline.agents.launching.run_summary import RunTotals, reasons_of
from redline.cache_breaks.report import BreakSums
from redline.cache_breaks.watch import CacheWatch
from redline.errors import LogError
from redline.file_calls import read_at
from redline.files import create_private
from redline.prices import Price
from redline.prices.find import find_price
from redline.providers.answers import Answer
from redline.proxy.exchange import Exchange, ProxiedRequest, log_line, safe_name, values_of
from redline.proxy.settings import ProxySettings
from redline.proxy.spending import Spending, SpendKey, SpendLimits
from redline.record.addresses import masked
from redline.store.proxy_files import NAMES_GONE, accounts_path
from redline.telemetry.metrics import METRICS, MetricValue

if TYPE_CHECKING:
    from redline.proxy.telemetry import ProxyTelemetry

__all__ = ["Accounts", "ProxiedRequest", "Tally", "accounts_path", "metrics_text", "status_report"]

_log = logging.getLogger("redline.proxy")

_MOST_SESSIONS = 1_000
"""Sessions, and projects, whose sums are kept; the one that was quiet the longest goes first. All are in the totals."""
_MOST_NAMES = 100
_OTHERS = "others"
"""Names of models and reasons come from others, too: beyond so many in one sum they are counted together."""
_MOST_PREVIOUS = 5_000
"""Last requests, of sessions and of chains, that are kept to compare the next with."""
_MOST_BREAKS = 10
"""Of each project, the most expensive first."""
_CHUNK = 1 << 20
_METRICS = {metric.name: metric for metric in METRICS}


class Tally:
    """Sums over requests: an amount for each metric, or counts by label."""

    __slots__ = ("labels", "last_at", "sums")

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.labels: dict[str, Counter[str]] = {}
        self.last_at = 0.0

    def add(self, at: float, values: Mapping[str, MetricValue]) -> None:
        """Count the values of a request that was answered at a time."""
        self.last_at = max(self.last_at, at)
        for name, value in values.items():
            kind = _METRICS[name].kind
            if kind == "labels":
                counter, label = self.labels.setdefault(name, Counter()), str(value)
                counter[label if label in counter or len(counter) < _MOST_NAMES else _OTHERS] += 1
            else:
                amount = value if kind == "sum" and isinstance(value, int | float) else 1
                self.sums[name] = self.sums.get(name, 0) + amount

    def report(self) -> dict[str, Any]:
        """The sums as JSON values, by the names of the metrics."""
        said: dict[str, Any] = {
            name: dict(sorted(self.labels.get(name, {}).items()))
            if metric.kind == "labels"
            else round(self.sums.get(name, 0), 6)
            for name, metric in _METRICS.items()
        }
        sent, read = (self.sums.get(name, 0) for name in ("sent_tokens", "read_tokens"))
        struck, folded = (self.sums.get(name, 0) for name in ("struck_tokens", "folded_tokens"))
        unsent = struck + folded
        return {
            **said,
            "cache_hit_rate": round(read / sent, 4) if sent else None,
            "struck_share_of_sent": round(struck / (sent + unsent), 4) if sent else None,
            "folded_share_of_sent": round(folded / (sent + unsent), 4) if sent else None,
            "struck_share_of_new": round(struck / (sent - read + unsent), 4) if sent > read else None,
            "folded_share_of_new": round(folded / (sent - read + unsent), 4) if sent > read else None,
            "last_at": self.last_at,
        }


class Accounts:
    """Appends requests to the file, and sums up all that is in it, whoever wrote it.

    A line is one write at the end of the file, so that lines of several processes do not mix; a torn one is passed over.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        since: float = 0.0,
        limits: SpendLimits = SpendLimits(),  # noqa: B008 - it cannot be changed
        prices: Sequence[Price] = (),
    ) -> None:
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
        self._find_price = lru_cache(maxsize=64)(lambda model: find_price(model, prices) if model else None)
        self._watch = CacheWatch(self._find_price)
        self.spending = Spending(limits)
        self.broke: dict[str, BreakSums] = {}
        """What broke the cache in this run, by project; under an empty name in all."""

    def record_exchange(self, exchange: Exchange, observer: "ProxyTelemetry | None" = None) -> Answer | None:
        """After the answer, in a thread: write the line of a request here and in the log, and tell the observer.

        Returns what the model said, as far as it can be read.
        """
        answer = exchange.read_answer()
        if answer is not None and answer.usage is not None:
            self.refresh()
        entry = ProxiedRequest.of(exchange, answer, self.previous, find_price=self._find_price, watch=self._watch)
        self.add(entry)
        _log.info("%s", log_line(exchange, entry))
        if observer is not None:
            try:
                observer.recorded(exchange, entry)
            except Exception:
                _log.exception("Telemetry of a request is lost")
        return answer

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
            while handle is not None and (chunk := read_at(handle, _CHUNK, self._offset)):
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

    def over_limit(self, exchange: Exchange) -> str:
        """Why a request must not be sent on: what its session or this day may cost is spent. Empty if it may. Blocks."""
        if not self.spending.limits.stops:
            return ""
        self.refresh()
        edited = exchange.outcome.edited
        session, model = (safe_name(named) for named in ((edited.session, edited.model) if edited else ("", "")))
        chain = edited.request.log if edited and edited.request else ""
        key = SpendKey.of(session, run=exchange.run, project=exchange.project, chain=chain)
        with self._lock:
            return self.spending.problem(key, model, is_priced=not model or self._find_price(model) is not None)

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
                    one = _DECODER.decode(line)
                    there |= {one.session, one.chain, one.run, one.project}
        self.sessions = {name: tally for name, tally in self.sessions.items() if name in there}
        self._previous = {key: one for key, one in self._previous.items() if key[0] in there}
        self._watch.keep_only(there)
        self.spending.keep_only(there)

    def _count(self, one: ProxiedRequest) -> None:
        values = values_of(one)
        self.totals.add(one.at, values)
        if one.at >= self._since:
            self.run.add(one.at, values)
        for tallies, key in ((self.projects, one.project), (self.sessions, one.session)):
            if key:
                tally = tallies.pop(key, None) or Tally()
                tally.add(one.at, values)
                tallies[key] = tally
                if len(tallies) > _MOST_SESSIONS:
                    del tallies[next(iter(tallies))]
        self._remember(one)

    def _remember(self, one: ProxiedRequest) -> None:
        """Keep what the next request of the session or the log is compared with, and what broke the cache in this run."""
        if one.cost:
            key = SpendKey.of(one.session, run=one.run, project=one.project, chain=one.chain)
            self.spending.add(key, one.at, one.cost, is_now=one.at >= self._since)
        if one.sent is not None and one.usage is not None:
            self._watch.add(one.sent, (one.session if one.session != one.project else "", one.chain), one.usage, one.at)
        if one.broke is not None and one.at >= self._since:
            for name in {"", one.project}:
                self.broke.setdefault(name, BreakSums()).add(one.broke)
            if len(self.broke) > _MOST_SESSIONS:
                del self.broke[next(name for name in self.broke if name)]
        for name in filter(None, (one.session, one.chain)):
            self._previous.pop((name, one.model), None)
            self._previous[name, one.model] = one
            if len(self._previous) > _MOST_PREVIOUS:
                del self._previous[next(iter(self._previous))]


_DECODER = msgspec.json.Decoder(ProxiedRequest)


def status_report(
    settings: ProxySettings, accounts: Accounts, problem: str, open_requests: int, whole_problem: str = ""
) -> dict[str, Any]:
    """Everything that can be said without a word of what was sent. `problem` is what is wrong with the store, `whole_problem`
    with the folder for whole results."""
    how = {"mode": settings.mode, "store_problem": problem, "whole_problem": whole_problem}
    run, whole = accounts.run.report(), settings.whole_place
    return {
        **how,
        "store": masked(settings.store),
        "accounts_problem": accounts.problem,
        "notes": reasons_of(RunTotals.of({**how, "projects": {"": run}}, "")),
        "policy": settings.policy,
        "whole_in": whole.folder or f"nowhere: {whole.why_none}",
        "edits_subscriptions": settings.edits_subscriptions,
        "upstreams": {name: one.origin + one.base for name, one in settings.upstreams.items()},
        "started_at": settings.started_at,
        "seconds_up": round(time.time() - settings.started_at, 1),
        "open_requests": open_requests,
        "run": run,
        "totals": accounts.totals.report(),
        "spending": accounts.spending.report(),
        "cache_breaks": {name: [row.to_json() for row in sums.rows[:_MOST_BREAKS]] for name, sums in accounts.broke.items()},
        "projects": {name: tally.report() for name, tally in accounts.projects.items()},
        "sessions": {name: tally.report() for name, tally in accounts.sessions.items()},
    }


def metrics_text(accounts: Accounts, problem: str, open_requests: int) -> str:
    """The totals as Prometheus reads them."""
    report, lines = accounts.totals.report(), list[str]()

    def add(name: str, text: str, values: Mapping[str, float]) -> None:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines.extend([f"# HELP {name} {text}", f"# TYPE {name} {kind}"])
        lines.extend(f"{name}{labels} {value}" for labels, value in values.items())

    for metric in METRICS:
        for name in filter(None, (metric.prometheus, metric.old_name)):
            held = report[metric.name]
            values = {f'{{{metric.label}="{label}"}}': count for label, count in held.items()} if metric.label else {"": held}
            add(name, metric.text, values)
    add("redline_open_requests", "Requests under way in this worker.", {"": open_requests})
    add("redline_store_up", "Whether the store can be used.", {"": 0 if problem else 1})
    return "\n".join(lines) + "\n"
