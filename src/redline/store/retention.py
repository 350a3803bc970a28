"""How long a proxy keeps what it stores: conversations, whole results, accounts and the files of hooks, deleted when unused."""

import math
import re
import time
from datetime import timedelta
from pathlib import Path

import msgspec

from redline.errors import ValidationError
from redline.files import file_error, write_whole
from redline.hooks.answering import accounts_file, whole_folder
from redline.record.backends import FileBackend, parse_address
from redline.record.blobs.whole_results import WholeResults
from redline.store.proxy_files import forget_old_accounts
from redline.store.store import Store

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOST_DAYS = 1e5


def parse_keep(text: str) -> timedelta | None:
    """The time that `30d`, `12h`, `90m` or `4w` means; None for an empty text."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", text.strip())
    if not found or not 0 < (amount := float(found[1])) < math.inf or amount > _MOST_DAYS:
        raise ValidationError(f"--keep is a number and a unit, such as 30d, 12h or 4w (m, h, d, w), not {text[:40]!r}.")
    return timedelta(**{_UNITS[found[2]]: amount})


def delete_unused(store: str, keep: timedelta, blobs: str = "") -> int:
    """Delete what was not used for so long: the number of conversations. Sums of the accounts stay, names in them go."""
    with Store(store) as conversations:
        gone = conversations.prune(older_than=keep, dry_run=False, blobs=blobs or None) if conversations.exists() else ()
    before_s = time.time() - keep.total_seconds()
    forget_old_accounts(store, before_s)
    backend, place, _ = parse_address(store)
    if isinstance(backend, FileBackend) and not backend.is_database:
        _delete_hook_files(Path(place).expanduser().absolute(), before_s)
    return len(gone)


def _delete_hook_files(store: Path, before_s: float) -> None:
    """No record names them: they go by their age alone."""
    results, accounts = WholeResults(whole_folder(store)), accounts_file(store)
    for reference in list(results.list()) if results.path.is_dir() else ():
        results.delete_older(reference, than_ms=before_s * 1000)
    try:
        lines = accounts.read_bytes().splitlines(keepends=True) if accounts.is_file() else []
        if kept := [line for line in lines if _time_of(line) >= before_s]:
            if len(kept) < len(lines):
                write_whole(accounts, b"".join(kept))
        elif lines:
            accounts.unlink()
    except OSError as problem:
        raise file_error(accounts, problem) from problem


class _HookLine(msgspec.Struct):
    at: float = 0.0


def _time_of(line: bytes) -> float:
    try:
        return msgspec.json.decode(line, type=_HookLine).at
    except msgspec.DecodeError:  # torn
        return 0.0
