"""Small files that Redline keeps in the user's cache folder. They only save time, so whatever fails there is passed over."""

import os
from pathlib import Path

from redline.files import make_directory, write_whole

__all__ = ["cache_folder", "read_cached", "write_cached"]

_SWITCH = "REDLINE_CACHE"
_MOST_BYTES = 256 * 1024 * 1024
"""A larger file is none of ours."""


def cache_folder() -> Path | None:
    """`$XDG_CACHE_HOME/redline`, else `~/.cache/redline`; None with REDLINE_CACHE=off, and for a user without a home."""
    if os.environ.get(_SWITCH, "").lower() == "off":
        return None
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "redline"
    try:
        return Path.home() / ".cache" / "redline"
    except RuntimeError:
        return None


def read_cached(name: str) -> bytes | None:
    """The content of a file of that name; None where there is none that can be read."""
    folder = cache_folder()
    path = folder / name if folder else None
    try:
        if path is None or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def write_cached(name: str, content: bytes) -> bool:
    """Write a file for its owner only, whole or not at all; False where that is not possible."""
    folder = cache_folder()
    try:
        if folder is None:
            return False
        make_directory(folder)
        write_whole(folder / name, content)
    except OSError:
        return False
    return True
