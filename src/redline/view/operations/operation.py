"""An operation changes what is visible: it is given the present state and says what the state is afterwards."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from redline.values.messages import Message
from redline.values.payloads import Payload
from redline.view.view import View

__all__ = ["Context", "MessageStore", "Operation", "OperationOutcome"]


class MessageStore(Protocol):
    """What an operation may ask of the stored messages."""

    def __len__(self) -> int:
        """How many messages are stored; the next one gets this index."""
        ...

    def message(self, index: int, version: int) -> Message:
        """The message at an index in one of its versions; 0 is the message as first said."""
        ...

    def version_count(self, index: int) -> int:
        """How many versions of the message are stored, the first one included; the next one gets this number."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The state an operation is applied to."""

    view: View
    store: MessageStore
    tool_description: str | None = None
    """The conversation's tools in words (`describe_tools`); None if it has none."""

    def message(self, index: int) -> Message:
        """The message at an index, in the version that counts."""
        return self.store.message(index, self.view.version_of(index))

    def visible(self) -> Iterator[tuple[int, Message]]:
        """The visible messages with their indices."""
        return ((index, self.message(index)) for index in self.view.indices)

    def history(self) -> Iterator[tuple[int, Message]]:
        """All stored messages with their indices, also those that a rollback has hidden."""
        return ((index, self.message(index)) for index in range(len(self.store)))


@dataclass(frozen=True, slots=True)
class OperationOutcome:
    """What an operation did. Nothing is changed until the caller takes it over, and then all of it at once."""

    view: View
    """What is visible afterwards; it already counts with the messages below."""
    appended: tuple[Payload, ...] = ()
    """Messages to store, in order: the first gets the index `len(store)`."""
    replaced: Mapping[int, Payload] = field(default_factory=lambda: MappingProxyType({}))
    """By index, the new version to store; its number is `view.versions[index]`."""
    boundary: int | None = None
    """The boundary of the batch that opens with this view; None if the current batch goes on."""

    @classmethod
    def of_new_batch(cls, view: View, store: MessageStore, appended: tuple[Payload, ...] = ()) -> "OperationOutcome":
        """The view opens a batch at its lowest index. Where nothing is visible, all that is stored lies before it."""
        boundary = min(view.indices, default=len(store) + len(appended))
        return cls(view, appended, boundary=boundary)


class Operation(Protocol):
    """One change of what is visible, checked when it is made."""

    def apply(self, context: Context) -> OperationOutcome:
        """What the operation does in this state; an ExecutionError if the state does not allow it."""
        ...
