"""What is known about a view: each part with its call, its tool and its age, learned once when the message appears."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from redline.errors import RedlineError, ValidationError
from redline.rules.back_pointers import PointerKind, pointer_kind
from redline.rules.failures import KNOWN_SIGNS, FailureSigns, Origin, is_command_output
from redline.tools import DEFAULT, Action, Tool, ToolBook, describe
from redline.values.messages import Media, Message, Opaque, Part, ToolCall, ToolResult
from redline.values.pairs import CallFinder

__all__ = ["LATEST_MS", "Facts", "FactsSnapshot", "Seen"]

LATEST_MS = 2**62
"""No clock shows a greater number of milliseconds, before 1970 or after."""


class Seen(msgspec.Struct, eq=False, gc=False):
    """One part of a visible message, and what the view says about it."""

    index: int
    """The message's index in the record."""
    place: int
    """The part's place in the message."""
    part: Part
    message: Message
    order: int
    """Counts up with every part seen: the later of two has the higher one."""
    step: int
    """How many turns of the assistant came before; what it says without a break is one turn."""
    tools: ToolBook = DEFAULT
    asked: "Seen | None" = None
    """For a result: its call as it was seen, the nearest before it with its id."""
    signs: FailureSigns = KNOWN_SIGNS
    """By what failures are known."""
    known_actions: tuple[Action, ...] | None = None
    known_failure: bool | None = None
    known_pointer: PointerKind | Literal[False] | None = None
    """Worked out when first asked for; ask for `actions`, `is_error` and `pointer`."""

    @property
    def timestamp_ms(self) -> float | None:
        """When it was said; None also for a number that no clock shows, such as NaN or one beyond 64 bits."""
        stamp = self.message.timestamp_ms
        return stamp if stamp is not None and -LATEST_MS <= stamp <= LATEST_MS else None

    @property
    def call(self) -> ToolCall | None:
        """The call itself; for a result, the one it answers."""
        part = self.asked.part if self.asked is not None else self.part
        return part if isinstance(part, ToolCall) else None

    @property
    def result(self) -> ToolResult | None:
        """The result, where the client gave one. What the provider ran itself is left alone, and so is a pointer: it holds
        no words of its own, so it is no read and takes no place among the latest results."""
        part = self.part
        return part if isinstance(part, ToolResult) and not part.is_hosted and self.pointer is None else None

    @property
    def pointer(self) -> PointerKind | None:
        """For a result in which the agent gives no words, where it says that they are."""
        if self.known_pointer is None:
            part = self.part
            self.known_pointer = (isinstance(part, ToolResult) and not part.is_hosted and pointer_kind(part)) or False
        return self.known_pointer or None

    @property
    def tool(self) -> str | None:
        """The name of the tool, from the call; from the result itself where the call is unknown."""
        call = self.call
        if call is not None:
            return call.name
        return self.part.name if isinstance(self.part, ToolResult) else None

    @property
    def text(self) -> str:
        """The words of a result or of what was said; empty for a call."""
        return "" if isinstance(self.part, ToolCall | Media | Opaque) else self.part.text

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the call does; nothing where the call is unknown."""
        if self.asked is not None:
            return self.asked.actions
        if self.known_actions is None:
            call = self.call
            self.known_actions = describe(call, self.tools) if call is not None else ()
        return self.known_actions

    @property
    def is_terminal(self) -> bool:
        """Whether a command printed it. The tool decides; only where it is unknown, the words do."""
        name = self.tool
        if name is None:
            return isinstance(self.part, ToolResult) and is_command_output(self.part.text)
        tool = self._in_tools(name)
        return tool is not None and tool.is_terminal

    @property
    def is_error(self) -> bool:
        """Whether it is a result that reports a failure."""
        if self.known_failure is None:
            part = self.part
            self.known_failure = isinstance(part, ToolResult) and self.signs.in_result(part, self._origin())
            if self.signs.is_error is not None and isinstance(part, ToolResult) and not self.known_failure:
                self.known_failure = self._is_taught_error(self.signs.is_error)
        return self.known_failure

    def _origin(self) -> Origin:
        if self.is_terminal:
            return "command"
        return "unknown" if self.tool is None or self._in_tools(self.tool) is None else "known tool"

    def _in_tools(self, name: str) -> Tool | None:
        tool = self.tools.tools.get(name)
        if tool is None:  # only now are the arguments parsed, which few tools need
            call = self.call
            tool = self.tools.find(name, call.arguments if call is not None else {})
        return tool

    def _is_taught_error(self, is_error: Callable[["Seen"], object]) -> bool:
        try:
            return bool(is_error(self))
        except RedlineError:
            raise
        except Exception as problem:
            raise ValidationError(
                f"is_error of the policy raised {type(problem).__name__}: {problem}, asked about the result of "
                f"{self.tool or 'an unknown tool'} in message {self.index}. Let it return True or False for every result."
            ) from problem

    def in_book(self, tools: ToolBook | None) -> "Seen":
        """The part as another book of tools explains it; None for the book there is."""
        if tools is None or tools is self.tools:
            return self
        asked = self.asked.in_book(tools) if self.asked is not None else None
        return msgspec.structs.replace(self, tools=tools, asked=asked, known_actions=None, known_failure=None)


class FactsSnapshot(msgspec.Struct, frozen=True):
    """What was counted when the latest turn of the assistant began; facts that go on from there are as good as whole ones."""

    messages: int = 0
    parts: int = 0
    steps: int = 0


class Facts:
    """Grows with the view: each message is looked at once, when it is added."""

    def __init__(self, tools: ToolBook = DEFAULT, signs: FailureSigns = KNOWN_SIGNS) -> None:
        self._tools, self._signs = tools, signs
        self._calls: CallFinder[Seen] = CallFinder()
        self._messages = self._orders = self._steps = 0
        self._is_speaking = False
        self._turn = FactsSnapshot()

    def add_parts(self, role: str, parts: Iterable[tuple[int, int, Message]]) -> list[Seen]:
        """The parts of the next message that is sent, each with its index in the record, its number there, and its message."""
        is_speaking = role == "assistant"
        if self._is_speaking and not is_speaking:
            self._steps += 1
        elif is_speaking and not self._is_speaking:
            self._calls.start_turn()
            self._turn = FactsSnapshot(self._messages, self._orders, self._steps)
        self._is_speaking = is_speaking
        found: list[Seen] = []
        for index, place, message in parts:
            part = message.parts[place]
            seen = Seen(index, place, part, message, self._orders, self._steps, self._tools, None, self._signs)
            self._orders += 1
            if isinstance(part, ToolCall) and not part.is_hosted:
                self._calls.add(part, seen)
            elif isinstance(part, ToolResult):
                seen.asked = self._calls.find(part, seen)
            found.append(seen)
        self._messages += 1
        return found

    def add(self, index: int, message: Message) -> list[Seen]:
        """The parts of the next message, which is sent as it is."""
        return self.add_parts(message.role, ((index, place, message) for place in range(len(message.parts))))

    def snapshot(self) -> FactsSnapshot:
        """Where the latest turn of the assistant began: the messages from there on must be added again after `restore`."""
        return self._turn

    def restore(self, snapshot: FactsSnapshot) -> None:
        """Go on, in fresh facts, from where the snapshot was taken."""
        self._turn = snapshot
        self._messages, self._orders, self._steps = snapshot.messages, snapshot.parts, snapshot.steps
