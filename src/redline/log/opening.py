"""The address of a log says what it is kept in: a file, an SQLite database or a PostgreSQL database."""

import os
import re
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from redline.errors import ValidationError
from redline.log.addresses import address_text, masked
from redline.log.durable import Durability, DurableLog, Header, Redact

__all__ = ["check_address", "list_conversations", "open_log", "unused_address"]


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
    kind, place, conversation = _parsed(address)
    if kind == "file":
        from redline.log.jsonl import JsonlLog

        return JsonlLog(place, durability=durability, header=header, redact=redact)
    if not conversation:
        raise ValidationError(f"The address does not say which conversation. Write its name after it: {_EXAMPLES[kind]}")
    if kind == "sqlite":
        from redline.log.sqlite import SqliteLog

        return SqliteLog(place, conversation, durability=durability, header=header, redact=redact)
    from redline.log.postgres import PostgresLog

    return PostgresLog(place, conversation, durability=durability, header=header, redact=redact)


def list_conversations(address: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database, in order; a conversation in the address does not matter."""
    kind, place, _ = _parsed(address)
    if kind == "sqlite":
        from redline.log.sqlite import sqlite_conversations

        return sqlite_conversations(place)
    if kind == "postgresql":
        from redline.log.postgres import postgres_conversations

        return postgres_conversations(place)
    raise ValidationError(f"{place} is no database. Write sqlite:///PATH or postgresql://HOST/DATABASE.")


def unused_address(address: str) -> str:
    """An address beside this one where nothing is stored: `chat-2.jsonl` for `chat.jsonl`, `…#name-2` for `…#name`."""
    kind, place, conversation = _parsed(address)
    if kind == "file":
        path = Path(place)
        return str(next(one for number in count(2) if not (one := path.with_stem(f"{path.stem}-{number}")).exists()))
    taken = set(list_conversations(address))
    free = next(name for number in count(2) if (name := f"{conversation}-{number}") not in taken)
    return f"{address.partition('#')[0]}#{quote(free, safe='')}"


def check_address(address: object) -> str:
    """The address as text; a ValidationError if no log can be there."""
    text = address_text(address)
    if not text:
        raise ValidationError("The address of a log is empty. Write a path, for example chat.jsonl.")
    if not _is_sayable(text):
        raise ValidationError(f"The address {masked(text)!r} holds a character that no file name can have.")
    return text


class _Address(NamedTuple):
    kind: Literal["file", "sqlite", "postgresql"]
    place: str
    conversation: str


_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_EXAMPLES = {"sqlite": "sqlite:///chats.db#NAME", "postgresql": "postgresql://user@host/database#NAME"}


def _parsed(address: str | os.PathLike[str]) -> _Address:
    text = check_address(address)
    scheme = _SCHEME.match(text) if isinstance(address, str) else None
    if scheme is None:
        return _Address("file", text, "")
    place, _, conversation = text.partition("#")
    match scheme[1].lower():
        case "sqlite":
            return _Address("sqlite", _sqlite_path(place[scheme.end() :]), unquote(conversation))
        case "postgresql" | "postgres":
            if masked(text).count("#") < text.count("#"):
                raise ValidationError(f"There is a # in the password of {masked(text)}. Write %23 for it.")
            return _Address("postgresql", place, unquote(conversation))
    raise ValidationError(f"There are no logs at {scheme[0]} addresses. Write a path, {' or '.join(_EXAMPLES.values())}")


def _is_sayable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _sqlite_path(rest: str) -> str:
    """After `sqlite://` and a third slash, as other programs write it: relative, or absolute with a fourth."""
    if len(rest) < 2 or not rest.startswith("/"):
        raise ValidationError(f"An SQLite address has three slashes and a path: {_EXAMPLES['sqlite']}")
    return unquote(rest[1:])
