"""A log is opened by its address, which says what it is kept in: a file, an SQLite database or a PostgreSQL database."""

import os
from itertools import count
from pathlib import Path
from urllib.parse import quote

from redline.errors import ValidationError
from redline.log.addresses import EXAMPLES, parse_address
from redline.log.log import Durability, DurableLog, Header, Redact

__all__ = ["list_conversations", "open_log", "unused_address"]


def open_log(
    address: str | os.PathLike[str],
    *,
    durability: Durability = "fsync",
    header: Header | None = None,
    redact: Redact | None = None,
) -> DurableLog:
    """The log at an address; it is made, with the header, when something is first appended.

    `chat.jsonl` (any path), `sqlite:///chats.db#conversation` (`sqlite:////` for an absolute path) or
    `postgresql://user@host/database#conversation`.
    """
    kind, place, conversation = parse_address(address)
    if kind == "file":
        from redline.log.jsonl import JsonlLog

        return JsonlLog(place, durability=durability, header=header, redact=redact)
    if not conversation:
        raise ValidationError(f"The address does not say which conversation. Write its name after it: {EXAMPLES[kind]}")
    if kind == "sqlite":
        from redline.log.sqlite import SqliteLog

        return SqliteLog(place, conversation, durability=durability, header=header, redact=redact)
    from redline.log.postgres import PostgresLog

    return PostgresLog(place, conversation, durability=durability, header=header, redact=redact)


def list_conversations(address: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database, in order; a conversation in the address does not matter."""
    kind, place, _ = parse_address(address)
    if kind == "sqlite":
        from redline.log.sqlite import sqlite_conversations

        return sqlite_conversations(place)
    if kind == "postgresql":
        from redline.log.postgres import postgres_conversations

        return postgres_conversations(place)
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
