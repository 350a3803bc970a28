"""A conversation: everything that was said, what of it is visible, and the request that is built from it."""

import dataclasses
import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from redline import payloads
from redline.blobs import Blobs
from redline.blobs.recall import recall
from redline.engine.binding import restoring_problem
from redline.engine.compaction import Breaker, Compaction, CompactionPlan, plan_compaction, summary_steps
from redline.engine.destinations import Destinations, Model
from redline.engine.project import Projection, Projector, Settings
from redline.engine.protection import Protection
from redline.engine.request import Request
from redline.engine.schedule import Schedule
from redline.engine.schedules import find_schedule
from redline.engine.state import State, runs_of
from redline.engine.timeline import Branch, Timeline
from redline.engine.token_watch import TokenWatch
from redline.errors import ExecutionError, LogError, ValidationError
from redline.formats import find_format
from redline.formats.translate import adapt
from redline.log.log import ROOT, Log
from redline.log.memory import MemoryLog
from redline.log.records import (
    Destination,
    HeadMoved,
    MessageAdded,
    Originated,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.payloads import Payload
from redline.rules import RULES, default_rules
from redline.rules.rule import Rule
from redline.tokens import Counter, default_counter
from redline.view.check_message import check_message
from redline.view.operations import Context, Insert, Operation, Replace, StartBatch, parse_operation
from redline.view.repair import Strategy
from redline.view.tool_description import describe_tools

__all__ = ["AutoCompaction", "Conversation"]

_logger = logging.getLogger("redline.conversation")

Summarize = Callable[[list[Any]], str]
"""From messages, in the provider's shape, to the text that stands for them."""

CompactionSteps = Generator[list[Any], str, Compaction]


@dataclasses.dataclass(frozen=True, slots=True)
class AutoCompaction:
    """When a conversation compacts itself."""

    tokens: int
    summarize: Summarize
    keep_last: int
    breaker: Breaker


class Conversation:
    """Keeps all messages and a view of them. Operations change the view, never a message; a request is worked out from it."""

    def __init__(
        self,
        messages: Iterable[Payload] = (),
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        token_limit: int | None = None,
        log: Log | None = None,
        format: str = "auto",
        blobs: Blobs | None = None,
        strategy: Strategy = "drop",
        project_root: str = "",
        protection: Protection | None = None,
        counter: Counter | None = None,
        redact: Callable[[bytes], bytes] | None = None,
        name: str = "memory",
    ) -> None:
        self._name, self._redact = name, redact
        self._timeline = Timeline(log if log is not None else MemoryLog())
        self._fixed_format = None if format == "auto" else find_format(format)
        self._blobs, self._strategy, self._project_root = blobs, strategy, project_root
        self._protection = protection or Protection()
        self._counter = counter or default_counter()
        self._tool_description = describe_tools(tools)
        self._watch = TokenWatch(token_limit, self._counter)
        self._destinations = Destinations(self._counter)
        self._state: State
        self._projectors: dict[Settings, Projector]
        self._auto: AutoCompaction | None = None
        self._stand(self._timeline.head)
        for message in messages:
            self.add(message)

    # --- what there is

    @property
    def messages(self) -> list[Any]:
        """The visible messages. Copies: changing them changes nothing here."""
        return [payloads.decode(self._state.payload(index)) for index in self._state.view.indices]

    @property
    def all_messages(self) -> list[Any]:
        """Every message by its index, each in the version that counts. Copies."""
        return [payloads.decode(self._state.payload(index)) for index in range(len(self._state))]

    @property
    def visible_indices(self) -> list[int]:
        """The indices of the visible messages, in the order in which they are shown."""
        return list(self._state.view.indices)

    @property
    def name(self) -> str:
        """The address of its log, or `memory`."""
        return self._name

    @property
    def origin(self) -> str | None:
        """What the conversation goes on from: another conversation, or a session file of another agent."""
        return self._state.origin

    @property
    def format(self) -> str:
        """The name of the messages' format."""
        return self._state.format.name

    @property
    def current_batch(self) -> int:
        """The number of the current batch."""
        return self._state.batches.current

    @property
    def batches(self) -> list[int]:
        """The batches that one can roll back to, the current one included."""
        return list(self._state.batches.numbers)

    @property
    def batch_boundaries(self) -> list[int]:
        """For each batch up to the current one its boundary."""
        return list(self._state.batches.boundaries)

    @property
    def strikes(self) -> tuple[Strike, ...]:
        """The strikes in force."""
        return tuple(self._state.strikes.values())

    # --- what changes it

    def add(self, message: Payload, *, timestamp_ms: float | None = None) -> int:
        """Store a message and show it at the end; its index is returned.

        A message of another provider's format is converted, and that is logged; if it becomes several, the index is the last.
        """
        check_message(message)
        converted = self._in_own_format(message)
        if not converted:
            raise ValidationError(f"Nothing of the message can be said in {self.format}; see the log for what was lost.")
        self._commit([MessageAdded(payload, timestamp_ms) for payload in converted])
        return len(self._state) - 1

    def process(self, config: Mapping[str, Any]) -> None:
        """Change what is visible: truncate, insert, replace, clear or filter. What fails changes nothing."""
        self._apply(self._in_own_terms(parse_operation(config)))

    def start_batch(self, boundary: int) -> None:
        """Open a batch at an index and hide what is visible before it."""
        self._apply(StartBatch(boundary))

    def rollback(self, batch: int) -> None:
        """Show again what was visible when that batch ended. Later batches are gone; no message is."""
        if self._state.batches.rolled_back(batch) is self._state.batches:
            return
        self._commit([RolledBack(batch)])
        self._watch.restart()

    def pin(self, index: int) -> None:
        """Never strike this message; strikes on it are undone."""
        self._check_index(index)
        self._check_restorable(*self._state.strikes_on(index))
        self._commit([PinSet(index)])

    def unpin(self, index: int) -> None:
        """Let rules strike this message again."""
        self._check_index(index)
        self._commit([PinSet(index, is_pinned=False)])

    def undo(self, strike: Strike | int) -> None:
        """Send a part as it was said again; the rule that struck it leaves it alone from now on."""
        number = strike if isinstance(strike, int) else strike.number
        if number not in self._state.strikes:
            raise ExecutionError(f"There is no strike {number} in force. Those that are: {_listed(self._state.strikes)}.")
        self._check_restorable(self._state.strikes[number])
        self._commit([StrikeUndone(number)])

    # --- time

    def rewind(self, index: int) -> None:
        """Go back to just behind a message. What came after it stays in the record as a branch."""
        self._check_index(index)
        kept = tuple(strike for strike in self._state.strikes.values() if strike.index <= index)
        self._move(self._timeline.record_of_message(index), kept)

    @property
    def branches(self) -> list[Branch]:
        """Every way that the conversation went, the present one among them."""
        self._timeline.read()
        return self._timeline.branches()

    def switch(self, branch: Branch | int) -> None:
        """Go on at the end of another branch."""
        number = branch if isinstance(branch, int) else branch.number
        known = [one.number for one in self.branches]
        if number not in known:
            raise ExecutionError(f"There is no branch {number}. Those there are: {_listed(known)}.")
        self._move(number)

    def fork(self, log: Log | None = None) -> "Conversation":
        """A conversation of its own, in a log of its own, that starts as this one stands."""
        records = [one.record for one in self._timeline.path()]
        target = log if log is not None else MemoryLog()
        if records:
            target.append(records, parent=ROOT)
        return self._like(target)

    def request_at(
        self,
        index: int,
        *,
        now: float,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str = "eager",
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What was sent, or would have been, when a message had just been said. Nothing is recorded."""
        self._check_index(index)
        path = self._timeline.path(self._timeline.record_of_message(index))
        then = MemoryLog()
        then.append([one.record for one in path], parent=ROOT)
        return self._like(then).preview(now=now, rules=rules, schedule=schedule, model=model, preamble=preamble)

    # --- compaction

    def preview_compaction(self, *, keep_last: int) -> CompactionPlan:
        """What `compact` would replace and what it would keep. Nothing is changed."""
        return plan_compaction(self._state, keep_last, self._counter)

    def compact(
        self, summarize: Summarize, *, keep_last: int, in_place: bool = False, log: Log | None = None
    ) -> "Conversation":
        """Let a summary stand for older history; `summarize` is given the messages and returns the text.

        The result is a new conversation that names this one as its origin, and this one stays as it is; or, in place, this one
        with another view, which a rollback undoes. A summary that is empty, longer than what it replaces, or fails changes
        nothing and raises an ExecutionError that says why.
        """
        steps = self.compaction_steps(keep_last=keep_last)
        messages = next(steps)
        try:
            text = summarize(messages)
        except Exception as problem:
            raise ExecutionError(f"The summary failed ({problem}), so nothing was compacted.") from problem
        return self.finish_compaction(steps, text, in_place=in_place, log=log)

    def compaction_steps(self, *, keep_last: int) -> CompactionSteps:
        """The steps of a compaction, for callers that ask a model in their own way: gives the messages, is sent the text."""
        return summary_steps(self._state, self.preview_compaction(keep_last=keep_last), self._counter)

    def finish_compaction(
        self, steps: CompactionSteps, text: str, *, in_place: bool = False, log: Log | None = None
    ) -> "Conversation":
        """Carry a compaction out with the text that was asked for."""
        try:
            steps.send(text)
        except StopIteration as finished:
            done: Compaction = finished.value
            return self._compacted_in_place(done) if in_place else self._compacted_anew(done, log)
        raise ExecutionError("The steps of this compaction were used before.")

    def compact_when(self, *, tokens: int, summarize: Summarize, keep_last: int, most_failures: int = 3) -> None:
        """Compact in place whenever `check_tokens` finds more than so many. After failures in a row it stops trying."""
        self._auto = AutoCompaction(tokens, summarize, keep_last, Breaker(most_failures))

    # --- tokens

    def record_usage(
        self, *, input_tokens: int, output_tokens: int = 0, cache_read_tokens: int = 0, cache_write_tokens: int = 0
    ) -> None:
        """What the provider reported for the last request; `input_tokens` is all that was sent, cached or not."""
        counts = (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
        if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
            raise ValidationError(f"Token counts must be whole numbers of at least 0, not {counts}")
        self._commit([UsageReported(*counts)])

    def check_tokens(self) -> int:
        """The tokens of the visible messages, as reported and estimated. Tells the callbacks when the limit is passed."""
        used = self._watch.check(self._state)
        if self._auto is not None and used > self._auto.tokens and not self._auto.breaker.is_open:
            self._compact_by_itself(self._auto)
            used = self._watch.used(self._state)
        return used

    def on_token_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with (used, limit), once for each time that the limit is passed."""
        self._watch.on_limit(callback)

    def close(self) -> None:
        """Let go of the log's files and connections. What was said is stored already."""
        if self._timeline.has_appended:  # who only read leaves no trace
            for projector in self._projectors.values():
                self._save_work(projector, is_end=True)
        self._timeline.log.close()

    # --- what is sent

    def request(
        self,
        *,
        now: float,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str = "eager",
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What to send now (milliseconds since 1970). The strikes it applies are recorded and stay.

        `model` is the one that the request goes to, `preamble` what is sent ahead of the messages: system prompt, tools. Either
        is as in the request before if it is not given.
        """
        chosen, sent_to = self._choose(schedule, model, preamble)
        projector, done = self._project(now, rules, chosen, sent_to)
        for blob in done.blobs:
            self._stored(blob)
        self._record(done, now if chosen.weighs_requests else None, sent_to)
        projector.keep(done.strikes)
        self._save_work(projector)
        return done.request

    def preview(
        self,
        *,
        now: float,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str = "eager",
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What `request` would give. Nothing is recorded."""
        chosen, sent_to = self._choose(schedule, model, preamble)
        return self._project(now, rules, chosen, sent_to)[1].request

    def recall(
        self,
        reference: str,
        *,
        lines: str | Sequence[int] | None = None,
        grep: str | None = None,
        max_chars: int | None = 30_000,
    ) -> str:
        """What an offload stub refers to, all or some lines of it."""
        if self._blobs is None:
            raise ExecutionError("There is nothing to recall from: Conversation(blobs=…)")
        return recall(reference, self._blobs, lines=lines, grep=grep, max_chars=max_chars)

    # --- the pieces

    def _choose(self, schedule: Schedule | str, model: Model | None, preamble: object) -> tuple[Schedule, Destination | None]:
        sent_to = self._destinations.find(model, preamble, self._state.requests.sent_to)
        return find_schedule(schedule, model or (sent_to.model if sent_to else None)), sent_to

    def _project(
        self, now: float, rules: Sequence[Rule | str] | None, schedule: Schedule, sent_to: Destination | None
    ) -> tuple[Projector, Projection]:
        chosen = default_rules(project_root=self._project_root) if rules is None else tuple(map(_rule, rules))
        settings = Settings(chosen, self._strategy, self._protection)
        projector = self._projectors.get(settings)
        if projector is None:
            projector = self._projectors[settings] = Projector(self._state, settings, self._counter)
        return projector, projector.project(now, schedule, sent_to)

    def _record(self, done: Projection, now: float | None, sent_to: Destination | None) -> None:
        """What a request decided, if it did, and where it went, if that is news."""
        requests = self._state.requests
        is_news = sent_to != requests.sent_to
        is_new_view = requests.is_new_view and sent_to is not None and sent_to.binds_reasoning
        if now is None and not done.strikes and not is_news and not is_new_view:
            return
        refused = () if now is None else done.refused_parts
        visible = len(self._state.view.indices)
        self._commit([StrikesApplied(done.strikes, now, visible, sent_to if is_news else None, refused)])

    def _commit(self, records: list[Record]) -> None:
        if not self._timeline.append(records):
            _logger.warning("Another process went on from the same place: the conversation has a new branch")
        for record in records:
            self._state.apply(record)

    def _save_work(self, projector: Projector, *, is_end: bool = False) -> None:
        """Where a log outlives this process, what was worked out need not be worked out again."""
        if isinstance(self._timeline.log, MemoryLog):
            return
        checkpoint = projector.checkpoint(is_end=is_end)
        if checkpoint is not None:
            try:
                self._timeline.note(checkpoint)
            except LogError as problem:
                _logger.warning("What was worked out could not be stored, so opening will take longer: %s", problem)

    def _move(self, number: int, strikes: tuple[Strike, ...] = ()) -> None:
        """Make a record the one to go on from."""
        self._timeline.append([HeadMoved(strikes)], parent=number)
        self._stand(self._timeline.head)

    def _compacted_in_place(self, done: Compaction) -> "Conversation":
        gone = {*done.plan.replaced, *done.plan.head}
        tail = [index for index in self._state.view.indices if index not in gone]  # what was said meanwhile included
        shown = (*done.plan.head, len(self._state), *tail)
        boundary = min(tail, default=len(self._state))
        self._commit([ViewChanged(runs_of(shown), (done.summary,), boundary=boundary, is_compaction=True)])
        self._watch.restart()
        return self

    def _compacted_anew(self, done: Compaction, log: Log | None) -> "Conversation":
        target = log if log is not None else MemoryLog()
        kept = [MessageAdded(self._state.payload(index), self._state.time_of(index)) for index in done.plan.tail]
        head = [MessageAdded(self._state.payload(index)) for index in done.plan.head]
        origin = Originated(self.name, f"compacted: {len(done.plan.replaced)} messages became a summary")
        target.append([origin, *head, MessageAdded(done.summary), *kept], parent=ROOT)
        return self._like(target)

    def _compact_by_itself(self, auto: AutoCompaction) -> None:
        try:
            self.compact(auto.summarize, keep_last=auto.keep_last, in_place=True)
        except ExecutionError as problem:
            auto.breaker.failed(str(problem))
            _logger.warning("Compaction failed: %s%s", problem, " It is not tried again." if auto.breaker.is_open else "")
            return
        auto.breaker.succeeded()

    def _stand(self, head: int) -> None:
        """Work out the state at a record."""
        self._state = State(self._fixed_format)
        for records, checkpoint in self._timeline.stretches(head):
            self._state.apply_all(records)
            if checkpoint is not None:
                self._state.take(checkpoint)
        self._projectors = {}
        self._watch.restart()

    def _like(self, log: Log, name: str = "memory") -> "Conversation":
        """Another conversation with the same settings."""
        other = Conversation(
            log=log,
            format="auto" if self._fixed_format is None else self._fixed_format.name,
            blobs=self._blobs,
            strategy=self._strategy,
            project_root=self._project_root,
            protection=self._protection,
            counter=self._counter,
            token_limit=self._watch.limit,
            redact=self._redact,
            name=name,
        )
        other._tool_description = self._tool_description
        return other

    def _apply(self, operation: Operation) -> None:
        state = self._state
        outcome = operation.apply(Context(state.view, state, self._tool_description))
        change = ViewChanged(
            indices=runs_of(outcome.view.indices),
            appended=tuple(map(payloads.encoded, outcome.appended)),
            replaced=tuple((index, payloads.encoded(payload)) for index, payload in outcome.replaced.items()),
            boundary=outcome.boundary,
        )
        self._commit([change])
        if outcome.boundary is not None:
            self._watch.restart()

    def _in_own_format(self, message: Payload) -> list[bytes]:
        """The message as it is stored: in the conversation's format, and without secrets if a redaction is set."""
        given = payloads.encoded(message)
        if self._redact is not None:
            given = self._redact(given)
        if self._state.accepts(given):
            return [given]
        done = adapt(given, target=self.format)
        _logger.warning("A message of another format was converted to %s%s", self.format, _losses(done.lost))
        return [payloads.encoded(payload) for payload in done.messages]

    def _in_own_terms(self, operation: Operation) -> Operation:
        """The operation with its messages in the conversation's format."""
        match operation:
            case Insert(messages=messages):
                own = tuple(payload for message in messages for payload in self._in_own_format(message))
                return dataclasses.replace(operation, messages=own)
            case Replace(message=message):
                own = tuple(self._in_own_format(message))
                if len(own) != 1:
                    raise ValidationError(
                        f"The message becomes {len(own)} messages in {self.format}; only one can replace one."
                    )
                return dataclasses.replace(operation, message=own[0])
            case _:
                return operation

    def _stored(self, blob: bytes) -> None:
        if self._blobs is None:
            raise ExecutionError("Offloading needs a place to store what it takes out: Conversation(blobs=…)")
        self._blobs.put(blob)

    def _check_restorable(self, *strikes: Strike) -> None:
        for strike in strikes:
            if problem := restoring_problem(self._state, strike):
                raise ExecutionError(f"Strike {strike.number} on message {strike.index} must stay. {problem}")

    def _check_index(self, index: int) -> None:
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self._state):
            raise ExecutionError(f"There is no message {index!r}: {len(self._state)} are stored, numbered from 0.")


def _rule(rule: Rule | str) -> Rule:
    if not isinstance(rule, str):
        return rule
    if rule not in RULES:
        raise ValidationError(f"There is no rule named {rule!r}. Known are: {', '.join(RULES)}.")
    return RULES[rule]()


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _losses(lost: Sequence[object]) -> str:
    return f"; not carried: {'; '.join(map(str, lost))}" if lost else ""
