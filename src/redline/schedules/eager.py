"""Every mark is applied at once, as the documents say."""

from collections.abc import Sequence
from dataclasses import dataclass

from redline.schedules.schedule import Case, Decision

__all__ = ["Eager"]


@dataclass(frozen=True, slots=True)
class Eager:
    """Every mark at once, as the documents say."""

    name = "eager"
    weighs_requests = False

    def decide(self, case: Case) -> Sequence[Decision]:
        """Apply them all."""
        return [Decision(mark, is_applied=True, why="applied at once") for mark in case.pending]
