"""Which files a call shows, and which it changes, each in one spelling."""

from redline.tools import Reads, Runs, Writes, normalize_path
from redline.view.facts import Seen

__all__ = ["read_paths", "written_paths"]


def read_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a result shows; none if it shows anything besides, such as a listing or what a search found."""
    paths = set()
    for action in seen.actions:
        if isinstance(action, Reads):
            paths.add(normalize_path(action.path, root))
        elif not isinstance(action, Runs):
            return frozenset()
    return frozenset(paths)


def written_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a call makes, edits, moves or deletes."""
    return frozenset(normalize_path(action.path, root) for action in seen.actions if isinstance(action, Writes))
