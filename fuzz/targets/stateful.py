"""Histories by grammar: one program on conversations in every store and on Editors, side by side with a simple model."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import count
from random import Random
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, Trial
from redline.errors import RedlineError, ValidationError
from redline.providers import FORMATS
from redline.record.backends.memory import MemoryLog
from redline.record.blobs import MemoryBlobs
from redline.rules import LongResults, MaskedResults, OffloadResults, Rule
from redline.schedules import ScheduleName
from redline.testing import asks, conversation, says
from redline.tokens import Estimate

__all__ = ["POSTGRES", "STATEFUL"]

POSTGRES = "REDLINE_FUZZ_POSTGRES"
"""The environment variable with the address of a PostgreSQL database, where programs shall run in one too."""
_MOST_STEPS = 40
_MINUTE = 60_000
_FORMATS = tuple(sorted(FORMATS))
_RULES: tuple[tuple[Rule | str, ...], ...] = (
    ("historical_reads", "stale_terminal"),
    (MaskedResults(keep_recent=2), "superseded_reads"),
    ("repeated_calls", LongResults(max_chars=200), "historical_reads"),
    (OffloadResults(min_chars=300), "stale_terminal", "failed_inputs", "old_reasoning"),
)
_SCHEDULES: tuple[ScheduleName, ...] = ("eager", "when_free", "budget")
_MODELS = (None, "claude-sonnet-4-6", "gpt-5.5")
_WAITS = (0, 1000, 4 * _MINUTE, 20 * _MINUTE)
_TOOLS = (
    ("filesystem-read", {"filePath": "a.py"}),
    ("filesystem-read", {"filePath": "b.py"}),
    ("terminal-execute", {"command": "make"}),
    ("filesystem-edit", {"filePath": "a.py", "old": "x", "new": "y"}),
)
_OPERATIONS = (
    *("exchange", "exchange", "exchange", "request", "request", "request", "undo", "undo", "pin", "rewind", "rewind"),
    *("say", "open_call", "rollback", "truncate", "filter", "replace", "insert", "start_batch", "compact", "fork", "reopen"),
    *("refresh", "usage", "switch", "exchanges"),
)
_names = count()


# --- the model


@dataclass
class _Model:
    """What a conversation should hold, worked out without looking at any record."""

    said: list[Any] = field(default_factory=list)
    """By index, each message as it was first said."""
    shown: dict[int, Any] = field(default_factory=dict)
    """By index, what took the place of a message."""
    visible: list[int] = field(default_factory=list)
    earlier: list[tuple[list[int], dict[int, Any]]] = field(default_factory=list)
    """Of each batch that ended, what it showed."""
    after: list["_Model"] = field(default_factory=list)
    """By index, what there was right after the step that brought the message."""
    undone: set[tuple[Any, ...]] = field(default_factory=set)
    pins: set[int] = field(default_factory=set)

    def messages(self) -> list[Any]:
        return [self.shown.get(index, message) for index, message in enumerate(self.said)]

    def add(self, messages: Sequence[Any], *, at: int | None = None) -> None:
        place = len(self.visible) if at is None or at < 0 else at
        self.visible[place:place] = range(len(self.said), len(self.said) + len(messages))
        self.said += messages
        self.remember(len(messages))

    def remember(self, new: int) -> None:
        now = _Model(self.said[:], dict(self.shown), self.visible[:], self.earlier[:])
        self.after += [now] * new

    def end_batch(self, visible: list[int]) -> None:
        self.earlier.append((self.visible[:], dict(self.shown)))
        self.visible = visible

    def roll_back(self, batch: int) -> None:
        if batch < len(self.earlier):
            self.visible, self.shown = self.earlier[batch][0][:], dict(self.earlier[batch][1])
            del self.earlier[batch:]

    def rewound(self, index: int) -> "_Model":
        then = deepcopy(self.after[index])
        then.after = self.after[: len(then.said)]
        then.decided(self, len(then.said))
        return then

    def decided(self, other: "_Model", common: int) -> None:
        """What was undone and pinned elsewhere holds on the messages that both have."""
        self.undone |= {target for target in other.undone if target[1] < common}
        own = {index for index in self.pins if index >= common}
        self.pins = own | {index for index in other.pins if index < common}


# --- conversations


class _Talks:
    """One conversation in every store."""

    def __init__(self, opened: Sequence[Callable[[], redline.Conversation]]) -> None:
        self._opened = opened
        self.talks = [make() for make in opened]
        self.model = _Model()
        self.left: dict[int, _Model] = {}
        """By the record at which a branch ends, what there was."""
        self.numbers: dict[int, tuple[Any, ...]] = {}
        """By number of a strike, what it struck: a number is given out once."""
        self.records: list[list[Any]] = [[] for _ in opened]
        self.now = 0.0

    @property
    def first(self) -> redline.Conversation:
        return self.talks[0]

    def do(self, act: Callable[[redline.Conversation], Any]) -> Any:
        """In every store the same comes of it, or it is refused in the same words and nothing changes."""
        outcomes = [_outcome(act, talk) for talk in self.talks]
        _require(all(one == outcomes[0] for one in outcomes[1:]), f"stores differ: {outcomes}")
        return outcomes[0][1] if outcomes[0][0] == "done" else None

    def is_done(self, act: Callable[[redline.Conversation], Any]) -> bool:
        """Whether it was carried out."""
        return self.do(lambda talk: (act(talk), "yes")[1]) is not None

    def reopen(self) -> None:
        for place, make in enumerate(self._opened):
            self.talks[place].close()
            self.talks[place] = make()

    def close(self) -> None:
        for talk in self.talks:
            talk.close()

    def check(self) -> None:
        """What every step leaves: the model's messages, only more records, and what users decided."""
        for place, talk in enumerate(self.talks):
            _require(talk.visible_indices == self.model.visible, f"visible {talk.visible_indices}, not {self.model.visible}")
            _require(talk.all_messages == self.model.messages(), "messages are not those that were said")
            _require(talk.current_batch == len(self.model.earlier), "another batch is current")
            log = talk._engine.timeline.log
            records, before = list(log.read()), self.records[place]
            _require(records[: len(before)] == before, "the record has shrunk, or was rewritten")
            self.records[place] = records
        for strike in self.first.strikes:
            target = (strike.rule, strike.index, strike.at)
            _require(target not in self.model.undone, f"an undone strike is back: {target}")
            _require(strike.index not in self.model.pins, f"a pinned message is struck: {strike.index}")
            known = self.numbers.setdefault(strike.number, target)
            _require(known == target, f"number {strike.number} was given out again")

    def check_requests(self, rules: Sequence[Rule | str], model: str | None) -> None:
        """Any schedule decides the same in every store, and after opening it again; what is sent is legal and unchanged."""
        again = [make() for make in self._opened]
        for schedule in _SCHEDULES:
            made = [_told(talk.preview(now=self.now, rules=rules, schedule=schedule, model=model)) for talk in self.talks]
            _require(all(one == made[0] for one in made[1:]), f"stores decide differently by {schedule}")
            opened = [_told(talk.preview(now=self.now, rules=rules, schedule=schedule, model=model)) for talk in again]
            _require(opened == made, f"it decides otherwise by {schedule} when it is opened again")
        for talk in again:
            talk.close()

    def check_sent(self, request: redline.Request) -> None:
        sent = request.messages
        problems = redline.check(sent, format=request.format) if sent else []
        _require(not problems, f"a request breaks {problems and problems[0].law}")
        messages, pieces = self.model.messages(), list(request.sent.outline())
        for place, (piece, strikes) in enumerate(pieces if len(pieces) == len(sent) else ()):
            if isinstance(piece, int) and not strikes:
                _require(sent[place] == FORMATS[request.format].sendable(messages[piece]), "an unstruck message is changed")


def _outcome(act: Callable[[redline.Conversation], Any], talk: redline.Conversation) -> tuple[str, Any]:
    try:
        return "done", act(talk)
    except RedlineError as problem:
        return type(problem).__name__, str(problem).replace(talk.name, "")


def _told(request: redline.Request) -> tuple[Any, ...]:
    return request.body, request.strikes, request.new_strikes, [one.mark for one in request.held]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise BrokenProperty(what[:300])


# --- Editors


class _Lists:
    """One client's list through Editors over several stores."""

    def __init__(self, format: str, editors: Sequence[Callable[[], redline.Editor]]) -> None:
        self._format, self._opened = format, editors
        self.editors = [make() for make in editors]
        self.messages: list[Any] = []
        self.undone: set[tuple[Any, ...]] = set()
        self.pins: set[int] = set()
        self.made: list[Any] = []

    def edit(self, now: float, model: str | None) -> None:
        if not self.messages:
            return
        self.made = [editor.edit(self.messages, format=self._format, model=model, now=now) for editor in self.editors]
        first = self.made[0]
        _require(all(one.messages == first.messages for one in self.made), "Editors differ")
        problems = redline.check(first.messages, format=first.format)
        _require(not problems, f"an Editor's request breaks {problems and problems[0].law}")
        struck = {(strike.rule, strike.index, strike.at) for strike in first.strikes}
        _require(not struck & self.undone, "an undone strike is back in a list")
        _require(not {index for _, index, _ in struck} & self.pins, "a pinned message is struck in a list")
        changed = {index for _, index, _ in struck}
        repaired = {change.index for change in first.repairs}
        for position, message in first.pieces:
            if position is not None and position not in changed | repaired:
                _require(message is self.messages[position], "an Editor sends a copy of what is not struck")
        for place, make in enumerate(self._opened):
            if place and not repaired:  # what is in memory goes with its Editor; only an edit repairs
                with make() as again:
                    _require(
                        again.recorded(self.messages, format=self._format).messages == first.messages,
                        "a new Editor sends something else",
                    )

    def decide(self, number: int, *, is_pin: bool) -> None:
        """Undo a strike, or pin its message, through the record."""
        if not self.made or not self.made[0].strikes:
            return
        strikes = self.made[0].strikes
        strike = strikes[number % len(strikes)]
        for editor, made in zip(self.editors, self.made, strict=True):
            log = editor._histories.store.open(made.log, redline.log.Header(conversation=made.log))
            with contextlib.ExitStack() as stack:
                if not isinstance(log, MemoryLog):
                    stack.callback(log.close)
                talk = redline.Conversation(log=log, counter=Estimate())
                if talk._engine.timeline.head != made.record:
                    return
                if is_pin:
                    talk.pin(strike.index)
                else:
                    talk.undo(strike.number)
        if is_pin:
            self.pins.add(strike.index)
        else:
            self.undone.add((strike.rule, strike.index, strike.at))

    def cut(self, length: int) -> None:
        del self.messages[length:]
        self.made = []
        self.undone = {target for target in self.undone if target[1] < length}
        self.pins = {index for index in self.pins if index < length}

    def reopen(self) -> None:
        for place, make in enumerate(self._opened):
            if place:
                self.editors[place].close()
                self.editors[place] = make()

    def close(self) -> None:
        for editor in self.editors:
            editor.close()


# --- programs


@cache
def _seeds() -> Sequence[bytes]:
    """Programs of steps; each step is the name of an operation and two numbers."""
    found = []
    for number in range(400):
        random = Random(number)
        steps = [
            [random.choice(_OPERATIONS), random.randrange(24), random.randrange(12)]
            for _ in range(random.randrange(8, _MOST_STEPS))
        ]
        choices = {name: random.randrange(60) for name in ("format", "rules", "model")}
        found.append(dumped({**choices, "steps": [["exchanges", 3, 2], *steps, ["request", 2, 1]]}))
    return found


@contextlib.contextmanager
def _opened(sandbox: Sandbox) -> Iterator[Trial]:
    yield partial(_try, sandbox)


def _try(sandbox: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    steps = given.get("steps")
    chosen = [given.get(name) for name in ("format", "rules", "model")]
    if not isinstance(steps, list):
        raise ValidationError("no program")
    format, rules, model = (abs(one) if isinstance(one, int) else 0 for one in chosen)
    program = _Program(sandbox, _FORMATS[format % len(_FORMATS)], _RULES[rules % len(_RULES)], _MODELS[model % len(_MODELS)])
    try:
        for step in steps[:_MOST_STEPS]:
            match step:
                case [str(name), int(one), int(other)] if name in _OPERATIONS:
                    program.take(name, abs(one) % 1000, abs(other) % 1000)
        program.check_all()
    finally:
        program.close()


class _Program:
    """Carries out steps on everything at once."""

    def __init__(self, sandbox: Sandbox, format: str, rules: Sequence[Rule | str], model: str | None) -> None:
        self.format, self.rules, self.model = format, rules, model
        name, out, blobs, counter = f"{os.getpid()}-{next(_names)}", sandbox.out, MemoryBlobs(), Estimate()
        policy = redline.Policy(rules=tuple(rules), schedule="eager", project_root="/p", words=redline.EN)
        settings: dict[str, Any] = {"counter": counter, "blobs": blobs, "policy": policy, "format": format}
        places = [f"{out}/chat.jsonl", f"sqlite:///{out}/chats.db#chat"]
        stores: list[str | None] = [None, f"{out}/lists", f"sqlite:///{out}/lists.db"]
        if server := os.environ.get(POSTGRES):
            places.append(f"{server}#{name}")
        log = MemoryLog()
        self.talks = _Talks(
            [
                partial(redline.Conversation, log=log, **settings),
                *(partial(redline.open, place, durability="os", **settings) for place in places),
            ]
        )
        edited = replace(policy, schedule="when_free" if model else "eager")
        self.lists = _Lists(
            format, [partial(redline.Editor, store, policy=edited, counter=counter, blobs=blobs) for store in stores]
        )
        self.number = 0

    def take(self, name: str, one: int, other: int) -> None:
        getattr(self, f"_{name}")(one, other)
        self.talks.check()

    def check_all(self) -> None:
        self.talks.check_requests(self.rules, self.model)
        self.lists.edit(self.talks.now, self.model)

    def close(self) -> None:
        self.talks.close()
        self.lists.close()

    # --- what is said

    def _add(self, messages: Sequence[Any]) -> None:
        for message in messages:
            if self.talks.is_done(lambda talk, message=message: talk.add(message, timestamp_ms=self.talks.now)):  # type: ignore[misc]
                self.talks.model.add([message])
        self.lists.messages += messages

    def _turns(self, one: int, other: int) -> list[Any]:
        self.number += 1
        tool, arguments = _TOOLS[one % len(_TOOLS)]
        said = "long line of output\n" * (1, 4, 30)[other % 3] + str(self.number)
        return [says("user", f"go {self.number}"), *asks(tool, arguments, said, id=f"call_{self.number}")]

    def _exchange(self, one: int, other: int) -> None:
        self._add(conversation(self.format, self._turns(one, other)))

    def _exchanges(self, one: int, other: int) -> None:
        for number in range(one % 6 + 1):
            self._exchange(one + (number if other % 2 else 0), other)

    def _say(self, one: int, other: int) -> None:
        self.number += 1
        self._add(conversation(self.format, [says("user" if one % 2 else "assistant", f"words {self.number} " * (other + 1))]))

    def _open_call(self, one: int, other: int) -> None:
        self._add(conversation(self.format, self._turns(one, other))[:2])

    # --- what is sent

    def _request(self, one: int, other: int) -> None:
        talks, schedule = self.talks, _SCHEDULES[other % len(_SCHEDULES)]
        talks.now += _WAITS[one % len(_WAITS)]
        made: list[redline.Request] = []

        def ask(talk: redline.Conversation) -> Any:
            made.append(talk.request(now=talks.now, rules=self.rules, schedule=schedule, model=self.model))
            return _told(made[-1])

        if talks.do(ask) is not None:
            for request in made[:1]:
                talks.check_sent(request)
        if one % 3 == 0:
            talks.check_requests(self.rules, self.model)
        self.lists.edit(talks.now, self.model)

    def _usage(self, one: int, other: int) -> None:
        self.talks.do(lambda talk: talk.record_usage(input_tokens=100 * one, cache_read_tokens=90 * one, output_tokens=other))
        for editor, made in zip(self.lists.editors, self.lists.made, strict=False):
            editor.report(made, {"input_tokens": 100 * one, "output_tokens": other})

    def _undo(self, one: int, other: int) -> None:
        if strikes := self.talks.first.strikes:
            strike = strikes[one % len(strikes)]
            if self.talks.is_done(lambda talk: talk.undo(strike.number)):
                self.talks.model.undone.add((strike.rule, strike.index, strike.at))
        if other % 2:
            self.lists.decide(one, is_pin=False)

    def _pin(self, one: int, other: int) -> None:
        model = self.talks.model
        if other % 4 == 0 and self.talks.is_done(lambda talk: talk.unpin(one)):
            model.pins.discard(one)
        if other % 4 and self.talks.is_done(lambda talk: talk.pin(one)):
            model.pins.add(one)
        if other % 3 == 0:
            self.lists.decide(one, is_pin=True)

    # --- what is shown

    def _truncate(self, one: int, other: int) -> None:
        option = ("keep_first", "keep_last", "remove_first", "remove_last")[one % 4]
        model, shown = self.talks.model, self.talks.model.visible
        kept = {
            "keep_first": shown[:other],
            "keep_last": shown[len(shown) - other if other < len(shown) else 0 :],
            "remove_first": shown[other:],
            "remove_last": shown[: max(len(shown) - other, 0)],
        }[option]
        if self.talks.is_done(lambda talk: talk.process({"operation": "truncate", "truncate": {option: other}})):
            model.end_batch(kept)

    def _filter(self, one: int, other: int) -> None:
        model = self.talks.model
        wanted = {"content_excludes": [f"go {one}"]} if other % 2 else {"roles": [("user", "assistant", "tool")[one % 3]]}
        batch = self.talks.first.current_batch
        if self.talks.is_done(lambda talk: talk.process({"operation": "filter", "filter": wanted})):
            kept = self.talks.first.visible_indices
            _require([index for index in model.visible if index in set(kept)] == kept, "a filter shows something new")
            if self.talks.first.current_batch > batch:
                model.end_batch(kept)
            model.visible = kept

    def _replace(self, one: int, _: int) -> None:
        self.number += 1
        (message,) = conversation(self.format, [says("user", f"instead {self.number}")])
        model, wanted = self.talks.model, {"index": one, "message": message}
        batch = self.talks.first.current_batch
        if self.talks.is_done(lambda talk: talk.process({"operation": "replace", "replace": wanted})):
            places = [index for index, now in enumerate(self.talks.first.all_messages) if now != model.messages()[index]]
            _require(len(places) == 1 and self.talks.first.all_messages[places[0]] == message, "another message was replaced")
            if self.talks.first.current_batch > batch:
                model.end_batch(model.visible[:])
            model.shown[places[0]] = message

    def _insert(self, one: int, other: int) -> None:
        messages = conversation(self.format, self._turns(one, other)[:1])
        wanted = {"position": other, "messages": messages}
        if self.talks.is_done(lambda talk: talk.process({"operation": "insert", "insert": wanted})):
            self.talks.model.add(messages, at=min(other, len(self.talks.model.visible)))

    def _start_batch(self, one: int, _: int) -> None:
        model = self.talks.model
        if self.talks.is_done(lambda talk: talk.start_batch(one)):
            model.end_batch([index for index in model.visible if index >= one])

    def _rollback(self, one: int, _: int) -> None:
        batch = one % (len(self.talks.model.earlier) + 2)
        if self.talks.is_done(lambda talk: talk.rollback(batch)):
            self.talks.model.roll_back(batch)

    def _compact(self, one: int, _: int) -> None:
        model = self.talks.model
        if self.talks.is_done(lambda talk: talk.compact(lambda _: "in short", keep_last=one % 5, in_place=True)):
            summary, shown = self.talks.first.all_messages[-1], self.talks.first.visible_indices
            _require(
                [index for index in shown if index < len(model.said)] == [i for i in model.visible if i in set(shown)], "order"
            )
            model.end_batch(shown)
            model.said.append(summary)
            model.remember(1)

    # --- time

    def _rewind(self, one: int, other: int) -> None:
        talks = self.talks
        head, index = talks.first._engine.timeline.head, one % (len(talks.model.said) + 1)
        if talks.is_done(lambda talk: talk.rewind(index)):
            talks.left[head], talks.model = talks.model, talks.model.rewound(index)
        if other % 2:
            self.lists.cut(len(self.lists.messages) * one // 24)

    def _switch(self, one: int, _: int) -> None:
        talks = self.talks
        ends = [branch for branch in talks.first.branches if branch.number in talks.left and not branch.is_current]
        if not ends:
            return
        end, head = ends[one % len(ends)], talks.first._engine.timeline.head
        if talks.is_done(lambda talk: talk.switch(next(b for b in talk.branches if _same_end(b, end)))):
            then = deepcopy(talks.left[end.number])
            then.decided(talks.model, end.after)
            talks.left[head], talks.model = talks.model, then

    def _fork(self, _: int, __: int) -> None:
        made = self.talks.first.fork()
        told = [
            _told(talk.preview(now=self.talks.now, rules=self.rules, schedule="eager", model=self.model))[0]
            for talk in (made, self.talks.first)
        ]
        _require(told[0] == told[1], "a fork sends something else")

    def _reopen(self, _: int, other: int) -> None:
        self.talks.reopen()
        if other % 2:
            self.lists.reopen()

    def _refresh(self, _: int, __: int) -> None:
        self.talks.do(lambda talk: talk.refresh())


def _same_end(branch: Any, other: Any) -> bool:
    return (branch.after, branch.messages, branch.number) == (other.after, other.messages, other.number)


STATEFUL = Target("stateful", _seeds, _opened)
