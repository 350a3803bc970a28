"""Truncate: cut the view at its ends, or to a range."""

from dataclasses import dataclass

from redline.errors import ValidationError
from redline.view.operations.operation import Context, OperationOutcome
from redline.view.operations.options import check_count, read_options, required_option

__all__ = ["Span", "Truncate"]

_COUNTS = ("keep_first", "keep_last", "remove_first", "remove_last")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of visible positions, the end not included."""

    start: int
    end: int

    def __post_init__(self) -> None:
        check_count(self.start, "truncate.range.start")
        check_count(self.end, "truncate.range.end")
        if self.start >= self.end:
            raise ValidationError(
                f"truncate.range from {self.start} to {self.end} is empty: the end must be greater than the start"
            )

    @classmethod
    def parse(cls, section: object) -> "Span":
        """The range that a configuration describes."""
        where = "truncate.range"
        options = read_options(where, section, ("start", "end"))
        return cls(required_option(options, "start", where), required_option(options, "end", where))


@dataclass(frozen=True, slots=True)
class Truncate:
    """Keeps or removes visible messages by their place, each option in this order on the result of the one before.

    A number greater than there are messages is clipped. Opens a batch, also when nothing is cut.
    """

    keep_first: int | None = None
    keep_last: int | None = None
    remove_first: int | None = None
    remove_last: int | None = None
    span: Span | None = None
    """In a configuration: `range`."""

    def __post_init__(self) -> None:
        counts = {name: getattr(self, name) for name in _COUNTS}
        for name, count in counts.items():
            if count is not None:
                check_count(count, f"truncate.{name}")
        if self.span is None and all(count is None for count in counts.values()):
            raise ValidationError(f"truncate says nothing to do. Set at least one of {', '.join(_COUNTS)}, range.")

    @classmethod
    def parse(cls, section: object) -> "Truncate":
        """The operation that a configuration describes."""
        options = read_options("truncate", section, (*_COUNTS, "range"))
        span = Span.parse(options.pop("range")) if "range" in options else None
        return cls(**options, span=span)

    def apply(self, context: Context) -> OperationOutcome:
        """The view cut down."""
        kept = context.view.indices[:]
        if self.keep_first is not None:
            kept = kept[: self.keep_first]
        if self.keep_last is not None:
            kept = kept[max(len(kept) - self.keep_last, 0) :]
        if self.remove_first is not None:
            kept = kept[self.remove_first :]
        if self.remove_last is not None:
            kept = kept[: max(len(kept) - self.remove_last, 0)]
        if self.span is not None:
            kept = kept[self.span.start : self.span.end]
        return OperationOutcome.of_new_batch(context.view.with_indices(kept), context.store)
