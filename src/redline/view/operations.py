"""The operations on a view: each is a checked value, applied to a state and giving the state after it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from redline.errors import ExecutionError, ValidationError
from redline.providers import check_message
from redline.providers.arguments import is_tool_description
from redline.values import payloads
from redline.values.messages import Message, ToolCall
from redline.values.payloads import Payload
from redline.view.view import View


class MessageStore(Protocol):
    """What an operation may ask of the stored messages."""

    def __len__(self) -> int:
        """How many messages are stored; the next one gets this index."""

    def message(self, index: int, version: int) -> Message:
        """The message at an index in one of its versions; 0 is the message as first said."""

    def version_count(self, index: int) -> int:
        """How many versions of the message are stored, the first one included; the next one gets this number."""


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
    """A change of the view, checked when it is made."""

    def apply(self, context: Context) -> OperationOutcome:
        """What the operation does in this state; an ExecutionError if the state does not allow it."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Shows the system messages of the whole history, or none, and what tools there are. Opens a batch.

    The tools stay usable either way: the latest description in the history is shown again, else a new one comes last.
    """

    keep_system_message: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.keep_system_message, bool):
            raise ValidationError(f"clear.keep_system_message must be true or false, not {self.keep_system_message!r}")

    def apply(self, context: Context) -> OperationOutcome:
        """The view of what is kept, and the description where one has to be made."""
        system = {index: message for index, message in context.history() if message.role == "system"}
        described = [index for index, message in system.items() if is_tool_description(message)]
        shown, made = list(system) if self.keep_system_message else [], tuple[Payload, ...]()
        if context.tool_description is not None and described:
            # Among the kept ones it is there already, in its place in the history.
            shown = shown if self.keep_system_message else described[-1:]
        elif context.tool_description is not None:
            shown, made = [*shown, len(context.store)], ({"role": "system", "content": context.tool_description},)
        return OperationOutcome.of_new_batch(context.view.with_indices(shown), context.store, made)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps a visible message if its role is listed, its content has a keyword, and none of the excluded ones.

    An empty list is no condition. Keywords are case-sensitive. Nothing is protected. Opens a batch.
    """

    roles: tuple[str, ...] = ()
    """As the message itself names its role; where it names none (an item of the Responses API), who said it."""
    content_contains: tuple[str, ...] = ()
    content_excludes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        conditions = {name: getattr(self, name) for name in _CONDITIONS}
        for name, words in conditions.items():
            if not isinstance(words, tuple) or not all(isinstance(word, str) for word in words):
                raise ValidationError(f"filter.{name} must be a list of strings, not {words!r}")
        if not any(conditions.values()):
            raise ValidationError(f"filter has no condition. Set at least one of {', '.join(_CONDITIONS)}.")

    def apply(self, context: Context) -> OperationOutcome:
        """The view of the messages that meet the conditions."""
        kept = [index for index, message in context.visible() if self._keeps(message)]
        return OperationOutcome.of_new_batch(context.view.with_indices(kept), context.store)

    def _keeps(self, message: Message) -> bool:
        native = payloads.decode(message.native)
        if self.roles and (native.get("role") or message.role) not in self.roles:
            return False
        if not self.content_contains and not self.content_excludes:
            return True
        text = _content_text(message, native)
        is_wanted = not self.content_contains or any(word in text for word in self.content_contains)
        return is_wanted and not any(word in text for word in self.content_excludes)


_CONDITIONS = ("roles", "content_contains", "content_excludes")


def _content_text(message: Message, native: dict[str, Any]) -> str:
    """What keywords are looked for in: the content, or where a format has none the fields that the parts were read from, calls
    aside: a message can have calls instead of content."""
    if native.get("content") is not None:
        return _as_text(native["content"])
    keys = dict.fromkeys(str(part.at[0]) for part in message.parts if part.at and not isinstance(part, ToolCall))
    return "\n".join(_as_text(native[key]) for key in keys if native.get(key) is not None)


def _as_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=repr)


@dataclass(frozen=True, slots=True)
class Insert:
    """Shows new messages at a place in the view; the current batch goes on."""

    position: int
    """Counted in the visible messages: they come before the one that is there; -1 or past the end is the end."""
    messages: tuple[Payload, ...]
    """The very objects that were given; whoever stores them makes them its own."""

    def __post_init__(self) -> None:
        _check_count(self.position, "insert.position", lowest=-1)
        if not isinstance(self.messages, tuple) or not self.messages:
            raise ValidationError("insert.messages must be a list with at least one message")
        for number, message in enumerate(self.messages):
            check_message(message, f"insert.messages[{number}]")

    def apply(self, context: Context) -> OperationOutcome:
        """The messages, and the view with their indices in place."""
        first, view = len(context.store), context.view
        added = range(first, first + len(self.messages))
        if self.position == -1 or self.position >= len(view.indices):
            return OperationOutcome(view.extended(added), self.messages)
        before, after = view.indices[: self.position], view.indices[self.position :]
        return OperationOutcome(view.with_indices((*before, *added, *after)), self.messages)


@dataclass(frozen=True, slots=True)
class Replace:
    """Shows another message at an index; the earlier one stays in the record, and the current batch goes on."""

    position: int
    """Counted in the visible messages. In a configuration: `index`."""
    message: Payload
    """The very object that was given; whoever stores it makes it its own."""

    def __post_init__(self) -> None:
        _check_count(self.position, "replace.index")
        check_message(self.message, "replace.message")

    def apply(self, context: Context) -> OperationOutcome:
        """The new version, and the view that counts with it."""
        visible = context.view.indices
        if self.position >= len(visible):
            there = f"the visible messages are 0 to {len(visible) - 1}" if visible else "no message is visible"
            raise ExecutionError(f"replace.index {self.position} is not there: {there}")
        index = visible[self.position]
        after = context.view.with_versions({index: context.store.version_count(index)})
        return OperationOutcome(after, replaced=MappingProxyType({index: self.message}))


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


@dataclass(frozen=True, slots=True)
class Span:
    """A range of visible positions, the end not included."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _check_count(self.start, "truncate.range.start")
        _check_count(self.end, "truncate.range.end")
        if self.start >= self.end:
            raise ValidationError(
                f"truncate.range from {self.start} to {self.end} is empty: the end must be greater than the start"
            )


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
                _check_count(count, f"truncate.{name}")
        if self.span is None and all(count is None for count in counts.values()):
            raise ValidationError(f"truncate says nothing to do. Set at least one of {', '.join(_COUNTS)}, range.")

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


_COUNTS = ("keep_first", "keep_last", "remove_first", "remove_last")


def _check_count(value: object, where: str, *, lowest: int = 0) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
        raise ValidationError(f"{where} must be a whole number, {lowest} or more, not {value!r}")


# --- configurations

_OPERATIONS: dict[str, tuple[Callable[..., Operation], tuple[str, ...], bool]] = {
    "truncate": (Truncate, (*_COUNTS, "range"), False),
    "insert": (Insert, ("position", "messages"), True),
    "replace": (Replace, ("index", "message"), True),
    "clear": (Clear, ("keep_system_message",), False),
    "filter": (Filter, _CONDITIONS, False),
}
"""By name: the class, its options, and whether each of them must be set."""
_FIELDS = {"index": "position", "range": "span"}
"""The fields of options that are not called as their options are."""


def parse_operation(config: Mapping[str, object]) -> Operation:
    """The operation named by `operation`, with the options under its name. All of it is checked here."""
    known = ", ".join(_OPERATIONS)
    if not isinstance(config, Mapping):
        raise ValidationError(f"An operation must be an object with the key 'operation', not {type(config).__name__}")
    name = config.get("operation")
    if name is None:
        raise ValidationError(f"The configuration names no operation. Set 'operation' to one of {known}.")
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise ValidationError(f"There is no operation {name!r}. Known are: {known}.")
    make, names, are_required = _OPERATIONS[name]
    options = read_options(name, config.get(name), names, required=are_required)
    if "range" in options:
        options["range"] = Span(**read_options("truncate.range", options["range"], ("start", "end"), required=True))
    return make(**{_FIELDS.get(option, option): value for option, value in options.items()})


def read_options(where: str, section: object, known: Sequence[str], *, required: bool = False) -> dict[str, Any]:
    """The options that are set, by their names in snake_case, lists as tuples; each must be set if `required`. A null is an
    option that is not set."""
    if section is not None and not isinstance(section, Mapping):
        raise ValidationError(f"{where} must be an object with {', '.join(known)}, not {type(section).__name__}")
    names = {spelling: name for name in known for spelling in (name, re.sub("_(.)", lambda found: found[1].upper(), name))}
    options: dict[str, Any] = {}
    for key, value in (section or {}).items():
        name = names.get(key)
        if name is None:
            raise ValidationError(f"{where} has no option {key!r}. Known are: {', '.join(known)}.")
        if name in options and value is not None:
            raise ValidationError(f"{where}.{name} is given in two spellings. Keep one of them.")
        if value is not None:
            options[name] = tuple(value) if isinstance(value, list) else value
    if required and (missing := [name for name in known if name not in options]):
        raise ValidationError(f"{where}.{missing[0]} is missing. Set it in the configuration.")
    return options
