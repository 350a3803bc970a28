"""The accounts that a proxy writes beside a store: where they are, and that they forget what is deleted."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from redline.files import file_error
from redline.log.addresses import parse_address

__all__ = ["NAMES_GONE", "accounts_path", "forget_in_accounts", "struck_sessions"]

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


def struck_sessions(store: str | None = None) -> Mapping[str, int]:
    """By the name of each session from which a proxy has struck something: the most tokens that it took out of a request.

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
            if one.session and one.struck_tokens and not one.is_unchanged:
                found[one.session] = max(one.struck_tokens, found.get(one.session, 0))
    return found


class _StruckRequest(msgspec.Struct):
    session: str = ""
    struck_tokens: int = 0
    is_unchanged: bool = False


_STRUCK = msgspec.json.Decoder(_StruckRequest)


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
