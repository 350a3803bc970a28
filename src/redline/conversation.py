"""A conversation: everything that was said, what of it is visible, and the request that is built from it."""

import dataclasses
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from redline.blobs import Blobs
from redline.blobs.opening import make_blobs
from redline.blobs.retrieval import recall_from
from redline.engine.bound_reasoning import restoring_problem, view_problem
from redline.engine.compaction import Breaker, Compaction, CompactionPlan, plan_compaction, summary_steps
from redline.engine.destination import DestinationFinder
from redline.engine.engine import Engine
from redline.engine.project import Ask
from redline.engine.request import Request
from redline.engine.state import State, runs_of
from redline.engine.token_watch import TokenWatch
from redline.engine.workings import Settings
from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.formats import find_format, format_of_model
from redline.formats.answers import read_answer
from redline.formats.arguments import join_system
from redline.formats.check_message import check_message
from redline.formats.sdk_objects import plain_message
from redline.formats.tool_definitions import describe_tools
from redline.formats.translate import adapt
from redline.formats.usage import Usage, read_usage
from redline.log import Header
from redline.log.addresses import masked
from redline.log.log import ROOT, Log
from redline.log.memory import MemoryLog
from redline.log.opening import check_log, check_stored_format, open_log, unused_address
from redline.log.records import (
    MessageAdded,
    Originated,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.log.timeline import Branch
from redline.observing import start_stopwatch, tell_usage
from redline.policy import Policy, check_blobs, make_policy
from redline.prices.model import Model, check_model, model_name
from redline.repair import Strategy
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.schedules import Schedule
from redline.tokens import Counter, check_counter, default_counter
from redline.values import payloads
from redline.values.checks import check_count, check_function, check_methods, make_list, shown
from redline.values.messages import Message
from redline.values.payloads import Payload
from redline.values.times import check_time_ms
from redline.view.operations import Context, Insert, Operation, Replace, StartBatch, parse_operation
from redline.view.view import View

__all__ = ["AutoCompaction", "Conversation", "now_ms"]

_logger = logging.getLogger("redline.conversation")

P = ParamSpec("P")
T = TypeVar("T")

Summarize = Callable[[list[Any]], str]
"""From messages, in the provider's shape, to the text that replaces them."""

CompactionSteps = Generator[list[Any], str, Compaction]


def now_ms() -> float:
    """The time of this computer, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class AutoCompaction:
    """When a conversation compacts itself."""

    tokens: int
    summarize: Summarize
    keep_last: int
    breaker: Breaker


def _whole(method: Callable[Concatenate["Conversation", P], T]) -> Callable[Concatenate["Conversation", P], T]:
    """One call at a time, from any thread. One that is broken off (Ctrl-C) is not done at all."""

    @functools.wraps(method)
    def call(talk: "Conversation", /, *args: P.args, **settings: P.kwargs) -> T:
        with talk._lock:
            if talk._is_broken and not talk._engine.is_closed:
                talk._engine.recover()
                talk._watch.restart()
                talk._is_broken = False
            try:
                return method(talk, *args, **settings)
            except BaseException as problem:
                if not isinstance(problem, RedlineError):
                    talk._is_broken = True
                raise

    return call


class Conversation:
    """Keeps all messages and a view of them. Operations change the view, never a message; a request is worked out from it."""

    def __init__(
        self,
        messages: Iterable[Payload] = (),
        *,
        policy: Policy | str | None = None,
        model: Model | None = None,
        system: str | Sequence[Mapping[str, Any]] | None = None,
        tools: Iterable[Mapping[str, Any]] = (),
        token_limit: int | None = None,
        log: Log | str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = now_ms,
        format: str = "auto",
        blobs: Blobs | str | os.PathLike[str] | None = None,
        strategy: Strategy | None = None,
        project_root: str | os.PathLike[str] | None = None,
        protection: Protection | None = None,
        counter: Counter | None = None,
        redact: Callable[[bytes], bytes] | None = None,
        name: str | None = None,
    ) -> None:
        own = {"strategy": strategy, "project_root": project_root, "protection": protection}
        given: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
        self._policy = dataclasses.replace(make_policy(policy), **given)
        check_function("clock", clock)
        if redact is not None:
            check_function("redact", redact)
        kept = make_blobs(blobs)
        check_blobs(self._policy.made_rules(), kept)
        check_log(log)
        said = make_list("messages", messages)
        self._model, self._system, self._tools = check_model(model), _checked_system(system), make_list("tools", tools)
        self._clock, self._blobs, self._redact = clock, kept, redact
        self._counter = default_counter() if counter is None else counter
        check_counter(self._counter)
        self._tool_description = describe_tools(self._tools, self._policy.words)
        if token_limit is not None:
            check_count("token_limit", token_limit)
        self._watch = TokenWatch(token_limit)
        self._destinations = DestinationFinder(self._counter)
        self._auto: AutoCompaction | None = None
        self._observed: Request | None = None
        """The last request, while somebody observes."""
        self._lock = threading.RLock()
        self._is_broken = False
        fixed = None if format == "auto" else find_format(format)
        if name is not None and not isinstance(name, str):
            raise ValidationError(f"name must be text, not {type(name).__name__}")
        self._address = name or (os.fspath(log) if isinstance(log, str | os.PathLike) else None)
        self._name = masked(self._address or "memory")
        if isinstance(log, str | os.PathLike):
            log = open_log(log, redact=redact)
            if fixed is not None:
                check_stored_format(log, fixed.name)
        self._engine = Engine(MemoryLog() if log is None else log, fixed, self._counter, self._blobs)
        if fixed is None and (preferred := format_of_model(model_name(self._model))) in self._state.votes:
            self._engine.fix_format(find_format(preferred))
        self._known_races = 0
        self._tell_of_races()
        for message in said:
            self.add(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self._state
        shown, stored = len(state.view.indices), len(state)
        count = f"{stored} messages" if shown == stored else f"{shown} of {stored} messages visible"
        return f"<Conversation {self._name!r}: {state.format.name}, {count}, {len(state.strikes)} strikes>"

    @property
    def _state(self) -> State:
        return self._engine.state

    # --- what there is

    @property
    @_whole
    def messages(self) -> list[Any]:
        """The visible messages. Copies: changing them changes nothing here."""
        return [payloads.decode(self._state.payload(index)) for index in self._state.view.indices]

    @property
    @_whole
    def all_messages(self) -> list[Any]:
        """Every message by its index, each in the version that counts. Copies."""
        return [payloads.decode(self._state.payload(index)) for index in range(len(self._state))]

    @property
    @_whole
    def visible_indices(self) -> list[int]:
        """The indices of the visible messages, in the order in which they are shown."""
        return list(self._state.view.indices)

    @property
    def name(self) -> str:
        """The address of its log, without a password, or `memory`."""
        return self._name

    @property
    def policy(self) -> Policy:
        """The settings of its requests."""
        return self._policy

    @property
    @_whole
    def origin(self) -> str | None:
        """What the conversation goes on from: another conversation, or a session file of another agent."""
        return self._state.origin

    @property
    @_whole
    def format(self) -> str:
        """The name of the messages' format."""
        return self._state.format.name

    @property
    @_whole
    def current_batch(self) -> int:
        """The number of the current batch."""
        return self._state.batches.current

    @property
    @_whole
    def batches(self) -> list[int]:
        """The batches that one can roll back to, the current one included."""
        return list(self._state.batches.numbers)

    @property
    @_whole
    def batch_boundaries(self) -> list[int]:
        """For each batch up to the current one its boundary."""
        return list(self._state.batches.boundaries)

    @property
    @_whole
    def strikes(self) -> tuple[Strike, ...]:
        """The strikes in force."""
        return tuple(self._state.strikes.values())

    # --- what changes it

    @_whole
    def add(self, message: Payload, *, timestamp_ms: float | None = None) -> int:
        """Store a message and show it at the end; its index is returned. It is stamped by the clock unless it has a time.

        A message of another provider's format is converted, and that is logged; if it becomes several, the index is the last.
        It may hold objects of an SDK, as in `content=response.content`.
        """
        message = plain_message(message)
        check_message(message)
        time_ms = self._time(timestamp_ms, "timestamp_ms")
        converted = self._in_own_format(message)
        if not converted:
            raise ValidationError(f"Nothing of the message can be said in {self.format}; see the log for what was lost.")
        self._engine.commit([MessageAdded(payload, time_ms) for payload in converted])
        return len(self._state) - 1

    @_whole
    def add_response(self, response: object, *, timestamp_ms: float | None = None) -> int:
        """Store what the provider's SDK returned, whole or streamed: the message, and what it says of tokens.

        Taken are the responses of the SDKs of Anthropic, OpenAI (Chat and Responses) and Google, as objects or dictionaries.
        The index of the last message is returned; an answer in which the model says nothing adds none.
        """
        answer = read_answer(response, None if len(self._state) == 0 else self.format)
        time_ms = self._time(timestamp_ms, "timestamp_ms")
        stored = [payload for message in answer.messages for payload in self._in_own_format(message)]
        usage = [UsageReported.of(answer.usage)] if answer.usage is not None else []
        records: list[Record] = [*usage, *(MessageAdded(payload, time_ms) for payload in stored)]
        if records:
            self._engine.commit(records)
        if answer.usage is not None:
            self._tell_usage(answer.usage)
        return len(self._state) - 1

    @_whole
    def process(self, config: Mapping[str, Any]) -> None:
        """Change what is visible: truncate, insert, replace, clear or filter. What fails changes nothing."""
        self._apply(self._in_own_terms(parse_operation(config)))

    @_whole
    def start_batch(self, boundary: int) -> None:
        """Open a batch at an index and hide what is visible before it."""
        self._apply(StartBatch(boundary))

    @_whole
    def rollback(self, batch: int) -> None:
        """Show again what was visible when that batch ended. Later batches are gone; no message is."""
        if self._state.batches.rolled_back(batch) is self._state.batches:
            return
        self._check_view(self._state.batches.view_of(batch, self._state.view))
        self._engine.commit([RolledBack(batch)])
        self._watch.restart()

    @_whole
    def pin(self, index: int) -> None:
        """Never strike this message; strikes on it are undone."""
        self._check_index(index)
        self._check_restorable(*self._state.strikes_on(index))
        self._engine.commit([PinSet(index)])

    @_whole
    def unpin(self, index: int) -> None:
        """Let rules strike this message again."""
        self._check_index(index)
        self._engine.commit([PinSet(index, is_pinned=False)])

    @_whole
    def undo(self, strike: Strike | int) -> None:
        """Send a part as it was said again; the rule that struck it leaves it alone from now on."""
        number = strike.number if isinstance(strike, Strike) else strike
        if not isinstance(number, int) or isinstance(number, bool) or number not in self._state.strikes:
            raise ExecutionError(f"There is no strike {number!r} in force. Those that are: {_listed(self._state.strikes)}.")
        self._check_restorable(self._state.strikes[number])
        self._engine.commit([StrikeUndone(number)])

    # --- time

    @_whole
    def rewind(self, index: int) -> None:
        """Go back to just after a message. What came after it stays in the record as a branch."""
        self._check_index(index)
        kept = tuple(strike for strike in self._state.strikes.values() if strike.index <= index)
        self._engine.move(self._engine.timeline.record_of_message(index), kept)
        self._watch.restart()

    @_whole
    def refresh(self) -> int:
        """Go on at what was said last, also by another process; how many messages are new.

        Where that process went another way, the conversation is at the end of its way, as after opening, and what was said
        here is a branch.
        """
        new = self._engine.refresh()
        self._tell_of_races()
        return new

    def _tell_of_races(self) -> None:
        """Say once that writers have made branches without wanting to: what is on them is not sent, and easily overlooked."""
        races = self._engine.timeline.records.races
        if races > self._known_races:
            said = "%s: writers went on from the same place %d times at once; what is not on the present path is in branches"
            _logger.warning(said, self._name, races)
        self._known_races = races

    @property
    @_whole
    def branches(self) -> list[Branch]:
        """Every way that the conversation went, the present one among them."""
        if not self._engine.is_closed:
            self._engine.timeline.read()
        return self._engine.timeline.branches()

    @_whole
    def switch(self, branch: Branch | int) -> None:
        """Go on at the end of another branch."""
        number = branch.number if isinstance(branch, Branch) else branch
        known = [one.number for one in self.branches]
        if not isinstance(number, int) or isinstance(number, bool) or number not in known:
            raise ExecutionError(f"There is no branch {number!r}. Those there are: {_listed(known)}.")
        self._engine.move(number)
        self._watch.restart()

    @_whole
    def fork(self, log: Log | str | os.PathLike[str] | None = None) -> "Conversation":
        """A conversation of its own, in a log of its own, that starts as this one is; in memory if no log is given.

        Its origin is this one.
        """
        records = [one.record for one in self._engine.timeline.path()]
        return self._begun_with([*records, Originated(self.name, f"forked after {len(self._state)} messages")], log)

    def request_at(
        self,
        index: int,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What was sent, or would have been, when a message had just been said. Nothing is recorded."""
        with self._lock:
            self._check_index(index)
            path = self._engine.timeline.path(self._engine.timeline.record_of_message(index))
            then = self._begun_with([one.record for one in path])
        return then.preview(now=now, rules=rules, schedule=schedule, model=model, preamble=preamble)

    # --- compaction

    @_whole
    def preview_compaction(self, *, keep_last: int) -> CompactionPlan:
        """What `compact` would replace and what it would keep. Nothing is changed."""
        return plan_compaction(self._state, keep_last, self._counter)

    def compact(
        self,
        summarize: Summarize,
        *,
        keep_last: int,
        in_place: bool = False,
        log: Log | str | os.PathLike[str] | None = None,
    ) -> "Conversation":
        """Replace older history by a summary; `summarize` is given the messages and returns the text.

        The result is a new conversation that names this one as its origin, stored beside it unless a log is given, and this
        one stays as it is; or, in place, this one with another view, which a rollback undoes. A summary that is empty, longer
        than what it replaces, or fails changes nothing and raises an ExecutionError that says why.
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

    @_whole
    def finish_compaction(
        self,
        steps: CompactionSteps,
        text: str,
        *,
        in_place: bool = False,
        log: Log | str | os.PathLike[str] | None = None,
    ) -> "Conversation":
        """Carry a compaction out with the text that was asked for."""
        check_methods("steps", steps, "send")
        try:
            steps.send(text)
        except StopIteration as finished:
            done: Compaction = finished.value
            return self._compacted_in_place(done) if in_place else self._compacted_anew(done, log)
        raise ExecutionError("The steps of this compaction were used before.")

    @_whole
    def compact_when(self, *, tokens: int, summarize: Summarize, keep_last: int, most_failures: int = 3) -> None:
        """Compact in place whenever `check_tokens` finds more than so many. After failures in a row it stops trying."""
        for what, value in {"tokens": tokens, "keep_last": keep_last, "most_failures": most_failures}.items():
            check_count(what, value)
        check_function("summarize", summarize)
        self._auto = AutoCompaction(tokens, summarize, keep_last, Breaker(most_failures))

    # --- tokens

    @_whole
    def record_usage(
        self,
        usage: object = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        cache_write_1h_tokens: int = 0,
    ) -> None:
        """What the provider reported for the last request: its usage object as it is, or numbers.

        Numbers: `input_tokens` is all that was sent, cached or not; where it is less than what was cached, the cached tokens
        are taken to come on top, as Anthropic counts. `cache_write_1h_tokens` are those of `cache_write_tokens` that went to
        the one-hour cache.
        """
        if usage is None:
            if input_tokens is None:
                raise ValidationError("record_usage needs the provider's usage object, or input_tokens=…")
            usage = {
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "cache_read_tokens": cache_read_tokens,
                "cache_write_tokens": cache_write_tokens,
                "cache_write_1h_tokens": cache_write_1h_tokens,
            }
        counts = read_usage(usage)
        self._engine.commit([UsageReported.of(counts)])
        self._tell_usage(counts)

    @_whole
    def check_tokens(self) -> int:
        """The tokens of what is sent of the visible messages, as reported and estimated. Tells the callbacks when the limit
        is passed."""
        used = self._watch.check(self._used_tokens())
        if self._auto is not None and used > self._auto.tokens and not self._auto.breaker.is_open:
            self._compact_by_itself(self._auto)
            used = self._used_tokens()
        return used

    def on_token_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with (used, limit), once for each time that the limit is passed."""
        check_function("callback", callback)
        self._watch.on_limit(callback)

    def close(self) -> None:
        """Let go of the log's files and connections. What was said is stored already, and can still be looked at here."""
        with self._lock:
            if self._engine.is_closed:
                return
            if self._engine.timeline.has_appended and not self._is_broken:  # who only read leaves no trace
                self._engine.save_checkpoints()
            self._engine.is_closed = True
            self._engine.timeline.log.close()

    # --- what is sent

    @_whole
    def request(
        self,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What to send now. The strikes it applies are recorded and stay.

        Everything is as the conversation's policy says, unless it is said here. `now` is in milliseconds since 1970, the
        clock's by default; `model` is the one that the request goes to, `preamble` what is sent ahead of the messages: system
        prompt, tools. Either is as in the request before if nobody said it.
        """
        watch = start_stopwatch()
        settings, ask = self._asked(now, rules, schedule, model, preamble)
        check_blobs(settings.rules, self._blobs)
        made = self._finished(self._engine.request(settings, ask), ask)
        self._engine.tell(made, settings, self._name)
        if watch is not None:
            watch.stop(made, self._policy, address=self._name if self._address else "")
            self._observed = made
        return made

    @_whole
    def preview(
        self,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | str | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What `request` would give. Nothing is recorded, and nothing changes by it."""
        settings, ask = self._asked(now, rules, schedule, model, preamble)
        return self._finished(self._engine.preview(settings, ask), ask)

    @_whole
    def recall(
        self,
        reference: str,
        *,
        lines: str | Sequence[int] | None = None,
        grep: str | None = None,
        max_chars: int | None = 30_000,
    ) -> str:
        """What the stub of a struck or an offloaded result refers to, all or some lines of it."""
        state = self._state

        def shown_message(index: int) -> Message | None:
            return state.message(index, state.view.version_of(index)) if index < len(state) else None

        return recall_from(reference, shown_message, self._blobs, lines=lines, grep=grep, max_chars=max_chars)

    # --- what a request is made with

    def _time(self, given: float | None, what: str) -> float:
        if given is not None:
            return check_time_ms(given, what)
        return check_time_ms(self._clock(), "the clock's time")

    def _asked(
        self,
        now: float | None,
        rules: Sequence[Rule | str] | None,
        schedule: Schedule | str | None,
        model: Model | None,
        preamble: object,
    ) -> tuple[Settings, Ask]:
        """What a request is made with: what its caller said, else what the conversation says."""
        if preamble is None and (self._system is not None or self._tools):
            preamble = {"system": self._system, "tools": list(self._tools)}
        time_ms, before = self._time(now, "now"), self._state.requests.sent_to
        sent_to = self._destinations.find(model if model is not None else self._model, preamble, before)
        known = model or self._model or (sent_to.model if sent_to is not None and sent_to.model else None)
        ask = Ask(time_ms, self._policy.made_schedule(schedule, known), sent_to)
        return self._settings(rules, sent_to.model if sent_to is not None else model_name(self._model)), ask

    def _settings(self, rules: Sequence[Rule | str] | None, model: str) -> Settings:
        format = self._state.format
        is_beside = format.has_system_messages and not format.takes_later_system(model)
        return self._policy.settings(rules, lifts_all_system=is_beside)

    def _finished(self, made: Request, ask: Ask) -> Request:
        """The request with what the conversation says of it."""
        return dataclasses.replace(
            made,
            schedule=ask.schedule.name,
            model=ask.sent_to.model if ask.sent_to is not None else "",
            system=join_system(self._system, made.system),
            tools=self._tools,
        )

    def _tell_usage(self, usage: Usage) -> None:
        made = self._observed
        tell_usage(usage, made, model=self._model or (made.model if made is not None else None))

    def _used_tokens(self) -> int:
        return self._engine.workings(self._settings(None, model_name(self._model))).used_tokens()

    # --- compaction, copies, formats

    def _compacted_in_place(self, done: Compaction) -> "Conversation":
        gone = {*done.plan.replaced, *done.plan.head}
        tail = [index for index in self._state.view.indices if index not in gone]  # what was said meanwhile included
        shown = (*done.plan.head, len(self._state), *tail)
        boundary = min(tail, default=len(self._state))
        self._check_view(self._state.view.with_indices(shown), [done.summary])
        self._engine.commit([ViewChanged(runs_of(shown), (done.summary,), boundary=boundary, is_compaction=True)])
        self._watch.restart()
        return self

    def _compacted_anew(self, done: Compaction, log: Log | str | os.PathLike[str] | None) -> "Conversation":
        kept = [MessageAdded(self._state.payload(index), self._state.time_of(index)) for index in done.plan.tail]
        head = [MessageAdded(self._state.payload(index)) for index in done.plan.head]
        origin = Originated(self.name, f"compacted: {len(done.plan.replaced)} messages became a summary")
        beside = unused_address(self._address) if log is None and self._address is not None else log
        return self._begun_with([origin, *head, MessageAdded(done.summary), *kept], beside)

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

    def _begun_with(self, records: Sequence[Record], log: Log | str | os.PathLike[str] | None = None) -> "Conversation":
        """Another conversation with the same settings, that begins with these records."""
        check_log(log)
        address = os.fspath(log) if isinstance(log, str | os.PathLike) else None
        target = log if log is not None and not isinstance(log, str | os.PathLike) else None
        if address is not None:
            target = open_log(
                address, header=Header(conversation=masked(address), message_format=self.format), redact=self._redact
            )
            if next(iter(target.read()), None) is not None:
                target.close()
                raise ExecutionError(f"There is a conversation at {masked(address)} already. Name another place.")
        target = target if target is not None else MemoryLog()
        if records:
            target.append(records, parent=ROOT)
        return Conversation(
            policy=self._policy,
            model=self._model,
            system=self._system,
            tools=self._tools,
            token_limit=self._watch.limit,
            log=target,
            clock=self._clock,
            format="auto" if self._engine.fixed_format is None else self._engine.fixed_format.name,
            blobs=self._blobs,
            counter=self._counter,
            redact=self._redact,
            name=address,
        )

    def _apply(self, operation: Operation) -> None:
        state = self._state
        outcome = operation.apply(Context(state.view, state, self._tool_description))
        appended = [payload for message in outcome.appended for payload in self._in_own_format(message)]
        if len(appended) != len(outcome.appended):
            raise ExecutionError(f"What is to be shown cannot be said in {self.format} in as many messages.")
        self._check_view(outcome.view, appended, outcome.replaced)
        change = ViewChanged(
            indices=runs_of(outcome.view.indices),
            appended=tuple(appended),
            replaced=tuple((index, payloads.encoded(payload)) for index, payload in outcome.replaced.items()),
            boundary=outcome.boundary,
        )
        self._engine.commit([change])
        if outcome.boundary is not None:
            self._watch.restart()

    def _in_own_format(self, message: Payload) -> list[bytes]:
        """The message as it is stored: in the conversation's format, and without secrets if a redaction is set."""
        given = payloads.encoded(message)
        if self._redact is not None:
            given = self._redact(given)
            check_message(given, "What redact makes of the message")
        if self._state.accepts(message if self._redact is None else given):
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

    def _check_restorable(self, *strikes: Strike) -> None:
        for strike in strikes:
            if problem := restoring_problem(self._state, strike):
                raise ExecutionError(f"Strike {strike.number} on message {strike.index} must stay. {problem}")

    def _check_view(self, view: View, appended: Sequence[bytes] = (), replaced: Collection[int] = ()) -> None:
        """Refuse a view that the model would not take: one that changes what its reasoning is bound to in mid-turn."""
        is_open = self._is_open(view, appended)
        if problem := view_problem(self._state, view, is_open=is_open, replaced=replaced):
            raise ExecutionError(f"{problem} Do it when the model has answered without a call. Nothing was changed.")

    def _is_open(self, view: View, appended: Sequence[bytes] = ()) -> bool:
        """Whether what is shown ends in calls, or in their results: the model goes on from there."""
        if not view.indices:
            return False
        state, last = self._state, view.indices[-1]
        message = state.format.read(appended[last - len(state)]) if last >= len(state) else state.current(last)
        return bool(message.calls or message.results)

    def _check_index(self, index: int) -> None:
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self._state):
            raise ExecutionError(f"There is no message {index!r}: {len(self._state)} are stored, numbered from 0.")


def _checked_system(system: object) -> str | tuple[Mapping[str, Any], ...] | None:
    """A system prompt, as text or in blocks."""
    if system is None or isinstance(system, str):
        return system
    if isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        return tuple(system)
    raise ValidationError(f"system must be a text, or a list of blocks as the provider takes it, not {shown(system)}")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _losses(lost: Sequence[object]) -> str:
    return f"; not carried: {'; '.join(map(str, lost))}" if lost else ""
