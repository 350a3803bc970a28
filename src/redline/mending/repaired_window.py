"""The last window of a conversation, which is all that a repair touches, and what the repair makes of its messages."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from redline.formats import Format, find_format
from redline.mending.fixes import Action, Fix
from redline.repair import NOT_SHOWN, Strategy, legalize
from redline.repair.changes import name_of
from redline.transcripts import Entry, Position, RecordedConversation, RecordedGap
from redline.values.messages import Message, Text, ToolCall

__all__ = [
    "BlockOrigins",
    "MendedMessage",
    "RepairedWindow",
    "gaps_in_last_window",
    "last_window",
    "make_placeholder",
    "placeholder_fix",
    "would_be_replaced",
]

Place = TypeVar("Place")

_MODEL = ("assistant", "system")
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
        self.positions: list[tuple[Position, ...]] = [entry.positions for entry in entries]
        """By the number of a message the records that it is written in."""
        self.messages: list[Message] = list(messages or (entry.message for entry in entries))
        self._repair = legalize(self.messages, find_format(conversation.format), strategy)
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


def gaps_in_last_window(conversation: RecordedConversation) -> list[RecordedGap]:
    """Where a line of the last window is joined to the line before it, as its parent is missing."""
    position = conversation.compactions[-1].position if conversation.compactions else None
    start = position.offset if position else 0
    return [gap for gap in conversation.gaps if gap.joined_to and gap.line.offset > start]


# --- a window of which nothing is left


def would_be_replaced(conversation: RecordedConversation) -> bool:
    """Whether something else would be taken for the conversation if nothing were left of its last window."""
    if len(conversation.windows) > 1 or conversation.subagents:
        return True
    return any(entry.positions for branch in conversation.branches for entry in branch.entries)


def make_placeholder(format: Format) -> Message:
    """What keeps the place of a conversation of which nothing is left."""
    return format.read(format.compose("user", (Text(NOT_SHOWN),)).payloads[0])


def placeholder_fix(message: Message, line: int | None) -> Fix:
    """That a placeholder is added after a line."""
    return Fix.for_message("add", "nothing else is left of the conversation", message, line=line)


# --- inside a message


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
