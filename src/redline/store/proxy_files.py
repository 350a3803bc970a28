"""What a proxy writes beside a store: its accounts, which forget what is deleted, and whole results for agents to read."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from redline.files import file_error
from redline.record.addresses import masked
from redline.record.backends import FileBackend, parse_address
from redline.record.blobs.whole_results import WholeResults, notice_folders
from redline.record.log import Stored
from redline.record.records import StrikesApplied
from redline.servers.listening import is_loopback

_OF_SESSION = ("chain", "session", "sent", "broke")
"""What a line of the accounts says of a session beside its numbers."""
NAMES_GONE = b'{"names_gone":true}'
"""The line after which whoever has read the accounts looks again which names are in them."""


def accounts_path(store: str) -> Path:
    """Where the accounts of a store are: in its folder, beside its SQLite file, or for a server in the user's folder."""
    backend, place, _ = parse_address(store)
    return backend.file_beside(place, ".accounts")


def struck_sessions(store: str | None = None) -> Mapping[str, int]:
    """By the name of each session that a proxy has made smaller: the most tokens that it struck or folded in a request.

    Without a store, that of `redline run` where nobody names another.
    """
    path = accounts_path(str(Path.home() / ".redline") if store is None else store)
    try:
        return _struck_in(path, path.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=8)
def _struck_in(path: Path, _: int) -> Mapping[str, int]:
    """Read once for as long as the file stays as it is; the number is another one when it has changed."""
    found: dict[str, int] = {}
    for line in path.read_bytes().splitlines():
        with suppress(msgspec.DecodeError):
            one = _STRUCK.decode(line)
            saved = one.struck_tokens + one.folded_tokens
            if one.session and saved and not one.is_unchanged:
                found[one.session] = max(saved, found.get(one.session, 0))
    return found


class _StruckRequest(msgspec.Struct):
    session: str = ""
    struck_tokens: int = 0
    folded_tokens: int = 0
    is_unchanged: bool = False


_STRUCK = msgspec.json.Decoder(_StruckRequest)


def forget_in_accounts(store: str, names: Collection[str]) -> None:
    """Take the names of logs, and of the sessions that filled them, out of the accounts; the sums stay. Each line keeps its
    length, since proxies that run are reading the file; a last line tells them that names are gone."""

    def of_names(entries: Sequence[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], bool]:
        gone = {entry["session"] for entry in entries if entry.get("chain") in names and "session" in entry}
        gone -= {entry.get("session") for entry in entries if "chain" in entry and entry["chain"] not in names}
        return lambda entry: entry.get("chain") in names or ("chain" not in entry and entry.get("session") in gone)

    _forget_in_lines(accounts_path(store), of_names, _OF_SESSION)


def forget_old_accounts(store: str, before_s: float) -> None:
    """Take the names of sessions, runs and projects out of the lines of requests that were answered before a time."""
    keys = (*_OF_SESSION, "project", "run")

    def old(_: Sequence[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], bool]:
        return lambda entry: entry.get("at", before_s) < before_s and not entry.keys().isdisjoint(keys)

    _forget_in_lines(accounts_path(store), old, keys)


def _forget_in_lines(
    path: Path,
    choose: Callable[[Sequence[Mapping[str, Any]]], Callable[[Mapping[str, Any]], bool]],
    keys: tuple[str, ...],
) -> None:
    """Take the values of keys out of the lines that are chosen; nothing is written if there are none."""
    place = 0
    try:
        with path.open("r+b") as file:
            lines = file.read().splitlines(keepends=True)
            entries = [_decoded(line) for line in lines]
            is_chosen = choose(entries)
            if not any(map(is_chosen, entries)):
                return
            for line, entry in zip(lines, entries, strict=True):
                if is_chosen(entry):
                    kept = {key: value for key, value in entry.items() if key not in keys}
                    file.seek(place)
                    file.write(msgspec.json.encode(kept).ljust(len(line.rstrip(b"\n"))))
                place += len(line)
        with path.open("ab") as file:
            file.write((b"" if not lines or lines[-1].endswith(b"\n") else b"\n") + NAMES_GONE + b"\n")
    except FileNotFoundError:
        return
    except OSError as problem:
        raise file_error(path, problem) from problem


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        entry = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return entry if isinstance(entry, dict) else {}


# --- whole results

SWITCHED_OFF = "off"
"""In the place of a folder: no line is left out for which the model would have to read a file."""


@dataclass(frozen=True, slots=True)
class WholePlace:
    """Where a proxy writes whole results, for agents to read."""

    folder: str = ""
    """An absolute path; empty: nowhere, so that no line is left out of a result."""
    why_none: str = ""


def whole_place(store: str, chosen: str = "", host: str = "127.0.0.1") -> WholePlace:
    """The folder for the whole results of a proxy: the one that is chosen, else one with the store, but none for agents that
    may be on other machines, which the proxy's files are not on."""
    if chosen == SWITCHED_OFF:
        return WholePlace(why_none="it is switched off (--whole-in off)")
    if chosen:
        return WholePlace(str(Path(chosen).expanduser().absolute()))
    if not is_loopback(host):
        return WholePlace(why_none=f"agents on other machines, which may use {host}, cannot read files of this one")
    folder = own_folder(store)
    if folder is None:
        return WholePlace(why_none=f"the store {masked(store)} is not in a folder of this machine; --whole-in names one")
    return WholePlace(str(folder))


def own_folder(store: str) -> Path | None:
    """The folder for whole results that lies in a store's folder, or beside its database file; None for a server."""
    backend, place, _ = parse_address(store)
    if not isinstance(backend, FileBackend):
        return None
    beside = backend.file_beside(place, ".whole") if backend.is_database else Path(place) / "whole"
    return beside.expanduser().absolute()


def whole_folders_in(store: str, records: Iterable[Stored]) -> list[WholeResults]:
    """The folders with whole results of these records: that of their store, and others that their notices name."""
    own = own_folder(store)
    strikes = (strike for one in records if isinstance(one.record, StrikesApplied) for strike in one.record.strikes)
    named = (
        Path(folder) for one in strikes if one.is_partial for folder in notice_folders(str(one.replacement), one.reference)
    )
    return [WholeResults(folder) for folder in dict.fromkeys([*([own] if own else []), *named]) if folder.is_dir()]
