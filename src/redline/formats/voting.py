"""Which format a growing conversation has: every message narrows it down, until only one is possible."""

from collections.abc import Mapping
from typing import Any

from redline.errors import FormatError
from redline.formats import FORMATS
from redline.formats.base import Format, decode_object
from redline.values.payloads import Payload

__all__ = ["FormatVote"]


class FormatVote:
    """Every message votes once. A format that one of them cannot be of is out.

    Once a single format is left the winner is settled: later messages are not decoded any more, nor counted.
    """

    def __init__(self, fixed: Format | None = None) -> None:
        self._is_fixed = fixed is not None
        self._certain = dict.fromkeys((fixed.name,) if fixed else FORMATS, 0)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the formats that are still possible, in the order of the list of formats."""
        return tuple(self._certain)

    @property
    def votes(self) -> dict[str, int]:
        """By format that all messages can be of, how many speak for it; none where the format is fixed, as nobody counts."""
        return {} if self._is_fixed else dict(self._certain)

    def at(self, votes: Mapping[str, int]) -> "FormatVote | None":
        """With votes that were counted before; None if none were, or not for formats that are known."""
        if self._is_fixed:
            return self
        if not votes or not FORMATS.keys() >= votes.keys():
            return None
        vote = FormatVote()
        vote._certain = dict(votes)
        return vote

    @property
    def winner(self) -> Format:
        """The format that most messages speak for; the earlier in the list of formats where several are alike."""
        return FORMATS[max(self._certain, key=lambda name: self._certain[name])]

    def accepts(self, native: dict[str, Any]) -> bool:
        """Whether the message can be of a format that all messages before could be of."""
        return any(FORMATS[name].evidence(native) for name in self._certain)

    def add(self, payload: Payload) -> None:
        """Count a message that is accepted, while there is something to decide."""
        if len(self._certain) == 1:
            return
        native = decode_object(payload)
        evidence = {name: FORMATS[name].evidence(native) for name in self._certain}
        if not any(evidence.values()):
            raise FormatError("A message is of no format that the messages before it can be of. Give format=…")
        self._certain = {name: count + (evidence[name] == 2) for name, count in self._certain.items() if evidence[name]}
