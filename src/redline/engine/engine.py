"""The engine of one conversation: its record, the state that the records add up to, and the requests made from it."""

import dataclasses
import logging
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol

from redline.engine.bound_reasoning import restoring_problem
from redline.engine.derived_state import DerivedState, Settings
from redline.engine.fold_words import deed_of
from redline.engine.limits import learn_from
from redline.engine.project import Projection, RequestContext, project
from redline.engine.request import Lifted, Request
from redline.engine.state import State
from redline.errors import ExecutionError, LogError, RedlineError
from redline.providers.format import Format
from redline.record.backends.memory import MemoryLog
from redline.record.blobs import Blobs
from redline.record.blobs.whole_results import WholeFolders
from redline.record.log import ROOT, Log, Stored
from redline.record.records import HeadMoved, Lift, Record, Strike, StrikesApplied, StrikesLifted, messages_in
from redline.record.timeline import Timeline
from redline.schedules.bill import OpenBill
from redline.tokens import Counter
from redline.values.payloads import Path

_logger = logging.getLogger("redline.conversation")
_request_logger = logging.getLogger("redline.request")


class Engine:
    """Appends records, keeps the state they add up to, and makes requests. One at a time: the caller holds a lock."""

    def __init__(
        self,
        log: Log | Timeline,
        format: Format | None,
        counter: Counter,
        blobs: Blobs | None = None,
        wholes: WholeFolders | None = None,
    ) -> None:
        self.timeline = log if isinstance(log, Timeline) else Timeline(log)
        self._expects_branches = isinstance(log, Timeline)
        """Whether the tree is shared with others, who go their own ways."""
        self._format, self._counter, self._blobs, self._wholes = format, counter, blobs, wholes or WholeFolders()
        self.is_closed = False
        """Whether nothing may be added any more."""
        self._rebuild_state_at(self.timeline.head)

    def fix_format(self, format: Format) -> None:
        """Read all messages in this format from now on."""
        self._format = format
        self._rebuild_state_at(self.timeline.head)

    @property
    def fixed_format(self) -> Format | None:
        """The format that was given, if one was; else the messages decide it."""
        return self._format

    # --- the record

    def check_open(self) -> None:
        """Refuse to go on with a conversation that was closed: its log would be opened, and claimed, once more."""
        if self.is_closed:
            raise ExecutionError("This conversation was closed. Open it again.")

    def commit(self, records: Sequence[Record]) -> None:
        """Append records and take them into the state. One that the state would refuse is not appended."""
        self.check_open()
        for record in records:
            self.state.check(record)
        if not self.timeline.append(list(records)) and not self._expects_branches:
            _logger.warning("Another process went on from the same place: the conversation has a new branch")
        for record in records:
            self.state.apply(record, is_checked=True)

    def follow(self, records: Sequence[Stored]) -> None:
        """Take in records that others have appended after the one that this is at, up to the last of them."""
        for one in records:
            self.state.apply(one.record)
            self.timeline.head = one.number

    def refresh(self) -> int:
        """Go to what was added last, by whomever; how many messages are new on the way there."""
        self.check_open()
        before = [one.number for one in self.timeline.path()]
        self.timeline.read()
        latest = self.timeline.latest()
        after = self.timeline.path(latest)
        if [one.number for one in after[: len(before)]] == before:
            new = after[len(before) :]
            self.follow(new)
        else:
            known = set(before)
            new = [one for one in after if one.number not in known]
            self.timeline.head = latest
            self._rebuild_state_at(latest)
        return sum(len(messages_in(one.record)) for one in new)

    def move(self, number: int, kept: tuple[Strike, ...] = ()) -> None:
        """Make a record the one to go on from; there, the strikes that are kept come into force.

        What was undone or pinned on messages that both ways have holds there, too. Where a model binds its reasoning, strikes
        stay on their branch: the reasoning of the other one was made without them.
        """
        self.check_open()
        sent_to = self.state.requests.sent_to
        kept = () if sent_to is not None and sent_to.binds_reasoning else kept
        there, known = self._state_at(number), {one.number for one in self.timeline.path()}
        common = sum(len(messages_in(one.record)) for one in self.timeline.path(number) if one.number in known)

        def must_stay(strike: Strike) -> bool:
            return restoring_problem(there, strike) != ""

        record = head_moved(self.state, there, common=common, kept=kept, must_stay=must_stay)
        there.check(record)
        self.timeline.append([record], parent=number)
        self._rebuild_state_at(self.timeline.head)

    def recover(self) -> None:
        """After a call that was broken off: what was stored counts, what was only worked out is worked out again."""
        self.timeline.read()
        self._rebuild_state_at(self.timeline.head)

    def _rebuild_state_at(self, head: int) -> None:
        self.state = self._state_at(head)
        self._derived_states: list[DerivedState] = []

    def _state_at(self, head: int) -> State:
        """Work out the state at a record."""
        state = State(self._format)
        for records, checkpoint in self.timeline.path_by_checkpoints(head):
            state.apply_all(records, checkpoint)
        return state

    # --- requests

    def derived_state(self, settings: Settings) -> DerivedState:
        """What was worked out for these settings. It is kept for those of the conversation, and for those that the last request
        with settings of its own came with."""
        for known in self._derived_states:
            if known.settings is settings or known.settings == settings:
                return known
        self._derived_states = [DerivedState(self.state, settings, self._counter), *self._derived_states[:1]]
        return self._derived_states[0]

    def request(self, settings: Settings, context: RequestContext) -> Request:
        """What to send now. The strikes it applies are recorded and stay."""
        self.check_open()
        # A strike's number is its name for `undo`, so that none is given out again that a strike on another branch has.
        self.state.next_strike = max(self.state.next_strike, self.timeline.records.next_strike)
        try:
            lifted = self._lift(settings, context.now) if self.state.strikes else ()
            work = self.derived_state(settings)
            if context.refused is not None:
                context = dataclasses.replace(context, learned=learn_from(work, context.refused, context.sent_to))
            done = project(work, context)
            no_blobs = self._store_blobs(done.blobs) if done.blobs else ""
            put = (self._wholes.put(folder, content) for folder, content in (done.wholes if context.is_sent else ()))
            if (no_whole := next(filter(None, put), "")) or no_blobs:
                done = project(work, dataclasses.replace(context, no_blobs=no_blobs, no_whole=no_whole))
            bill = self._record(done, context, settings)
            work.marks.settle(done.pending, done.marked_at)
            work.book(done.strikes, done.ledger, done.refused)
        except BaseException:  # what was worked out for it may be half done
            self._derived_states = []
            raise
        self._save_checkpoint(work)
        return dataclasses.replace(done.request, lifted=lifted, bill=bill)

    def preview(self, settings: Settings, context: RequestContext) -> Request:
        """What `request` would give. Nothing is recorded, and nothing changes by it."""
        self.state.next_strike = max(self.state.next_strike, self.timeline.records.next_strike)
        try:
            if self.state.strikes and self._lifts(settings, context.now):
                log = MemoryLog()
                log.append([one.record for one in self.timeline.path()], parent=ROOT)
                apart = Engine(log, self._format, self._counter)
                apart.state.next_strike = self.state.next_strike
                lifted = apart._lift(settings, context.now)
                return dataclasses.replace(apart.preview(settings, context), lifted=lifted)
            return project(self.derived_state(settings), context).request
        except BaseException:
            self._derived_states = []
            raise

    def save_checkpoints(self) -> None:
        """What was worked out need not be worked out again when the conversation is opened next."""
        for work in self._derived_states:
            self._save_checkpoint(work)

    def _save_checkpoint(self, work: DerivedState) -> None:
        checkpoint = None if isinstance(self.timeline.log, MemoryLog) else work.checkpoint()
        if checkpoint is not None:
            try:
                self.timeline.note(checkpoint)
            except LogError as problem:
                _logger.warning("What was worked out could not be stored, so opening will take longer: %s", problem)

    def tell(self, request: Request, settings: Settings, name: str) -> None:
        """Log one line for a request that was made; at DEBUG one more for each part that was struck, lifted or refused."""
        if not _request_logger.isEnabledFor(logging.INFO):
            return
        work = self.derived_state(settings)
        tokens = work.sent_tokens()
        struck = sorted(Tally(one.rule for one in request.new_strikes if not one.is_fold).items())
        _request_logger.info(
            "%s: %d messages, about %d tokens (%d without strikes); struck now: %s; folded now: %d; in force: %d; "
            "lifted: %d; refused: %d; repaired: %d; %s: %s",
            name,
            len(request.sent),
            tokens,
            tokens + work.saved_tokens,
            ", ".join(f"{rule} {count}" for rule, count in struck) or "none",
            sum(one.is_fold for one in request.new_strikes),
            len(request.strikes),
            len(request.lifted),
            len(request.refused),
            len(request.repairs),
            request.schedule,
            request.new_strikes[0].why_now if request.new_strikes else "no mark is applied",
        )
        for strike in request.new_strikes:
            place = strike.number, strike.index, strike.rule
            _request_logger.debug("%s %d, message %d, %s: %s", deed_of(strike), *place, strike.because)
        for lift in request.lifted:
            _request_logger.debug("lifted %d, message %d: %s", lift.strike.number, lift.strike.index, lift.because)
        for refusal in request.refused:
            _request_logger.debug("refused, message %d, %s: %s", refusal.mark.index, refusal.mark.rule, refusal.problem.found)
        for change in request.repairs:
            _request_logger.debug("repaired, message %d: %s", change.index, change.what)

    # --- the pieces of a request

    def _lift(self, settings: Settings, now: float) -> tuple[Lifted, ...]:
        """Strikes that lost their ground when the view moved, or to which an agent points, no longer count."""
        lifts, state = self._lifts(settings, now), self.state
        lifted = tuple(Lifted(state.strikes[lift.number], lift.because) for lift in lifts)
        if lifts or (state.has_moved and state.strikes):
            self.commit([StrikesLifted(lifts)])
        return lifted

    def _lifts(self, settings: Settings, now: float) -> tuple[Lift, ...]:
        work = self.derived_state(settings)
        lifts = {one.number: one for one in (*(work.strikes_to_lift(now) if self.state.has_moved else ()), *work.pointed_to())}
        return tuple(lifts.values())

    def _store_blobs(self, blobs: Sequence[bytes]) -> str:
        """Why they cannot be stored; empty if they are."""
        if self._blobs is None:
            return "there are no blobs: Conversation(blobs=…) or Editor(blobs=…) takes them"
        try:
            for blob in blobs:
                self._blobs.put(blob)
        except (RedlineError, OSError) as problem:
            _logger.warning("Results could not be stored elsewhere, so they are sent whole: %s", problem)
            return f"it could not be stored elsewhere: {problem}"
        return ""

    def _record(self, done: Projection, context: RequestContext, settings: Settings) -> OpenBill:
        """What a request decided, if it did, and where it went, if that is news; and what is known of its bill."""
        requests, weighed, sent_to = self.state.requests, done.ledger is not None, context.sent_to
        is_news = sent_to != requests.sent_to
        is_new_view = requests.is_new_view and sent_to is not None and sent_to.binds_reasoning
        if not (weighed or done.strikes or is_news or is_new_view or context.learned):
            return self.state.bill.unrecorded(self.state.saved)
        record = StrikesApplied(
            done.strikes,
            now=context.now if weighed else None,
            visible=len(self.state.view.indices),
            sent_to=sent_to if is_news else None,
            refused=done.refused if weighed else (),
            held=done.held,
            ledger=done.ledger,
            marked_at=None if weighed else context.now,
            strategy=settings.strategy,
            tokens_after=round(done.tokens_after),
            learned_limits=dict(context.learned),
        )
        self.commit([record])
        return self.state.bill.open


class Decided(Protocol):
    """What is struck, undone and pinned at a record."""

    @property
    def strikes(self) -> Mapping[int, Strike]:
        """Those in force, by number."""
        ...

    @property
    def undone(self) -> Mapping[tuple[str, int, Path], Strike]:
        """Those that a user undid, by rule, message and part."""
        ...

    @property
    def pins(self) -> Set[int]:
        """Messages that are never struck."""
        ...


def head_moved(
    here: Decided, there: Decided, *, common: int, kept: tuple[Strike, ...] = (), must_stay: Callable[[Strike], bool]
) -> HeadMoved:
    """The record of going on from `there`, where the `kept` strikes come into force.

    Undone strikes stay undone, and pins stay, on the messages that both ways have: the first `common`. A strike that must stay,
    because reasoning that is sent there is bound to it, is neither undone nor has its message pinned.
    """
    in_force = [*there.strikes.values(), *kept]
    held = {strike for strike in in_force if strike.index < common and must_stay(strike)}
    held_parts, held_messages = {(one.rule, one.index, one.at) for one in held}, {one.index for one in held}
    struck_parts = {(one.rule, one.index, one.at) for one in in_force}
    undone = tuple(
        strike
        for part, strike in here.undone.items()
        if strike.index < common and part not in held_parts and (part not in there.undone or part in struck_parts)
    )
    changed = sorted(index for index in here.pins ^ there.pins if index < common)
    pins = tuple((index, index in here.pins) for index in changed if index not in here.pins or index not in held_messages)
    return HeadMoved(kept, undone, pins)
