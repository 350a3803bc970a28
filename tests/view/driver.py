"""A conversation reduced to what views need: it stores messages and does to them what the operations say."""

from collections.abc import Iterable
from typing import Any

from redline.providers import check_message, read_messages
from redline.providers.arguments import describe_tools
from redline.values.messages import Message
from redline.view.operations import Context, Operation, OperationOutcome, StartBatch, parse_operation
from redline.view.view import Batches, View


class Stored:
    """Messages by index, each with its versions."""

    def __init__(self) -> None:
        self.versions: list[list[Message]] = []

    def __len__(self) -> int:
        return len(self.versions)

    def message(self, index: int, version: int) -> Message:
        return self.versions[index][version]

    def version_count(self, index: int) -> int:
        return len(self.versions[index])


class Driven:
    """Adds messages, applies operations, rolls back."""

    def __init__(self, messages: Iterable[Any] = (), tools: Iterable[Any] = ()) -> None:
        self.store = Stored()
        self.view = View()
        self.batches = Batches()
        self.tool_description = describe_tools(tools)
        for message in messages:
            self.add(message)

    def add(self, payload: Any) -> None:
        check_message(payload)
        self.view = self.view.extended((len(self.store),))
        self._store(payload)

    def process(self, config: Any) -> None:
        self._apply(parse_operation(config))

    def start_batch(self, boundary: int) -> None:
        self._apply(StartBatch(boundary))

    def rollback(self, batch: int) -> None:
        after = self.batches.view_of(batch, self.view)
        self.batches, self.view = self.batches.rolled_back(batch), after

    @property
    def context(self) -> Context:
        return Context(self.view, self.store, self.tool_description)

    @property
    def messages(self) -> list[Any]:
        return [message.native for _, message in self.context.visible()]

    @property
    def all_messages(self) -> list[Any]:
        return [message.native for _, message in self.context.history()]

    @property
    def visible_indices(self) -> list[int]:
        return list(self.view.indices)

    def snapshot(self) -> tuple[Any, ...]:
        """Everything that a failing operation must leave alone."""
        versions = [[message.native for message in each] for each in self.store.versions]
        return self.visible_indices, dict(self.view.versions), self.batches, versions

    def _apply(self, operation: Operation) -> None:
        outcome = operation.apply(self.context)
        for payload in outcome.appended:
            self._store(payload)
        for index, payload in outcome.replaced.items():
            assert outcome.view.version_of(index) == self.store.version_count(index)
            self.store.versions[index].extend(read_messages([payload]))
        self._show(outcome)

    def _show(self, outcome: OperationOutcome) -> None:
        if outcome.boundary is not None:
            self.batches = self.batches.opened(outcome.boundary, self.view)
        self.view = outcome.view

    def _store(self, payload: Any) -> None:
        self.store.versions.append(list(read_messages([payload])))


def numbered(count: int) -> list[dict[str, Any]]:
    """Messages m0, m1, … of user and assistant in turn."""
    return [{"role": ("user", "assistant")[number % 2], "content": f"m{number}"} for number in range(count)]


def truncate(**options: Any) -> dict[str, Any]:
    return {"operation": "truncate", "truncate": options}


def insert(position: int, *texts: str, role: str = "user") -> dict[str, Any]:
    messages = [{"role": role, "content": text} for text in texts]
    return {"operation": "insert", "insert": {"position": position, "messages": messages}}


def replace(index: int, text: str) -> dict[str, Any]:
    return {"operation": "replace", "replace": {"index": index, "message": {"role": "user", "content": text}}}


def clear(**options: Any) -> dict[str, Any]:
    return {"operation": "clear", "clear": options}


def keep(**conditions: Any) -> dict[str, Any]:
    return {"operation": "filter", "filter": conditions}
