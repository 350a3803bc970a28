"""What the path of a request carries beside the provider's own: a label, a token."""

from dataclasses import dataclass, replace
from urllib.parse import unquote

__all__ = ["Target", "parse_target"]


@dataclass(frozen=True, slots=True)
class Target:
    """A path, taken apart."""

    path: str
    """The provider's, as the client wrote it."""
    label: str = ""
    """From `/s/<label>/…`."""
    token: str = ""
    """From `/t/<token>/…`."""


def parse_target(path: str) -> Target:
    """What a path says: `/t/<token>` and `/s/<label>` may stand before the provider's path, in any order, each once."""
    target = Target(path)
    for _ in range(2):
        kind, name, rest = ([*target.path.split("/", 3)[1:], "", "", ""])[:3]
        if not name or (kind == "s" and target.label) or (kind == "t" and target.token) or kind not in ("s", "t"):
            break
        target = replace(target, path=f"/{rest}", **{"label" if kind == "s" else "token": unquote(name)})
    return target
