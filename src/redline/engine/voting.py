"""Which format a growing conversation has, decided again only when a message speaks for another one."""

from typing import Any

from redline.formats import FORMATS
from redline.formats.base import Format

__all__ = ["FormatVote"]


class FormatVote:
    """Every message votes once. A format that one of them cannot be of is out."""

    def __init__(self, fixed: Format | None = None) -> None:
        self._certain = dict.fromkeys((fixed.name,) if fixed else FORMATS, 0)

    @property
    def winner(self) -> Format:
        """The format that most messages speak for; the earlier in the list of formats where several are alike."""
        return FORMATS[max(self._certain, key=lambda name: self._certain[name])]

    def accepts(self, native: dict[str, Any]) -> bool:
        """Whether the message can be of a format that all messages before could be of."""
        return any(FORMATS[name].evidence(native) for name in self._certain)

    def add(self, native: dict[str, Any]) -> None:
        """Count a message that is accepted."""
        for name in list(self._certain):
            evidence = FORMATS[name].evidence(native)
            if evidence == 0:
                del self._certain[name]
            else:
                self._certain[name] += evidence == 2
