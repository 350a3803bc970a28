from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, Conversation
from redline.engine import derived_state
from redline.engine.derived_state import Checkpoints, Settings, Snapshot, fingerprint
from redline.engine.state import State
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.log import ROOT
from redline.record.records import Checkpoint, MessageAdded
from redline.rules.failed_inputs import FailedInputs
from redline.rules.folded import Folded
from redline.rules.historical_reads import HistoricalReads
from redline.rules.long_results import LongResults
from redline.rules.masked_results import MaskedResults
from redline.rules.offload_results import OffloadResults
from redline.rules.old_images import OldImages
from redline.rules.old_reasoning import OldReasoning
from redline.rules.protection import Protection
from redline.rules.repeated_calls import RepeatedCalls
from redline.rules.rule import Mark, TimelessFold
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.superseded_reads import SupersededReads
from redline.schedules import Decision
from redline.testing import asks, conversation, conversations
from redline.tokens import Calibrated, Estimate
from tests.effort import tries

STRICT = (
    StaleTerminal(max_age_ms=1000, keep_recent=1, may_grow=True),
    HistoricalReads(keep_recent=1, may_grow=True),
    SupersededReads(),
    RepeatedCalls(),
    FailedInputs(after_steps=1, min_chars=0),
    MaskedResults(keep_recent=2),
    LongResults(),
    OldReasoning(keep_recent=1, bound_too=True),
    OldImages(keep_messages=1),
    OffloadResults(min_chars=5, keep_recent=1, stub="[{reference}]"),
    Folded(),
)
"""Rules that have something to say about short conversations."""


class LastingLog:
    """In memory, but for a conversation a log that outlives the process."""

    def __init__(self):
        self._log = MemoryLog()
        self.append, self.read, self.close = self._log.append, self._log.read, self._log.close

    @property
    def checkpoints(self):
        return [one.record for one in self.read(ROOT) if isinstance(one.record, Checkpoint)]


@dataclass(frozen=True)
class Holding:
    """Applies nothing."""

    name: ClassVar[str] = "holding"
    needs_ledger: ClassVar[bool] = False

    def decide(self, case):
        return [Decision(mark, is_applied=False, why="later") for mark in case.pending]


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint whenever anything was said."""
    monkeypatch.setattr(derived_state, "_LEAST_MESSAGES", 1)
    monkeypatch.setattr(derived_state, "_LEAST_SHARE", 0)


def seen(request):
    """All that someone can see of a request; marks that wait in any order."""
    held = sorted((one.mark.index, one.mark.at, one.mark.rule, one.mark.blob or b"", one.why) for one in request.held)
    strikes = [(one.rule, one.index, one.at, one.replacement, one.tool, one.reference) for one in request.strikes]
    return request.body, sorted(strikes, key=repr), held, request.refused, request.repairs


@tries(50)
@given(data=st.data(), format=st.sampled_from(list(FORMATS)), strategy=st.sampled_from(["drop", "answer", "strip"]))
def test_opened_again_nothing_is_different(data, format, strategy):
    """Whatever was said in whatever order, with any rules and schedule: a conversation that goes on from what was worked out
    before sends, strikes, holds and repairs what one that never ended does."""
    history = data.draw(conversations(format, max_steps=6, with_extras=False))
    order = data.draw(st.lists(st.sampled_from(range(len(history))), max_size=12) | st.just(list(range(len(history)))))
    rules = data.draw(st.lists(st.sampled_from(STRICT), unique=True))
    schedule = data.draw(st.sampled_from(["eager", Holding(), "when_free"]))
    log, given_as = LastingLog(), {"format": format, "strategy": strategy, "blobs": MemoryBlobs()}
    twin, talk = Conversation(**given_as), Conversation(log=log, **given_as)
    now = 0
    for place in order:
        now += data.draw(st.sampled_from([1, 2000]))
        for one in (twin, talk):
            one.add(history[place], timestamp_ms=now)
        if data.draw(st.booleans()):
            requests = [one.request(now=now + 1, rules=rules, schedule=schedule) for one in (twin, talk)]
            assert seen(requests[0]) == seen(requests[1])
        if data.draw(st.booleans()):
            talk = Conversation(log=log, **given_as)


def work(log, steps=3, rules=None, **options):
    """A conversation that asked for some files and sent requests."""
    talk = Conversation(log=log, **options)
    talk.add(HELLO)
    for number in range(steps):
        for message in conversation("openai_chat", asks("Read", {"path": "a.py"}, f"text {number} " * 40, id=f"c{number}")):
            talk.add(message, timestamp_ms=number)
        talk.request(now=steps, rules=rules)
    return talk


HELLO = {"role": "user", "content": "go"}
TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="


def test_first_request_reads_only_the_end(monkeypatch):
    """After opening, the messages that were settled before are neither read nor shown to the rules again."""
    log = LastingLog()
    work(log, steps=8)
    read = []
    message = State.message
    monkeypatch.setattr(State, "message", lambda state, *which: read.append(which[0]) or message(state, *which))
    again = Conversation(log=log)
    again.request(now=8)
    assert set(read) == {15, 16}


def test_checkpoints_are_beside_the_conversation():
    """They make no branch, are no head, and a conversation without them has the same messages and requests."""
    log = LastingLog()
    talk = work(log)
    assert len(log.checkpoints) == 3
    assert [branch.is_current for branch in talk.branches] == [True]
    again = Conversation(log=log)
    again.add(HELLO)
    assert len(again.branches) == 1
    assert again.messages == [*talk.messages, HELLO]


def test_other_settings_start_from_the_beginning():
    """What was worked out with other rules says nothing about these."""
    log = LastingLog()
    work(log)
    assert len(Conversation(log=log).preview(now=9, rules=[MaskedResults(keep_recent=1)]).strikes) == 2


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"settled":1}', b"\xff"])
def test_what_cannot_be_read_is_worked_out_again(damage):
    """A checkpoint of another version, or a damaged one, is as good as none."""
    log = LastingLog()
    before = work(log).request(now=3).body
    log.append([replace_known(log.checkpoints[-1], damage)], parent=max(one.number for one in log.read(ROOT)) - 1)
    assert Conversation(log=log).request(now=3).body == before


def test_a_checkpoint_of_another_view_is_not_taken_up():
    """Whatever put it there: the marks that it does not know are made from the record."""
    log, rules = LastingLog(), [MaskedResults(keep_recent=1)]
    work(log).request(now=3, rules=rules, schedule=Holding())
    known = msgspec.json.decode(log.checkpoints[-1].known, type=Snapshot)
    assert known.marks.pending
    unmarked = msgspec.structs.replace(known, view=known.view[::-1], marks=msgspec.structs.replace(known.marks, pending=()))
    log.append([replace_known(log.checkpoints[-1], msgspec.json.encode(unmarked))], parent=8)
    assert len(Conversation(log=log).request(now=3, rules=rules, schedule="eager").strikes) == len(known.marks.pending)


def replace_known(record, content):
    return Checkpoint(record.stored_under, content, record.votes)


class Forgetful:
    """A rule of someone's own whose fold cannot be stored."""

    name = "forgetful"

    def fold(self):
        return ForgetfulFold()


class ForgetfulFold(TimelessFold):
    def see(self, seen):
        if seen.result is not None and seen.index < 5:
            yield Mark("forgetful", seen.index, seen.result.at, "gone", "told so")


def test_rule_that_cannot_be_stored_is_shown_everything():
    """Without `memory` there is no checkpoint, and everything works as before."""
    log = LastingLog()
    talk = work(log, rules=[Forgetful()])
    assert log.checkpoints == []
    assert len(Conversation(log=log).preview(now=9, rules=[Forgetful()]).strikes) == len(talk.strikes) == 2


def test_memory_keeps_no_checkpoints():
    """Where nothing outlives the process, nothing is stored."""
    log = MemoryLog()
    work(log)
    assert not any(isinstance(one.record, Checkpoint) for one in log.read())


def test_log_grows_by_little(monkeypatch):
    """Usually there is one only after many messages, and all together are a small part of the log."""
    monkeypatch.undo()
    log = LastingLog()
    work(log, steps=400)
    stored = sum(len(one.known) for one in log.checkpoints)
    said = sum(len(one.record.payload) for one in log.read(ROOT) if isinstance(one.record, MessageAdded))
    assert 0 < len(log.checkpoints) < 16
    assert stored < said / derived_state._LEAST_SHARE


def test_closing_stores_what_is_new():
    """So that opening after an orderly end finds all of it worked out."""
    log = LastingLog()
    talk = work(log, steps=1)
    talk.add(HELLO)
    talk.preview(now=3)
    talk.close()
    assert len(log.checkpoints) == 2


def test_account_forgets_marks_that_fell_away():
    """A mark that would save nothing is dropped; it does not wait in an account that is taken up again."""
    link = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{TINY_PNG}"}}
    image = {"role": "user", "content": [{"type": "text", "text": "see"}, link]}
    log, rules = LastingLog(), [OldImages(keep_messages=1)]
    twin, talk = Conversation(), Conversation(log=log)
    for messages in ([HELLO, HELLO, HELLO, HELLO, image, HELLO], [HELLO, HELLO, image, HELLO]):
        for one in (twin, talk):
            for message in messages:
                one.add(message)
        requests = [one.request(now=0, rules=rules, schedule="when_free") for one in (twin, talk)]
        assert seen(requests[0]) == seen(requests[1])
        talk = Conversation(log=log)


def test_who_only_reads_leaves_no_trace():
    """Looking at a request and closing changes nothing in the log."""
    log = LastingLog()
    work(log)
    before = list(log.read(ROOT))
    again = Conversation(log=log)
    again.preview(now=9, rules=[MaskedResults(keep_recent=1)])
    again.close()
    assert list(log.read(ROOT)) == before


def test_another_counter_starts_from_the_beginning():
    """Tokens that one counter counted are not mixed with those of another."""
    log = LastingLog()
    work(log, counter=Estimate())
    stored_under = {one.stored_under for one in log.checkpoints}
    Conversation(log=log, counter=Calibrated(Estimate(), 2.0)).request(now=9)
    assert len({one.stored_under for one in log.checkpoints} - stored_under) == 1


def test_name_of_settings_is_the_same_everywhere():
    """It depends on what the settings are, not on the order of a set; on what is not plain nothing is stored."""
    one, two = (Settings((replace(STRICT[0], tools=frozenset(names)),)) for names in (("a", "b"), ("b", "a")))
    assert fingerprint(one) == fingerprint(two) != fingerprint(Settings((STRICT[0],)))
    assert fingerprint(Settings((), protection=Protection(tools=frozenset("x")))) != fingerprint(Settings(()))
    assert fingerprint(Settings((Forgetful(),))) is None


def test_without_a_checkpoint_nothing_is_known():
    """The first time everything is worked out."""
    assert Checkpoints(State(), Settings(())).latest() is None


@pytest.mark.parametrize("rule", [MaskedResults(keep_recent=1), OffloadResults(min_chars=50, keep_recent=1)])
def test_a_mark_of_an_earlier_process_knows_its_tool(rule):
    """Its message is looked at again, with its call, when the mark is applied."""
    log, blobs = LastingLog(), MemoryBlobs()
    talk = Conversation([HELLO], log=log, blobs=blobs)
    for number in range(4):
        for message in conversation("openai_chat", asks(f"tool_{number}", {}, f"text {number} " * 90, id=f"c{number}")):
            talk.add(message)
    talk.request(now=1, rules=[rule], schedule=Holding())
    request = Conversation(log=log, blobs=blobs).request(now=2, rules=[rule])
    assert [strike.tool for strike in request.new_strikes] == ["tool_0", "tool_1", "tool_2"]
    stored = [blobs.get(strike.reference).decode() for strike in request.new_strikes if strike.reference]
    assert stored == ([] if isinstance(rule, MaskedResults) else [f"text {number} " * 90 for number in range(3)])


def test_a_mark_that_was_applied_since_does_not_wait_again():
    """What was worked out is older than the strikes, which are in the record."""
    log, rule = LastingLog(), MaskedResults(keep_recent=1)
    talk = work(log, steps=4, rules=[])
    talk.request(now=5, rules=[rule], schedule=Holding())
    struck = talk.request(now=6, rules=[rule]).new_strikes
    again = Conversation(log=log).request(now=7, rules=[rule], schedule=Holding())
    assert (again.held, again.strikes, len(struck)) == ((), struck, 3)


def test_the_format_is_known_at_once():
    """How the messages voted is in the checkpoint, also if none is said after it."""
    log = LastingLog()
    talk = Conversation(conversation("anthropic", asks("Read", {"path": "a.py"}, "text " * 40)), log=log)
    assert talk.request(now=1).format == "anthropic"
    assert log.checkpoints[-1].votes
    assert Conversation(log=log).request(now=2).format == "anthropic"
