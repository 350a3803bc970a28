"""Which files a call shows, and which it changes, each in one spelling."""

from redline.tools import Reads, Runs, Writes, normalize_path
from redline.view.facts import Seen

__all__ = ["read_paths", "written_paths"]


def read_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a result shows; none if it shows anything besides, such as a listing or what a search found."""
    actions = seen.actions
    if not all(isinstance(action, Reads | Runs) for action in actions):
        return frozenset()
    return frozenset(normalize_path(action.path, root) for action in actions if isinstance(action, Reads))


def written_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a call makes, edits, moves or deletes."""
    return frozenset(normalize_path(action.path, root) for action in seen.actions if isinstance(action, Writes))
