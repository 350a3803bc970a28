"""A log is opened by its address, which says what it is kept in: a file, an SQLite database or a PostgreSQL database."""

import os
from itertools import count
from pathlib import Path
from urllib.parse import quote

from redline.errors import ValidationError
from redline.formats import FORMATS
from redline.log.addresses import EXAMPLES, parse_address
from redline.log.log import Durability, DurableLog, Header, Redact
from redline.log.records import MessageAdded
from redline.log.store import INDEX
from redline.values import payloads
from redline.values.checks import has_methods, shown

__all__ = ["check_log", "check_stored_format", "list_conversations", "open_log", "unused_address"]


def open_log(
    address: str | os.PathLike[str],
    *,
    durability: Durability = "fsync",
    header: Header | None = None,
    redact: Redact | None = None,
    exclusive: bool = False,
) -> DurableLog:
    """The log at an address; it is made, with the header, when something is first appended.

    With `exclusive` nobody else may write to it until it is closed; a LogError names the writer that has it already.

    `chat.jsonl` (any path), `sqlite:///chats.db#conversation` (`sqlite:////` for an absolute path) or
    `postgresql://user@host/database#conversation`.
    """
    kind, place, conversation = parse_address(address)
    if kind == "file":
        from redline.log.jsonl import JsonlLog

        if not Path(place).name:
            raise ValidationError(f"{place} is a folder. Name a file in it, for example chat.jsonl.")
        return JsonlLog(place, durability=durability, header=header, redact=redact, exclusive=exclusive)
    if not conversation:
        raise ValidationError(f"The address does not say which conversation. Write its name after it: {EXAMPLES[kind]}")
    if kind == "sqlite":
        from redline.log.sqlite import SqliteLog

        return SqliteLog(place, conversation, durability=durability, header=header, redact=redact, exclusive=exclusive)
    from redline.log.postgres import PostgresLog

    return PostgresLog(place, conversation, durability=durability, header=header, redact=redact, exclusive=exclusive)


def list_conversations(address: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database, in order; a conversation in the address does not matter."""
    kind, place, _ = parse_address(address)
    if kind == "sqlite":
        from redline.log.sqlite import sqlite_conversations

        return [name for name in sqlite_conversations(place) if name != INDEX]
    if kind == "postgresql":
        from redline.log.postgres import postgres_conversations

        return [name for name in postgres_conversations(place) if name != INDEX]
    raise ValidationError(f"{place} is no database. Write sqlite:///PATH or postgresql://HOST/DATABASE.")


def unused_address(address: str) -> str:
    """An address beside this one where nothing is stored: `chat-2.jsonl` for `chat.jsonl`, `…#name-2` for `…#name`."""
    kind, place, conversation = parse_address(address)
    if kind == "file":
        path = Path(place)
        return str(next(one for number in count(2) if not (one := path.with_stem(f"{path.stem}-{number}")).exists()))
    taken = set(list_conversations(address))
    free = next(name for number in count(2) if (name := f"{conversation}-{number}") not in taken)
    return f"{address.partition('#')[0]}#{quote(free, safe='')}"


def check_log(log: object) -> None:
    """Refuse what is neither an address nor a log; None is none."""
    if log is not None and not isinstance(log, str | os.PathLike) and not has_methods(log, "append", "read", "close"):
        raise ValidationError(f"log must be an address, for example 'chat.jsonl', or a log, not {shown(log)}")


def check_stored_format(log: DurableLog, format: str) -> None:
    """Refuse to read a log in a format that its messages are not of: calls and results would be lost."""
    if log.header.message_format == format:
        return
    natives = (payloads.decode(one.record.payload) for one in log.read() if isinstance(one.record, MessageAdded))
    if not all(FORMATS[format].evidence(native) for native in natives):
        known = log.header.message_format or "another format"
        raise ValidationError(f"The messages of this log are in {known}, not in {format}. Open it without format=…")
