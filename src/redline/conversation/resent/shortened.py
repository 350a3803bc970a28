"""Lists that outgrow the window: their beginning gives way to an outline, in the next list and in every one that goes on."""

from collections.abc import Sequence
from dataclasses import dataclass

from redline.conversation.automatic import kept_messages, least_gain, moment_to_compact, outline_budget
from redline.conversation.outlining import outline_settings
from redline.conversation.resent.incoming import IncomingList
from redline.conversation.resent.outgoing import as_given
from redline.conversation.resent.tree import ShortenedHistory
from redline.engine.compaction import plan_compaction, summary_steps
from redline.engine.project import RequestContext
from redline.engine.state import State, runs_of
from redline.errors import ExecutionError, ValidationError
from redline.outlines.outline import make_outline
from redline.policy.policy import Policy
from redline.prices.find import Model, price_of
from redline.record.log import Stored
from redline.record.opening import LogStore
from redline.record.records import ForkedFrom, ViewChanged
from redline.record.timeline import Timeline
from redline.tokens import Counter
from redline.values.messages import Message
from redline.values.payloads import Payload


def shorten_when_due(
    state: State, used: float, context: RequestContext, model: Model | None, policy: Policy, counter: Counter
) -> ViewChanged | None:
    """The record of a compaction, if the policy asks for one and now costs no cache or cannot wait."""
    price = price_of(model) if model is not None else None
    window = price.window_tokens if price is not None else None
    if policy.compact_at is None or window is None or used <= policy.compact_at * window:
        return None
    last, sent_to = state.current(state.view.indices[-1]), context.sent_to
    is_bound = sent_to is not None and sent_to.binds_reasoning and bool(last.calls or last.results)
    if is_bound or not moment_to_compact(used, window, context.schedule, state.requests, context.now, sent_to):
        return None
    try:
        plan = plan_compaction(state, kept_messages(state, window, counter), counter)
        if plan.tokens < least_gain(window) or not plan.tail:
            return None
        outline = make_outline(
            [(index, state.current(index)) for index in plan.replaced],
            settings=outline_settings(policy, generation=state.ancestors),
            budget_tokens=outline_budget(window),
            counter=counter,
            in_sight=[state.current(index) for index in plan.tail],
        )
        steps = summary_steps(state, plan, counter, lead="")
        next(steps)
        steps.send(outline.text)
    except StopIteration as finished:
        shown = (*plan.head, len(state), *plan.tail)
        return ViewChanged(runs_of(shown), (finished.value.summary,), boundary=plan.tail[0], is_compaction=True)
    except ExecutionError:  # there is nothing to gain
        return None
    return None


@dataclass(frozen=True, slots=True)
class ShortenedList:
    """A list with an outline in the place of its beginning, and where its messages are in the caller's list."""

    messages: list[Payload]
    positions: list[int | None]
    times: tuple[float | None, ...]

    @classmethod
    def of(cls, given: IncomingList, cut: ShortenedHistory) -> "ShortenedList":
        """The system's messages stay ahead of the outline; what comes after the cut is the caller's own."""
        lead = given.leading_system_messages
        before = [*range(lead), *(lead + index for index in cut.head)]
        after = range(lead + cut.length, len(given.messages))
        own = given.messages
        messages = [*(own[place] for place in before), as_given(given, cut.summary), *(own[place] for place in after)]
        times: tuple[float | None, ...] = ()
        if given.times:
            known = [*([None] * lead), *given.times]
            times = tuple(None if place is None else known[place] for place in (*before, None, *after))
        return cls(messages, [*before, None, *after], times)

    def positions_of(self, sent: Sequence[int | None]) -> list[int | None]:
        """Positions in this list as positions in the caller's."""
        return [None if place is None else self.positions[place] for place in sent]


def find_in_origins(store: LogStore, path: Sequence[Stored], generation: int, index: int) -> Message | None:
    """A message of a whole list, from which a shortened one goes on: through the logs of the store, back to its generation."""
    forked = next((one.record for one in reversed(path) if isinstance(one.record, ForkedFrom)), None)
    name = None if forked is None else next((one for one in store.names() if store.address_of(one) == forked.origin), None)
    if forked is None or name is None or generation >= forked.generation:
        raise ValidationError(f"There is no conversation {generation} before this one in the store. Copy the reference.")
    with store.opened(name) as log:
        before = Timeline(log).path(forked.record)
    if generation < forked.generation - 1:
        return find_in_origins(store, before, generation, index)
    state = State()
    for one in before:
        state.apply(one.record)
    return state.current(index) if index < len(state) else None


def origin_of_list(address: str, cut: ShortenedHistory) -> ForkedFrom:
    """What the log of a shortened list says of the whole one."""
    why = f"compacted: {cut.length} messages became an outline"
    return ForkedFrom(address, why, generation=cut.generation + 1, record=cut.record)
