"""The messages of a conversation that go on, and step by step what the repair makes of them."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from redline.formats import find_format
from redline.mending.fixes import Action, Fix, fix_for
from redline.repair import Item, Strategy, legalize
from redline.repair.changes import name_of
from redline.transcripts.base import Position, RecordedConversation
from redline.values.messages import Message, ToolCall, ToolResult

__all__ = ["Step", "Window"]


_MODEL = ("assistant", "system")


class Step(NamedTuple):
    """One message of the repaired history."""

    item: Item
    stays: bool
    """Whether it is written where it stood; otherwise it is new, or was moved up from where it stood."""


class Window:
    """The last window of a conversation, which is all that a repair touches."""

    def __init__(
        self, conversation: RecordedConversation, strategy: Strategy, messages: Sequence[Message] | None = None
    ) -> None:
        """Other messages are given where they say the same in another spelling: as the bytes of the file, say."""
        entries = conversation.windows[-1] if conversation.windows else ()
        self.positions: list[tuple[Position, ...]] = [entry.positions for entry in entries]
        self.messages: list[Message] = list(messages or (entry.message for entry in entries))
        self._repair = legalize(self.messages, find_format(conversation.format), strategy)

    @property
    def is_legal(self) -> bool:
        """Whether there is nothing to do."""
        return not self._repair.changes

    @property
    def repaired(self) -> list[Message]:
        """The messages as they will be."""
        return [item.message for item in self._repair.items]

    @cached_property
    def steps(self) -> list[Step]:
        """The messages as they will be, with where they come from.

        A repair moves nothing but results, and those up, so what stays is what nothing from further up comes behind.
        """
        steps: list[Step] = []
        lowest = len(self.messages)
        for item in reversed(self._repair.items):
            stays = item.source is not None and item.source < lowest and self._is_same_side(item, item.source)
            lowest = item.source if stays and item.source is not None else lowest
            steps.append(Step(item, stays))
        return steps[::-1]

    def _is_same_side(self, item: Item, source: int) -> bool:
        """Whether a piece of a message is said by whom the message was: results that an assistant gave are now another's."""
        return (item.message.role in _MODEL) == (self.messages[source].role in _MODEL)

    @cached_property
    def gone(self) -> list[int]:
        """The numbers of the messages that stay nowhere, and were not moved either."""
        left = {item.source for item in self._repair.items}
        return [number for number in range(len(self.messages)) if number not in left]

    def is_unchanged(self, item: Item) -> bool:
        """Whether a message is the very one that was read."""
        return item.source is not None and item.message is self.messages[item.source]

    def why(self, number: int, ids: Collection[str | None] = ()) -> str:
        """What was done to a message, and for what reason; where only some of it is meant, to the calls with these ids."""
        reasons = self._reasons.get(number, {})
        own = [reason for reason in reasons if any(repr(call_id) in reason for call_id in ids)]
        return "; ".join(own or reasons) or "changed with its neighbours"

    def fix(self, action: Action, number: int, position: Position, *, place: int | None = None) -> Fix:
        """What happens to the record of a message; `place` is its number where messages stand in a list."""
        return fix_for(action, self.why(number), self.messages[number], line=position.line, number=place)

    def added(self, item: Item, line: int | None, *, place: int | None = None) -> Fix:
        """That a record is added behind a line, or a place in a list."""
        if item.source is not None:
            why = "moved up to where it belongs"
        elif item.message.results:
            why = "; ".join(self._answered(result) for result in item.message.results)
        else:
            why = "the user must begin"
        fix = fix_for("add", why, item.message, line=line, number=place)
        call = self.call(fix.call_id)
        return msgspec.structs.replace(fix, tool=call.name) if call and fix.call_id is not None else fix

    def call(self, call_id: str | None) -> ToolCall | None:
        """The latest call with this id."""
        return self._calls.get(call_id)

    def _answered(self, result: ToolResult) -> str:
        return f"{name_of(self.call(result.call_id) or result)} is answered as interrupted: it had no result"

    @cached_property
    def _calls(self) -> dict[str | None, ToolCall]:
        return {call.id: call for message in self.repaired for call in message.calls}

    @cached_property
    def _reasons(self) -> dict[int, dict[str, None]]:
        """By the number of a message what was done to it, each thing once."""
        reasons: dict[int, dict[str, None]] = {}
        for change in self._repair.changes:
            reasons.setdefault(change.index, {})[change.what] = None
        return reasons
