"""Patches in the `*** Begin Patch` form: which files they change."""

import re

from redline.tools.actions import Writes

__all__ = ["patch_writes"]

# Lines of the files themselves begin with `+`, `-` or a space, so a header is never mistaken.
_HEADER = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to):[ \t]*+(\S.*)", re.MULTILINE)


def patch_writes(patch: str) -> tuple[Writes, ...]:
    """The files a patch adds, updates, deletes and moves, in order."""
    return tuple(Writes(path.rstrip(), is_edit=kind == "Update File") for kind, path in _HEADER.findall(patch))
