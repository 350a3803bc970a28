"""Replace: give a visible message a new version."""

from dataclasses import dataclass
from types import MappingProxyType

from redline.errors import ExecutionError
from redline.formats.check_message import check_message
from redline.values.payloads import Payload
from redline.view.operations.operation import Context, OperationOutcome
from redline.view.operations.options import check_count, read_options, required_option

__all__ = ["Replace"]


@dataclass(frozen=True, slots=True)
class Replace:
    """Shows another message at an index; the earlier one stays in the record, and the current batch goes on."""

    position: int
    """Counted in the visible messages. In a configuration: `index`."""
    message: Payload
    """The very object that was given; whoever stores it makes it its own."""

    def __post_init__(self) -> None:
        check_count(self.position, "replace.index")
        check_message(self.message, "replace.message")

    @classmethod
    def parse(cls, section: object) -> "Replace":
        """The operation that a configuration describes."""
        options = read_options("replace", section, ("index", "message"))
        position = required_option(options, "index", "replace")
        return cls(position, required_option(options, "message", "replace"))

    def apply(self, context: Context) -> OperationOutcome:
        """The new version, and the view that counts with it."""
        visible = context.view.indices
        if self.position >= len(visible):
            there = f"the visible messages are 0 to {len(visible) - 1}" if visible else "no message is visible"
            raise ExecutionError(f"replace.index {self.position} is not there: {there}")
        index = visible[self.position]
        after = context.view.with_versions({index: context.store.version_count(index)})
        return OperationOutcome(after, replaced=MappingProxyType({index: self.message}))
