"""One request on its way, and afterwards in numbers: its line in the accounts, its metrics, its line in the log."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from redline.cache_breaks.watch import CacheWatch, SentDelta
from redline.errors import RedlineError
from redline.prices import Price
from redline.prices.find import price_of
from redline.providers import find_format
from redline.providers.answers import Answer, AnswerReader
from redline.providers.usage import Usage, cache_seconds, cost_reason
from redline.proxy.edit_threads import EditOutcome
from redline.proxy.limit_notes import limit_note
from redline.record.log import ROOT
from redline.record.records import CacheBroke
from redline.schedules.bill import OpenBill
from redline.telemetry.metrics import METRICS, MetricValue, usage_values
from redline.values import payloads

_MOST_ANSWER = 32 * 1024 * 1024
"""Of an answer, so much is kept to find its usage in."""
_LONGEST_NAME = 100
_CARRIED = ("status", "provider", "project", "refused", "unreachable", "cut", "run", "recalls")
"""What the line of a request takes from its exchange as it is."""
OWN_TOOLS = ("recall", "search_record", "list_strikes", "session_report", "undo_strike")
"""What `redline mcp` calls its tools."""


@dataclass(slots=True)
class Exchange:
    """A request and its answer, filled in as they pass."""

    method: str
    path: str
    provider: str
    format: str = ""
    """Empty where the path is of no API that is read."""
    project: str = ""
    run: str = ""
    """The run that the proxy was started for."""
    outcome: EditOutcome = field(default_factory=lambda: EditOutcome(b""))
    status: int = 0
    refused: int = 0
    unreachable: str = ""
    """Why the provider gave no answer."""
    over_limit: str = ""
    """Why it was not sent on: the money for it is spent."""
    cut: str = ""
    content_type: str = ""
    content_encoding: str = ""
    broke: CacheBroke | None = None
    """What broke the provider's cache, as soon as the answer was read."""
    chunks: list[bytes] = field(default_factory=list)
    kept_bytes: int = 0
    recalls: int = 0
    """Calls of Redline's own tool in the answer."""
    start: float = field(default_factory=time.perf_counter)
    end: float = 0.0

    def keep(self, chunk: bytes) -> None:
        """Remember a piece of the answer. It is read later, in a thread; one that is too large is not."""
        self.kept_bytes += len(chunk)
        if self.kept_bytes <= _MOST_ANSWER:
            self.chunks.append(chunk)
        else:
            self.chunks.clear()

    def read_answer(self) -> Answer | None:
        """What the model said, as far as it came."""
        if not self.chunks or not self.format or self.status >= 400:
            return None
        reader = AnswerReader(self.format, self.content_type, self.content_encoding, _MOST_ANSWER)
        for chunk in self.chunks:
            reader.feed(chunk)
        self.chunks.clear()
        return reader.finish()


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
    """What strikes take out of it; folds, which lose nothing, are counted apart."""
    new_struck_tokens: int = 0
    folded_tokens: int = 0
    asked_again: int = 0
    """Results that the agent asked for again after a strike."""
    repairs: int = 0
    is_unchanged: bool = False
    """Then strikes and repairs are those that would have been made, were it no dry run and no subscription's."""
    cost: float | None = None
    """US dollars; None where no price or no usage is known."""
    saved: float | None = None
    why: str = ""
    """Why it was expensive."""
    fallback: str = msgspec.field(default="", name="retreat")
    """Why the edit was not waited for."""
    untouched: str = ""
    refused: int = 0
    """The status with which the provider refused what was changed, before it was sent unchanged."""
    limit: str = ""
    """What was done because of a limit of the provider, or that one is near."""
    unreachable: str = ""
    is_over_limit: bool = False
    """Whether it was refused here, because its session or its day had cost what it may."""
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
    sent: SentDelta | None = None
    """Digests of its pieces, by which the next request is compared."""
    broke: CacheBroke | None = None
    """What broke the provider's cache, without the words at that place."""
    recalls: int = 0
    """Calls of Redline's own tool in the answer, which the proxy answered before it asked the model again."""

    @classmethod
    def of(
        cls,
        exchange: Exchange,
        answer: Answer | None,
        previous: Callable[[str, str], "ProxiedRequest | None"],
        *,
        find_price: Callable[[str], Price | None] = price_of,
        watch: CacheWatch | None = None,
    ) -> "ProxiedRequest":
        """The numbers of an exchange. `previous` finds the last of a session or a log; `watch` compares more of them."""
        outcome, edited, now = exchange.outcome, exchange.outcome.edited, time.time()
        request = edited.request if edited else None
        lifetime = edited.read.lifetime if edited and edited.read else ""
        usage = answer.usage.written_for(lifetime) if answer and answer.usage else None
        session = safe_name(edited.session if edited else "") or exchange.project
        model, chain = safe_name(edited.model if edited else ""), request.log if request else ""
        sent_bytes = len(edited.call.body) if edited else len(outcome.body)
        bill = request.bill if request and not exchange.refused else OpenBill()
        cost, saved, why = None, None, ""
        if usage is not None:
            before = previous(chain or session, model) or previous(session, model)
            price = find_price(model)
            if session or chain:
                why = cost_reason(
                    usage,
                    before.usage if before else None,
                    is_repeated=before is not None and before.sent_bytes == sent_bytes,
                    is_expired=before is not None and now - before.at > cache_seconds(price, is_long=lifetime == "1h"),
                    is_rewritten=bill.new.struck > 0 and outcome.is_changed,
                )
            if price is not None:
                paid = bill.settle(usage, price, is_dry_run=not outcome.is_changed)
                cost, saved = paid.paid, paid.saved
        return cls(
            **{name: getattr(exchange, name) for name in _CARRIED},
            at=now,
            session=session,
            chain=chain,
            model=model,
            sent_bytes=sent_bytes,
            usage=usage,
            struck_tokens=bill.saved.struck,
            new_struck_tokens=bill.new.struck,
            folded_tokens=bill.saved.folded,
            asked_again=request.asked_again if request and outcome.is_changed else 0,
            repairs=len(request.repairs) if request and not exchange.refused else 0,
            is_unchanged=not outcome.is_changed,
            cost=cost,
            saved=saved,
            why=why,
            limit=limit_note(edited, usage, model),
            **{name: getattr(outcome, name) for name in ("fallback", "untouched")},
            seconds=round(exchange.end - exchange.start, 3),
            edit_ms=round(outcome.edit_ms, 2),
            record=request.record if request else ROOT,
            asks=_own_tools_in(answer) if answer and not exchange.recalls else (),
            sent=_watched(exchange, usage, now, chain, watch) if watch is not None and usage is not None else None,
            broke=exchange.broke and msgspec.structs.replace(exchange.broke, before="", after=""),
            is_over_limit=bool(exchange.over_limit),
        )


def values_of(one: ProxiedRequest) -> dict[str, MetricValue]:
    """What a request adds to the metrics of the table, by their names; what adds nothing is left out."""
    is_dry, reported = one.is_unchanged, usage_values(one.usage)
    values: dict[str, MetricValue] = {
        "requests": 1,
        **reported,
        "would_fold_tokens" if is_dry else "folded_tokens": one.folded_tokens,
        "would_strike_tokens" if is_dry else "struck_tokens": one.struck_tokens,
        "asked_again": one.asked_again,
        "would_repair" if is_dry else "repairs": one.repairs,
        "cost_usd": one.cost,
        "would_save_usd" if is_dry else "saved_usd": one.saved,
        "unpriced_requests": bool(reported) and one.cost is None,
        "why": one.why,
        "recalls": one.recalls,
        "cache_breaks": one.broke.kind if one.broke else "",
        "lost_tokens": one.broke.lost_tokens if one.broke else 0,
        "lost_usd": one.broke.lost_usd if one.broke else None,
        "errors": str(one.status) if one.status >= 400 and not one.is_over_limit else "",
        "over_limit": one.is_over_limit,
        "retreats": one.fallback,
        "refused": one.refused,
        "limits": one.limit,
        "unreachable": one.unreachable,
        "cut": one.cut,
        "untouched": one.untouched,
        "models": one.model if reported else "",
    }
    return {name: value for name, value in values.items() if value or name in reported}


def _watched(exchange: Exchange, usage: Usage, now: float, chain: str, watch: CacheWatch) -> SentDelta | None:
    """Compare a request with those before it: what is new in it; what broke the cache is said to the exchange."""
    edited = exchange.outcome.edited
    call = edited.answered_call(usage, now, is_refused=bool(exchange.refused)) if edited is not None else None
    if edited is None or call is None:
        return None
    looked = watch.look(call, (safe_name(edited.session), chain))
    exchange.broke = looked.broke if looked is not None else None
    return looked.delta if looked is not None else None


def log_line(exchange: Exchange, one: ProxiedRequest) -> str:
    """A line for the log: no contents, no query, no credential."""
    words = [f"{exchange.method} {safe_name(exchange.path)} {one.status or '-'} {one.provider}", one.model]
    values = values_of(one)
    for metric in METRICS:
        if metric.log and (value := values.get(metric.name)) is not None:
            said = f"${value:.4f}" if isinstance(value, float) else str(value)
            said = said.replace(", ", "/") if metric.name == "why" else said
            words.append(f"{metric.log}={said!r}" if " " in said else f"{metric.log}={said}")
    return f"{' '.join(filter(None, words))} edit={one.edit_ms:.1f}ms {one.seconds:.2f}s"


def _own_tools_in(answer: Answer) -> tuple[str, ...]:
    """Which tools of `redline mcp` an answer calls, whatever an agent puts before the names of a server's tools."""
    names: list[str] = []
    with contextlib.suppress(RedlineError):
        format = find_format(answer.format)
        names = [call.name for message in answer.messages for call in format.read(payloads.encode(message)).calls]
    return tuple(tool for tool in OWN_TOOLS if any(name == tool or name.endswith(f"_{tool}") for name in names))


def safe_name(text: str) -> str:
    """What a client calls something, as far as it fits into a line and can be written: it may hold anything."""
    return (text if text.isprintable() else ascii(text))[:_LONGEST_NAME]
