"""Clear: hide everything but the system messages and the description of the tools."""

from dataclasses import dataclass

from redline.errors import ValidationError
from redline.formats.tool_definitions import is_tool_description
from redline.view.operations.operation import Context, OperationOutcome
from redline.view.operations.options import read_options

__all__ = ["Clear"]


@dataclass(frozen=True, slots=True)
class Clear:
    """Shows the system messages of the whole history, or none, and what tools there are. Opens a batch.

    The tools stay usable either way: the latest description in the history is shown again, else a new one comes last.
    """

    keep_system_message: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.keep_system_message, bool):
            raise ValidationError(f"clear.keep_system_message must be true or false, not {self.keep_system_message!r}")

    @classmethod
    def parse(cls, section: object) -> "Clear":
        """The operation that a configuration describes; it may say nothing."""
        return cls(**read_options("clear", section, ("keep_system_message",)))

    def apply(self, context: Context) -> OperationOutcome:
        """The view of what is kept, and the description where one has to be made."""
        system = {index: message for index, message in context.history() if message.role == "system"}
        described = [index for index, message in system.items() if is_tool_description(message)]
        kept = list(system) if self.keep_system_message else []
        if context.tool_description is None:
            return OperationOutcome.of_new_batch(context.view.with_indices(kept), context.store)
        if described:
            # Among the kept ones it is there already, in its place in the history.
            shown = kept if self.keep_system_message else described[-1:]
            return OperationOutcome.of_new_batch(context.view.with_indices(shown), context.store)
        made = {"role": "system", "content": context.tool_description}
        shown = [*kept, len(context.store)]
        return OperationOutcome.of_new_batch(context.view.with_indices(shown), context.store, (made,))
