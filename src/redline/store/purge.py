"""All that Redline has stored on this computer: found, named, and deleted for good."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from redline.errors import ExecutionError
from redline.file_calls import lock
from redline.files import cache_folder, file_error
from redline.record.addresses import masked
from redline.record.backends import FileBackend, parse_address
from redline.servers.ownership import key_file

OWN_FOLDER = Path("~/.redline")


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """A folder or file that Redline made for itself alone."""

    path: Path
    holds: str
    files: int
    bytes: int

    @classmethod
    def at(cls, path: Path, holds: str) -> "StoredPlace":
        """Count what is there; links are counted and not followed."""
        found = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_symlink() or one.is_file()]
        return cls(path, holds, len(found), sum(one.lstat().st_size for one in found))


def stored_places() -> Iterator[StoredPlace]:
    """What `purge` deletes, of what there is."""
    key, cache = key_file(), cache_folder()
    places = {
        OWN_FOLDER.expanduser().absolute(): "conversations, whole results, accounts, files of hooks",
        **({cache: "what listings and searches remember of sessions"} if cache else {}),
        **({key.parent: "the key by which your programs know your proxy"} if key else {}),
    }
    yield from (StoredPlace.at(path, holds) for path, holds in places.items() if path.exists() and not path.is_symlink())


def left_alone(store: str, environment: Mapping[str, str], settings: Path | None) -> Iterator[tuple[str, str]]:
    """What Redline stored where other things are, too, or what the user wrote: its place, and what to do about it."""
    backend, place, _ = parse_address(store)
    if not isinstance(backend, FileBackend) or Path(place).expanduser().absolute() != OWN_FOLDER.expanduser().absolute():
        yield masked(store), f"your store: redline rm {masked(store)} --keep-last 0"
    if settings is not None and settings.exists():
        yield str(settings), "your settings: delete the file"
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json"
    try:
        if "-m redline hook run" in claude.read_text(encoding="utf-8", errors="replace"):
            yield str(claude), "the hook: redline hook uninstall claude-code"
    except OSError:  # Claude Code is not there
        pass


def running_file(store: str) -> Path:
    """The file that a proxy locks for as long as it runs."""
    backend, place, _ = parse_address(store)
    return backend.file_beside(place, ".running")


def check_nothing_runs() -> None:
    """Refuse if a proxy has a file of the own folder locked: it would go on writing there."""
    for path in sorted(OWN_FOLDER.expanduser().glob("*.running")):
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError as problem:
            raise file_error(path, problem) from problem
        try:
            lock(handle, waits=False)
        except BlockingIOError:
            raise ExecutionError(
                f"A proxy is running, and keeps its record in {path.parent}. End it, and agents that redline run started; "
                "then try again. Nothing was deleted."
            ) from None
        finally:
            os.close(handle)


def delete_place(place: StoredPlace) -> None:
    """Delete a folder with all that is in it; a LogError says what could not be deleted."""
    try:
        shutil.rmtree(place.path)
    except OSError as problem:
        raise file_error(Path(problem.filename or place.path), problem) from problem
