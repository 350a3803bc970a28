"""Bound reasoning: some models refuse a request in which anything before one of their reasoning blocks was changed.

Such a block may be sent only with all that stood before it when it was made, strikes included. So a strike is legal after the
last block that is still sent, or together with the removal of every block, which the provider allows where a new turn begins.
"""

from collections.abc import Collection, Sequence

import msgspec

from redline.engine.state import State
from redline.providers.laws import Problem
from redline.record.records import Strike
from redline.rules.rule import Mark
from redline.schedules.history import what_changed
from redline.values.messages import Reasoning
from redline.values.payloads import Path
from redline.view.view import View

BOUND_REASONING = "bound_reasoning"
"""The name of the law, and of the rule under which such reasoning is struck."""


class _ReasoningBlock(msgspec.Struct, frozen=True, gc=False):
    position: int
    """Of its message in the view."""
    place: int
    """Among the parts of its message."""
    index: int
    at: Path


class BoundReasoning:
    """The signed reasoning of a view that is still sent; grows with the view."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._position_of: dict[int, int] = {}
        self._blocks: list[_ReasoningBlock] = []
        self._targets: set[tuple[int, Path]] = set()

    def catch_up(self) -> None:
        """Take in what has become visible, and what was struck since."""
        for index in self._state.view.indices[len(self._position_of) :]:
            position = self._position_of[index] = len(self._position_of)
            for place, part in enumerate(self._state.current(index).parts):
                if isinstance(part, Reasoning) and part.is_bound:
                    self._blocks.append(_ReasoningBlock(position, place, index, part.at))
                    self._targets.add((index, part.at))
        while self._blocks and self._is_struck(self._blocks[-1]):
            self._blocks.pop()

    @property
    def allowed_from(self) -> int:
        """The position from which on the view may change while the reasoning is sent."""
        return self._blocks[-1].position + 1 if self._blocks else 0

    @property
    def sent_blocks(self) -> list[_ReasoningBlock]:
        """The blocks that are not struck."""
        return [block for block in self._blocks if not self._is_struck(block)]

    @property
    def last_index(self) -> int | None:
        """The message of the last block."""
        return self._blocks[-1].index if self._blocks else None

    @property
    def is_removable(self) -> bool:
        """Whether the provider lets all of it go: there is some, and a new turn begins."""
        if not self._blocks:
            return False
        last = self._state.current(self._state.view.indices[-1])
        return last.role == "user" and not last.results  # the user has the last word, and it is not what a tool said

    @property
    def is_wanted(self) -> bool:
        """Whether the user asked for some of it, by a pin or by undoing its removal."""
        state = self._state
        return any(one.index in state.pins or (BOUND_REASONING, one.index, one.at) in state.undone for one in self._blocks)

    def marks(self, because: str) -> list[Mark]:
        """The removal of all of it."""
        return [Mark(BOUND_REASONING, one.index, one.at, None, because) for one in self.sent_blocks]

    def has(self, index: int, at: Path) -> bool:
        """Whether a part is such a block."""
        return (index, at) in self._targets

    def goes_with(self, targets: Sequence[tuple[int, Path]]) -> bool:
        """Whether striking these parts removes all of it, where that is allowed."""
        return bool(targets) and self.is_removable and {(mark.index, mark.at) for mark in self.marks("")} <= set(targets)

    def problem(self, index: int, at: Path) -> Problem | None:
        """Why a part may not be struck while the reasoning is sent; None if it may."""
        last = self._blocks[-1] if self._blocks else None
        if last is None:
            return None
        parts = self._state.current(index).parts
        place = next((place for place, part in enumerate(parts) if at[: len(part.at)] == part.at), 0)
        if (self._position_of[index], place) > (last.position, last.place):
            return None
        return Problem(
            index,
            None,
            BOUND_REASONING,
            "nothing before a reasoning block of this model may change as long as the block is sent",
            f"the reasoning in message {last.index} is bound to it; it can go where a new turn begins and the cache is cold",
        )

    def _is_struck(self, block: _ReasoningBlock) -> bool:
        return any(strike.at == block.at for strike in self._state.strikes_on(block.index))


def restoring_problem(state: State, strike: Strike) -> str:
    """Why a strike cannot be undone, in words; empty if it can."""
    sent_to = state.requests.sent_to
    if sent_to is None or not sent_to.binds_reasoning or strike.index not in state.view.indices:
        return ""
    bound = BoundReasoning(state)
    bound.catch_up()
    if problem := bound.problem(strike.index, strike.at):
        return f"{problem.found[0].upper()}{problem.found[1:]}."
    if strike.rule == BOUND_REASONING and _is_past_changed(state, strike.index, state.view.indices):
        return "This reasoning is bound to what was sent before it, which has changed since. Undo that first."
    return ""


def view_problem(state: State, view: View, *, is_open: bool, replaced: Collection[int] = ()) -> str:
    """Why another view cannot be sent, in words; empty if it can.

    Reasoning that leads to a call which is being answered has to be sent, and with all that was before it. Where the turn is
    over, reasoning whose past has changed is left out instead.
    """
    sent_to = state.requests.sent_to
    if sent_to is None or not sent_to.binds_reasoning or not is_open:
        return ""
    bound, before, after = BoundReasoning(state), list(state.view.indices), list(view.indices)
    bound.catch_up()
    for index in {block.index for block in bound.sent_blocks}:
        past = before[: before.index(index)]
        if index in after and (after[: after.index(index)] != past or not {index, *past}.isdisjoint(replaced)):
            return f"The reasoning in message {index} is bound to all that was sent before it, and its turn is not over yet."
    for index in (one for one in after if one < len(state) and one not in before):
        if _has_sent_block(state, index) and _is_past_changed(state, index, after):
            return f"The reasoning in message {index} is bound to what was sent before it, which has changed since."
    call = next((index for index in reversed(after) if index < len(state) and state.current(index).calls), None)
    if call is not None and any(strike.rule == BOUND_REASONING for strike in state.strikes_on(call)):
        return f"The reasoning in message {call} is no longer sent, and its turn would not be over."
    return ""


def _has_sent_block(state: State, index: int) -> bool:
    struck = {strike.at for strike in state.strikes_on(index)}
    return any(isinstance(part, Reasoning) and part.is_bound and part.at not in struck for part in state.current(index).parts)


def _is_past_changed(state: State, index: int, indices: Sequence[int]) -> bool:
    """Whether something before the reasoning of a message is not as it was when the reasoning was made."""
    next_strike, sent_to = state.stored_under(index)
    before = set(indices[: indices.index(index) + 1])
    newer = [
        one
        for one in state.strikes.values()
        if one.number >= next_strike and one.index in before and one.rule != BOUND_REASONING
    ]
    older = [one for one, stored in state.ended if one.number < next_strike and one.index in before and stored > index]
    return bool(newer or older or what_changed(sent_to, state.requests.sent_to))
