"""The session files, databases, folders, object stores and pipes that the arguments of a command name."""

import atexit
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote, unquote

from redline.agents.opencode.database import OpenCodeDatabase, OpenCodeSession, opencode_sessions
from redline.agents.readers import Transcript, read_transcript, session_places
from redline.agents.transcripts.foreign_database import DATABASE_MAGIC
from redline.errors import BlobStoreError, RedlineError, TranscriptError, ValidationError
from redline.files import stamp_of
from redline.record.addresses import masked, without_password
from redline.record.backends import database_address
from redline.record.blobs.object_store import BUCKET_SCHEMES, Bucket

if TYPE_CHECKING:
    from redline.record.reading import StoredLog

JOURNAL = "-wal"
"""What SQLite writes beside a database before it goes into the database itself."""

SESSION_SUFFIXES = frozenset({".jsonl", ".json", ".traj", ".eval"})
_DATABASE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
_OTHERS_DATABASES = re.compile(r"opencode.*\.db")
"""Databases of agents, which their readers recognise; all others in a folder are nobody's business here."""

MOST_PIPED_BYTES = 256 * 1024 * 1024
"""How much is read from standard input or a pipe."""
MOST_FILES = 100_000
"""How many files of a folder, or objects of a store, are looked at."""

_STDIN = "-"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PIPE_PLACES = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
_HEAD_BYTES = 100
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


@dataclass(frozen=True, slots=True)
class SessionInput:
    """One session that a command was given: a file, an object, a conversation in a database, or what standard input held."""

    name: str
    """What to call it in output: the argument or the path, never with a password."""
    place: str
    """The path, or the address of the object or of the conversation."""
    problem: str = ""
    """Why it cannot be read, where that is known already."""
    is_found: bool = False
    """Whether it was found in a folder or below a prefix, rather than named."""
    conversation: str = ""
    """Which session of an agent's database it is; then the place is FILE#ID. Empty where a file is one session."""

    @property
    def file(self) -> Path:
        """The file that it is in, if its place is no address."""
        return Path(self.place.rpartition("#")[0] if self.conversation else self.place)

    @property
    def is_log(self) -> bool:
        """Whether it is a log of Redline's own; of an object that can be told once it is on disk."""
        from redline.conversation.opening import is_foreign

        if is_object_address(self.place) or self.conversation:
            return False
        return _is_address(self.place) or bool(_head(Path(self.place)) and not is_foreign(Path(self.place)))

    @property
    def path(self) -> Path | None:
        """The file, where it is one that can be named again: no database, no object, and not what came through a pipe."""
        is_file = not (_is_address(self.place) or self.conversation) and self.name == self.place
        return Path(self.place) if is_file else None

    def log(self) -> "StoredLog":
        """The records of a log of Redline's own that is on this machine or at an address."""
        from redline.record.opening import read_log

        return read_log(self.place)

    def read(self) -> Transcript:
        """Its conversations. What cannot be read raises a RedlineError that names it, and no password."""
        if self.problem:
            raise TranscriptError(self.problem)
        with self.on_disk() as here:
            try:
                if here.conversation:
                    return OpenCodeDatabase().read_session(here.file, here.conversation)
                if not here.is_log:
                    return read_transcript(here.place)
                from redline.sessions.read_session import transcript_of_log

                return transcript_of_log(here.log())
            except RedlineError as problem:
                raise TranscriptError(here.error_text(problem)) from problem

    @contextmanager
    def on_disk(self) -> Iterator["SessionInput"]:
        """The session in a file of this machine: an object is downloaded for as long as the block lasts."""
        if self.problem or not is_object_address(self.place):
            yield self
            return
        with ExitStack() as stack:
            try:
                path = stack.enter_context(downloaded(self.place))
            except RedlineError as problem:
                raise TranscriptError(self.error_text(problem)) from problem
            yield replace(self, place=str(path))

    def error_text(self, problem: object) -> str:
        """An error about it, in words that may be shown."""
        return without_password(str(problem).replace(self.place, self.name), self.place)


def find_sessions(arguments: Iterable[str]) -> list[SessionInput]:
    """Every session that the arguments of a command name, each once.

    An argument is a file (of any agent, or a Redline log or database), an address (`sqlite:///chats.db#name`,
    `postgresql://…`; without a name all its conversations), a folder or a prefix of an object store (`s3://bucket/prefix`,
    `gs://…`, `az://…`), which are searched, a session of opencode's database (`opencode.db#ID`), a short name that `redline
    sessions` printed, the beginning of a session's own name, a number (1 is the newest session on this computer), or `-` for
    standard input. What cannot be read is among them, with its problem, so that the others are shown all the same.
    """
    found: dict[str, SessionInput] = {}
    for argument in arguments:
        for session in _sessions_at(argument):
            found.setdefault(session.place, session)
    return list(found.values())


def _sessions_at(argument: str) -> Iterator[SessionInput]:
    if not argument:
        yield SessionInput("''", "''", "An argument is empty. Name a file or a folder; `.` is the current folder.")
        return
    if argument == _STDIN:
        yield _piped(_STDIN, sys.stdin.buffer) if sys.stdin else SessionInput("-", "-", "There is no standard input.")
        return
    if _is_address(argument):
        yield from _in_object_store(argument) if is_object_address(argument) else _in_database(argument)
        return
    try:
        mode = Path(argument).stat().st_mode
    except (OSError, ValueError) as problem:
        yield from _named_or_missing(argument, problem)
        return
    if stat.S_ISDIR(mode):
        yield from _in_folder(argument)
    elif stat.S_ISREG(mode):
        yield from sessions_in_file(argument)
    elif stat.S_ISFIFO(mode) and _PIPE_PLACES.fullmatch(argument):
        with Path(argument).open("rb") as pipe:
            yield _piped(argument, pipe)
    else:
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        yield SessionInput(argument, argument, f"{argument} is {kind}, not a file. To read from a pipe, name -.")


def _named_or_missing(argument: str, problem: OSError | ValueError) -> Iterator[SessionInput]:
    """A session of a database as FILE#ID, or the one of a short name; else what keeps the file from being opened."""
    file, mark, conversation = argument.rpartition("#")
    if mark and Path(file).is_file():
        named = [one for one in sessions_in_file(file) if one.place == argument or one.conversation == conversation]
        lacking = f"{file} has no session {conversation!r}. `redline sessions {file}` lists those that it has."
        yield from named or [SessionInput(argument, argument, lacking)]
        return
    from redline.sessions.catalog.catalog import Catalog

    try:
        place = Catalog(places=session_places()).place_of(argument) if isinstance(problem, FileNotFoundError) else None
    except ValidationError as unknown:
        yield SessionInput(argument, argument, str(unknown))
        return
    if place is not None:
        yield from _sessions_at(place)
        return
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    yield SessionInput(argument, argument, f"{argument} cannot be opened: {why}. Check the path and its permissions.")


def sessions_in_file(path: str, *, is_found: bool = False) -> Iterator[SessionInput]:
    """The file itself, or each conversation of a database: of Redline's, or of opencode's."""
    head = _head(Path(path))
    if not head.startswith(DATABASE_MAGIC):
        yield SessionInput(path, path, is_found=is_found)
        return
    if own := database_address(path, head):
        for one in _in_database(own):
            yield replace(one, is_found=is_found)
        return
    stored = stored_sessions(path)
    if not stored:
        yield SessionInput(path, path, is_found=is_found)
    for session_id in stored:
        place = f"{path}#{quote(session_id, safe='')}"
        yield SessionInput(place, place, is_found=is_found, conversation=session_id)


def stored_sessions(path: str) -> dict[str, OpenCodeSession]:
    """What opencode's database says of its sessions, by their ids; nothing of a file that it did not write."""
    states = tuple(stamp_of(Path(f"{path}{ending}")) for ending in ("", JOURNAL))
    return _stored_sessions(path, states)


@lru_cache(maxsize=8)
def _stored_sessions(path: str, _: object) -> dict[str, OpenCodeSession]:
    """Asked again when the database has changed: every session of it is looked up here."""
    try:
        return {one.id: one for one in opencode_sessions(Path(path))}
    except RedlineError:  # whoever reads it is told
        return {}


def _in_database(address: str) -> Iterator[SessionInput]:
    if address.partition("#")[2]:
        yield SessionInput(masked(address), address)
        return
    from redline.record.opening import list_conversations

    database = address.partition("#")[0]
    shown = masked(database)
    try:
        names = list_conversations(database)
    except RedlineError as problem:
        told = without_password(str(problem), address)
        yield SessionInput(shown, address, f"{shown} cannot be read: {told}")
        return
    if not names:
        yield SessionInput(shown, address, f"There is no conversation in {shown}. Check the address.")
    for name in names:
        yield SessionInput(f"{shown}#{name}", f"{database}#{quote(name)}")


def _in_object_store(address: str) -> Iterator[SessionInput]:
    """The object itself, if its name ends as a session's does; else those below, sorted by address."""
    shown = masked(address)
    try:
        store, key = _parts(address)
        if PurePosixPath(address).suffix in SESSION_SUFFIXES and not address.endswith("/"):
            place = f"{store}/{quote(key)}"  # spelled as a listing spells it
            yield SessionInput(masked(place), place)
            return
        bucket = Bucket(store, "Sessions")
        with bucket.reporting(quote(key), "listed"):
            paths = (found["path"] for found in bucket.objects(key.strip("/") or None))
            below = (f"{store}/{quote(path)}" for path in paths if PurePosixPath(path).suffix in SESSION_SUFFIXES)
            places = sorted(islice(below, MOST_FILES + 1))
    except RedlineError as problem:
        yield SessionInput(shown, address, without_password(str(problem), address))
        return
    if len(places) > MOST_FILES:
        yield SessionInput(shown, address, f"{shown} holds more than {MOST_FILES:,} sessions. Name a longer prefix.")
        return
    for place in places:
        yield SessionInput(masked(place), place, is_found=True)
    if not places:
        kinds = ", ".join(sorted(SESSION_SUFFIXES))
        yield SessionInput(shown, address, f"{shown} holds no session file ({kinds}). Check the bucket and the prefix.")


def _in_folder(folder: str) -> Iterator[SessionInput]:
    """What lies in it and below, links to other folders left aside, sorted by path."""
    files: list[str] = []
    refused: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=refused.append):
        folders.sort()
        files += [str(path) for path in (Path(place, name) for name in names) if _may_be_session(path)]
        if len(files) > MOST_FILES:
            yield SessionInput(folder, folder, f"{folder} holds more than {MOST_FILES:,} files. Name a smaller folder.")
            return
    for path in sorted(files):
        yield from sessions_in_file(path, is_found=True)
    for problem in refused:
        name = os.fspath(problem.filename)
        yield SessionInput(name, name, f"{name} cannot be opened: {problem.strerror}. Check its permissions.")
    if not files and not refused:
        kinds = ", ".join(sorted(SESSION_SUFFIXES))
        yield SessionInput(folder, folder, f"{folder} holds no session file ({kinds}, or a Redline database).")


def _may_be_session(path: Path) -> bool:
    """By its name; and it must be a file, since a pipe or a device may never end."""
    try:
        if path.suffix not in SESSION_SUFFIXES | _DATABASE_SUFFIXES or not stat.S_ISREG(path.stat().st_mode):
            return False
    except OSError:
        return False
    is_known = path.suffix in SESSION_SUFFIXES or _OTHERS_DATABASES.fullmatch(path.name)
    return bool(is_known or database_address(str(path), _head(path)))


def _piped(name: str, pipe: BinaryIO) -> SessionInput:
    """What comes through a pipe, put into a file for as long as the command runs: sessions are not read from front to end."""
    if name == _STDIN and sys.stdin.isatty():
        sys.stderr.write("redline: reading standard input; Ctrl-D ends it\n")
    handle, path = tempfile.mkstemp(prefix="redline-", suffix=".jsonl")
    atexit.register(Path(path).unlink, missing_ok=True)
    size = 0
    with os.fdopen(handle, "wb") as file:
        while piece := pipe.read(1 << 20):
            size += len(piece)
            if size > MOST_PIPED_BYTES:
                most = f"{MOST_PIPED_BYTES >> 20} MB, the most that is read from a pipe"
                return SessionInput(name, path, f"{name} gave more than {most}. Name a file.")
            file.write(piece)
    return SessionInput(name, path, "" if size else f"{name}: standard input is empty.")


def _is_address(argument: str) -> bool:
    return _ADDRESS.match(argument) is not None


def _head(path: Path) -> bytes:
    """The beginning of a file; nothing where it cannot be read, which whoever reads it will say."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return b""


MOST_OBJECT_BYTES = 4 * 1024**3
"""How much of one object is downloaded."""

_PIECE_BYTES = 1 << 20
_LONGEST_NAME = 80
"""In characters, of which each takes four bytes at most: file systems allow 255."""


def is_object_address(place: str) -> bool:
    """Whether it begins as the address of an object store does."""
    scheme, separator, _ = place.partition("://")
    return bool(separator) and scheme.lower() in BUCKET_SCHEMES


@contextmanager
def downloaded(address: str) -> Iterator[Path]:
    """An object as a file of the same name, which is removed after the block. Who has it open may go on reading."""
    store, key = _parts(address)
    bucket = Bucket(store, "Sessions")
    with tempfile.TemporaryDirectory(prefix="redline-") as folder:
        path = Path(folder, PurePosixPath(key).name[-_LONGEST_NAME:])
        with bucket.reporting(quote(key), "read"), path.open("wb") as file:
            answer = bucket.in_time(lambda: bucket.store.get(key))
            pieces = iter(answer.stream(min_chunk_size=_PIECE_BYTES))
            while (piece := bucket.in_time(lambda: next(pieces, None))) is not None:
                file.write(piece)
                if file.tell() > MOST_OBJECT_BYTES:
                    most = f"{MOST_OBJECT_BYTES >> 20:,} MB"
                    raise BlobStoreError(f"{address} has more than {most}, the most that is downloaded.")
        yield path


def _parts(address: str) -> tuple[str, str]:
    """The store, as `s3://bucket`, and the key in it. What has no bucket, or no name a file can have, is refused."""
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket or "\0" in unquote(key):
        raise ValidationError(f"{address!r} is no address of an object. Write s3://BUCKET/PREFIX, gs://… or az://…")
    return f"{scheme.lower()}://{bucket}", unquote(key)
