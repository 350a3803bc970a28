"""What is known about a view: each part with its call, its tool and its age, and what agents say in the place of words."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from redline.errors import RedlineError, ValidationError
from redline.rules.observations import NO_OBSERVATIONS, Observations
from redline.rules.way_back import NO_WAY_BACK, WayBack
from redline.tools import DEFAULT, Action, Tool, ToolBook, describe
from redline.tools.failures import KNOWN_SIGNS, FailureSigns, Origin, is_command_output
from redline.values.messages import Media, Message, Opaque, Part, Text, ToolCall, ToolResult
from redline.values.pairs import CallFinder

PointerKind = Literal["earlier", "latest", "gone"]
"""Where the words are: in the earlier result of the same call or file, in the latest read of the file, or nowhere."""


class Sentence(NamedTuple):
    """What an agent says in the place of words."""

    agent: str
    """With the versions that say it."""
    kind: PointerKind
    pattern: str
    """A regular expression; a space stands for any white space."""


SENTENCES: tuple[Sentence, ...] = (
    Sentence("Claude Code 2.1.112 to 2.1.290", "earlier", r"Wasted call\W{1,3}file unchanged since your last Read"),
    Sentence("Claude Code 2.1.90, Hermes", "earlier", r"File unchanged since last read\. The content from the earlier read"),
    Sentence("Claude Code 2.1.215 to 2.1.290", "earlier", r"This file is already in your context \(see .{1,300} above\)"),
    Sentence("Claude Code 2.1.326", "earlier", r"Image not read again: Read has already returned this unchanged image"),
    Sentence("Claude Code 2.1.326", "earlier", r"catalog is unchanged since the earlier .{1,80} result in this conversation"),
    Sentence("Cline 3", "latest", r"\[outdated - see the latest file content\]"),
    Sentence("Cline 1", "latest", r"This file read has been removed to save space in the context window\. Refer to the latest"),
    Sentence("Claude Code, opencode", "gone", r"\A\W*Old tool result content cleared\W*\Z"),
    Sentence("Claude Code 2.1", "gone", r"\A\W*Orphaned tool result removed due to conversation resume\W*\Z"),
    Sentence(
        "any",
        "earlier",
        r"\b(?:file|content|output|result)s? (?:is |are |has |have |was )?(?:unchanged|not changed|identical)\b"
        r"[^.]{0,60}\b(?:last|earlier|previous|prior|above|already)\b",
    ),
    Sentence(
        "any",
        "earlier",
        r"\b(?:refer to|see|look at|use) (?:the |that |your )?(?:earlier|previous|prior|last|above)"
        r" (?:tool_result|tool result|tool call|result|read|output|response)\b",
    ),
    Sentence(
        "any",
        "earlier",
        r"\balready (?:been )?(?:read|shown|provided|in (?:the |your )?context)\b[^.]{0,60}"
        r"\b(?:above|earlier|previously|in (?:the |this )?conversation)\b",
    ),
)
"""Those of one agent are as its program has them; those of `any` are how others would say it."""

_MOST_CHARS = 600
"""A longer result holds words of its own."""
_MOST_REMEMBERED = 32
"""Texts that are remembered: several policies are asked about a message one after the other."""

_PATTERNS: dict[PointerKind, re.Pattern[str]] = {
    kind: re.compile(
        "|".join(one.pattern.replace(" ", r"\s+") for one in SENTENCES if one.kind == kind), re.IGNORECASE | re.DOTALL
    )
    for kind in ("latest", "gone", "earlier")
}


def pointer_kind(result: ToolResult) -> PointerKind | None:
    """Where a result says its words are, if it says no more than that; None for a result with words of its own."""
    if sum(len(part.text) if isinstance(part, Text) else _MOST_CHARS + 1 for part in result.parts) > _MOST_CHARS:
        return None
    return _kind_of_text(result.text)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _kind_of_text(text: str) -> PointerKind | None:
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), None)


def points_to_latest(text: str) -> bool:
    """Whether a result of several files sends the model to the latest read of one of them."""
    return "latest" in text and _PATTERNS["latest"].search(text) is not None


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
    way_back: WayBack = NO_WAY_BACK
    """Where the model finds the whole, once it was struck."""

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
        if type(part) is not ToolResult or part.is_hosted:
            return None
        return part if self.known_pointer is False or self.pointer is None else None

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
        if self.known_actions is None:
            if self.asked is not None:
                self.known_actions = self.asked.actions
            else:
                self.known_actions = describe(self.part, self.tools) if isinstance(self.part, ToolCall) else ()
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
            is_unknown = self.tool is None or self._in_tools(self.tool) is None
            origin: Origin = "command" if self.is_terminal else "unknown" if is_unknown else "known tool"
            self.known_failure = isinstance(part, ToolResult) and self.signs.in_result(part, origin)
            if self.signs.is_error is not None and isinstance(part, ToolResult) and not self.known_failure:
                self.known_failure = self._is_taught_error(self.signs.is_error)
        return self.known_failure

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
    is_asked: bool = False
    """Whether the user had spoken, where observations are looked for: the first message is the task."""


class Facts:
    """Grows with the view: each message is looked at once, when it is added."""

    def __init__(
        self,
        tools: ToolBook = DEFAULT,
        signs: FailureSigns = KNOWN_SIGNS,
        observations: Observations = NO_OBSERVATIONS,
        way_back: WayBack = NO_WAY_BACK,
    ) -> None:
        self._tools, self._signs, self._observations, self._way_back = tools, signs, observations, way_back
        self._observes = bool(observations)
        self._said: list[Seen] = []
        """The texts of the turn of the assistant that has just ended, if it made no native call."""
        self._is_asked = self._has_called = False
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
            self._turn = FactsSnapshot(self._messages, self._orders, self._steps, self._is_asked)
            self._said, self._has_called = [], False
        self._is_speaking = is_speaking
        found: list[Seen] = []
        for index, place, message in parts:
            part = message.parts[place]
            seen = Seen(index, place, part, message, self._orders, self._steps, self._tools, None, self._signs)
            seen.way_back = self._way_back
            self._orders += 1
            if isinstance(part, ToolCall) and not part.is_hosted:
                self._calls.add(part, seen)
                self._has_called = True
            elif isinstance(part, ToolResult):
                seen.asked = self._calls.find(part, seen)
            elif self._observes and type(part) is Text:
                if is_speaking:
                    self._said.append(seen)
                elif role == "user" and self._is_asked:
                    self._observe(seen, part)
            found.append(seen)
        if not is_speaking:
            self._said = []
            self._is_asked |= role == "user" and self._observes
        self._messages += 1
        return found

    def _observe(self, seen: Seen, part: Text) -> None:
        """A text that answers what the assistant did in words is its result from now on; a strike on it is one on the text."""
        said = self._said if not self._has_called else []
        observed = self._observations.find(part.text, [one.text for one in said], self._tools) if said else None
        if observed is None:
            return
        call, bare = observed
        if call is not None:
            seen.asked = msgspec.structs.replace(said[-1], part=call)
        seen.part = ToolResult(None, (Text(bare),))
        seen.known_failure = seen.is_error or None
        seen.part = ToolResult(None, (part,), at=part.at)

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
        self._is_asked = snapshot.is_asked
