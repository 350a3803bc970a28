"""A conversation: its history, the requests built from it, its tokens, compaction and forks."""

import dataclasses
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import msgspec

from redline.conversation import observing
from redline.conversation.compacting import AutoCompaction, CompactingConversation
from redline.conversation.history import now_ms, synchronized
from redline.conversation.origins import MessageFinder, Origins
from redline.engine.compaction import Breaker, TokenWatch
from redline.engine.derived_state import Settings
from redline.engine.limits import learn_from
from redline.engine.project import DestinationFinder, RequestContext
from redline.engine.request import Request
from redline.engine.state import State
from redline.errors import ExecutionError, ValidationError
from redline.policy.policy import CONVERSATION_POLICY, Policy, check_blobs, make_policy
from redline.policy.presets import PresetName
from redline.prices.find import Model, check_model, model_name, price_of
from redline.providers.answers import read_answer
from redline.providers.arguments import describe_tools, join_system
from redline.providers.limits.refusals import read_refusal
from redline.providers.limits.surplus_tools import called_tools, tool_count, without_surplus_tools
from redline.providers.limits.table import limits_of
from redline.providers.usage import Usage, read_usage
from redline.record import Header
from redline.record.addresses import masked
from redline.record.backends.memory import MemoryLog
from redline.record.blobs import Blobs
from redline.record.blobs.opening import make_blobs
from redline.record.blobs.retrieval import recall_from
from redline.record.blobs.search import search_record
from redline.record.log import ROOT, Log
from redline.record.opening import check_log, open_log
from redline.record.records import Destination, ForkedFrom, MessageAdded, Record, StrikesApplied, UsageReported
from redline.repair import Strategy
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.schedules import Schedule, ScheduleName
from redline.tokens import Counter, check_counter, default_counter
from redline.values.checks import check_count, check_function, make_list, short_repr
from redline.values.messages import Message, find_generation
from redline.values.payloads import Payload

__all__ = ["AutoCompaction", "Conversation", "now_ms"]

_logger = logging.getLogger("redline.conversation")

P = ParamSpec("P")
T = TypeVar("T")


class Conversation(CompactingConversation):
    """Keeps all messages and a view of them. Operations change the view, never a message; a request is worked out from it."""

    def __init__(
        self,
        messages: Iterable[Payload] = (),
        *,
        policy: Policy | PresetName | None = None,
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
        self._policy, self._blobs = dataclasses.replace(make_policy(policy, CONVERSATION_POLICY), **given), make_blobs(blobs)
        check_blobs(self._policy.made_rules(), self._blobs)
        said = make_list("messages", messages)
        self._model, self._system, self._tools = check_model(model), _checked_system(system), make_list("tools", tools)
        self._model_name = model_name(self._model)
        self._counter = default_counter() if counter is None else counter
        check_counter(self._counter)
        if token_limit is not None:
            check_count("token_limit", token_limit)
        check_function("clock", clock)
        if redact is not None:
            check_function("redact", redact)
        self._clock, self._redact = clock, redact
        self._tool_description = describe_tools(self._tools, self._policy.words)
        self._watch, self._destinations = TokenWatch(token_limit), DestinationFinder(self._counter)
        self._auto: AutoCompaction | None = None
        self._summaries = Breaker()
        self._open_origin: Callable[[], tuple[State, Origins]] | None = None
        self._known_origins: Origins | None = None
        self._is_copy = False
        self._observed: Request | None = None
        """The last request, while somebody observes."""
        super().__init__(log, format=format, name=name, model=self._model_name, counter=self._counter, blobs=self._blobs)
        for message in said:
            self.add(message)

    @property
    def policy(self) -> Policy:
        """The settings of its requests."""
        return self._policy

    @synchronized
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
            self._notify_usage(answer.usage)
        return len(self._state) - 1

    @synchronized
    def fork(self, log: Log | str | os.PathLike[str] | None = None) -> "Conversation":
        """A conversation of its own, in a log of its own, that starts as this one is; in memory if no log is given.

        Its origin is this one.
        """
        records = [one.record for one in self._engine.timeline.path()]
        return self._begun_with([*records, self._as_origin(f"forked after {len(self._state)} messages")], log)

    def request_at(
        self,
        index: int,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | ScheduleName | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What was sent, or would have been, when a message had just been said. Nothing is recorded."""
        with self._lock:
            self._check_index(index)
            path = self._engine.timeline.path(self._engine.timeline.record_of_message(index))
            then = self._begun_with([one.record for one in path])
        return then.preview(now=now, rules=rules, schedule=schedule, model=model, preamble=preamble)

    # --- tokens

    @synchronized
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
        self._notify_usage(counts)

    @synchronized
    def check_tokens(self) -> int:
        """The tokens that are sent, as reported and estimated; callbacks are told when the limit is passed."""
        used = self._watch.check(self._used_tokens())
        if self._auto is not None and used > self._auto.tokens and not self._auto.breaker.is_open:
            self._compact_by_itself(self._auto)
            used = self._used_tokens()
        return used

    def on_token_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with (used, limit), once for each time that the limit is passed."""
        check_function("callback", callback)
        self._watch.on_limit(callback)

    # --- what is sent

    @synchronized
    def request(
        self,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | ScheduleName | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What to send now. The strikes it applies are recorded and stay.

        Everything is as the conversation's policy says, unless it is said here. `now` is in milliseconds since 1970, the
        clock's by default; `model` is the one that the request goes to, `preamble` what is sent ahead of the messages: system
        prompt, tools. Either is as in the request before if nobody said it.
        """
        watch = observing.Stopwatch() if observing.observer is not None else None
        made = self._made(now, rules, schedule, model, preamble, is_recorded=True)
        if watch is not None:
            watch.stop(made, self._policy, address=self._name if self._address else "")
            self._observed = made
        return made

    @synchronized
    def learn_limit(self, status: int, error: bytes | str) -> str:
        """Keep from now on the limit that a provider's error names, in the words of `error`; the next request obeys it.

        The limit's name; empty, and nothing is recorded, if the error is about something else.
        """
        refused = read_refusal(status, error)
        if refused is None:
            return ""
        if refused.name == "request_bytes" and not refused.given:
            body = self._made(None, None, None, None, None, is_recorded=False).body
            refused = msgspec.structs.replace(refused, given=len(body) + self._destinations.preamble_bytes)
        work = self._engine.derived_state(self._settings(None, self._model_name))
        if learned := learn_from(work, refused, self._state.requests.sent_to):
            self._engine.commit([StrikesApplied((), learned_limits=learned)])
        return refused.name

    @synchronized
    def preview(
        self,
        *,
        now: float | None = None,
        rules: Sequence[Rule | str] | None = None,
        schedule: Schedule | ScheduleName | None = None,
        model: Model | None = None,
        preamble: object = None,
    ) -> Request:
        """What `request` would give. Nothing is recorded, and nothing changes by it."""
        return self._made(now, rules, schedule, model, preamble, is_recorded=False)

    @synchronized
    def recall(
        self,
        reference: str,
        *,
        lines: str | Sequence[int] | None = None,
        grep: str | None = None,
        max_chars: int | None = 30_000,
    ) -> str:
        """What the stub of a struck or an offloaded result refers to, all or some lines of it."""
        generation = find_generation(reference) if isinstance(reference, str) else None
        find: MessageFinder = self._shown_message
        if generation is not None and generation != self._state.ancestors:
            find = self._origins().finder(generation)
        return recall_from(reference, find, self._blobs, lines=lines, grep=grep, max_chars=max_chars)

    @synchronized
    def search(self, words: str = "", *, grep: str | None = None, limit: int = 10, max_chars: int = 2_000) -> str:
        """The lines of all that was said that have the most of the words, each with the reference that `recall` takes.

        What is struck, folded or hidden is looked through as what is sent is. With `grep`, only lines in which a regular
        expression is found. At most `limit` lines are given, and about `max_chars` characters.
        """
        count = len(self._state)
        return search_record(words, self._shown_message, count, grep=grep, limit=limit, max_chars=max_chars)

    def _shown_message(self, index: int) -> Message | None:
        state = self._state
        return state.message(index, state.view.version_of(index)) if index < len(state) else None

    # --- what a request is made with

    def _made(
        self,
        now: float | None,
        rules: Sequence[Rule | str] | None,
        schedule: Schedule | ScheduleName | None,
        model: Model | None,
        preamble: object,
        *,
        is_recorded: bool,
    ) -> Request:
        """A request with what its caller said, else with what the conversation says."""
        said = model, preamble
        if preamble is None and (self._system is not None or self._tools):
            preamble = {"system": self._system, "tools": list(self._tools)}
        time_ms, before = self._time(now, "now"), self._engine.state.requests.sent_to
        sent_to = self._destinations.find(model if model is not None else self._model, preamble, before)
        known = model or self._model or (sent_to.model if sent_to is not None and sent_to.model else None)
        context = RequestContext(
            time_ms,
            self._policy.made_schedule(schedule, known),
            sent_to,
            preamble_bytes=self._destinations.preamble_bytes,
        )
        if self._policy.compact_at is not None:
            talk = self if is_recorded or self._is_copy else self._copy()
            if talk._compact_when_due(self._window(known), context.schedule, time_ms, sent_to) and talk is not self:
                return talk._made(time_ms, rules, schedule, *said, is_recorded=False)
        settings = self._settings(rules, sent_to.model if sent_to is not None else self._model_name)
        if is_recorded and rules is not None:
            check_blobs(settings.rules, self._blobs)
        made = (self._engine.request if is_recorded else self._engine.preview)(settings, context)
        made = dataclasses.replace(
            made,
            schedule=context.schedule.name,
            model=sent_to.model if sent_to is not None else "",
            system=self._system if made.system is None else join_system(self._system, made.system),
            tools=self._fitting_tools(sent_to),
        )
        if is_recorded:
            self._engine.tell(made, settings, self._name)
        return made

    def _fitting_tools(self, sent_to: Destination | None) -> tuple[Any, ...]:
        """The tools, as many as the model's provider takes."""
        state, model = self._state, sent_to.model if sent_to is not None else ""
        most = limits_of(state.format.name, model).lowered(state.learned_limits).tools
        if not most or tool_count(self._tools) <= most:
            return self._tools
        called = called_tools(map(state.current, state.view.indices), state.format)
        return tuple(without_surplus_tools(self._tools, most, called)[0])

    def _settings(self, rules: Sequence[Rule | str] | None, model: str) -> Settings:
        format = self._engine.state.format
        is_beside = format.has_system_messages and not format.takes_later_system(model)
        return self._policy.settings(rules, lifts_all_system=is_beside)

    def _notify_usage(self, usage: Usage) -> None:
        made = self._observed
        observing.notify_usage(usage, made, model=self._model or (made.model if made is not None else None))

    def _used_tokens(self) -> int:
        return self._engine.derived_state(self._settings(None, self._model_name)).used_tokens()

    # --- copies

    def _window(self, model: Model | None) -> float | None:
        """So many tokens have room: the limit that was set, else the window of the model."""
        price = price_of(model) if model is not None else None
        return self._watch.limit or (price.window_tokens if price is not None else None)

    def _copy(self) -> "Conversation":
        """This conversation in memory, to see what would become of it."""
        made = self._begun_with([one.record for one in self._engine.timeline.path()])
        made._is_copy, made._background = True, self._background
        return made

    def _as_origin(self, why: str) -> ForkedFrom:
        """What a conversation that goes on from this one says of it."""
        head = self._engine.timeline.head
        return ForkedFrom(self.name, why, generation=self._state.ancestors + 1, record=head if head != ROOT else None)

    def _origins(self) -> Origins:
        if self._known_origins is None or self._known_origins.forked_from != self._state.forked_from:
            self._known_origins = Origins(self._state.forked_from, self._address, self._open_origin)
        return self._known_origins

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
        target = MemoryLog() if target is None else target
        if records:
            target.append(records, parent=ROOT)
        made = Conversation(
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
        if self._address is None:  # in memory: there is no other way back
            state, origins = self._state, self._origins()
            made._open_origin = lambda: (state, origins)
        return made


def _checked_system(system: object) -> str | tuple[Mapping[str, Any], ...] | None:
    """A system prompt, as text or in blocks."""
    if system is None or isinstance(system, str):
        return system
    if isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        return tuple(system)
    raise ValidationError(f"system must be a text, or a list of blocks as the provider takes it, not {short_repr(system)}")
