"""Which files a call shows, and which it changes, each in one spelling."""

from redline.rules.facts import Seen
from redline.tools import Reads, Runs, Writes, is_unicode, normalize_path

__all__ = ["read_paths", "written_paths"]


def read_paths(seen: Seen, root: str, *, shell_reads: bool) -> frozenset[str]:
    """The files that a result shows; none if it shows anything besides, such as a listing or what a search found.

    Of a command (`cat a.py`) only if shell reads count. A path that is no Unicode text cannot be stored, and is none.
    """
    paths = set()
    for action in seen.actions:
        if isinstance(action, Reads) and is_unicode(action.path):
            paths.add(normalize_path(action.path, root))
        elif not (shell_reads and isinstance(action, Runs)):
            return frozenset()
    return frozenset(paths)


def written_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a call makes, edits, moves or deletes."""
    return frozenset(
        normalize_path(action.path, root) for action in seen.actions if isinstance(action, Writes) and is_unicode(action.path)
    )
