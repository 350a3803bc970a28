"""The accounts that a proxy writes beside a store: where they are, and that they forget what is deleted."""

from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path

import msgspec

from redline.files import file_error
from redline.log.addresses import parse_address

__all__ = ["accounts_path", "forget_in_accounts"]


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

    Each line keeps its length, since proxies that run are reading the file.
    """
    path, place = accounts_path(store), 0
    try:
        with path.open("r+b") as file:
            for line in file.read().splitlines(keepends=True):
                if (blank := _blanked(line.rstrip(b"\n"), names)) is not None:
                    file.seek(place)
                    file.write(blank)
                place += len(line)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise file_error(path, problem) from problem


def _blanked(line: bytes, names: Collection[str]) -> bytes | None:
    """The line without the names, filled up with blanks; None if it is of no log of these names."""
    try:
        entry = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    if not isinstance(entry, dict) or entry.get("chain") not in names:
        return None
    kept = {key: value for key, value in entry.items() if key not in ("chain", "session")}
    return msgspec.json.encode(kept).ljust(len(line))
