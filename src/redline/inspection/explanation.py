"""Why a part of a conversation is sent or struck: the strikes on it, the marks that wait, and what keeps it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redline.inspection.call_words import call_words
from redline.inspection.part_sizes import PartSpot
from redline.inspection.playback import Playback
from redline.inspection.shown import KINDS, is_on, part_key
from redline.inspection.shown_requests import shown_strike
from redline.inspection.waiting import UnappliedMark
from redline.policy import Policy
from redline.replay.history import PastStrike
from redline.values.messages import Part, ToolCall, ToolResult

__all__ = ["PartExplanation", "Situation", "explain_part"]

PartState = Literal["sent", "struck", "hidden", "not sent yet"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a part is explained in: a playback, one of its requests or the record's end, and what waits there."""

    playback: Playback
    request: int | None
    """None for the end of the record."""
    policy: Policy
    """Whose rules are asked about what is not struck."""
    waiting: Sequence[UnappliedMark]
    can_undo: bool

    @property
    def number(self) -> int:
        """The request that is meant; -1 if none was made."""
        return len(self.playback.history.requests) - 1 if self.request is None else self.request

    def is_in_force(self, strike: PastStrike) -> bool:
        """Whether a strike counts: in the request, or at the end of the record, where it may have been undone since."""
        return strike.end is None if self.request is None else strike.is_in_force(self.request)

    def has_ended(self, strike: PastStrike) -> bool:
        """Whether a strike counted, and does no longer."""
        return strike.end is not None and (self.request is None or strike.end <= self.request)


@dataclass(frozen=True, slots=True)
class PartExplanation:
    """One part, where it is, and why."""

    index: int
    at: str
    kind: str
    tool: str | None
    says: str
    """What its call does, for calls and results."""
    tokens: int
    first_request: int | None
    """The first that it is sent in."""
    state: PartState
    strikes: tuple[dict[str, Any], ...]
    """Those in force, as `shown_strike` gives them."""
    earlier: tuple[dict[str, Any], ...]
    """Those that no longer count."""
    waiting: tuple[UnappliedMark, ...]
    kept_because: tuple[str, ...]
    """What keeps it from being struck, as far as it is known."""


def explain_part(situation: Situation, index: int, part: Part) -> PartExplanation:
    """Everything that is known of why a part is sent or not."""
    playback, history = situation.playback, situation.playback.history
    message = history.load(index)
    parts = playback.player.parts
    tokens = next((sized.tokens for sized in playback.player.sizes_of(index) if sized.at == part.at), 0)
    on_it = [one for one in playback.by_index.get(index, ()) if is_on(one.at, part.at)]
    in_force = [one for one in on_it if situation.is_in_force(one)]
    waiting = tuple(one for one in situation.waiting if one.index == index and is_on(one.at, part.at))
    call = part if isinstance(part, ToolCall) else parts.calls.get(PartSpot(index, part.at), (None, None))[1]
    sent_first = history.request_of(index, "user")
    return PartExplanation(
        index=index,
        at=part_key(part.at),
        kind=KINDS[type(part)],
        tool=parts.tool_of(index, part),
        says=call_words(call) if call is not None else "",
        tokens=tokens,
        first_request=sent_first,
        state=_state(situation, index, in_force),
        strikes=tuple(_shown(situation, one) for one in in_force),
        earlier=tuple(_shown(situation, one) for one in on_it if situation.has_ended(one)),
        waiting=waiting,
        kept_because=tuple(_keepers(situation, index, part, message.role)) if not in_force and not waiting else (),
    )


def _shown(situation: Situation, one: PastStrike) -> dict[str, Any]:
    return shown_strike(situation.playback, one, is_undoable=situation.can_undo and one.end is None)


def _state(situation: Situation, index: int, in_force: Sequence[PastStrike]) -> PartState:
    requests = situation.playback.history.requests
    if situation.number < 0 or index >= requests[situation.number].end:
        return "not sent yet"
    if not any(start <= index < end for start, end in requests[situation.number].visible):
        return "hidden"
    return "struck" if in_force else "sent"


def _keepers(situation: Situation, index: int, part: Part, role: str) -> Iterator[str]:
    """The reasons that are certain; that no rule marks it is always one."""
    playback, protection = situation.playback, situation.policy.protection
    tool = playback.player.parts.tool_of(index, part)
    if index in playback.history.pins:
        yield "its message is pinned"
    if protection.errors and isinstance(part, ToolResult) and situation.policy.reports_failure(part, tool):
        yield "it reports a failure, and the policy protects failures"
    if tool is not None and tool in protection.tools:
        yield f"the policy protects the tool {tool}"
    if any(one.ended_because == "it was undone" and is_on(one.at, part.at) for one in playback.by_index.get(index, ())):
        yield "a strike on it was undone, and its rule leaves it alone since"
    if not isinstance(part, ToolCall | ToolResult) and role == "user":
        yield "it is what the user said"
    yield "no rule of the policy marks it"
