"""What the tests of stores share: an empty place of each kind, conversations in it, and a look at every byte of its files."""

from itertools import count
from pathlib import Path

import psycopg
import pytest

from redline import Store
from redline.record import Header, codec

KINDS = ("folder", "sqlite", "postgres")

_databases = count(1)


def new_store(kind: str, folder: Path, request: pytest.FixtureRequest) -> Store:
    """A store with nothing in it."""
    return Store(new_place(kind, folder, request))


def new_place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """The address of a store that does not exist yet; in PostgreSQL a database of its own."""
    match kind:
        case "folder":
            return str(folder / "chats")
        case "sqlite":
            return f"sqlite:///{folder / 'chats.db'}"
    server = request.getfixturevalue("postgres")
    name = f"store_{next(_databases)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.replace("/postgres?", f"/{name}?")


def talk(store: Store, name: str, *texts: str, at_ms: float = 1_700_000_000_000.0) -> None:
    """A conversation in which a user says these texts, a second apart."""
    with store.open(name, format="openai_chat") as conversation:
        for number, text in enumerate(texts):
            conversation.add({"role": "user", "content": text}, timestamp_ms=at_ms + 1000 * number)


def unreadable_log(path: Path) -> None:
    """A conversation of a Redline that is not made yet."""
    path.write_bytes(codec.encode_header(Header(conversation=path.stem, version=99)))


def files_with(phrase: str, folder: Path) -> list[str]:
    """The files in a folder and below in which a phrase is, whatever they are."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in paths if phrase.encode() in path.read_bytes()]
