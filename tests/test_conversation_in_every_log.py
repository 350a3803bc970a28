"""One machine that talks in four logs at once: whatever is done, all of them hold the same conversation."""

import itertools
import os
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import redline
from redline import FORMATS, Conversation, RedlineError
from redline.engine import derived_state
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, conversations, says

EXAMPLES = int(os.environ.get("REDLINE_LOG_EXAMPLES", "15"))
"""How many sequences of operations are tried. A long run: REDLINE_LOG_EXAMPLES=2000."""

RULES = [MaskedResults(keep_recent=2), "offload_results", "historical_reads", "stale_terminal"]
SCHEDULES = ("eager", "when_free")
waits = st.sampled_from([0, 1000, 400_000, 2_000_000])
schedules = st.sampled_from(SCHEDULES)
sizes = st.sampled_from([2, 400, 700, 5000])
_numbers = itertools.count(step=1000)

TOOLS = ("filesystem-read", "terminal-execute")
words = st.sampled_from(["hi", "\ud83d", "你好", "naïve\u2028", "x" * 900, "\0"])
formats = st.sampled_from(sorted(FORMATS))
odd_messages = st.sampled_from(
    [
        b'{"role": "user",  "content":"hi", "n": 1E2, "n": 1E2}',
        b'{"role":"user","content":\n"two lines"}',
        {"role": "user", "content": "\ud83d", "x": 2**70, "y": None, "z": ["", {"a": 0.1}]},
        {"role": "user"},
        {},
        "no message",
    ]
)


def exchanges(format, number, sizes):
    """Calls with results, which are large enough to be struck or not, of a format."""
    turns = [
        turn
        for place, size in enumerate(sizes)
        for turn in asks(
            TOOLS[place % len(TOOLS)], {"filePath": "a.py", "command": "make"}, "y" * size, id=f"call_{number}_{place}"
        )
    ]
    return conversation(format, [says("user", "go on"), *turns])


class Place:
    """Where one of the conversations is kept, and the two that have it open, as two processes would."""

    def __init__(self, opened):
        self._opened = opened
        self.blobs = MemoryBlobs()
        self.talks = [self.open(), self.open()]

    def open(self):
        return self._opened(blobs=self.blobs, project_root="/p", token_limit=400)

    def reopen(self, process):
        self.talks[process].close()
        self.talks[process] = self.open()

    def close(self):
        for talk in self.talks:
            talk.close()


class Everywhere(RuleBasedStateMachine):
    """Does the same in memory, JSON Lines, SQLite and PostgreSQL, in one of two processes, and looks for differences."""

    def __init__(self, folder, postgres):
        super().__init__()
        self.number = next(_numbers)
        self.memory = MemoryLog()
        name = f"{folder}/{self.number}"
        places = [f"{name}.jsonl", f"sqlite:///{folder}/chats.db#{self.number}", f"{postgres}#{name}"]
        self.places = [Place(partial(Conversation, log=self.memory))]
        self.places += [Place(partial(redline.open, address, durability="os")) for address in places]
        self.process, self.latest, self.now = 0, None, 0

    def teardown(self):
        for place in self.places:
            place.close()

    def do(self, change):
        before = self.stored()
        same([outcome(change, place.talks[self.process]) for place in self.places])
        if self.stored() > before:
            self.latest = self.process

    def stored(self):
        return sum(1 for _ in self.memory.read())

    @property
    def talk(self):
        return self.places[0].talks[self.process]

    def indices(self):
        """Of a message, now and then of one that is not there."""
        return st.integers(-1, len(self.talk.all_messages))

    # --- two processes

    @rule()
    def let_the_other_process_go_on(self):
        self.process = 1 - self.process

    @rule()
    def reopen(self):
        for place in self.places:
            place.reopen(self.process)

    # --- what is said

    @initialize(format=formats, sizes=st.lists(sizes, max_size=5))
    def begin(self, format, sizes):
        self.add(exchanges(format, "first", sizes))

    @rule(sizes=st.lists(sizes, min_size=1, max_size=3))
    def go_on(self, sizes):
        self.number += 1
        self.add(exchanges(self.talk.format, self.number, sizes))

    @rule(given=formats.flatmap(lambda format: conversations(format, max_steps=2)), time=st.none() | st.integers(0, 10**6))
    def say_in_any_format(self, given, time):
        self.add(given, time)

    @rule(message=odd_messages)
    def say_something_odd(self, message):
        self.add([message])

    def add(self, given, time=None):
        for message in given:
            self.do(lambda talk, message=message: talk.add(message, timestamp_ms=time))

    # --- what is shown

    @rule(option=st.sampled_from(["keep_first", "keep_last", "remove_first", "remove_last"]), count=st.integers(-1, 9))
    def truncate(self, option, count):
        self.do(lambda talk: talk.process({"operation": "truncate", "truncate": {option: count}}))

    @rule(data=st.data(), format=formats, text=words)
    def insert(self, data, format, text):
        messages = conversation(format, [says("user", text), says("assistant", text)])
        inserted = {"position": data.draw(self.indices()), "messages": messages}
        self.do(lambda talk: talk.process({"operation": "insert", "insert": inserted}))

    @rule(data=st.data(), text=words, format=formats)
    def replace(self, data, text, format):
        (message,) = conversation(format, [says("user", text)])
        replaced = {"index": data.draw(self.indices()), "message": message}
        self.do(lambda talk: talk.process({"operation": "replace", "replace": replaced}))

    @rule(keep=st.booleans())
    def clear(self, keep):
        self.do(lambda talk: talk.process({"operation": "clear", "clear": {"keep_system_message": keep}}))

    @rule(roles=st.sets(st.sampled_from(["user", "assistant", "tool"]), max_size=2))
    def filter(self, roles):
        self.do(lambda talk: talk.process({"operation": "filter", "filter": {"roles": sorted(roles)}}))

    @rule(data=st.data())
    def start_batch(self, data):
        boundary = data.draw(self.indices())
        self.do(lambda talk: talk.start_batch(boundary))

    @rule(data=st.data())
    def rollback(self, data):
        batch = data.draw(st.integers(-1, self.talk.current_batch + 1))
        self.do(lambda talk: talk.rollback(batch))

    @rule(summary=st.sampled_from(["", "short", "short", "long " * 900]), keep_last=st.integers(-1, 3))
    def compact(self, summary, keep_last):
        self.do(lambda talk: talk.compact(lambda _: summary, keep_last=keep_last, in_place=True) is talk)

    # --- what is sent

    @rule(wait=waits, schedule=schedules, rules=st.sampled_from([RULES, None, []]))
    def request(self, wait, schedule, rules=RULES):
        self.now += wait
        self.do(lambda talk: told(talk.request(now=self.now, rules=rules, schedule=schedule)))

    @rule(sizes=st.lists(sizes, min_size=2, max_size=4), schedule=schedules)
    def work(self, sizes, schedule):
        """A request after each exchange, while the provider's cache is warm."""
        for size in sizes:
            self.go_on([size])
            self.request(1000, schedule)

    @rule(data=st.data(), is_pinned=st.booleans())
    def pin(self, data, is_pinned):
        index = data.draw(self.indices())
        self.do(lambda talk: talk.pin(index) if is_pinned else talk.unpin(index))

    @rule(data=st.data())
    def undo(self, data):
        number = data.draw(st.sampled_from([*(strike.number for strike in self.talk.strikes), 99]))
        self.do(lambda talk: talk.undo(number))

    @rule(used=st.integers(-1, 900), answer=st.integers(0, 9))
    def record_usage(self, used, answer):
        self.do(lambda talk: talk.record_usage(input_tokens=used, output_tokens=answer))

    @rule()
    def check_tokens(self):
        self.do(lambda talk: talk.check_tokens())

    # --- time

    @rule(data=st.data())
    def rewind(self, data):
        index = data.draw(self.indices())
        self.do(lambda talk: talk.rewind(index))

    @rule(data=st.data())
    def switch(self, data):
        if branches := self.talk.branches:
            place = data.draw(st.sampled_from(range(len(branches))))
            self.do(lambda talk: talk.switch(talk.branches[place]))

    # --- what must be the same

    @invariant()
    def all_are_the_same(self):
        """In every place, and opened again as in the process that said something last."""
        same([seen(place.talks[self.process], self.now) for place in self.places])
        opened = [place.open() for place in self.places]
        again = [seen(talk, self.now) for talk in opened]
        for talk in opened:
            talk.close()
        same(again)
        if self.latest is not None:
            same([again[0], seen(self.places[0].talks[self.latest], self.now)])


def outcome(change, talk):
    """What a change gives back, or with which words it is refused."""
    try:
        return change(talk)
    except RedlineError as problem:
        return type(problem), str(problem)


def told(request):
    """What is sent and what is decided. Why a mark is held may be said with the numbers of an earlier request."""
    return request.body, tuple(request.strikes), request.new_strikes, [decision.mark for decision in request.held]


def seen(talk, now):
    """All that a conversation says about itself, its name aside."""
    return {
        "messages": talk.messages,
        "all messages": talk.all_messages,
        "visible": talk.visible_indices,
        "batches": (talk.batches, talk.current_batch, talk.batch_boundaries),
        "strikes": talk.strikes,
        "branches": [(branch.after, branch.messages, branch.is_current) for branch in talk.branches],
        "format": talk.format,
        "origin": talk.origin,
        "tokens": talk.check_tokens(),
        **{schedule: told(talk.preview(now=now, rules=RULES, schedule=schedule)) for schedule in SCHEDULES},
    }


def same(things):
    """All are like the first."""
    for thing in things[1:]:
        assert thing == things[0]


@pytest.mark.parametrize("has_checkpoints", [False, True], ids=["without checkpoints", "with checkpoints"])
def test_conversation_is_the_same_in_every_log(has_checkpoints, tmp_path_factory, postgres, monkeypatch):
    """Any operations, in one process or two, give one conversation in all four logs, also when opened again after each, and
    also where what was worked out is stored in them after every request."""
    if has_checkpoints:
        monkeypatch.setattr(derived_state, "_LEAST_MESSAGES", 1)
        monkeypatch.setattr(derived_state, "_LEAST_SHARE", 0)
    folder = tmp_path_factory.mktemp("everywhere")
    tried = settings(max_examples=EXAMPLES, stateful_step_count=20)
    run_state_machine_as_test(lambda: Everywhere(folder, postgres), settings=tried)
