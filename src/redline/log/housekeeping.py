"""Housekeeping at a place with many logs, a folder or a database: what is there and how large it is, and deleting for good."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from redline.files import file_error
from redline.log.addresses import parse_address
from redline.log.blanking import blanked
from redline.log.jsonl import begins_like_log, delete_log_file, files_of_log, replace_lines
from redline.log.opening import list_conversations
from redline.log.store import INDEX

__all__ = ["LOG_SUFFIX", "delete_logs", "last_lines", "log_names", "log_size", "log_sizes", "vacuum"]

LOG_SUFFIX = ".jsonl"
"""Of the logs in a folder; what comes before it is the conversation's name."""

_HEAD_BYTES = 64
_END_BYTES = 16 << 10
_LAST_LINES = 8


def log_sizes(address: str | os.PathLike[str]) -> dict[str, int]:
    """The names of the conversations at a place, in order, each with the bytes that it takes there."""
    kind, place, _ = parse_address(address)
    match kind:
        case "file":
            return _sizes_in_folder(Path(place))
        case "sqlite":
            from redline.log.sqlite import sqlite_sizes

            found = sqlite_sizes(place)
        case _:
            from redline.log.postgres import postgres_sizes

            found = postgres_sizes(place)
    return {name: size for name, size in found.items() if name != INDEX}


def log_names(address: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations at a place, in order; no record is read for it."""
    kind, place, _ = parse_address(address)
    return list_conversations(address) if kind != "file" else [path.name.removesuffix(LOG_SUFFIX) for path in _logs_in(place)]


def log_size(address: str | os.PathLike[str], name: str) -> int:
    """The bytes that one conversation takes; none if somebody has deleted it meanwhile."""
    kind, place, _ = parse_address(address)
    match kind:
        case "file":
            return _size(Path(place) / f"{name}{LOG_SUFFIX}")
        case "sqlite":
            from redline.log.sqlite import sqlite_sizes

            return sqlite_sizes(place, name).get(name, 0)
    from redline.log.postgres import postgres_sizes

    return postgres_sizes(place, name).get(name, 0)


def last_lines(address: str | os.PathLike[str]) -> Iterator[tuple[str, list[bytes]]]:
    """The names of the conversations at a place, each with its last lines, as far as they are in a few kilobytes."""
    kind, place, _ = parse_address(address)
    match kind:
        case "file":
            yield from ((path.name.removesuffix(LOG_SUFFIX), _end_of(path)) for path in _logs_in(place))
            return
        case "sqlite":
            from redline.log.sqlite import sqlite_ends

            found = sqlite_ends(place, _LAST_LINES)
        case _:
            from redline.log.postgres import postgres_ends

            found = postgres_ends(place, _LAST_LINES)
    yield from ((name, lines) for name, lines in found.items() if name != INDEX)


def delete_logs(address: str | os.PathLike[str], names: Sequence[str]) -> None:
    """Delete conversations with all that is theirs; what is not there is passed over.

    A LogError while another process keeps one of them locked. What a database holds of them in its files, `vacuum` takes away.
    """
    kind, place, _ = parse_address(address)
    match kind:
        case "file":
            for name in names:
                delete_log_file(Path(place) / f"{name}{LOG_SUFFIX}")
            replace_lines(Path(place) / INDEX, lambda line: blanked(line, names))
        case "sqlite":
            from redline.log.sqlite import delete_in_sqlite

            delete_in_sqlite(place, names)
        case _:
            from redline.log.postgres import delete_in_postgres

            delete_in_postgres(place, names)


def vacuum(address: str | os.PathLike[str]) -> None:
    """Have a database write its files anew, without what was deleted; of a folder nothing is left that it could do."""
    kind, place, _ = parse_address(address)
    if kind == "sqlite":
        from redline.log.sqlite import vacuum_sqlite

        vacuum_sqlite(place)
    elif kind == "postgresql":
        from redline.log.postgres import vacuum_postgres

        vacuum_postgres(place)


def _sizes_in_folder(folder: Path) -> dict[str, int]:
    """Redline's own logs in it; sessions of other agents, links and folders below are none."""
    try:
        return {path.name.removesuffix(LOG_SUFFIX): _size(path) for path in _logs_in(folder)}
    except OSError as problem:
        raise file_error(folder, problem) from problem


def _logs_in(place: str | Path) -> list[Path]:
    folder = Path(place)
    try:
        paths = sorted(folder.glob(f"*{LOG_SUFFIX}")) if folder.exists() else []
        return [path for path in paths if _is_log(path)]
    except OSError as problem:
        raise file_error(folder, problem) from problem


def _end_of(path: Path) -> list[bytes]:
    """The last lines of a file, the first of them perhaps in part; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _END_BYTES))
            return file.read().splitlines(keepends=True)
    except OSError:
        return []


def _is_log(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            beginning = file.read(_HEAD_BYTES)
    except OSError:
        return True  # it may be one, and whoever reads it will say what is wrong
    return bool(beginning.rstrip(b"\0")) and begins_like_log(beginning)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in files_of_log(path) if file.exists())
