import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from redline import FORMATS, Conversation, ExecutionError, Policy, RedlineError, ValidationError, check
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.rules import RULES, OffloadResults
from redline.rules.masked_results import MaskedResults
from redline.rules.protection import Protection
from redline.testing import asks, conversation, conversations, says
from tests.effort import tries

MINUTE = 60_000


def reads(count, tool="filesystem-read", size=400):
    """A chat history of so many reads of one file, a minute apart."""
    turns = [turn for number in range(count) for turn in asks(tool, {"filePath": "a.py"}, "x" * size, id=f"c{number}")]
    payloads = conversation("openai_chat", [says("user", "hi"), *turns])
    return [{**payload, "timestamp": number * MINUTE} for number, payload in enumerate(payloads)]


def contents(request):
    return [message.get("content") for message in request.messages]


def test_what_is_given_and_taken_is_isolated():
    """Changing a message after adding it, or one that was handed out, changes nothing."""
    given_message = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    talk = Conversation([given_message])
    given_message["content"][0]["text"] = "changed"
    talk.messages[0]["content"][0]["text"] = "changed"
    talk.all_messages[0]["role"] = "changed"
    talk.request(now=0).messages[0]["role"] = "changed"
    assert talk.messages == talk.all_messages == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_request_applies_the_rules_and_the_record_keeps_everything():
    """Old reads are struck in what is sent, never in what is stored."""
    history = reads(7)
    talk = Conversation(history, project_root="/p")
    request = talk.request(now=20 * MINUTE)
    assert [strike.index for strike in request.strikes] == [2, 4]
    assert [strike.rule for strike in request.strikes] == ["historical_reads"] * 2
    assert "Earlier read" in contents(request)[2]
    assert talk.all_messages == history


def test_strikes_stay():
    """A strike once applied stays applied, byte for byte, though the rules are no longer asked for."""
    talk = Conversation(reads(7), project_root="/p")
    first = talk.request(now=20 * MINUTE)
    again = talk.request(now=21 * MINUTE, rules=[])
    assert again.body == first.body
    assert (len(again.strikes), again.new_strikes) == (2, ())


def test_preview_records_nothing():
    """A preview shows what a request would do; the record and the next request are as if it had not been."""
    talk = Conversation(reads(7), project_root="/p")
    preview = talk.preview(now=20 * MINUTE)
    assert len(preview.new_strikes) == 2
    assert talk.strikes == ()
    assert talk.request(now=20 * MINUTE).body == preview.body


def test_undo_restores_exactly():
    """An undone strike is sent as it was said, and its rule leaves it alone."""
    talk = Conversation(reads(7), project_root="/p")
    before = talk.request(now=0, rules=[]).body
    for strike in talk.request(now=20 * MINUTE).strikes:
        talk.undo(strike)
    assert talk.request(now=20 * MINUTE).body == before
    with pytest.raises(ExecutionError, match="no strike 0 in force"):
        talk.undo(0)


def test_pinned_message_is_never_struck():
    """A pin undoes what was struck and keeps it so; without it the rule may strike again."""
    talk = Conversation(reads(7), project_root="/p")
    talk.request(now=20 * MINUTE)
    talk.pin(2)
    assert [strike.index for strike in talk.request(now=20 * MINUTE).strikes] == [4]
    talk.unpin(2)
    assert sorted(strike.index for strike in talk.request(now=20 * MINUTE).strikes) == [2, 4]
    with pytest.raises(ExecutionError, match="no message 99"):
        talk.pin(99)


def test_protection_holds_for_every_rule():
    """Protected tools and paths are left alone."""
    kept = Conversation(reads(7), project_root="/p", protection=Protection(paths=("*.py",)))
    assert kept.request(now=20 * MINUTE, rules=["historical_reads", MaskedResults(keep_recent=1)]).strikes[:] == ()


def test_request_explains_itself():
    """Everything that differs from the record has its reason, its numbers and its way back."""
    talk = Conversation(reads(7), project_root="/p")
    request = talk.request(now=20 * MINUTE)
    told = request.explain()
    assert "historical_reads: 2 struck" in told
    assert "Struck now, message 2: 5 newer reads of a.py" in told
    assert "Undo: 0" in told
    assert request.stats.tokens_after < request.stats.tokens_before
    assert request.stats.by_tool["filesystem-read"].strikes == 2


def test_interrupted_call_is_repaired_in_what_is_sent():
    """A call without a result is not sent, or answered, as the strategy says; the record still has it."""
    history = conversation("openai_chat", [says("user", "hi"), *asks("Bash", {}, None), says("user", "go on")])
    talk = Conversation(history)
    request = talk.request(now=0)
    assert [message["role"] for message in request.messages] == ["user", "user"]
    assert request.repairs[0].index == 1
    answered = Conversation(history, strategy="answer").request(now=0)
    assert [message["role"] for message in answered.messages] == ["user", "assistant", "tool", "user"]
    assert len(talk.all_messages) == 3


def test_message_of_another_format_is_converted(caplog):
    """A conversation has one format; what comes in another is converted, and that is said."""
    talk = Conversation(conversation("anthropic", [says("user", "hi"), *asks("read", {}, "x")]))
    with caplog.at_level(logging.WARNING, logger="redline"):
        talk.add({"role": "model", "parts": [{"text": "from gemini"}]})
    assert talk.messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "from gemini"}]}
    assert "converted to anthropic" in caplog.text
    assert check(talk.request(now=0).messages, format="anthropic") == []


def test_time_may_be_given_beside_the_message():
    """Providers refuse fields they do not know; a time need not stand in the message."""
    talk = Conversation(project_root="/p")
    for number, message in enumerate(reads(7)):
        del message["timestamp"]
        talk.add(message, timestamp_ms=number * MINUTE)
    request = talk.request(now=20 * MINUTE)
    assert len(request.strikes) == 2
    assert "timestamp" not in request.messages[0]


@pytest.mark.parametrize("message", [{"content": "x"}, {"role": "user"}, {}, [], "hi", None])
def test_what_is_no_message_is_refused(message):
    """A message needs a role, and content or calls; nothing is stored otherwise."""
    talk = Conversation()
    with pytest.raises(ValidationError):
        talk.add(message)
    assert talk.all_messages == []


def test_unknown_rule_and_schedule_are_named():
    """A wrong name lists the right ones."""
    with pytest.raises(ValidationError, match="no rule named 'magic'"):
        Conversation().request(now=0, rules=["magic"])
    with pytest.raises(ValidationError, match="no schedule named 'never'"):
        Conversation().request(now=0, schedule="never")


def test_unusual_values_survive():
    """Lone surrogates, huge numbers, nulls and empty strings come back as they were given."""
    odd = {"role": "user", "content": "\ud83d", "x": 2**70, "y": None, "z": ["", {"a": 0.1}]}
    talk = Conversation([odd])
    assert talk.messages == [odd]
    assert talk.request(now=0).messages == [odd]
    assert json.loads(talk.request(now=0).body) == [odd]


def test_bytes_are_kept_verbatim():
    """A message given as bytes is sent as those bytes."""
    raw = b'{"role": "user",  "content":"hi", "n": 1E2, "n": 1E2}'
    assert Conversation([raw]).request(now=0).body == b"[" + raw + b"]"


@tries(40)
@given(data=st.data(), format=st.sampled_from(list(FORMATS)), now=st.integers(0, 10**9))
def test_every_request_is_legal_and_never_longer(data, format, now):
    """Whatever the history and the rules: legal, deterministic, no more tokens than before, errors and pins kept."""
    history = data.draw(conversations(format, max_steps=8, with_extras=False))
    order = data.draw(st.lists(st.sampled_from(range(len(history))), min_size=1, max_size=12, unique=data.draw(st.booleans())))
    rules = [
        RULES[name]()
        for name in data.draw(st.lists(st.sampled_from([n for n in RULES if n != "offload_results"]), unique=True))
    ]
    pinned = data.draw(st.sampled_from(range(len(order))))
    talks = [Conversation(format=format) for _ in range(2)]
    for talk in talks:
        for number, place in enumerate(order):
            talk.add(history[place], timestamp_ms=number * MINUTE)
        talk.pin(pinned)
    first, second = (talk.request(now=now, rules=rules) for talk in talks)
    assert check(first.messages, format=format) == []
    assert first.body == second.body
    assert first.stats.tokens_after <= first.stats.tokens_before
    assert all(strike.index != pinned for strike in first.strikes)
    assert talks[0].request(now=now, rules=rules).body == first.body
    assert talks[0].messages == [history[place] for place in order]


class Talking(RuleBasedStateMachine):
    """Any sequence of operations, with the views remembered that were in force when each batch ended."""

    @initialize(history=conversations("openai_chat", max_steps=3, with_extras=False))
    def start(self, history):
        self.talk = Conversation(history)
        self.ended = {}

    def seen(self):
        return self.talk.visible_indices, self.talk.messages

    def run(self, change):
        before, batch, view = self.talk.all_messages, self.talk.current_batch, self.seen()
        try:
            change()
        except RedlineError:
            assert (self.talk.all_messages, self.talk.current_batch, self.seen()) == (before, batch, view)
            return
        if self.talk.current_batch > batch:
            self.ended[batch] = view

    @rule(text=st.text(max_size=3))
    def add(self, text):
        self.run(lambda: self.talk.add({"role": "user", "content": text}))

    @rule(option=st.sampled_from(["keep_first", "keep_last", "remove_first", "remove_last"]), count=st.integers(-1, 6))
    def truncate(self, option, count):
        self.run(lambda: self.talk.process({"operation": "truncate", "truncate": {option: count}}))

    @rule(position=st.integers(-1, 9), text=st.text(max_size=3))
    def insert(self, position, text):
        messages = [{"role": "user", "content": text}]
        self.run(lambda: self.talk.process({"operation": "insert", "insert": {"position": position, "messages": messages}}))

    @rule(index=st.integers(0, 9), text=st.text(max_size=3))
    def replace(self, index, text):
        message = {"role": "user", "content": text}
        self.run(lambda: self.talk.process({"operation": "replace", "replace": {"index": index, "message": message}}))

    @rule(keep=st.booleans())
    def clear(self, keep):
        self.run(lambda: self.talk.process({"operation": "clear", "clear": {"keep_system_message": keep}}))

    @rule(role=st.sampled_from(["user", "assistant", "tool"]))
    def filter(self, role):
        self.run(lambda: self.talk.process({"operation": "filter", "filter": {"roles": [role]}}))

    @rule(boundary=st.integers(-1, 12))
    def start_batch(self, boundary):
        self.run(lambda: self.talk.start_batch(boundary))

    @rule()
    def request(self):
        self.talk.request(now=10**9, rules=[MaskedResults(keep_recent=1)])

    @precondition(lambda self: self.talk.current_batch > 0)
    @rule(data=st.data())
    def rollback(self, data):
        batch = data.draw(st.sampled_from(range(self.talk.current_batch)))
        self.talk.rollback(batch)
        assert self.seen() == self.ended[batch]
        self.ended = {number: view for number, view in self.ended.items() if number < batch}

    @invariant()
    def what_is_sent_is_legal(self):
        assert check(self.talk.preview(now=0, rules=[]).messages, format=self.talk.format) == []

    @invariant()
    def one_boundary_per_batch(self):
        assert len(self.talk.batch_boundaries) == len(self.talk.batches) == self.talk.current_batch + 1


TestTalking = Talking.TestCase
TestTalking.settings = tries(20, stateful_step_count=20)


def test_rewinding_leaves_a_branch():
    """Going back moves the head; what came after stays, and one can go on there again."""
    talk = Conversation([{"role": "user", "content": text} for text in "abcd"])
    talk.rewind(1)
    talk.add({"role": "user", "content": "x"})
    assert [message["content"] for message in talk.messages] == ["a", "b", "x"]
    (other,) = [branch for branch in talk.branches if not branch.is_current]
    assert (other.after, other.messages) == (2, 4)
    talk.switch(other)
    assert [message["content"] for message in talk.messages] == ["a", "b", "c", "d"]
    for wrong in (99, float(other.number), True, None):
        with pytest.raises(ExecutionError, match="no branch"):
            talk.switch(wrong)
    with pytest.raises(ExecutionError, match="no message 7"):
        talk.rewind(7)


def test_rewinding_keeps_the_strikes_that_have_ground():
    """What its rule would still strike is sent struck after going back; what it would not is sent as it was said."""
    talk = Conversation(reads(8), project_root="/p")
    before = talk.request(now=20 * MINUTE)
    assert [strike.index for strike in before.strikes] == [2, 4, 6]
    talk.rewind(12)
    after = talk.request(now=20 * MINUTE)
    assert [strike.index for strike in after.strikes] == [2]
    assert [lift.strike.index for lift in after.lifted] == [4, 6]
    assert "Lifted, message 4" in after.explain()
    assert talk.request(now=20 * MINUTE).lifted == ()


def test_fork_is_a_conversation_of_its_own():
    """A fork starts as the original stands, and neither changes the other."""
    talk = Conversation(reads(7), project_root="/p")
    sent = talk.request(now=20 * MINUTE).body
    fork = talk.fork()
    assert fork.request(now=20 * MINUTE).body == sent
    fork.add({"role": "user", "content": "only here"})
    assert len(talk.all_messages) == len(fork.all_messages) - 1


def test_request_at_an_earlier_message():
    """What was sent then can be worked out again, with the strikes that were in force then."""
    history = reads(8)
    talk = Conversation(project_root="/p")
    sent = {}
    for number, message in enumerate(history):
        talk.add(message)
        sent[number] = talk.request(now=number * MINUTE).body
    for number in (3, 10, 14, 16):
        assert talk.request_at(number, now=number * MINUTE).body == sent[number]


def test_reopened_conversation_sends_the_same_bytes():
    """A conversation opened from its log again gives the very same request, strikes included."""
    log = MemoryLog()
    talk = Conversation(reads(9), project_root="/p", log=log)
    talk.process({"operation": "truncate", "truncate": {"remove_first": 2}})
    talk.request(now=20 * MINUTE)
    talk.undo(0)
    talk.pin(6)
    again = Conversation(log=log, project_root="/p")
    assert again.request(now=20 * MINUTE).body == talk.request(now=20 * MINUTE).body
    assert (again.visible_indices, again.strikes) == (talk.visible_indices, talk.strikes)


def test_requests_made_with_other_rules_count():
    """`when_free` weighs every request that was recorded, as a conversation opened from its log again does."""
    log, rules = MemoryLog(), [MaskedResults(keep_recent=1)]
    talk = Conversation(reads(2), project_root="/p", log=log)
    talk.preview(now=0, rules=rules, schedule="when_free")
    talk.request(now=0, rules=[], schedule="when_free")
    again = Conversation(project_root="/p", log=log)
    sent = [one.preview(now=1, rules=rules, schedule="when_free") for one in (talk, again)]
    assert sent[0].body == sent[1].body
    assert len(sent[0].held) == 1


def test_secrets_are_redacted_before_anything_is_kept():
    """With a redaction set, neither the record nor a request ever holds the secret."""
    talk = Conversation(redact=lambda payload: payload.replace(b"hunter2", b"******"))
    talk.add({"role": "user", "content": "my password is hunter2"})
    talk.process({"operation": "insert", "insert": {"position": -1, "messages": [{"role": "user", "content": "hunter2"}]}})
    assert "hunter2" not in str(talk.all_messages)
    assert b"hunter2" not in talk.request(now=0).body
    talk.close()


def test_offloaded_content_is_stored_and_named():
    """A strike that moved content away names where it is, and it can be read back."""
    blobs = MemoryBlobs()
    talk = Conversation(reads(2, size=30000), project_root="/p", blobs=blobs)
    request = talk.request(now=0, rules=["offload_results"])
    assert request.new_strikes
    assert blobs.get(request.new_strikes[0].reference).decode() == "x" * 30000


def test_offloading_needs_a_place():
    """R161: a rule that moves results away is refused where there are no blobs, before there is anything to move."""
    for rules in (["offload_results"], [OffloadResults()]):
        with pytest.raises(ValidationError, match=r"offload_results moves results to blobs.*blobs="):
            Conversation(policy=Policy(rules=rules))
        with pytest.raises(ValidationError, match=r"offload_results moves results to blobs.*blobs="):
            Conversation([{"role": "user", "content": "hi"}]).request(now=0, rules=rules)
