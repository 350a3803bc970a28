"""The last window of a conversation, which is all that a repair touches, and what the repair makes of its messages."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import NAMESPACE_OID, uuid5

import msgspec

from redline.agents.mending import Action, Edits, Fix
from redline.agents.transcripts import Entry, Position, RecordedConversation, RecordedGap
from redline.providers import find_format
from redline.repair import NOT_SHOWN, Strategy, legalize, name_of
from redline.values.messages import Message, Text, ToolCall

Place = TypeVar("Place")

_MODEL = ("assistant", "system")
_MOST_LOOKED_AT = 50
"""Entries from the end on in which the model is looked for."""
_ID_FIELDS = frozenset({"id", "tool_use_id", "toolCallId"})


class MendedMessage(NamedTuple):
    """One message of the repaired window."""

    message: Message
    source: int | None
    """Its number in the window as it was; None for a message that the repair added."""
    stays: bool
    """Whether it is written where it was; otherwise it is new, or was moved up."""
    is_unchanged: bool
    """Whether it is the very message that was read."""


class RepairedWindow:
    """The messages of the last window as they were and as they will be, and why."""

    def __init__(
        self, conversation: RecordedConversation, strategy: Strategy, messages: Sequence[Message] | None = None
    ) -> None:
        """The messages may be given with other payloads than the reader gives them: the bytes of the file, say."""
        entries = last_window(conversation)
        self._conversation, self._format = conversation, find_format(conversation.format)
        self.positions: list[tuple[Position, ...]] = [entry.positions for entry in entries]
        """By the number of a message the records that it is written in."""
        self.messages: list[Message] = list(messages or (entry.message for entry in entries))
        self._repair = legalize(self.messages, self._format, strategy, model_of(entries))
        self._reasons: dict[int, dict[str, None]] = {}
        """By the number of a message what was done to it, each thing once."""
        for change in self._repair.changes:
            self._reasons.setdefault(change.index, {})[change.what] = None

    @property
    def is_legal(self) -> bool:
        """Whether there is nothing to repair."""
        return not self._repair.changes

    @property
    def result(self) -> list[Message]:
        """The messages as they will be."""
        return [item.message for item in self._repair.items]

    @cached_property
    def repaired(self) -> list[MendedMessage]:
        """The messages as they will be, with where they come from.

        A repair moves nothing but results, and those up, so a message stays unless it is now before one that was before it.
        Of a message that was split, the piece stays that is still said by the same side: results in an assistant's message
        are the user's now.
        """
        repaired: list[MendedMessage] = []
        lowest = len(self.messages)
        for item in reversed(self._repair.items):
            stays = is_unchanged = False
            if item.source is not None:
                before = self.messages[item.source]
                stays = item.source < lowest and (item.message.role in _MODEL) == (before.role in _MODEL)
                is_unchanged = item.message is before
                lowest = item.source if stays else lowest
            repaired.append(MendedMessage(item.message, item.source, stays, is_unchanged))
        return repaired[::-1]

    @property
    def gaps(self) -> list[RecordedGap]:
        """Where a line of the window is joined to the line before it, as its parent is missing."""
        return gaps_in_last_window(self._conversation)

    @property
    def would_be_replaced(self) -> bool:
        """Whether something else would be taken for the conversation if nothing were left of its last window."""
        if len(self._conversation.windows) > 1 or self._conversation.subagents:
            return True
        return any(entry.positions for branch in self._conversation.branches for entry in branch.entries)

    def make_placeholder(self, after: Position) -> tuple[Message, Fix]:
        """The message that keeps the place of a conversation of which nothing is left, added after a record."""
        message = self._format.read(self._format.compose("user", (Text(NOT_SHOWN),)).payloads[0])
        return message, Fix.for_message("add", "nothing else is left of the conversation", message, line=after.line)

    @cached_property
    def calls(self) -> dict[str | None, ToolCall]:
        """By id the latest call of the repaired messages."""
        return {call.id: call for message in self.result for call in message.calls}

    def why(self, number: int, call_ids: Collection[str | None] = ()) -> str:
        """What was done to a message and why; with ids, only what was done to these calls, if that was said apart."""
        reasons = self._reasons.get(number, {})
        own = [reason for reason in reasons if any(repr(call_id) in reason for call_id in call_ids)]
        return "; ".join(own or reasons) or "changed with its neighbours"

    def fix(self, action: Action, number: int, position: Position, *, place: int | None = None) -> Fix:
        """What happens to the record of a message; `place` is its number where the file is a list of messages."""
        return Fix.for_message(action, self.why(number), self.messages[number], line=position.line, number=place)

    def fix_for_added(self, added: MendedMessage, line: int | None, *, place: int | None = None) -> Fix:
        """That a record is added after a line, or a place in a list."""
        message = added.message
        if added.source is not None:
            why = "moved up to where it belongs"
        elif message.results:
            answered = [self.calls.get(result.call_id, result) for result in message.results]
            why = "; ".join(f"{name_of(call)} is answered as interrupted: it had no result" for call in answered)
        else:
            why = "the user must begin"
        fix = Fix.for_message("add", why, message, line=line, number=place)
        call = self.calls.get(fix.call_id)
        return msgspec.structs.replace(fix, tool=call.name) if call and fix.call_id is not None else fix


def last_window(conversation: RecordedConversation) -> Sequence[Entry]:
    """The messages since the last compaction: those that go on."""
    windows = conversation.windows
    return windows[-1] if windows else ()


def model_of(entries: Sequence[Entry]) -> str:
    """The model that answered last; empty where the file does not say it."""
    return next((entry.model for entry in islice(reversed(entries), _MOST_LOOKED_AT) if entry.model), "")


def gaps_in_last_window(conversation: RecordedConversation) -> list[RecordedGap]:
    """Where a line of the last window is joined to the line before it, as its parent is missing."""
    position = conversation.compactions[-1].position if conversation.compactions else None
    start = position.offset if position else 0
    return [gap for gap in conversation.gaps if gap.joined_to and gap.line.offset > start]


class BlockOrigins(Generic[Place]):
    """Where the blocks of repaired messages were: a repair reuses the very objects it was given, and copies to rename."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Place]] = {}  # by identity, so the block is kept alive
        self._by_values: dict[tuple[tuple[str, int], ...], list[Place]] = {}

    def add(self, block: Any, place: Place) -> None:
        """A block of the file is at this place."""
        self._known[id(block)] = block, place
        self._by_values.setdefault(_value_ids(block), []).append(place)

    def find(self, block: Any) -> Place | None:
        """Where a block was; None for one that the repair made. A copy with another id is found by the values it shares."""
        if id(block) not in self._known:
            places = self._by_values.get(_value_ids(block))
            if not places:
                return None
            self._known[id(block)] = block, places.pop(0)
        return self._known[id(block)][1]


def _value_ids(block: Any) -> tuple[tuple[str, int], ...]:
    fields = block.items() if isinstance(block, dict) else ()
    return tuple((key, id(value)) for key, value in sorted(fields) if key not in _ID_FIELDS)


def edit_records(
    window: RepairedWindow,
    repaired: Sequence[MendedMessage],
    *,
    edits: Edits,
    rewrite: Callable[[Message, Position], bytes],
    create: Callable[[Message, Position], bytes],
    in_list: bool = False,
    first: int = 0,
) -> None:
    """Edit the records so that they say these messages; those that need no change are not touched.

    `rewrite` puts a message into the record at a position. `create` makes a record that is added beside one, and is called
    in the order of the messages. With `in_list`, fixes name messages by number. `first` is the first with a record of its own.
    """
    records = [positions[0] for positions in window.positions]
    staying = [one.source for one in repaired if one.stays and one.source is not None]
    left, used = set(staying), {one.source for one in window.repaired}

    def place(number: int) -> int | None:
        return number if in_list else None

    at = first - 1 if first else None
    coming = list(repaired)
    if at is None and coming and not staying:  # what is added needs a record to be beside: the first makes room for it
        at = 0
        added = coming.pop(0)
        edits.replace(records[0], create(added.message, records[0]), window.fix("change", 0, records[0], place=place(0)))
        left.add(0)
    for number in range(first, len(records)):
        if number not in left:
            action: Action = "move" if number in used else "remove"
            edits.remove(records[number], window.fix(action, number, records[number], place=place(number)))
    for one in coming:
        if one.stays and one.source is not None:
            at = one.source
            if not one.is_unchanged:
                fix = window.fix("change", at, records[at], place=place(at))
                edits.replace(records[at], rewrite(one.message, records[at]), fix)
        elif at is None:
            beside = records[staying[0]]
            line = beside.line - 1 if beside.line and not in_list else beside.line
            fix = window.fix_for_added(one, line, place=place(-1))
            edits.add_before(beside, create(one.message, beside), fix)
        else:
            fix = window.fix_for_added(one, records[at].line, place=place(at))
            edits.add_after(records[at], create(one.message, records[at]), fix)


def make_uuid(seeds: Iterable[object], is_taken: Callable[[str], bool]) -> str:
    """An id for a new record, made from what the record is about: repairing a file twice gives the same bytes."""
    name = "/".join(map(str, seeds)).encode("utf-8", "backslashreplace").decode()  # an id may hold half an emoji
    while is_taken(uuid := str(uuid5(NAMESPACE_OID, name))):
        name += "/"
    return uuid
