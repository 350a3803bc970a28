"""The Editor: for callers that keep their own list of messages and send it whole each time, as most agents do.

It finds the conversation that a list goes on with, records what is new, and says what to send: the caller's own messages, byte
for byte, but for those that are struck or have to be repaired.
"""

import dataclasses
import logging
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

from redline.conversation import observing
from redline.conversation.conversation import now_ms
from redline.conversation.resent.arms import NO_ARM, Arm, drawn_arm, known_arm, record_arm
from redline.conversation.resent.incoming import IncomingList, ListReader
from redline.conversation.resent.open_histories import OpenHistories, OpenTree, place_to_go_on
from redline.conversation.resent.outgoing import as_given, messages_to_send
from redline.conversation.resent.tree import KnownPath, PathDecisions
from redline.engine.project import RequestContext
from redline.engine.request import Request
from redline.engine.sent import Sent
from redline.errors import ExecutionError, StaleLogError, ValidationError
from redline.policy.policy import EDITOR_POLICY, Policy, check_blobs, make_policy
from redline.policy.presets import PresetName
from redline.prices.find import Model, check_model, model_name
from redline.providers import find_format, format_of_model
from redline.providers.format import Format
from redline.providers.limits.refusals import RefusedLimit
from redline.providers.usage import read_usage
from redline.record.blobs import Blobs
from redline.record.blobs.opening import make_blobs
from redline.record.blobs.retrieval import recall_from
from redline.record.blobs.whole_results import WholeFolders
from redline.record.log import ROOT, Durability, Redact, Stored
from redline.record.opening import LogStore
from redline.record.records import (
    CacheBroke,
    CacheKeptWarm,
    EditingStopped,
    ForkedFrom,
    HeadMoved,
    Lift,
    MessageAdded,
    Record,
    SavedTokens,
    SessionNamed,
    Strike,
    StrikesLifted,
    UsageReported,
)
from redline.schedules import WhenFree
from redline.schedules.bill import OpenBill
from redline.tokens import Counter, check_counter, default_counter
from redline.values import payloads
from redline.values.checks import check_function, check_time_ms, short_repr
from redline.values.messages import Message
from redline.values.payloads import Payload

_logger = logging.getLogger("redline.editor")

_MOST_TRIES = 16
"""How often another process may be quicker before that is an error."""
_MOST_REOPENED = 3
"""Logs that one list needs: its own, the index of sessions, and one that it goes on from."""
_LIFETIMES_MS = {"none": 0.0, "5m": 300_000.0, "1h": 3_600_000.0}


@dataclasses.dataclass(frozen=True, repr=False)
class EditedRequest(Request):
    """What to send in place of a list of messages, and why it differs from it."""

    said: Sequence[Payload] = ()
    """What to send, in order. A message that is not changed is the very object, or the very bytes, of the caller's."""
    positions: Sequence[int | None] = ()
    """Of each of these the position in the caller's list; None for one that the repair made of others or of nothing."""
    is_changed: bool = False
    """Whether what to send differs from the caller's list."""
    untouched: str = ""
    """Why the list was passed on as it is, without a look at what might go."""
    log: str = ""
    """The name of the log in the store."""
    record: int = ROOT
    """The last record of its way through that log."""
    learned_limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """What the provider takes of this history by the name of the limit, where it refused more."""

    @property
    def pieces(self) -> tuple[tuple[int | None, Payload], ...]:
        """What to send, in order: the position in the caller's list, and the message."""
        return tuple(zip(self.positions, self.said, strict=True))

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send. Those that are not changed are the caller's own objects, where it gave objects."""
        return [payloads.decode(payload) for payload in self.said]

    @cached_property
    def body(self) -> bytes:
        """The messages as one JSON list, those that are not changed byte for byte as they were given."""
        return payloads.join_list(map(payloads.encoded, self.said))

    def without_content(self) -> "EditedRequest":
        """The request's place in its log and its model, without its messages: for callers that remember many requests."""
        return _without_strikes(find_format(self.format), model=self.model, log=self.log, record=self.record)

    def _decoded(self) -> list[Any]:
        return payloads.decode_all([payloads.encoded(payload) for payload in self.said])


_REQUEST_FIELDS = tuple(field.name for field in dataclasses.fields(Request) if field.name not in ("schedule", "model"))


class Editor:
    """Follows lists that are sent whole each time, and says what to send in their place. For use from any number of threads.

    What it knows is in its store (a folder, `sqlite:///chats.db`, `postgresql://host/database`; in memory if none is named),
    so that another process, or this one started again, sends the very same bytes.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        policy: Policy | PresetName | None = None,
        clock: Callable[[], float] = now_ms,
        blobs: Blobs | str | os.PathLike[str] | None = None,
        counter: Counter | None = None,
        redact: Redact | None = None,
        durability: Durability = "os",
        whole_in: str | os.PathLike[str] | None = None,
    ) -> None:
        """`whole_in`: a folder whose files the agents can read, for what a rule `folded` leaves out of results."""
        check_function("clock", clock)
        if redact is not None:
            check_function("redact", redact)
        self._counter = default_counter() if counter is None else counter
        check_counter(self._counter)
        self._policy, self._clock, self._blobs = make_policy(policy, EDITOR_POLICY), clock, make_blobs(blobs)
        check_blobs(self._policy.made_rules(), self._blobs)
        self._wholes = WholeFolders()
        self._settings = (self._policy if whole_in is None else self._policy.with_whole_in(whole_in)).settings()
        self._reader = ListReader(redact)
        self._histories = OpenHistories(LogStore(store, durability=durability, redact=redact), self._counter)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Editor {self._histories.store.name!r}: {self._policy!r}>"

    @property
    def policy(self) -> Policy:
        """What is struck, and when."""
        return self._policy

    @property
    def store(self) -> str:
        """The address of the store, without a password, or `memory`."""
        return self._histories.store.name

    @property
    def blobs(self) -> Blobs | None:
        """Where offloaded results go."""
        return self._blobs

    @property
    def whole_problem(self) -> str:
        """Why the last whole result could not be written to the folder that the rule `folded` names; empty if it was."""
        return self._wholes.problem

    def address_of(self, request: EditedRequest) -> str:
        """Where the log of a request is, for `redline.open` and the command line."""
        _check_request(request)
        if not request.log:
            raise ExecutionError(f"There is no log of this request: {request.untouched}.")
        return self._histories.store.address_of(request.log)

    # --- editing

    def edit(
        self,
        messages: Sequence[Payload],
        *,
        session: str = "",
        model: Model | None = None,
        preamble: object = None,
        format: str = "auto",
        namespace: str = "",
        times: Sequence[float | None] = (),
        lifetime: str = "",
        now: float | None = None,
        refused: RefusedLimit | None = None,
    ) -> EditedRequest:
        """What to send in place of a list of messages. What is new in it is recorded, and so are strikes.

        The list goes on with whatever conversation it begins with, whoever sent that; where it turns off, it is a branch.
        `session` keeps apart only what says the same; `namespace` keeps everything apart. `preamble` is what is sent ahead of
        the messages: system prompt, tools. `times` are those of the messages, in milliseconds since 1970; one without counts
        from the request in which it first came. `lifetime` is how long the provider is asked to keep its cache: `5m`, `1h`,
        or `none` if it is not asked to cache at all, which is believed until it reports that it does. `refused` is the limit
        that the provider says this very list was over (`read_refusal` finds it in the error): it is kept from now on.
        """
        watch = observing.Stopwatch() if observing.observer is not None else None
        time_ms = check_time_ms(self._clock() if now is None else now, "now")
        check_model(model)
        if lifetime and lifetime not in tuple(_LIFETIMES_MS):
            raise ValidationError(f"lifetime must be one of {', '.join(_LIFETIMES_MS)}, not {short_repr(lifetime)}")
        given = self._reader.read(
            messages,
            format=format,
            session=session,
            namespace=namespace,
            times=times,
            preferred=format_of_model(model_name(model)),
        )
        for attempt in range(_MOST_REOPENED + 1):  # nothing is lost by going on with another log: the caller's list is whole
            try:
                if given.why_untouched:
                    request = _unchanged(given, given.why_untouched)
                else:
                    with self._histories.going_on(given) as way:
                        request = self._decided(way, given, time_ms, model, preamble, lifetime, refused)
                break
            except StaleLogError as problem:
                if attempt == _MOST_REOPENED:
                    raise
                _logger.warning("A log is read again from its beginning: %s", problem)
        if watch is not None:
            watch.stop(request, self._policy, session=session or request.log, untouched=request.untouched)
        return request

    def _decided(
        self,
        way: OpenTree,
        given: IncomingList,
        now: float,
        model: Model | None,
        preamble: object,
        lifetime: str,
        refused: RefusedLimit | None,
    ) -> EditedRequest:
        """Record the list, and say what to send in its place."""
        if given.leading_system_messages:
            preamble = [preamble, *(payloads.decode(native) for native in given.natives[: given.leading_system_messages])]
        for _ in range(_MOST_TRIES):
            spot = self._follow(way, given, now)
            if why := way.tree.left_alone_at(spot.record):
                return dataclasses.replace(_unchanged(given, why), log=way.name, record=spot.record)
            engine = way.engine_at(spot.record, given.format, self._counter, self._blobs, self._wholes)
            requests = engine.state.requests
            sent_to = way.destinations.find(model, preamble, requests.sent_to)
            known = sent_to.model if sent_to is not None else ""
            schedule = self._policy.made_schedule(None, model or known or None, is_long=lifetime == "1h")
            if lifetime and isinstance(schedule, WhenFree) and not (lifetime == "none" and requests.has_cache):
                schedule = dataclasses.replace(schedule, lifetime_ms=_LIFETIMES_MS[lifetime])
            context = RequestContext(
                now,
                schedule,
                sent_to,
                is_sent=observing.is_applied(),
                preamble_bytes=way.destinations.preamble_bytes,
                refused=refused,
            )
            made = engine.request(self._settings, context)
            if way.tree.end_of(spot.record) != engine.timeline.head:
                way.tree.read()
                continue  # another process has decided first: what it has sent counts
            way.engines[engine.timeline.head] = engine
            said, positions = messages_to_send(way.struck, given, made, engine.state, self._policy.strategy)
            request = EditedRequest(
                **{name: getattr(made, name) for name in _REQUEST_FIELDS},
                schedule=schedule.name,
                model=known,
                said=said,
                positions=positions,
                is_changed=_is_changed(given, said),
                log=way.name,
                record=engine.timeline.head,
                learned_limits=dict(engine.state.learned_limits),
            )
            engine.tell(request, self._settings, f"{self.store} {way.name}")
            return request
        raise ExecutionError(f"Other processes kept deciding first in {self._histories.store.address_of(way.name)}. Try again.")

    def recorded(
        self, messages: Sequence[Payload], *, session: str = "", format: str = "auto", namespace: str = ""
    ) -> EditedRequest:
        """The list with the strikes that are recorded for it, and nothing else: no rule is asked, and nothing is stored.

        Of a conversation that is in memory it takes what was last read, so that it needs no store that answers.
        """
        given = self._reader.read(messages, format=format, session=session, namespace=namespace)
        if why := given.why_untouched:
            return _unchanged(given, why)
        way = self._histories.find_now(given)
        if way is None:
            return _unchanged(given, "the store does not answer")
        spot = way.tree.find(given.digests, session)
        if spot.length == 0 and (fork := self._histories.fork_of(given)):
            way, spot = fork
        if spot.length == 0 or way.tree.left_alone_at(spot.record):
            return _unchanged(given, way.tree.left_alone_at(spot.record) or "nothing is recorded of it")
        path = way.tree.path(spot.record)
        stored = [one.record.payload for one in path if isinstance(one.record, MessageAdded)]
        by_index: dict[int, tuple[Strike, ...]] = {}
        for strike in PathDecisions(path).strikes.values():
            by_index[strike.index] = (*by_index.get(strike.index, ()), strike)
        positions, said, lead = list[int](), list[Payload](), given.leading_system_messages
        for position, message in enumerate(given.messages):
            strikes = by_index.get(position - lead, ())
            left = way.struck.struck_payload(position - lead, given, strikes, stored.__getitem__) if strikes else message
            if left is not None:
                positions.append(position)
                said.append(as_given(given, left))
        return dataclasses.replace(
            _unchanged(given, ""),
            said=said,
            positions=positions,
            is_changed=_is_changed(given, said),
            log=way.name,
            record=spot.record if spot.length == len(given.digests) else ROOT,
            list_strikes=lambda: tuple(sum(by_index.values(), ())),
            bill=OpenBill(SavedTokens.of(strike for struck in by_index.values() for strike in struck)),
        )

    def arm_of(
        self,
        messages: Sequence[Payload],
        share: float,
        *,
        held: str,
        session: str = "",
        format: str = "auto",
        namespace: str = "",
    ) -> str:
        """The arm of a list: as its history has it, in its namespace or in that of the histories that are `held` out; else as
        it is drawn, with this share held out. Empty for what began without an arm."""
        read = partial(self._reader.read, messages, format=format, session=session)
        given = read(namespace=namespace)
        if given.why_untouched:
            return NO_ARM
        if known_arm(self._histories, read(namespace=held)) is not None:
            return "holdout"
        known = known_arm(self._histories, given)
        return drawn_arm(share, session, given) if known is None else known

    def record_arm(self, request: EditedRequest, arm: Arm) -> None:
        """Write down to which arm the history of a request belongs."""
        _check_request(request)
        if request.log:
            record_arm(self._histories.open(request.log), arm, self._clock())

    def recall(
        self,
        reference: str,
        *,
        request: EditedRequest | None = None,
        lines: str | Sequence[int] | None = None,
        grep: str | None = None,
        max_chars: int | None = 30_000,
    ) -> str:
        """What the stub of an offloaded result refers to, all or some lines of it; a struck one's, too, with the `request` that
        said it, since `#12.0` is a part of another message in each conversation."""
        if request is not None:
            _check_request(request)

        def said_message(index: int) -> Message | None:
            if request is None or request.record == ROOT:
                return None
            way = self._histories.open(request.log)
            with way.lock:
                self._check_own(way, request)
                path = way.tree.path(request.record)
            natives = [one.record.payload for one in path if isinstance(one.record, MessageAdded)]
            return find_format(request.format).read(natives[index]) if index < len(natives) else None

        return recall_from(reference, said_message, self._blobs, lines=lines, grep=grep, max_chars=max_chars)

    # --- what became of it

    def report(self, request: EditedRequest, usage: object) -> None:
        """What the provider reported for a request: its usage object, or a response that holds one."""
        counts = read_usage(usage)
        self._note(request, lambda _: UsageReported.of(counts))
        observing.notify_usage(counts, request, model=request.model or None)

    def note_cache_break(self, request: EditedRequest, broke: CacheBroke) -> None:
        """Record that the provider read less from its cache for a request than it could, and the cause."""
        self._note(request, lambda _: broke)

    def stop_editing(self, request: EditedRequest, why: str) -> None:
        """Pass on what goes on from this request as it comes, from now on: because the provider refused a change, say."""
        if not isinstance(why, str) or not why:
            raise ValidationError(f"why must be a text, not {short_repr(why)}")
        self._note(request, lambda _: EditingStopped(why))

    leave_alone = stop_editing  # the name of before

    def withdraw(self, request: EditedRequest) -> None:
        """The request was not sent after all: what it struck for the first time is as if it had not been."""
        _check_request(request)
        made = {strike.number for strike in request.new_strikes}

        def lift(path: list[Stored]) -> Record | None:
            lifts = tuple(Lift(number, "it was never sent") for number in PathDecisions(path).strikes if number in made)
            return StrikesLifted(lifts) if lifts else None

        if made:
            self._note(request, lift)

    def keep_warm(self, request: EditedRequest, *, now: float | None = None) -> None:
        """The provider was asked, without a request, to keep what this one left in its cache."""
        touched = CacheKeptWarm(check_time_ms(self._clock() if now is None else now, "now"))
        self._note(request, lambda _: touched)

    def _note(self, request: EditedRequest, make: Callable[[list[Stored]], Record | None]) -> None:
        """Append what is known of a request where it ends, made from the records up to there."""
        _check_request(request)
        if request.record == ROOT:  # nothing was followed
            return
        way = self._histories.open(request.log)
        try:
            with way.lock:
                self._check_own(way, request)
                end = way.tree.end_of(request.record)
                if record := make(way.tree.path(end)):
                    way.tree.append([record], parent=end)
        except StaleLogError as problem:  # the request itself may be gone from the log
            _logger.warning("What became of a request is not recorded: %s", problem)

    def _check_own(self, way: OpenTree, request: EditedRequest) -> None:
        way.tree.read()
        if request.record not in way.tree.stored:
            raise ValidationError(f"The request is of another store than {self.store}. Tell the Editor that made it.")

    def close(self) -> None:
        """Let go of files and connections. What was sent is stored already."""
        self._histories.close()

    # --- the way of a list

    def _follow(self, way: OpenTree, given: IncomingList, now: float) -> KnownPath:
        """The way of the list, made as far as it was not there."""
        tree = way.tree
        spot = tree.find(given.digests, given.session)
        if spot.length == len(given.digests) and spot.is_own:
            moved = tree.move_to(spot)
            if not moved.undone and not moved.pins:
                return spot
            number = tree.append([HeadMoved((), moved.undone, moved.pins)], parent=spot.record)
            return dataclasses.replace(spot, record=number)
        spot = place_to_go_on(given, tree)
        fork = self._histories.fork_of(given) if spot.length == 0 else None
        if fork is not None:
            spot = self._begin_as(way, *fork, given)
        records: list[Record] = []
        origin = self._histories.origin_of(given, way.name) if spot.length == 0 else None
        if origin is not None:
            records.append(ForkedFrom(self._histories.store.address_of(origin.name), "its client compacted the history"))
        if given.session != tree.session_at(spot.record):
            records.append(SessionNamed(given.session))
        if spot.length and (moved := tree.move_to(spot)) != HeadMoved():
            records.append(moved)
        self._histories.register_session(given, way.name, range(spot.length + 1, len(given.digests) + 1))
        before, last = set(given.digests[: spot.length]), len(given.digests) - 1
        for index in range(spot.length, len(given.digests)):
            digest, native = given.digests[index], given.stored[given.leading_system_messages + index]
            known = given.times[index] if given.times else None
            if known is None and digest not in before and not (index == last and given.format.invents_call_ids):
                # Without an id, the output of a command may say what one of long ago said; with one it was said then.
                others = [one.tree for one in (origin, fork and fork[0]) if one]
                known = next((one.first_seen[digest] for one in (tree, *others) if digest in one.first_seen), None)
            before.add(digest)
            records.append(MessageAdded(native, now if known is None else known, digest))
            way.size_bytes += len(native)
        tree.append(records, parent=spot.record)
        if origin is not None:
            self._histories.evict(origin)
        return tree.find(given.digests, given.session)

    def _begin_as(self, way: OpenTree, other: OpenTree, spot: KnownPath, given: IncomingList) -> KnownPath:
        """Begin a log with the records of the same messages in another, so that it is whole whatever becomes of that one."""
        with other.lock:
            path, moved = other.tree.path(spot.record), other.tree.move_to(spot)
        known = [one.record for one in path if not isinstance(one.record, SessionNamed | ForkedFrom)]
        records: list[Record] = [SessionNamed(given.session)] if given.session else []
        copied = ForkedFrom("another session of this store", f"goes on from {spot.length} of its messages")
        way.tree.append([*records, *known, copied, *([moved] if moved != HeadMoved() else [])], parent=ROOT)
        way.size_bytes += sum(len(one.payload) for one in known if isinstance(one, MessageAdded))
        self._histories.register_session(given, way.name, range(1, spot.length + 1))
        return way.tree.find(given.digests[: spot.length], given.session)


def _check_request(request: object) -> None:
    if not isinstance(request, EditedRequest):
        raise ValidationError(f"request must be what edit() gave, not {short_repr(request)}")


def _unchanged(given: IncomingList, why: str) -> EditedRequest:
    """The list as it came."""
    return _without_strikes(
        given.format,
        count_tokens=lambda: sum(map(len, given.natives)) // 4,
        said=given.messages,
        positions=range(len(given.messages)),
        untouched=why,
    )


def _without_strikes(format: Format, *, count_tokens: Callable[[], int] = int, **fields: Any) -> EditedRequest:
    return EditedRequest(format.name, Sent.of_nothing(format), (), (), tuple, tuple, tuple, count_tokens, **fields)


def _is_changed(given: IncomingList, said: Sequence[Payload]) -> bool:
    """Whether something else than the caller's own messages is to be sent."""
    return len(said) != len(given.messages) or not all(map(operator.is_, said, given.messages))
