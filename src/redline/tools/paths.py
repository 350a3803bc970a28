"""Paths as agents spell them: taken out of a call's argument or a patch, and brought to one spelling for each file."""

import ntpath
import posixpath
import re
from functools import lru_cache
from typing import Any

from redline.tools.tool import Writes
from redline.values import payloads

PATH_NAMES = (
    "filePath file_path path paths files filename fileName file_name filepath file target_file targetFile"
    " absolute_path absolutePath AbsolutePath relative_path relativePath relative_workspace_path"
    " filePaths file_paths notebook_path uri"
)
"""What agents call the argument that holds a path, or several."""
_ENTRY_NAMES = ("path", *PATH_NAMES.split())

_WINDOWS_ROOT = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
_GIT_SHELL_DRIVE = re.compile(r"^/([A-Za-z])/")
_ABSOLUTE = re.compile(r"[\\/]|[A-Za-z]:[\\/]")


def normalize_path(path: str, root: str) -> str:
    """One spelling for each file: relative to the root, with forward slashes; absolute outside of it; `.` for the root.

    The shape of the root decides: under `C:\\code` paths have drive letters and no case, on any system. A root that is
    not absolute says nothing about where it lies, so it counts as none. Only text is looked at, never the disk.
    A text longer than any path is its own spelling.
    """
    if len(path) > _LONGEST_PATH:
        return path
    return _remembered(path, root) if len(path) <= _LONGEST_KEPT else _normalized(path, root)


def _normalized(path: str, root: str) -> str:
    if _WINDOWS_ROOT.match(root):
        return _inside(_windows(path, root), _windows("", root))
    if not root.startswith("/"):
        return _posix(path, "")
    return _inside(_posix(path, root), _posix("", root))


_LONGEST_PATH = 4096
"""Of Linux; the time of the standard library's `ntpath.normpath` grows with the square of the length."""
_LONGEST_KEPT = 1000
"""Longer ones are rare, and are not kept in memory."""
_remembered = lru_cache(maxsize=65536)(_normalized)


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8, which half of a surrogate pair cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def paths_of(value: object) -> tuple[str, ...]:
    """The paths, each once, in a string, a list of strings or of objects with `path`, or such a list as JSON text."""
    if isinstance(value, str) and _is_plain(value):
        return (value,)
    return tuple(dict.fromkeys([path for path, _ in path_entries(value)]))


def path_entries(value: object) -> list[tuple[str, dict[str, Any]]]:
    """Each path of an argument with the object that holds it, which is empty for a path on its own."""
    if isinstance(value, str):
        if _is_plain(value):
            return [(value, {})]
        try:
            parsed = payloads.decode_text(value)
        except (ValueError, RecursionError):
            parsed = None
        value = parsed if isinstance(parsed, list) else [value]  # `[id].tsx` is a path
    entries: list[tuple[str, dict[str, Any]]] = []
    for item in value if isinstance(value, list) else ():
        found = item if isinstance(item, dict) else {}
        paths = [found[name] for name in _ENTRY_NAMES if name in found] if found else [item]
        path = next((path for path in paths if isinstance(path, str) and path.strip()), None)
        if path is not None:
            entries.append((path, found))
    return entries


def rebase(path: str, base: str | None) -> str:
    """The path as it is called from outside of the base folder."""
    if base is None or _ABSOLUTE.match(path):
        return path
    return base if path == "." else posixpath.join(base, path)


def _is_plain(text: str) -> bool:
    """Whether a string is one path for sure: there are words, and no list begins."""
    return text.lstrip()[:1] not in ("", "[")


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


# --- patches in the `*** Begin Patch` form

# Lines of the files themselves begin with `+`, `-` or a space, so a header is never mistaken.
_HEADER = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to):[ \t]*+(\S.*)", re.MULTILINE)


def patch_writes(patch: str) -> tuple[Writes, ...]:
    """The files a patch adds, updates, deletes and moves, in order."""
    return tuple(Writes(path.rstrip(), is_edit=kind == "Update File") for kind, path in _HEADER.findall(patch))
