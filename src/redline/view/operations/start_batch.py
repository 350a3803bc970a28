"""Start a batch at an index: what is visible before it is hidden."""

from dataclasses import dataclass

from redline.errors import ExecutionError, ValidationError
from redline.view.operations.operation import Context, OperationOutcome

__all__ = ["StartBatch"]


@dataclass(frozen=True, slots=True)
class StartBatch:
    """Opens a batch at a boundary of the caller's choice, up to the number of stored messages, which hides them all."""

    boundary: int

    def __post_init__(self) -> None:
        if not isinstance(self.boundary, int) or isinstance(self.boundary, bool):
            raise ValidationError(f"The boundary of a batch must be an index, not {self.boundary!r}")

    def apply(self, context: Context) -> OperationOutcome:
        """The view from the boundary on."""
        stored = len(context.store)
        if not 0 <= self.boundary <= stored:
            raise ExecutionError(
                f"There is no boundary {self.boundary}: {stored} messages are stored, so it can be 0 to {stored}"
            )
        shown = (index for index in context.view.indices if index >= self.boundary)
        return OperationOutcome(context.view.with_indices(shown), boundary=self.boundary)
