"""An exchange is what the assistant said at once, the results that came back, and the first other thing said then."""

from redline.repair.values import Change, Item
from redline.values.messages import Opaque, ToolCall
from redline.values.pairs import Spot, Step

__all__ = ["Exchange"]


class Exchange:
    """Grows while its messages come in; once closed, only a late result is still put into it.

    Either side may be silent: messages of the user that follow each other are exchanges in which the assistant says nothing.
    """

    __slots__ = ("changes", "has_last_word", "has_late_results", "heard", "is_speaking", "resolved_next", "said", "step")

    def __init__(self) -> None:
        self.said: list[Item] = []
        """The assistant's messages; one, but for formats in which each item is a message of its own."""
        self.heard: list[Item] = []
        """Messages of nothing but results that fit, and at the end perhaps one that says something else."""
        self.step = Step()
        """The calls by their place in `said`, and which of them are answered."""
        self.changes: list[Change] = []
        """What was done while the messages were sorted."""
        self.is_speaking = False
        self.has_last_word = False
        """Whether something else than results was heard: what comes after it is not an answer any more."""

        self.has_late_results = False
        self.resolved_next: frozenset[str | None] = frozenset()
        """The provider's own calls whose results come in the assistant's next message."""

    @property
    def is_answered(self) -> bool:
        """Whether every call has its result."""
        return len(self.step.answers) == len(self.step.calls)

    @property
    def is_empty(self) -> bool:
        """Whether no message has come to it, or left a trace in it."""
        return not (self.said or self.heard or self.changes)

    def say(self, item: Item) -> None:
        """The assistant says one more thing."""
        for place, part in enumerate(item.message.parts):
            if type(part) is ToolCall and not part.is_hosted:
                self.step.calls[Spot(len(self.said), place)] = part
            elif type(part) is Opaque and part.is_reference:
                self.step.has_references = True
        self.said.append(item)
        self.is_speaking = True

    def put_back(self, item: Item) -> None:
        """Results that came late join the others, before anything else that was heard."""
        self.heard.insert(len(self.heard) - self.has_last_word, item)
        self.has_late_results = True
