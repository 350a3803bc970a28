"""One request on its way: what is known of it so far, for the accounts and the log line."""

import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import Protocol

from redline.errors import RedlineError
from redline.formats import find_format
from redline.formats.answers import Answer
from redline.log.log import ROOT
from redline.prices.model import price_of
from redline.proxy.accounts import Accounts, ProxiedRequest
from redline.proxy.edit_threads import CallEditor, EditOutcome
from redline.schedules.bill import OpenBill
from redline.values import payloads
from redline.wire.answers import AnswerReader
from redline.wire.costs import cache_seconds, why_dear

__all__ = ["OWN_TOOLS", "Exchange", "SettlementObserver", "settle", "tell_editor"]

_log = logging.getLogger("redline.proxy")

_MOST_ANSWER = 32 * 1024 * 1024
"""Of an answer, so much is kept to find its usage in."""
_LONGEST_NAME = 100
OWN_TOOLS = ("recall", "list_strikes", "session_report", "undo_strike")
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
    outcome: EditOutcome | None = None
    status: int = 0
    refused: int = 0
    unreachable: str = ""
    """Why the provider gave no answer."""
    cut: str = ""
    content_type: str = ""
    content_encoding: str = ""
    chunks: list[bytes] = field(default_factory=list)
    kept_bytes: int = 0
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
        if not self.chunks:
            return None
        reader = AnswerReader(self.format, self.content_type, self.content_encoding, _MOST_ANSWER)
        for chunk in self.chunks:
            reader.feed(chunk)
        self.chunks.clear()
        return reader.finish()


class SettlementObserver(Protocol):
    """Who is told of every request that was answered."""

    def settled(self, exchange: Exchange, entry: ProxiedRequest) -> None:
        """A request and its answer, and what they are in the accounts."""
        ...

    def close(self) -> None:
        """There will be no more. Blocks."""
        ...


def settle(exchange: Exchange, accounts: Accounts, observer: SettlementObserver | None = None) -> Answer | None:
    """After the answer, in a thread: write the accounts and the log line. What the model said, as far as it can be read."""
    outcome = exchange.outcome or EditOutcome(b"")
    answer = exchange.read_answer() if exchange.format and exchange.status < 400 else None
    entry = _entry(exchange, outcome, answer, accounts)
    accounts.add(entry)
    _log.info("%s", _line(exchange, entry))
    if observer is not None:
        try:
            observer.settled(exchange, entry)
        except Exception:
            _log.exception("Telemetry of a request is lost")
    return answer


def tell_editor(exchange: Exchange, editor: CallEditor, answer: Answer | None) -> None:
    """What became of an edit, in a thread. A store that does not answer holds this up, and nothing else."""
    edited = exchange.outcome.edited if exchange.outcome else None
    if edited is None:
        return
    try:
        if exchange.refused:
            editor.refused(edited, exchange.refused, answer)
        else:
            editor.answered(edited, answer)
    except Exception:  # the answer is with the client already: nothing of ours may matter to it
        _log.exception("The editor could not be told of an answer")


def _entry(exchange: Exchange, outcome: EditOutcome, answer: Answer | None, accounts: Accounts) -> ProxiedRequest:
    """The request in numbers."""
    edited, now = outcome.edited, time.time()
    lifetime = edited.read.lifetime if edited and edited.read else ""
    usage = answer.usage.written_for(lifetime) if answer and answer.usage else None
    session = _name(edited.session if edited else "") or exchange.project
    model = _name(edited.model if edited else "")
    sent_bytes = len(edited.call.body) if edited else len(outcome.body)
    bill = edited.request.bill if edited and edited.request and not exchange.refused else OpenBill()
    chain = edited.request.log if edited and edited.request else ""
    cost, saved, why = None, None, ""
    if usage is not None:
        accounts.refresh()
        before = accounts.previous(chain or session, model) or accounts.previous(session, model)
        price = price_of(model or None)
        is_expired = before is not None and now - before.at > cache_seconds(price, is_long=lifetime == "1h")
        if session or chain:
            why = why_dear(
                usage,
                before.usage if before else None,
                is_repeated=before is not None and before.sent_bytes == sent_bytes,
                is_expired=is_expired,
                is_rewritten=bill.new_struck_tokens > 0 and outcome.is_changed,
            )
        if price is not None:
            settled = bill.settle(usage, price, is_dry_run=not outcome.is_changed)
            cost, saved = settled.paid, settled.saved
    return ProxiedRequest(
        at=now,
        status=exchange.status,
        provider=exchange.provider,
        session=session,
        project=exchange.project,
        chain=chain,
        model=model,
        sent_bytes=sent_bytes,
        usage=usage,
        struck_tokens=bill.struck_tokens,
        new_struck_tokens=bill.new_struck_tokens,
        repairs=len(edited.request.repairs) if edited and edited.request and not exchange.refused else 0,
        is_unchanged=not outcome.is_changed,
        cost=cost,
        saved=saved,
        why=why,
        retreat=outcome.retreat,
        untouched=outcome.untouched,
        refused=exchange.refused,
        unreachable=exchange.unreachable,
        cut=exchange.cut,
        seconds=round(exchange.end - exchange.start, 3),
        edit_ms=round(outcome.edit_ms, 2),
        run=exchange.run,
        record=edited.request.record if edited and edited.request else ROOT,
        asks=_own_tools_in(answer) if answer else (),
    )


def _own_tools_in(answer: Answer) -> tuple[str, ...]:
    """Which tools of `redline mcp` an answer calls, whatever an agent puts before the names of a server's tools."""
    names: list[str] = []
    with contextlib.suppress(RedlineError):
        format = find_format(answer.format)
        names = [call.name for message in answer.messages for call in format.read(payloads.encode(message)).calls]
    return tuple(tool for tool in OWN_TOOLS if any(name == tool or name.endswith(f"_{tool}") for name in names))


def _name(text: str) -> str:
    """What a client calls something, as far as it fits into a line and can be written: it may hold anything."""
    return (text if text.isprintable() else ascii(text))[:_LONGEST_NAME]


def _line(exchange: Exchange, entry: ProxiedRequest) -> str:
    """A line for the log: no contents, no query, no credential."""
    words = [f"{exchange.method} {_name(exchange.path)} {entry.status or '-'} {entry.provider}"]
    if entry.model:
        words.append(entry.model)
    if entry.usage is not None:
        usage = entry.usage
        words.append(
            f"sent={usage.input_tokens} read={usage.cache_read_tokens} written={usage.cache_write_tokens} "
            f"output={usage.output_tokens}"
        )
    named = {
        "would_strike" if entry.is_unchanged else "struck": entry.struck_tokens,
        "repairs": entry.repairs,
        "would_save" if entry.is_unchanged else "saved": f"${entry.saved:.4f}" if entry.saved else "",
        "why": entry.why.replace(", ", "/"),
        "retreat": entry.retreat,
        "refused": entry.refused,
        "unreachable": entry.unreachable,
        "cut": entry.cut,
        "untouched": entry.untouched,
    }
    words.extend(f"{name}={value!r}" if " " in str(value) else f"{name}={value}" for name, value in named.items() if value)
    return f"{' '.join(words)} edit={entry.edit_ms:.1f}ms {entry.seconds:.2f}s"
