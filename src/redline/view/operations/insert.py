"""Insert: store messages and show them at a place in the view."""

from dataclasses import dataclass

from redline.errors import ValidationError
from redline.formats.check_message import check_message
from redline.values.payloads import Payload
from redline.view.operations.operation import Context, OperationOutcome
from redline.view.operations.options import check_count, read_options, required_option

__all__ = ["Insert"]

_END = -1


@dataclass(frozen=True, slots=True)
class Insert:
    """Shows new messages at a place in the view; the current batch goes on."""

    position: int
    """Counted in the visible messages: they come before the one that is there; -1 or past the end is the end."""
    messages: tuple[Payload, ...]
    """The very objects that were given; whoever stores them makes them its own."""

    def __post_init__(self) -> None:
        check_count(self.position, "insert.position", lowest=_END)
        if not isinstance(self.messages, tuple) or not self.messages:
            raise ValidationError("insert.messages must be a list with at least one message")
        for number, message in enumerate(self.messages):
            check_message(message, f"insert.messages[{number}]")

    @classmethod
    def parse(cls, section: object) -> "Insert":
        """The operation that a configuration describes."""
        options = read_options("insert", section, ("position", "messages"))
        position = required_option(options, "position", "insert")
        return cls(position, required_option(options, "messages", "insert"))

    def apply(self, context: Context) -> OperationOutcome:
        """The messages, and the view with their indices in place."""
        first, view = len(context.store), context.view
        added = range(first, first + len(self.messages))
        if self.position == _END or self.position >= len(view.indices):
            return OperationOutcome(view.extended(added), self.messages)
        before, after = view.indices[: self.position], view.indices[self.position :]
        return OperationOutcome(view.with_indices((*before, *added, *after)), self.messages)
