"""Opening a conversation that lasts: from a Redline log, or from another agent's session file, which is never written."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from redline import payloads
from redline.blobs import Blobs
from redline.conversation import Conversation
from redline.engine.protection import Protection
from redline.errors import ValidationError
from redline.log.durable import Durability, DurableLog, Header, Redact
from redline.log.jsonl import begins_like_log
from redline.log.log import ROOT
from redline.log.opening import open_log
from redline.log.records import MessageAdded, Originated, Record, UsageReported
from redline.tokens import Counter
from redline.transcripts import Entry, RecordedConversation, read_transcript
from redline.view.repair import Strategy

__all__ = ["is_foreign", "open"]

_SUFFIX = ".redline.jsonl"
_MAGIC = b'"redline-log"'
_HEAD_BYTES = 4096


def open(  # noqa: A001 - the public word, as in gzip.open
    address: str | os.PathLike[str],
    *,
    number: int = 0,
    durability: Durability = "fsync",
    redact: Redact | None = None,
    tools: Iterable[Mapping[str, Any]] = (),
    token_limit: int | None = None,
    blobs: Blobs | None = None,
    strategy: Strategy = "drop",
    project_root: str = "",
    protection: Protection | None = None,
    counter: Counter | None = None,
) -> Conversation:
    """A conversation that is still there after a crash, at an address: `chat.jsonl`, `sqlite:///chats.db#name` or
    `postgresql://user@host/database#name`.

    The session file of another agent is continued in a log beside it (`session.jsonl.redline.jsonl`) that names its origin;
    `number` says which conversation, where the file holds several.
    """
    log, message_format = _log_at(address, number, durability, redact)
    return Conversation(
        log=log,
        format=message_format,
        tools=tools,
        token_limit=token_limit,
        blobs=blobs,
        strategy=strategy,
        project_root=project_root,
        protection=protection,
        counter=counter,
        redact=redact,
        name=os.fspath(address),
    )


def _log_at(
    address: str | os.PathLike[str], number: int, durability: Durability, redact: Redact | None
) -> tuple[DurableLog, str]:
    """The log, and the format of its messages where that is known."""
    path, beside = Path(address), Path(f"{os.fspath(address)}{_SUFFIX}")
    is_continued = is_foreign(address)
    if not is_continued or _is_begun(beside):
        log = open_log(beside if is_continued else address, durability=durability, redact=redact)
        return log, log.header.message_format or "auto"
    recorded = _recorded(path, number)
    header = Header(conversation=recorded.id, origin=str(path), message_format=recorded.format)
    log = open_log(beside, durability=durability, header=header, redact=redact)
    log.append(_records(path, recorded), parent=ROOT)
    return log, recorded.format


def _is_begun(beside: Path) -> bool:
    """Whether a session was taken over: a process that was killed at it, or a full disk, leaves an empty log."""
    if not beside.exists():
        return False
    log = open_log(beside)
    try:
        return next(log.read(), None) is not None
    finally:
        log.close()


def is_foreign(address: str | os.PathLike[str]) -> bool:
    """Whether a file is there that is no Redline log, nor what a crash left of one's first append."""
    if isinstance(address, str) and "://" in address:
        return False
    path = Path(address)
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        beginning = file.read(_HEAD_BYTES)
    return _MAGIC not in beginning and not begins_like_log(beginning)


def _recorded(path: Path, number: int) -> RecordedConversation:
    conversations = read_transcript(path).conversations
    if not 0 <= number < len(conversations):
        raise ValidationError(f"{path} holds {len(conversations)} conversations, numbered from 0; there is no {number}.")
    return conversations[number]


def _records(path: Path, recorded: RecordedConversation) -> list[Record]:
    """What is sent on: the last window, with the times, and the usage that was last reported."""
    window = recorded.windows[-1] if recorded.windows else ()
    usage = next((entry.usage for entry in reversed(window) if entry.usage), None)
    records: list[Record] = [Originated(str(path), "continued from another agent's session")]
    records += [_added(entry) for entry in window]
    if usage is not None:
        counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        records.append(UsageReported(*counts))
    return records


def _added(entry: Entry) -> MessageAdded:
    return MessageAdded(payloads.encoded(entry.message.native), entry.timestamp_ms)
