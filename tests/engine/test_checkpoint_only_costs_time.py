"""A checkpoint may only ever cost time: whatever is done, a conversation sends what one without checkpoints does."""

import os

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import redline
from redline import Conversation
from redline.engine import derived_state
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.records import Checkpoint
from redline.rules import Folded, HistoricalReads, MaskedResults, OffloadResults, StaleTerminal
from redline.testing import asks, conversation, says

EXAMPLES = int(os.environ.get("REDLINE_LOG_EXAMPLES", "5"))
MINUTE = 60_000
OTHER = {"role": "user", "content": "other"}
RULE_SETS = [
    None,
    [MaskedResults(keep_recent=2)],
    [StaleTerminal(max_age_ms=MINUTE, keep_recent=1), HistoricalReads(keep_recent=1)],
    [OffloadResults(min_chars=100, keep_recent=1)],
    [Folded(), MaskedResults(keep_recent=2)],
]
rule_sets = st.sampled_from(range(len(RULE_SETS)))
schedules = st.sampled_from(["eager", "when_free", "budget"])


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint whenever anything was said."""
    monkeypatch.setattr(derived_state, "_LEAST_MESSAGES", 1)
    monkeypatch.setattr(derived_state, "_LEAST_SHARE", 0)


class Forgetful:
    """A log in memory that keeps no checkpoints, and is opened anew for every request."""

    def __init__(self):
        self.log, self.blobs = MemoryLog(), MemoryBlobs()

    def open(self, **settings):
        return Conversation(log=self.log, blobs=self.blobs, project_root="/p", **settings)


class Twins(RuleBasedStateMachine):
    """One conversation on disk, opened and closed now and then, beside one that works everything out again each time."""

    format = "anthropic"

    def __init__(self, address):
        super().__init__()
        self.address, self.blobs, self.plain = address, MemoryBlobs(), Forgetful()
        self.settings = {"format": self.format}
        self.talk = self.opened()
        self.now = self.number = 0

    def opened(self):
        return redline.open(self.address, durability="os", blobs=self.blobs, project_root="/p", **self.settings)

    def teardown(self):
        self.talk.close()

    def do(self, change):
        """The same to both."""
        results = []
        for talk in (self.talk, self.plain.open(**self.settings)):
            try:
                results.append(change(talk))
            except redline.RedlineError as problem:
                results.append((type(problem), str(problem)))
        assert results[0] == results[1]

    @rule(count=st.integers(1, 5), tool=st.sampled_from(["filesystem-read", "terminal-execute"]), is_open=st.booleans())
    def say(self, count, tool, is_open):
        for _ in range(count):
            self.number += 1
            turn = asks(tool, {"filePath": "a.py", "command": "ls"}, f"text {self.number} " * 30, id=f"c{self.number}")
            messages = conversation(self.format, [says("user", "go on"), *turn])
            for message in messages[:-1] if is_open else messages:
                self.do(lambda talk, message=message: talk.add(message, timestamp_ms=self.now))

    @rule(wait=st.sampled_from([0, 1, 7, 90, -30]), rules=rule_sets, schedule=schedules)
    def request(self, wait, rules, schedule):
        self.now = max(0, self.now + wait * MINUTE)
        self.do(lambda talk: told(talk.request(now=self.now, rules=RULE_SETS[rules], schedule=schedule)))

    @rule(wait=st.sampled_from([0, 1, 90]), rules=rule_sets, schedule=schedules)
    def preview(self, wait, rules, schedule):
        self.do(lambda talk: told(talk.preview(now=self.now + wait * MINUTE, rules=RULE_SETS[rules], schedule=schedule)))

    @rule(option=st.sampled_from(["keep_first", "keep_last", "remove_first", "remove_last"]), count=st.integers(0, 9))
    def truncate(self, option, count):
        self.do(lambda talk: talk.process({"operation": "truncate", "truncate": {option: count}}))

    @rule(position=st.integers(-1, 9), text=st.sampled_from(["secret", "more " * 99]))
    def insert(self, position, text):
        inserted = {"position": position, "messages": [{"role": "user", "content": text}]}
        self.do(lambda talk: talk.process({"operation": "insert", "insert": inserted}))

    @rule(index=st.integers(0, 20))
    def replace(self, index):
        replaced = {"index": index, "message": {"role": "user", "content": "replaced"}}
        self.do(lambda talk: talk.process({"operation": "replace", "replace": replaced}))

    @rule(words=st.sampled_from([["text 1"], ["go on"], ["secret"]]))
    def filter(self, words):
        self.do(lambda talk: talk.process({"operation": "filter", "filter": {"content_excludes": words}}))

    @rule(index=st.integers(0, 20), what=st.sampled_from(["rewind", "start_batch", "pin", "unpin", "rollback", "undo"]))
    def move(self, index, what):
        self.do(lambda talk: getattr(talk, what)(index))

    @rule(tokens=st.integers(0, 90_000))
    def report(self, tokens):
        self.do(lambda talk: talk.record_usage(input_tokens=tokens, cache_read_tokens=tokens // 2))

    @rule()
    def reopen(self):
        self.talk.close()
        self.talk = self.opened()

    @rule()
    def be_killed(self):
        """Nothing is closed in order."""
        self.talk = self.opened()


def told(request):
    """All that somebody can see."""
    held = sorted((one.mark.index, one.mark.at, one.mark.rule, one.why) for one in request.held)
    return request.body, list(request.strikes), request.lifted, held, request.refused, request.repairs, request.stats


@pytest.mark.parametrize("format", ["anthropic", "openai_chat", "openai_responses", "gemini", "ai_sdk"])
def test_whatever_is_done(tmp_path, format):
    """Operations × requests × previews × undo × rewind × close × open × rules × schedules: the same requests (R50)."""
    numbers = iter(range(10**6))
    kind = type("TwinsOf", (Twins,), {"format": format})
    run_state_machine_as_test(
        lambda: kind(tmp_path / f"{next(numbers)}.jsonl"),
        settings=settings(max_examples=EXAMPLES, stateful_step_count=30, deadline=None),
    )


@pytest.mark.parametrize("schedule", ["eager", "when_free", "budget"])
@pytest.mark.parametrize(
    "change",
    [
        lambda talk: talk.process({"operation": "truncate", "truncate": {"remove_first": 3}}),
        lambda talk: talk.process(
            {"operation": "insert", "insert": {"position": 1, "messages": [{"role": "user", "content": "new"}]}}
        ),
        lambda talk: talk.process(
            {"operation": "replace", "replace": {"index": 0, "message": {"role": "user", "content": "other"}}}
        ),
        lambda talk: talk.process({"operation": "filter", "filter": {"content_excludes": ["password"]}}),
        lambda talk: talk.start_batch(3),
        lambda talk: talk.rewind(30),
    ],
)
def test_what_was_removed_is_not_sent_again(tmp_path, monkeypatch, change, schedule):
    """A loop of 60 turns with a request each, a change, close, open: what was truncated away stays away (R50)."""
    monkeypatch.undo()
    where, now = {"budget": f"sqlite:///{tmp_path}/chats.db#x"}.get(schedule, tmp_path / "chat.jsonl"), 0
    with redline.open(where, durability="os", format="openai_chat") as talk:
        talk.add({"role": "user", "content": "my password is hunter2"}, timestamp_ms=0)
        for number in range(60):
            for message in conversation(
                "openai_chat", asks("terminal-execute", {"command": "ls"}, "out " * 50, id=f"c{number}")
            ):
                talk.add(message, timestamp_ms=now)
            now += MINUTE
            talk.request(now=now, schedule=schedule)
        change(talk)
        expected = talk.preview(now=now, schedule=schedule).body
    with redline.open(where, durability="os") as again:
        assert again.request(now=now, schedule=schedule).body == expected
        assert any(isinstance(one.record, Checkpoint) for one in again._engine.timeline.log.read())


@pytest.mark.parametrize("has_asked", [True, False])
def test_a_checkpoint_settles_no_format(tmp_path, has_asked):
    """A model settles it as long as it is said; what was worked out meanwhile is not taken for another format (R50)."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path) as talk:
        talk.add(OTHER)
    with redline.open(path, model="claude-sonnet-4-6") as talk:
        for number in range(9):
            talk.add({"role": ("assistant", "user")[number % 2], "content": f"word {number}"})
        if has_asked:
            talk.request()
        assert talk.format == "anthropic"
    with redline.open(path) as talk:
        assert talk.format == "openai_chat"
        assert len(talk.request().messages) == 10


@pytest.mark.parametrize("votes", [{}, {"telegram": 3}])
def test_votes_that_nobody_knows_are_counted_again(votes):
    """A checkpoint of another version, or one that was made with a fixed format (R50)."""
    log = MemoryLog()
    Conversation([{"role": "user", "parts": [{"text": "hi"}]}], log=log)
    log.append([Checkpoint("any", b"{}", votes)], parent=0)
    again = Conversation(log=log)
    assert again.format == "gemini"
    assert len(again.request().messages) == 1
