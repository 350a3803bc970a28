"""A session, whoever wrote it, compacted to an outline: as a text, or as a new log that names the session as its origin."""

import os
from dataclasses import dataclass

from redline.conversation.outlining import outline_settings
from redline.engine.compaction import CompactionPlan, plan_compaction, summary_steps
from redline.errors import ExecutionError
from redline.outlines.outline import Outline, make_outline
from redline.policy.policy import Policy
from redline.record import Header
from redline.record.addresses import masked
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import ForkedFrom, MessageAdded
from redline.sessions.replay.history import SessionHistory
from redline.tokens import default_counter


@dataclass(frozen=True)
class CompactedSession:
    """The outline of a session's older messages, and what stays as it is."""

    outline: Outline
    plan: CompactionPlan
    history: SessionHistory

    def write_log(self, address: str, origin: str, number: int) -> None:
        """Make a log that begins with the outline, goes on with what stays, and names the session file as its origin."""
        state, plan = self.history.state, self.plan
        steps = summary_steps(state, plan, default_counter(), lead="")
        next(steps)
        try:
            steps.send(self.outline.text)
        except StopIteration as finished:
            summary = finished.value.summary
        why = f"compacted: {len(plan.replaced)} messages became an outline"
        kept = [MessageAdded(state.payload(index), state.time_of(index)) for index in plan.tail]
        head = [MessageAdded(state.payload(index)) for index in plan.head]
        header = Header(conversation=masked(address), origin=origin, message_format=self.history.format)
        log = open_log(address, header=header)
        try:
            if next(iter(log.read()), None) is not None:
                raise ExecutionError(f"There is a conversation at {masked(address)} already. Name another place.")
            first = ForkedFrom(os.path.abspath(origin), why, generation=1, record=number)  # noqa: PTH100 - as it is written
            log.append([first, *head, MessageAdded(summary), *kept], parent=ROOT)
        finally:
            log.close()


def compact_session(
    history: SessionHistory, policy: Policy, *, keep_last: int, budget_tokens: int, is_new_log: bool = False
) -> CompactedSession:
    """Outline what the session would send, but for its last messages. Nothing is written.

    `is_new_log`: the outline is for a log of its own, whose references name the session they are about.
    """
    state, counter = history.state, default_counter()
    plan = plan_compaction(state, keep_last, counter)
    settings = outline_settings(policy, generation=0 if is_new_log else None, project_root=history.project_root)
    made = make_outline(
        [(index, state.current(index)) for index in plan.replaced],
        settings=settings,
        budget_tokens=budget_tokens,
        counter=counter,
        in_sight=[state.current(index) for index in plan.tail],
    )
    return CompactedSession(made, plan, history)
