"""Opening a conversation that lasts: from a Redline log, or from another agent's session file, which is never written."""

import functools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from redline.agents.readers import Entry, RecordedConversation, read_transcript
from redline.conversation.conversation import Conversation, now_ms
from redline.errors import TranscriptError, ValidationError
from redline.files import file_error
from redline.policy.policy import Policy
from redline.policy.presets import PresetName
from redline.prices.find import Model, check_model, model_name
from redline.providers import find_format, format_of_model
from redline.record import Durability, DurableLog, Header, Redact
from redline.record.addresses import address_text, check_address, masked
from redline.record.backends.jsonl import begins_like_log
from redline.record.blobs import Blobs
from redline.record.log import ROOT
from redline.record.opening import check_stored_format, open_log
from redline.record.records import (
    BESIDE,
    Destination,
    ForkedFrom,
    HeadMoved,
    MessageAdded,
    Record,
    RolledBack,
    StrikesApplied,
    UsageReported,
    ViewChanged,
)
from redline.repair import Strategy
from redline.rules.protection import Protection
from redline.tokens import Counter
from redline.values import payloads
from redline.values.messages import Message

_logger = logging.getLogger("redline.opening")

_SUFFIX = ".redline.jsonl"
_MAGIC = b'"redline-log"'
_HEAD_BYTES = 4096
_MOST_PROBLEMS = 3


def open(  # noqa: A001 - the public word, as in gzip.open
    address: str | os.PathLike[str],
    *,
    policy: Policy | PresetName | None = None,
    model: Model | None = None,
    system: str | Sequence[Mapping[str, Any]] | None = None,
    tools: Iterable[Mapping[str, Any]] = (),
    token_limit: int | None = None,
    format: str = "auto",
    clock: Callable[[], float] = now_ms,
    number: int = 0,
    durability: Durability = "fsync",
    exclusive: bool = False,
    redact: Redact | None = None,
    blobs: Blobs | str | os.PathLike[str] | None = None,
    strategy: Strategy | None = None,
    project_root: str | os.PathLike[str] | None = None,
    protection: Protection | None = None,
    counter: Counter | None = None,
) -> Conversation:
    """A conversation that is still there after a crash, at an address: `chat.jsonl`, `sqlite:///chats.db#name` or
    `postgresql://user@host/database#name`.

    The session file of another agent is continued in a log beside it (`session.jsonl.redline.jsonl`) that names its origin;
    `number` says which conversation, where the file holds several. What the agent itself has added since is taken over too.
    With `exclusive` nobody else may write to it until it is closed; a LogError names the writer that has it already.
    """
    address = check_address(address)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValidationError(f"number must be a whole number of at least 0, not {number!r}")
    wanted = None if format == "auto" else find_format(format).name
    known = wanted or format_of_model(model_name(check_model(model)))
    opened = functools.partial(open_log, durability=durability, redact=redact, exclusive=exclusive)
    log, message_format = _log_at(address, number, opened, known)
    try:
        if wanted is not None:
            check_stored_format(log, wanted)
        return Conversation(
            policy=policy,
            model=model,
            system=system,
            tools=tools,
            token_limit=token_limit,
            log=log,
            clock=clock,
            format=wanted or message_format or "auto",
            blobs=blobs,
            strategy=strategy,
            project_root=project_root,
            protection=protection,
            counter=counter,
            redact=redact,
            name=os.fspath(address),
        )
    except BaseException:
        log.close()
        raise


def _log_at(
    address: str | os.PathLike[str], number: int, opened: Callable[..., DurableLog], wanted: str | None
) -> tuple[DurableLog, str | None]:
    """The log, and the format of its messages where that is known."""
    if not is_foreign(address):
        text = os.fspath(address)
        name = text.rpartition("#")[2] if "://" in text else Path(text).stem
        header = Header(conversation=masked(name), message_format=wanted) if wanted else None
        log = opened(address, header=header)
        return log, log.header.message_format
    path = Path(address)
    try:
        transcript = read_transcript(path)
    except TranscriptError as refused:
        advice = "To begin a conversation there, move that file away, or choose another name."
        raise TranscriptError(f"{refused} {advice}") from refused
    for problem in transcript.problems[:_MOST_PROBLEMS]:
        _logger.warning("%s", problem)
    if len(transcript.problems) > _MOST_PROBLEMS:
        _logger.warning("%s: %d more problems; `redline check` lists them", path, len(transcript.problems) - _MOST_PROBLEMS)
    if not 0 <= number < len(conversations := transcript.conversations):
        raise ValidationError(f"{path} holds {len(conversations)} conversations, numbered from 0; there is no {number}.")
    recorded = conversations[number]
    beside = Path(f"{path}{f'.{number}' if number else ''}{_SUFFIX}")
    header = Header(conversation=recorded.id, origin=str(path), message_format=recorded.format)
    log = opened(beside, header=header)
    _take_over(log, path, recorded)
    return log, recorded.format


def _take_over(log: DurableLog, path: Path, recorded: RecordedConversation) -> None:
    """Bring the log up to where the agent is. Where both went on, each its own way, what is in the log stays."""
    stored = list(log.read())
    window = recorded.windows[-1] if recorded.windows else ()
    usage = [UsageReported.of(entry.usage) for entry in window if entry.usage][-1:]
    said = [message_record(entry) for entry in window]
    if not stored:
        log.append([ForkedFrom(str(path), "continued from another agent's session"), *said, *usage], parent=ROOT)
        return
    known = [one.record.payload for one in stored if isinstance(one.record, MessageAdded)]
    if [record.payload for record in said] == known[: len(said)]:
        return
    has_gone_on = any(isinstance(one.record, ViewChanged | RolledBack | HeadMoved) for one in stored)
    if not has_gone_on and [record.payload for record in said[: len(known)]] == known:
        last_record = next(one.number for one in reversed(stored) if not isinstance(one.record, BESIDE))
        log.append([*said[len(known) :], *usage], parent=last_record)
        return
    _logger.warning("%s was continued both by its agent and here; what its agent has said since is not in this log", path)


def is_foreign(address: str | os.PathLike[str]) -> bool:
    """Whether a file is there that is no Redline log, nor what a crash left of one's first append."""
    path = Path(address_text(address))
    if isinstance(address, str) and "://" in address:
        return False
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
        with path.open("rb") as file:
            beginning = file.read(_HEAD_BYTES)
    except OSError as problem:
        raise file_error(path, problem) from problem
    return _MAGIC not in beginning and not begins_like_log(beginning)


NO_MODEL = "<synthetic>"
"""What Claude Code writes as the model of messages that no model said."""


def session_records(recorded: RecordedConversation, entries: Sequence[Entry], messages: Sequence[Message]) -> Iterator[Record]:
    """The whole conversation in the order in which it happened, windows before a compaction included.

    A request is a `StrikesApplied` without strikes, before each answer; some agents record one answer in several messages.
    """
    starts = {compaction.before for compaction in recorded.compactions} - {0}
    time_ms, is_answering, is_empty = 0.0, False, True
    for place, (entry, message) in enumerate(zip(entries, messages, strict=True)):
        if place in starts:
            yield ViewChanged((), is_compaction=True)
            is_answering, is_empty = False, True
        is_answer = message.role == "assistant"
        is_asked = is_answer and entry.model != NO_MODEL and not is_answering and not is_empty
        if is_asked:
            time_ms = max(time_ms, entries[place - 1].timestamp_ms or entry.timestamp_ms or 0.0)
            yield StrikesApplied((), now=time_ms, sent_to=Destination(entry.model or ""))
        yield message_record(entry, message)
        if is_asked:
            answer = takewhile(lambda one: one[1].role == "assistant", zip(entries[place:], messages[place:], strict=True))
            used = (one.usage for one, _ in answer if one.usage is not None and one.usage.input_tokens)
            yield from map(UsageReported.of, islice(used, 1))
        is_answering, is_empty = is_answer, False


def message_record(entry: Entry, message: Message | None = None) -> MessageAdded:
    """A message as it is added."""
    return MessageAdded(payloads.encoded((message or entry.message).native), entry.timestamp_ms)
