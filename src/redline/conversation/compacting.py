"""Compaction of a conversation: by a summary or an outline, by hand or by itself."""

import asyncio
import dataclasses
import logging
import os
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, Self

from redline.conversation.automatic import (
    BackgroundSummary,
    is_unavoidable,
    kept_messages,
    least_gain,
    messages_since_undone,
    moment_to_compact,
    outline_budget,
)
from redline.conversation.history import ConversationHistory, synchronized
from redline.conversation.outlining import OUTLINE, outline_settings
from redline.engine.compaction import Breaker, Compaction, CompactionPlan, plan_compaction, summary_steps
from redline.engine.state import runs_of
from redline.errors import ExecutionError
from redline.outlines.checking import DEFAULT_APPENDIX, SummaryCheck, check_against
from redline.outlines.history import OutlineSettings
from redline.outlines.outline import DEFAULT_BUDGET, Outline, make_outline
from redline.policy.policy import Policy
from redline.record.log import Log
from redline.record.opening import unused_address
from redline.record.records import Destination, ForkedFrom, MessageAdded, Record, ViewChanged
from redline.schedules import Schedule
from redline.tokens import Counter, count_message
from redline.values.checks import check_count, check_function, check_methods
from redline.values.messages import Message

_logger = logging.getLogger("redline.conversation")
_RECALL_TOOL = re.compile(r"^- (\S*recall):", re.MULTILINE)

Summarize = Callable[[list[Any]], str]
"""From messages, in the provider's shape, to the text that replaces them."""
Outlining = Literal["outline"]
"""In place of such a function: what the record itself gives, without a model."""
DEFAULT_KEPT = 4

CompactionSteps = Generator[list[Any], str, Compaction]


@dataclasses.dataclass(frozen=True, slots=True)
class AutoCompaction:
    """When a conversation compacts itself."""

    tokens: int
    summarize: Summarize
    keep_last: int
    breaker: Breaker


class CompactingConversation(ConversationHistory):
    """Replaces older history by what a model, or the record itself, makes of it."""

    _policy: Policy
    _counter: Counter
    _auto: AutoCompaction | None
    _background: tuple[BackgroundSummary, CompactionPlan] | None = None
    """A summary that was asked for, and what it is to replace."""
    _summaries: Breaker
    _summary_loop: asyncio.AbstractEventLoop | None = None
    """Where coroutine functions that summarise are run, if that is not in a loop of their own."""

    def _used_tokens(self) -> int:
        raise NotImplementedError

    def _begun_with(self, records: Sequence[Record], log: Log | str | os.PathLike[str] | None = None) -> Self:
        raise NotImplementedError

    def _as_origin(self, why: str) -> ForkedFrom:
        raise NotImplementedError

    @synchronized
    def preview_compaction(self, *, keep_last: int = DEFAULT_KEPT) -> CompactionPlan:
        """The messages that `compact` would replace and those it would keep. Nothing is changed."""
        return plan_compaction(self._state, keep_last, self._counter)

    def compact(
        self,
        summarize: Summarize | Outlining,
        *,
        keep_last: int = DEFAULT_KEPT,
        in_place: bool = False,
        log: Log | str | os.PathLike[str] | None = None,
        budget_tokens: int | None = None,
        check: bool = False,
    ) -> Self:
        """Replace older history by a summary; `summarize` is given the messages and returns the text, or is `"outline"`.

        The result is a new conversation that names this one as its origin, stored beside it unless a log is given, and this
        one stays as it is; or, in place, this one with another view, which a rollback undoes. A summary that is empty, longer
        than what it replaces, or fails changes nothing and raises an ExecutionError that says why. An outline has at most
        `budget_tokens` (4,000). With `check`, what a summary leaves out of it is appended, in at most `budget_tokens` (1,000).
        """
        if summarize == OUTLINE:
            made = self.preview_outline(keep_last=keep_last, budget_tokens=budget_tokens or DEFAULT_BUDGET, in_place=in_place)
            steps = summary_steps(self._state, self.preview_compaction(keep_last=keep_last), self._counter, lead="")
            next(steps)
            return self.finish_compaction(steps, made.text, in_place=in_place, log=log)
        check_function("summarize", summarize)
        steps = self.compaction_steps(keep_last=keep_last)
        messages = next(steps)
        try:
            text = summarize(messages)
        except Exception as problem:
            raise ExecutionError(f"The summary failed ({problem}), so nothing was compacted.") from problem
        if check and isinstance(text, str) and text.strip():
            checked = self.check_summary(
                text, keep_last=keep_last, budget_tokens=budget_tokens or DEFAULT_APPENDIX, in_place=in_place
            )
            text = "\n\n".join(filter(None, (text.strip(), checked.appendix)))
        return self.finish_compaction(steps, text, in_place=in_place, log=log)

    @synchronized
    def preview_outline(
        self, *, keep_last: int = DEFAULT_KEPT, budget_tokens: int = DEFAULT_BUDGET, in_place: bool = False
    ) -> Outline:
        """What `compact("outline")` would put in the place of older messages. Nothing is changed."""
        plan = self.preview_compaction(keep_last=keep_last)
        return make_outline(
            self._replaced_by(plan),
            settings=self._outline_settings(in_place=in_place),
            budget_tokens=budget_tokens,
            counter=self._counter,
            in_sight=[self._state.current(index) for index in plan.tail],
        )

    @synchronized
    def check_summary(
        self, summary: str, *, keep_last: int = DEFAULT_KEPT, budget_tokens: int = DEFAULT_APPENDIX, in_place: bool = True
    ) -> SummaryCheck:
        """What a summary leaves out of what it replaces; `appendix` adds as much of it as has room. Nothing is changed."""
        plan = self.preview_compaction(keep_last=keep_last)
        return check_against(
            summary,
            self._replaced_by(plan),
            settings=self._outline_settings(in_place=in_place),
            budget_tokens=budget_tokens,
            counter=self._counter,
            in_sight=[self._state.current(index) for index in plan.tail],
        )

    def _replaced_by(self, plan: CompactionPlan) -> list[tuple[int, Message]]:
        return [(index, self._state.current(index)) for index in plan.replaced]

    def _outline_settings(self, *, in_place: bool) -> OutlineSettings:
        """Of an outline that is said here, or in a conversation that goes on from this one."""
        tool = _RECALL_TOOL.search(self._tool_description or "")
        generation = None if in_place else self._state.ancestors
        return outline_settings(self._policy, generation=generation, recall_tool=tool[1] if tool else None)

    def compaction_steps(self, *, keep_last: int) -> CompactionSteps:
        """The steps of a compaction, for callers that ask a model in their own way: gives the messages, is sent the text."""
        return summary_steps(self._state, self.preview_compaction(keep_last=keep_last), self._counter)

    @synchronized
    def finish_compaction(
        self, steps: CompactionSteps, text: str, *, in_place: bool = False, log: Log | str | os.PathLike[str] | None = None
    ) -> Self:
        """Carry a compaction out with the text that was asked for."""
        check_methods("steps", steps, "send")
        try:
            steps.send(text)
        except StopIteration as finished:
            done: Compaction = finished.value
        else:
            raise ExecutionError("The steps of this compaction were used before.")
        state, plan = self._state, done.plan
        if not in_place:
            head = [MessageAdded(state.payload(index)) for index in plan.head]
            kept = [MessageAdded(state.payload(index), state.time_of(index)) for index in plan.tail]
            origin = self._as_origin(f"compacted: {len(plan.replaced)} messages became a summary")
            beside = unused_address(self._address) if log is None and self._address is not None else log
            return self._begun_with([origin, *head, MessageAdded(done.summary), *kept], beside)
        gone = {*plan.replaced, *plan.head}
        tail = [index for index in state.view.indices if index not in gone]  # what was said meanwhile included
        shown = (*plan.head, len(state), *tail)
        self._check_view(state.view.with_indices(shown), [done.summary])
        boundary = min(tail, default=len(state))
        self._engine.commit([ViewChanged(runs_of(shown), (done.summary,), boundary=boundary, is_compaction=True)])
        self._watch.restart()
        return self

    @synchronized
    def compact_when(self, *, tokens: int, summarize: Summarize, keep_last: int, most_failures: int = 3) -> None:
        """Compact in place whenever `check_tokens` finds more than so many. After failures in a row it stops trying."""
        for what, value in {"tokens": tokens, "keep_last": keep_last, "most_failures": most_failures}.items():
            check_count(what, value)
        check_function("summarize", summarize)
        self._auto = AutoCompaction(tokens, summarize, keep_last, Breaker(most_failures))

    def _compact_by_itself(self, auto: AutoCompaction) -> None:
        sent_to = self._state.requests.sent_to
        if sent_to is not None and sent_to.binds_reasoning and self._is_open(self._state.view):
            return  # until the turn is over
        try:
            self.compact(auto.summarize, keep_last=auto.keep_last, in_place=True)
        except ExecutionError as problem:
            auto.breaker.failed(str(problem))
            _logger.warning("Compaction failed: %s%s", problem, " It is not tried again." if auto.breaker.is_open else "")
            return
        auto.breaker.succeeded()

    # --- past a share of the window

    def _compact_when_due(self, window: float | None, schedule: Schedule, now: float, sent_to: Destination | None) -> bool:
        """Compact in place if the policy says so and the moment is right. What the rules can take out goes first."""
        share, state = self._policy.compact_at, self._state
        if share is None or window is None or not state.view.indices:
            return False
        used = self._used_tokens()
        if used <= share * window or (sent_to is not None and sent_to.binds_reasoning and self._is_open(state.view)):
            return False
        moment = moment_to_compact(used, window, schedule, state.requests, now, sent_to)
        keep_last = kept_messages(state, window, self._counter)
        try:
            plan = self.preview_compaction(keep_last=keep_last)
        except ExecutionError:
            return False
        if plan.tokens < least_gain(window) or self._was_undone(window):
            return False
        if self._policy.compact != OUTLINE and not self._ask_in_background(plan, is_urgent=is_unavoidable(used, window)):
            return False
        if not moment:
            return False
        try:
            self._put_in_place(keep_last, outline_budget(window))
        except ExecutionError as problem:
            _logger.warning("%s: it is not compacted: %s", self._name, problem)
            return False
        _logger.info("%s: %d messages became an outline or a summary, because %s", self._name, len(plan.replaced), moment)
        return True

    def _ask_in_background(self, plan: CompactionPlan, *, is_urgent: bool) -> bool:
        """Whether there is something to put in place: a summary, or the outline where it cannot be waited for."""
        asked = self._background
        if asked is not None and not set(asked[1].replaced) <= set(self._state.view.indices):
            asked = self._background = None  # the view has moved on
        if asked is None and callable(self._policy.compact) and not self._summaries.is_open:
            asked = self._background = BackgroundSummary(self._policy.compact, plan.messages, self._summary_loop), plan
        if asked is not None and asked[0].is_done and asked[0].problem is not None:
            self._summaries.failed(str(asked[0].problem))
            _logger.warning("%s: the summary failed: %s", self._name, asked[0].problem)
            self._background = None
        return is_urgent or (asked is not None and asked[0].text is not None)

    def _put_in_place(self, keep_last: int, budget: int) -> None:
        asked, self._background = self._background, None
        text = asked[0].text if asked is not None else None
        if asked is None or not text:
            self.compact(OUTLINE, keep_last=keep_last, in_place=True, budget_tokens=budget)
            return
        steps = summary_steps(self._state, asked[1], self._counter)
        next(steps)
        self.finish_compaction(steps, text, in_place=True)
        self._summaries.succeeded()

    def _was_undone(self, window: float) -> bool:
        """Whether the user rolled the last compaction back, and little was said since."""
        since = messages_since_undone(self._engine.timeline.path())
        if since is None:
            return False
        read = self._state.format.read
        return sum(count_message(read(payload), self._counter).total for payload in since) < least_gain(window)
