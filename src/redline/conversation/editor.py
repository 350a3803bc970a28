"""The Editor: for callers that keep their own list of messages and send it whole each time, as most agents do.

It finds the conversation that a list goes on with, records what is new, and says what to send: the caller's own messages, byte
for byte, but for those that are struck or have to be repaired.
"""

import dataclasses
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from redline.conversation import observing
from redline.conversation.conversation import now_ms
from redline.conversation.edited_request import EditedRequest as EditedRequest
from redline.conversation.edited_request import check_request, is_changed, unchanged_request
from redline.conversation.resent.arms import NO_ARM, Arm, drawn_arm, known_arm, record_arm
from redline.conversation.resent.following import follow
from redline.conversation.resent.hidden import Positions, shown_digest, with_hidden_turns
from redline.conversation.resent.incoming import IncomingList, ListReader
from redline.conversation.resent.open_histories import OpenHistories, OpenTree
from redline.conversation.resent.outgoing import messages_to_send, recorded_messages
from redline.conversation.resent.shortened import ShortenedList, find_in_origins, origin_of_list, shorten_when_due
from redline.conversation.resent.tree import PathDecisions
from redline.engine.project import RequestContext
from redline.engine.request import Request
from redline.errors import ExecutionError, StaleLogError, ValidationError
from redline.policy.policy import EDITOR_POLICY, Policy, check_blobs, make_policy
from redline.policy.presets import PresetName
from redline.prices.find import Model, check_model, model_name
from redline.providers import find_format, format_of_model
from redline.providers.limits.refusals import RefusedLimit
from redline.providers.usage import read_usage
from redline.record.blobs import Blobs
from redline.record.blobs.opening import make_blobs
from redline.record.blobs.retrieval import recall_from
from redline.record.blobs.search import search_record
from redline.record.blobs.whole_results import WholeFolders
from redline.record.log import ROOT, Durability, Redact, Stored
from redline.record.opening import LogStore
from redline.record.records import (
    CacheBroke,
    CacheKeptWarm,
    EditingStopped,
    ForkedFrom,
    Lift,
    MessageAdded,
    Record,
    RolledBack,
    SavedTokens,
    StrikesLifted,
    TurnsHidden,
    UsageReported,
)
from redline.rules.way_back import WayBack
from redline.schedules import WhenFree
from redline.schedules.bill import OpenBill
from redline.tokens import Counter, check_counter, default_counter
from redline.values import payloads
from redline.values.checks import check_function, check_text, check_time_ms, short_repr
from redline.values.messages import Message, Reasoning, find_generation
from redline.values.payloads import Payload

_logger = logging.getLogger("redline.editor")

_MOST_TRIES = 16
"""How often another process may be quicker before that is an error."""
_MOST_REOPENED = 3
"""Logs that one list needs: its own, the index of sessions, and one that it goes on from."""
_LIFETIMES_MS = {"none": 0.0, "5m": 300_000.0, "1h": 3_600_000.0}

_REQUEST_FIELDS = tuple(field.name for field in dataclasses.fields(Request) if field.name not in ("schedule", "model"))
_Asked = tuple[float, Model | None, object, str, RefusedLimit | None, tuple[bool, bool]]
"""When, which model, what is sent ahead of the messages, how long the cache is kept, the limit that was refused, whether the
recall tool may be offered and more may be struck."""


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
        recall_tool: str = "",
        recalls_in_files: bool = False,
        compact_at: float | None = None,
    ) -> None:
        """`whole_in`: a folder whose files the agents can read, for what a rule `folded` leaves out of results; for struck
        results, too, with `recalls_in_files`. `recall_tool`: a tool that callers answer by `recall` and `search`, for the
        histories that are offered it. `compact_at`: past this share of the window an outline takes the place of a list's
        beginning, for agents that never compact."""
        check_function("clock", clock)
        if redact is not None:
            check_function("redact", redact)
        self._counter = default_counter() if counter is None else counter
        check_counter(self._counter)
        own: dict[str, Any] = {} if compact_at is None else {"compact_at": compact_at}
        self._policy = dataclasses.replace(make_policy(policy, EDITOR_POLICY), **own)
        self._clock, self._blobs = clock, make_blobs(blobs)
        check_blobs(self._policy.made_rules(), self._blobs)
        self._wholes = WholeFolders()
        self._settings = (self._policy if whole_in is None else self._policy.with_whole_in(whole_in)).settings()
        self._recall_tool = check_text("recall_tool", recall_tool)
        self._recalling = dataclasses.replace(self._settings, way_back=WayBack(tool=recall_tool))
        if recalls_in_files and whole_in is not None:
            folder = str(Path(whole_in).expanduser().absolute())
            self._settings = dataclasses.replace(self._settings, way_back=WayBack(folder=folder))
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
        check_request(request)
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
        may_recall: bool = False,
        strikes_more: bool = True,
    ) -> EditedRequest:
        """What to send in place of a list of messages. What is new in it is recorded, and so are strikes.

        The list goes on with whatever conversation it begins with, whoever sent that; where it turns off, it is a branch.
        `session` keeps apart only what says the same; `namespace` keeps everything apart. `preamble` is what is sent ahead of
        the messages: system prompt, tools. `times` are those of the messages, in milliseconds since 1970; one without counts
        from the request in which it first came. `lifetime` is how long the provider is asked to keep its cache: `5m`, `1h`,
        or `none` if it is not asked to cache at all, which is believed until it reports that it does. `refused` is the limit
        that the provider says this very list was over (`read_refusal` finds it in the error): it is kept from now on. With
        `may_recall` a history that begins with this list is offered the recall tool. Without `strikes_more` all that was sent
        before is sent as it was.
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
        request = self._edited(given, (time_ms, model, preamble, lifetime, refused, (may_recall, strikes_more)))
        if watch is not None:
            watch.stop(request, self._policy, session=session or request.log, untouched=request.untouched)
        return request

    def _edited(self, given: IncomingList, asked: _Asked, origin: ForkedFrom | None = None) -> EditedRequest:
        for attempt in range(_MOST_REOPENED + 1):  # nothing is lost by going on with another log: the caller's list is whole
            try:
                if given.why_untouched:
                    return unchanged_request(given, given.why_untouched)
                with self._histories.going_on(given) as way:
                    said, places = with_hidden_turns(given, way, self._histories, self._reader)
                    cut = way.tree.shortened(said.chains) if self._policy.compact_at is not None else None
                    request = None if cut else self._decided(way, given, (said, places), asked, origin)
                    cut = cut or way.tree.shortened(said.chains)
                if request is not None or cut is None:
                    return request or unchanged_request(given, "a compaction of it was undone meanwhile")
                shorter = ShortenedList.of(said, cut)
                inner = self._reader.read(
                    shorter.messages,
                    format=given.format.name,
                    session=given.session,
                    namespace=given.namespace,
                    times=shorter.times,
                )
                made = self._edited(inner, asked, origin_of_list(self._histories.store.address_of(way.name), cut))
                positions = [None if place is None else places[place] for place in shorter.positions_of(made.positions)]
                at = made.compacted or (way.name, cut.record)
                return dataclasses.replace(made, positions=positions, is_changed=True, compacted=at)
            except StaleLogError as problem:
                if attempt == _MOST_REOPENED:
                    raise
                _logger.warning("A log is read again from its beginning: %s", problem)
        raise AssertionError("the last attempt raises or returns")

    def _decided(
        self, way: OpenTree, shown: IncomingList, said: tuple[IncomingList, Positions], asked: _Asked, whole: ForkedFrom | None
    ) -> EditedRequest | None:
        """Record what was said, hidden turns included, and say what to send in place of the list that was shown; None if an
        outline takes the place of its beginning from now on."""
        given, positions_of = said
        now, model, preamble, lifetime, refused, (may_recall, strikes_more) = asked
        if given.leading_system_messages:
            preamble = [preamble, *(payloads.decode(native) for native in given.natives[: given.leading_system_messages])]
        for _ in range(_MOST_TRIES):
            spot = follow(self._histories, way, given, now, offered=self._recall_tool if may_recall else "", whole=whole)
            if why := way.tree.left_alone_at(spot.record):
                return dataclasses.replace(unchanged_request(shown, why), log=way.name, record=spot.record)
            tool = way.tree.tool_at(spot.record) if self._recall_tool else ""
            settings = self._recalling if tool and tool == self._recall_tool else self._settings
            ahead = [preamble, tool] if settings is self._recalling else preamble
            engine = way.engine_at(spot.record, given.format, self._counter, self._blobs, self._wholes)
            requests = engine.state.requests
            sent_to = way.destinations.find(model, ahead, requests.sent_to)
            known = sent_to.model if sent_to is not None else ""
            schedule = self._policy.made_schedule(None, model or known or None, is_long=lifetime == "1h")
            if lifetime and isinstance(schedule, WhenFree) and not (lifetime == "none" and requests.has_cache):
                schedule = dataclasses.replace(schedule, lifetime_ms=_LIFETIMES_MS[lifetime])
            context = RequestContext(
                now,
                schedule,
                sent_to,
                is_sent=observing.is_applied(),
                applies=strikes_more,
                preamble_bytes=way.destinations.preamble_bytes,
                refused=refused,
            )
            if self._policy.compact_at is not None and not way.tree.has_undone:
                used = engine.derived_state(settings).used_tokens()
                due = shorten_when_due(engine.state, used, context, model or known or None, self._policy, self._counter)
                if due is not None:
                    way.tree.append([due], parent=spot.record)
                    return None
            made = engine.request(settings, context)
            if way.tree.end_of(spot.record) != engine.timeline.head:
                way.tree.read()
                continue  # another process has decided first: what it has sent counts
            way.engines[engine.timeline.head] = engine
            sent, positions = messages_to_send(way.struck, given, made, engine.state, self._policy.strategy)
            request = EditedRequest(
                **{name: getattr(made, name) for name in _REQUEST_FIELDS},
                schedule=schedule.name,
                model=known,
                said=sent,
                positions=[None if place is None else positions_of[place] for place in positions],
                is_changed=is_changed(shown, sent),
                log=way.name,
                record=engine.timeline.head,
                recall_tool=settings.way_back.tool,
                learned_limits=dict(engine.state.learned_limits),
            )
            engine.tell(request, settings, f"{self.store} {way.name}")
            return request
        raise ExecutionError(f"Other processes kept deciding first in {self._histories.store.address_of(way.name)}. Try again.")

    def recorded(
        self, messages: Sequence[Payload], *, session: str = "", format: str = "auto", namespace: str = ""
    ) -> EditedRequest:
        """The list with the strikes that are recorded for it, and nothing else: no rule is asked, and nothing is stored.

        Of a conversation that is in memory it takes what was last read, so that it needs no store that answers.
        """
        shown = self._reader.read(messages, format=format, session=session, namespace=namespace)
        if why := shown.why_untouched:
            return unchanged_request(shown, why)
        way = self._histories.find_now(shown)
        if way is None:
            return unchanged_request(shown, "the store does not answer")
        given, positions_of = with_hidden_turns(shown, way, self._histories, self._reader)
        if self._policy.compact_at is not None and (cut := way.tree.shortened(given.chains)):
            shorter = ShortenedList.of(given, cut)
            made = self.recorded(shorter.messages, session=session, format=given.format.name, namespace=namespace)
            places = [None if place is None else positions_of[place] for place in shorter.positions_of(made.positions)]
            return dataclasses.replace(made, positions=places, is_changed=True)
        spot = way.tree.find(given.digests, session)
        if spot.length == 0 and (fork := self._histories.fork_of(given)):
            way, spot = fork
        if spot.length == 0 or way.tree.left_alone_at(spot.record):
            return unchanged_request(shown, way.tree.left_alone_at(spot.record) or "nothing is recorded of it")
        path = way.tree.path(spot.record)
        strikes = tuple(sorted(PathDecisions(path).strikes.values(), key=lambda one: one.index))
        said, positions = recorded_messages(way.struck, given, _messages_on(path), strikes)
        return dataclasses.replace(
            unchanged_request(given, ""),
            said=said,
            positions=[positions_of[position] for position in positions],
            is_changed=is_changed(shown, said),
            log=way.name,
            recall_tool=self._recall_tool and way.tree.tool_at(spot.record),
            record=spot.record if spot.length == len(given.digests) else ROOT,
            list_strikes=lambda: strikes,
            bill=OpenBill(SavedTokens.of(strikes)),
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
        check_request(request)
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
            check_request(request)

        def said_message(index: int) -> Message | None:
            path = self._path_of(request) if request is not None else []
            if (generation := find_generation(reference)) is not None:
                return find_in_origins(self._histories.store, path, generation, index)
            natives = _messages_on(path)
            return find_format(str(request and request.format)).read(natives[index]) if index < len(natives) else None

        return recall_from(reference, said_message, self._blobs, lines=lines, grep=grep, max_chars=max_chars)

    def search(self, words: str = "", *, request: EditedRequest, grep: str | None = None, max_chars: int = 2_000) -> str:
        """The best lines of all that the history of a request said, with their references, hidden turns included."""
        check_request(request)
        natives, format = _messages_on(self._path_of(request)), find_format(request.format)
        return search_record(words, lambda at: format.read(natives[at]), len(natives), grep=grep, max_chars=max_chars)

    def _path_of(self, request: EditedRequest) -> list[Stored]:
        """The records on the way to a request."""
        if request.record == ROOT:
            return []
        way = self._histories.open(request.log)
        with way.lock:
            self._check_own(way, request)
            return way.tree.path(request.record)

    def hide_turns(
        self,
        request: EditedRequest,
        last: EditedRequest,
        shown: Sequence[Message],
        calls: Sequence[tuple[int, bytes]] = (),
        results: Sequence[bytes] = (),
    ) -> None:
        """The client of a request was shown one answer in the place of the turns from there to the `last` request, and of its
        answer without some calls. Lists that come with what was shown get the turns back."""
        check_request(request)
        thoughts = sum(isinstance(part, Reasoning) for one in shown for part in one.parts)
        if request.record != ROOT:
            after = self._histories.open(request.log).tree.length_at(request.record)
            hidden = TurnsHidden(after, shown_digest(shown), thoughts, tuple(calls), tuple(results))
            self._note(last, lambda _: hidden)

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
        check_request(request)
        made = {strike.number for strike in request.new_strikes}

        def lift(path: list[Stored]) -> Record | None:
            lifts = tuple(Lift(number, "it was never sent") for number in PathDecisions(path).strikes if number in made)
            return StrikesLifted(lifts) if lifts else None

        if made:
            self._note(request, lift)

    def undo_compaction(self, request: EditedRequest) -> None:
        """Send the list whole again, in place of the outline that this request has for its beginning. It stays whole."""
        check_request(request)
        if request.compacted is None:
            raise ExecutionError("Nothing is compacted in this request: there is no outline in place of its beginning.")
        log, number = request.compacted
        way = self._histories.open(log)
        with way.lock:
            way.tree.read()
            way.tree.append([RolledBack(0)], parent=number)

    def keep_warm(self, request: EditedRequest, *, now: float | None = None) -> None:
        """The provider was asked, without a request, to keep what this one left in its cache."""
        touched = CacheKeptWarm(check_time_ms(self._clock() if now is None else now, "now"))
        self._note(request, lambda _: touched)

    def _note(self, request: EditedRequest, make: Callable[[list[Stored]], Record | None]) -> None:
        """Append what is known of a request where it ends, made from the records up to there."""
        check_request(request)
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


def _messages_on(path: Sequence[Stored]) -> list[bytes]:
    """The messages of a way, as they are in the record."""
    return [one.record.payload for one in path if isinstance(one.record, MessageAdded)]
