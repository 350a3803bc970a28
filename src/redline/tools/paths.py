"""Paths as agents spell them: taken out of a call's argument, and brought to one spelling for each file."""

import ntpath
import posixpath
import re
from functools import lru_cache
from typing import Any

from redline import payloads

__all__ = ["normalize_path", "path_entries", "paths_of", "rebase"]

_WINDOWS_ROOT = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
_GIT_SHELL_DRIVE = re.compile(r"^/([A-Za-z])/")
_ABSOLUTE = re.compile(r"[\\/]|[A-Za-z]:[\\/]")


@lru_cache(maxsize=65536)
def normalize_path(path: str, root: str) -> str:
    """One spelling for each file: relative to the root, with forward slashes; absolute outside of it; `.` for the root.

    The shape of the root decides: under `C:\\code` paths have drive letters and no case, on any system. A root that is
    not absolute says nothing about where it lies, so it counts as none. Only text is looked at, never the disk.
    """
    if _WINDOWS_ROOT.match(root):
        return _inside(_windows(path, root), _windows("", root))
    if not root.startswith("/"):
        return _posix(path, "")
    return _inside(_posix(path, root), _posix("", root))


def paths_of(value: object) -> tuple[str, ...]:
    """The paths in an argument: a string, a list of strings or of objects with `path`, or such a list as JSON text.

    What is no path (empty, null, a number) is left out, and each path is named once.
    """
    if isinstance(value, str) and _is_plain(value):
        return (value,)
    return tuple(dict.fromkeys([path for path, _ in path_entries(value)]))


def path_entries(value: object) -> list[tuple[str, dict[str, Any]]]:
    """Each path of an argument with the object it stands in, which is empty for a path that stands alone."""
    if isinstance(value, str):
        if _is_plain(value):
            return [(value, {})]
        value = _listed(value)
    entries: list[tuple[str, dict[str, Any]]] = []
    for item in value if isinstance(value, list) else ():
        path = item.get("path") if isinstance(item, dict) else item
        if isinstance(path, str) and path.strip():
            entries.append((path, item if isinstance(item, dict) else {}))
    return entries


def rebase(path: str, base: str | None) -> str:
    """The path as it is called from outside of the base folder."""
    if base is None or _ABSOLUTE.match(path):
        return path
    return base if path == "." else posixpath.join(base, path)


def _is_plain(text: str) -> bool:
    """Whether a string is one path for sure: there are words, and no list begins."""
    return text.lstrip()[:1] not in ("", "[")


def _listed(text: str) -> list[Any]:
    """A string is one path, unless it is a JSON list; `[id].tsx` is a path."""
    try:
        parsed = payloads.decode_text(text)
    except (ValueError, RecursionError):
        return [text]
    return parsed if isinstance(parsed, list) else [text]


def _posix(path: str, base: str) -> str:
    full = posixpath.normpath(posixpath.join(base, path.replace("\\", "/")))
    # normpath keeps two leading slashes, which mean nothing on any system in use
    return f"/{full.lstrip('/')}" if full.startswith("//") else full


def _windows(path: str, root: str) -> str:
    """Git's shell on Windows writes `/c/code` for `C:\\code`."""
    path = _GIT_SHELL_DRIVE.sub(r"\1:/", path)
    return ntpath.normpath(ntpath.join(root, path)).replace("\\", "/").lower()


def _inside(full: str, base: str) -> str:
    if full == base:
        return "."
    front = f"{base.rstrip('/')}/"
    inner = full.removeprefix(front)
    # a name with a colon would be taken for a drive when it is normalised again
    return full if ntpath.splitdrive(inner)[0] and ntpath.splitdrive(base)[0] else inner
