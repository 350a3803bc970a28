"""Every mark is applied at once, as the documents say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redline.schedules.schedule import Case, Decision

__all__ = ["Eager"]


@dataclass(frozen=True, slots=True)
class Eager:
    """Every mark at once, as the documents say."""

    name: ClassVar[str] = "eager"
    weighs_requests: ClassVar[bool] = False

    def decide(self, case: Case) -> Sequence[Decision]:
        """Apply them all."""
        return [Decision(mark, is_applied=True, why="applied at once") for mark in case.pending]
