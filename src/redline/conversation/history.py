"""The history of a conversation: its messages, its view of them, and every operation that changes either."""

import dataclasses
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from redline.engine.bound_reasoning import restoring_problem, view_problem
from redline.engine.compaction import TokenWatch
from redline.engine.engine import Engine
from redline.engine.state import State, runs_of
from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.providers import check_message, find_format, format_of_model
from redline.providers.sdk_objects import plain_message
from redline.providers.translate import adapt
from redline.record.addresses import masked
from redline.record.backends.memory import MemoryLog
from redline.record.blobs import Blobs
from redline.record.log import Log, Redact
from redline.record.opening import check_log, check_stored_format, open_log
from redline.record.records import MessageAdded, PinSet, RolledBack, Strike, StrikeUndone, ViewChanged
from redline.record.timeline import Branch
from redline.tokens import Counter
from redline.values import payloads
from redline.values.checks import check_time_ms
from redline.values.payloads import Payload
from redline.view.operations import Context, Insert, Operation, Replace, StartBatch, parse_operation
from redline.view.view import View

_logger = logging.getLogger("redline.conversation")

P = ParamSpec("P")
T = TypeVar("T")
Talk = TypeVar("Talk", bound="ConversationHistory")


def now_ms() -> float:
    """The time of this computer, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def synchronized(method: Callable[Concatenate[Talk, P], T]) -> Callable[Concatenate[Talk, P], T]:
    """One call at a time, from any thread. One that is broken off (Ctrl-C) is not done at all."""

    @functools.wraps(method)
    def call(talk: Talk, /, *args: P.args, **settings: P.kwargs) -> T:
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


class ConversationHistory:
    """Keeps all messages and a view of them. Operations change the view, never a message."""

    _clock: Callable[[], float]
    _redact: Redact | None
    _watch: TokenWatch
    _tool_description: str | None
    _is_broken = False
    _known_races = 0

    def __init__(
        self,
        log: Log | str | os.PathLike[str] | None,
        *,
        format: str,
        name: str | None,
        model: str,
        counter: Counter,
        blobs: Blobs | None,
    ) -> None:
        check_log(log)
        fixed = None if format == "auto" else find_format(format)
        if name is not None and not isinstance(name, str):
            raise ValidationError(f"name must be text, not {type(name).__name__}")
        self._lock, self._address = threading.RLock(), name or None
        if isinstance(log, str | os.PathLike):
            self._address, log = name or os.fspath(log), open_log(log, redact=self._redact)
            if fixed is not None:
                check_stored_format(log, fixed.name)
        self._name = masked(self._address or "memory")
        self._engine = Engine(MemoryLog() if log is None else log, fixed, counter, blobs)
        if fixed is None and (preferred := format_of_model(model)) in self._state.votes:
            self._engine.fix_format(find_format(preferred))
        self._tell_of_races()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self._state
        shown, stored = len(state.view.indices), len(state)
        count = f"{stored} messages" if shown == stored else f"{shown} of {stored} messages visible"
        folds = sum(one.is_fold for one in state.strikes.values())
        folded = f", {folds} folds" if folds else ""
        return f"<Conversation {self._name!r}: {state.format.name}, {count}, {len(state.strikes) - folds} strikes{folded}>"

    @property
    def _state(self) -> State:
        return self._engine.state

    # --- what there is

    @property
    @synchronized
    def messages(self) -> list[Any]:
        """The visible messages. Copies: changing them changes nothing here."""
        return [payloads.decode(self._state.payload(index)) for index in self._state.view.indices]

    @property
    @synchronized
    def all_messages(self) -> list[Any]:
        """Every message by its index, each in the version that counts. Copies."""
        return [payloads.decode(self._state.payload(index)) for index in range(len(self._state))]

    @property
    @synchronized
    def visible_indices(self) -> list[int]:
        """The indices of the visible messages, in the order in which they are shown."""
        return list(self._state.view.indices)

    @property
    def name(self) -> str:
        """The address of its log, without a password, or `memory`."""
        return self._name

    @property
    @synchronized
    def origin(self) -> str | None:
        """What the conversation goes on from: another conversation, or a session file of another agent."""
        return self._state.origin

    @property
    @synchronized
    def format(self) -> str:
        """The name of the messages' format."""
        return self._state.format.name

    @property
    @synchronized
    def current_batch(self) -> int:
        """The number of the current batch."""
        return self._state.batches.current

    @property
    @synchronized
    def batches(self) -> list[int]:
        """The numbers of the batches for `rollback`, the current batch included."""
        return list(self._state.batches.numbers)

    @property
    @synchronized
    def batch_boundaries(self) -> list[int]:
        """For each batch up to the current one its boundary."""
        return list(self._state.batches.boundaries)

    @property
    @synchronized
    def strikes(self) -> tuple[Strike, ...]:
        """The strikes in force, folds among them (`is_fold`)."""
        return tuple(self._state.strikes.values())

    # --- what changes it

    @synchronized
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

    @synchronized
    def process(self, config: Mapping[str, Any]) -> None:
        """Change what is visible: truncate, insert, replace, clear or filter. What fails changes nothing."""
        operation = parse_operation(config)
        if isinstance(operation, Insert):
            own = tuple(payload for message in operation.messages for payload in self._in_own_format(message))
            operation = dataclasses.replace(operation, messages=own)
        elif isinstance(operation, Replace):
            own = tuple(self._in_own_format(operation.message))
            if len(own) != 1:
                raise ValidationError(f"The message becomes {len(own)} messages in {self.format}; only one can replace one.")
            operation = dataclasses.replace(operation, message=own[0])
        self._apply(operation)

    @synchronized
    def start_batch(self, boundary: int) -> None:
        """Open a batch at an index and hide what is visible before it."""
        self._apply(StartBatch(boundary))

    @synchronized
    def rollback(self, batch: int) -> None:
        """Show again what was visible when that batch ended. Later batches are gone; no message is."""
        if self._state.batches.rolled_back(batch) is self._state.batches:
            return
        self._check_view(self._state.batches.view_of(batch, self._state.view))
        self._engine.commit([RolledBack(batch)])
        self._watch.restart()

    @synchronized
    def pin(self, index: int) -> None:
        """Never strike this message; strikes on it are undone."""
        self._check_index(index)
        self._check_restorable(*self._state.strikes_on(index))
        self._engine.commit([PinSet(index)])

    @synchronized
    def unpin(self, index: int) -> None:
        """Let rules strike this message again."""
        self._check_index(index)
        self._engine.commit([PinSet(index, is_pinned=False)])

    @synchronized
    def undo(self, strike: Strike | int) -> None:
        """Send a part as it was said again; the rule that struck it leaves it alone from now on."""
        number = strike.number if isinstance(strike, Strike) else strike
        if not isinstance(number, int) or isinstance(number, bool) or number not in self._state.strikes:
            raise ExecutionError(f"There is no strike {number!r} in force. Those that are: {_listed(self._state.strikes)}.")
        self._check_restorable(self._state.strikes[number])
        self._engine.commit([StrikeUndone(number)])

    # --- time

    @synchronized
    def rewind(self, index: int) -> None:
        """Go back to just after a message. What came after it stays in the record as a branch."""
        self._check_index(index)
        kept = tuple(strike for strike in self._state.strikes.values() if strike.index <= index)
        self._engine.move(self._engine.timeline.record_of_message(index), kept)
        self._watch.restart()

    @synchronized
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
    @synchronized
    def branches(self) -> list[Branch]:
        """Every branch of the conversation, the present branch among them."""
        if not self._engine.is_closed:
            self._engine.timeline.read()
        return self._engine.timeline.branches()

    @synchronized
    def switch(self, branch: Branch | int) -> None:
        """Go on at the end of another branch."""
        number = branch.number if isinstance(branch, Branch) else branch
        known = [one.number for one in self.branches]
        if not isinstance(number, int) or isinstance(number, bool) or number not in known:
            raise ExecutionError(f"There is no branch {number!r}. Those there are: {_listed(known)}.")
        self._engine.move(number)
        self._watch.restart()

    def close(self) -> None:
        """Let go of the log's files and connections. What was said is stored already, and can still be looked at here."""
        with self._lock:
            if self._engine.is_closed:
                return
            if self._engine.timeline.has_appended and not self._is_broken:  # who only read leaves no trace
                self._engine.save_checkpoints()
            self._engine.is_closed = True
            self._engine.timeline.log.close()

    # --- the pieces

    def _time(self, given: float | None, what: str) -> float:
        return check_time_ms(self._clock(), "the clock's time") if given is None else check_time_ms(given, what)

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
        losses = f"; not carried: {'; '.join(map(str, done.lost))}" if done.lost else ""
        _logger.warning("A message of another format was converted to %s%s", self.format, losses)
        return [payloads.encoded(payload) for payload in done.messages]

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


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
