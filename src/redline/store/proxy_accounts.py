"""The accounts that a proxy writes beside a store: where they are, and that they forget what is deleted."""

from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from redline.files import file_error
from redline.log.addresses import parse_address

__all__ = ["NAMES_GONE", "accounts_path", "forget_in_accounts"]

NAMES_GONE = b'{"names_gone":true}'
"""The line after which whoever has read the accounts looks again which names are in them."""


def accounts_path(store: str) -> Path:
    """Where the accounts of a store are: in its folder, beside its SQLite file, or for a server in the user's folder."""
    address = parse_address(store)
    match address.kind:
        case "file":
            return Path(address.place).expanduser() / "proxy.accounts"
        case "sqlite":
            return Path(f"{address.place}.accounts")
        case "postgresql":
            name = blake2b(address.place.rpartition("@")[2].encode(), digest_size=6).hexdigest()
            return Path.home() / ".redline" / f"proxy-{name}.accounts"


def forget_in_accounts(store: str, names: Collection[str]) -> None:
    """Take the names of logs, and of the sessions that filled them, out of the accounts; the sums stay.

    Each line keeps its length, since proxies that run are reading the file; a last line tells them that names are gone.
    """
    path, place = accounts_path(store), 0
    try:
        with path.open("r+b") as file:
            lines = file.read().splitlines(keepends=True)
            entries = [_decoded(line) for line in lines]
            gone = {entry["session"] for entry in entries if entry.get("chain") in names and "session" in entry}
            gone -= {entry.get("session") for entry in entries if "chain" in entry and entry["chain"] not in names}
            for line, entry in zip(lines, entries, strict=True):
                if entry.get("chain") in names or ("chain" not in entry and entry.get("session") in gone):
                    kept = {key: value for key, value in entry.items() if key not in ("chain", "session")}
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
