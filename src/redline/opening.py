"""Opening a conversation that lasts: from a Redline log, or from another agent's session file, which is never written."""

import functools
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from redline.blobs import Blobs
from redline.conversation import Conversation, now_ms
from redline.errors import TranscriptError, ValidationError
from redline.files import file_error
from redline.formats import find_format, format_of_model
from redline.log import Durability, DurableLog, Header, Redact
from redline.log.addresses import address_text, check_address, masked
from redline.log.jsonl import begins_like_log
from redline.log.log import ROOT
from redline.log.opening import check_stored_format, open_log
from redline.log.records import (
    BESIDE,
    HeadMoved,
    MessageAdded,
    Originated,
    Record,
    RolledBack,
    UsageReported,
    ViewChanged,
)
from redline.policy import Policy
from redline.prices.model import Model, check_model, model_name
from redline.repair import Strategy
from redline.rules.protection import Protection
from redline.session_records import message_record
from redline.tokens import Counter
from redline.transcripts import RecordedConversation, read_transcript

__all__ = ["is_foreign", "open"]

_logger = logging.getLogger("redline.opening")

_SUFFIX = ".redline.jsonl"
_MAGIC = b'"redline-log"'
_HEAD_BYTES = 4096
_MOST_PROBLEMS = 3


def open(  # noqa: A001 - the public word, as in gzip.open
    address: str | os.PathLike[str],
    *,
    policy: Policy | str | None = None,
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
        header = Header(conversation=masked(_name_in(address)), message_format=wanted) if wanted else None
        log = opened(address, header=header)
        return log, log.header.message_format
    path = Path(address)
    recorded = _recorded(path, number)
    beside = Path(f"{path}{f'.{number}' if number else ''}{_SUFFIX}")
    header = Header(conversation=recorded.id, origin=str(path), message_format=recorded.format)
    log = opened(beside, header=header)
    _take_over(log, path, recorded)
    return log, recorded.format


def _name_in(address: str | os.PathLike[str]) -> str:
    text = os.fspath(address)
    return text.rpartition("#")[2] if "://" in text else Path(text).stem


def _take_over(log: DurableLog, path: Path, recorded: RecordedConversation) -> None:
    """Bring the log up to where the agent is. Where both went on, each its own way, what is in the log stays."""
    stored = list(log.read())
    records = _records(path, recorded)
    if not stored:
        log.append(records, parent=ROOT)
        return
    known = [one.record.payload for one in stored if isinstance(one.record, MessageAdded)]
    said = [record for record in records if isinstance(record, MessageAdded)]
    if [record.payload for record in said] == known[: len(said)]:
        return
    has_gone_on = any(isinstance(one.record, ViewChanged | RolledBack | HeadMoved) for one in stored)
    if not has_gone_on and [record.payload for record in said[: len(known)]] == known:
        last_record = next(one.number for one in reversed(stored) if not isinstance(one.record, BESIDE))
        log.append([*said[len(known) :], *(one for one in records if isinstance(one, UsageReported))], parent=last_record)
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


def _recorded(path: Path, number: int) -> RecordedConversation:
    try:
        transcript = read_transcript(path)
    except TranscriptError as refused:
        advice = "To begin a conversation there, move that file away, or choose another name."
        raise TranscriptError(f"{refused} {advice}") from refused
    conversations = transcript.conversations
    for problem in transcript.problems[:_MOST_PROBLEMS]:
        _logger.warning("%s", problem)
    if len(transcript.problems) > _MOST_PROBLEMS:
        _logger.warning("%s: %d more problems; `redline check` lists them", path, len(transcript.problems) - _MOST_PROBLEMS)
    if not 0 <= number < len(conversations):
        raise ValidationError(f"{path} holds {len(conversations)} conversations, numbered from 0; there is no {number}.")
    return conversations[number]


def _records(path: Path, recorded: RecordedConversation) -> list[Record]:
    """What is sent on: the last window, with the times, and the usage that was last reported."""
    window = recorded.windows[-1] if recorded.windows else ()
    usage = next((entry.usage for entry in reversed(window) if entry.usage), None)
    records: list[Record] = [Originated(str(path), "continued from another agent's session")]
    records += [message_record(entry) for entry in window]
    if usage is not None:
        records.append(UsageReported.of(usage))
    return records
