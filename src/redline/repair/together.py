"""The results of one exchange stand in one message, in front, where the provider wants them so."""

from redline.formats.base import Format
from redline.laws.equal_counts import EqualCounts
from redline.laws.front_results import FrontResults
from redline.repair.values import Change, Draft, Item
from redline.values.messages import Message, Part, ToolResult

__all__ = ["Together"]


class Together:
    """Gathers results from several messages into the one that says something else too, or into the first."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._wants_front = format.name in FrontResults.rules
        self._wants_one = self._wants_front or format.name in EqualCounts.rules

    def gathered(self, draft: Draft) -> Draft:
        """The exchange with its results where the provider looks for them."""
        if not self._wants_one:
            return draft
        holders = [item for item in draft.heard if any(_is_result(part) for part in item.message.parts)]
        if not holders or (len(holders) == 1 and not (self._wants_front and _has_results_behind(holders[0].message))):
            return draft
        base = holders[-1] if len(holders[-1].message.results) < len(holders[-1].message.parts) else holders[0]
        others = [item for item in holders if item is not base]
        merged = Item(self._format.gather(base.message, [item.message for item in others]), base.source)
        taken = f"the results of message {', '.join(str(item.index) for item in others)} were merged into it"
        changes = [Change(base.index, taken if others else "its results were moved to the front")]
        changes += [Change(item.index, f"its results were merged into message {base.index}") for item in others]
        return Draft(draft.said, [merged, *draft.heard[len(holders) :]], [*draft.changes, *changes])


def _has_results_behind(message: Message) -> bool:
    """Whether a result stands behind something else."""
    if len(message.parts) == 1:
        return False
    own = [_is_result(part) for part in message.parts]
    return own != sorted(own, reverse=True)


def _is_result(part: Part) -> bool:
    return type(part) is ToolResult and not part.is_hosted
