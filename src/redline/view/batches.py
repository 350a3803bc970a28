"""Batches: the views between two boundaries, and the way back to an earlier one."""

from dataclasses import dataclass

from redline.errors import ExecutionError, ValidationError
from redline.view.view import View

__all__ = ["Batches"]


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches up to the current one. Opening one ends the current; a rollback makes an earlier one current."""

    boundaries: tuple[int, ...] = (0,)
    """One index per batch: what lies before it counted as compressed when the batch was opened."""
    ended: tuple[View, ...] = ()
    """Of each batch before the current one, the view as it was when the batch ended."""

    @property
    def current(self) -> int:
        """The number of the current batch."""
        return len(self.ended)

    @property
    def numbers(self) -> range:
        """The batches there are."""
        return range(self.current + 1)

    def opened(self, boundary: int, view: View) -> "Batches":
        """One batch more. `view` is what the batch that ends with this shows at its end."""
        return Batches((*self.boundaries, boundary), (*self.ended, view))

    def view_of(self, batch: int, current_view: View) -> View:
        """The view as it was when the batch ended; the current batch has not ended and shows the current view."""
        self._check(batch)
        return current_view if batch == self.current else self.ended[batch]

    def rolled_back(self, batch: int) -> "Batches":
        """The batch is current again, later ones are gone, and numbering goes on from there."""
        self._check(batch)
        if batch == self.current:
            return self
        return Batches(self.boundaries[: batch + 1], self.ended[:batch])

    def _check(self, batch: int) -> None:
        if not isinstance(batch, int) or isinstance(batch, bool):
            raise ValidationError(f"A batch is named by its number, not by {batch!r}. {self._known()}")
        if batch not in self.numbers:
            raise ExecutionError(f"There is no batch {batch}. {self._known()}")

    def _known(self) -> str:
        return f"The batches are 0 to {self.current}." if self.current else "The only batch is 0."
