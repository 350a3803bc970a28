"""Going back: whatever was struck, undone or pinned before, the conversation goes on, and what users decided holds."""

import itertools
from pathlib import Path

import pytest

import redline
from redline import Conversation, Editor
from redline.errors import LogError
from redline.record.backends.memory import MemoryLog
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import StrikeUndone
from redline.testing import asks, conversation
from tests.cli.run import redline as command_line
from tests.record.logs import KINDS, new_address

MINUTE = 60_000
REUSED = Path(__file__).parent / "record" / "reused_numbers"
"""Logs that Redline wrote before 0.2.0, and could not open again: numbers of strikes were given out twice."""


def reads(*numbers):
    """Calls that read one file, with their results."""
    turns = [asks("filesystem-read", {"filePath": "a.py"}, f"text {number} " * 12, id=f"r{number}") for number in numbers]
    return conversation("openai_chat", itertools.chain.from_iterable(turns))


def say(talk, *numbers):
    for message in reads(*numbers):
        talk.add(message, timestamp_ms=0)


@pytest.fixture(params=("memory", *KINDS))
def opened(request, tmp_path):
    """Opens one log, again and again."""
    log = MemoryLog() if request.param == "memory" else new_address(request.param, tmp_path, request)
    if isinstance(log, MemoryLog):
        return lambda: Conversation(log=log, project_root="/p")
    return lambda: redline.open(log, project_root="/p")


def begun(opened):
    """Seven reads of one file, of which the first two are struck, and then one more."""
    talk = opened()
    talk.add({"role": "user", "content": "go"}, timestamp_ms=0)
    say(talk, *range(7))
    struck = talk.request(now=600 * MINUTE).strikes
    assert [(strike.number, strike.index) for strike in struck] == [(0, 2), (1, 4)]
    say(talk, 7)
    return talk


def in_force(talk):
    return [(strike.number, strike.index) for strike in talk.strikes]


def sent(talk, now=700):
    return talk.request(now=now * MINUTE).messages


def test_undone_then_rewound_goes_on(opened):
    """R150: after an undo and a rewind the next strike has a number of its own; the log opens, and sends the same."""
    talk = begun(opened)
    talk.undo(1)
    talk.rewind(16)
    say(talk, 20, 21, 22)
    messages = sent(talk)
    assert in_force(talk) == [(0, 2), (2, 6), (3, 8), (4, 10), (5, 12)]
    assert messages[4] == talk.messages[4]
    talk.close()
    again = opened()
    assert sent(again) == messages
    again.add({"role": "user", "content": "go on"}, timestamp_ms=0)
    assert sent(again)[:-1] == messages
    again.close()


def test_rewound_twice_goes_on(opened):
    """R150: a strike that a rewind lifted comes back with another one; no other strike has its number."""
    talk = opened()
    talk.add({"role": "user", "content": "go"}, timestamp_ms=0)
    say(talk, *range(8))
    assert len(talk.request(now=600 * MINUTE).strikes) == 3
    talk.rewind(12)
    say(talk, 20)
    assert [lift.strike.number for lift in talk.request(now=601 * MINUTE).lifted] == [2]
    talk.rewind(14)
    say(talk, 21, 22, 23)
    messages = sent(talk)
    assert in_force(talk) == [(0, 2), (1, 4), (2, 6), (3, 8), (4, 10)]
    talk.close()
    again = opened()
    assert sent(again) == messages
    again.close()


@pytest.mark.parametrize("back", [2, 7, 10, 15])
def test_numbers_are_never_given_out_again(opened, back):
    """R150: not after a rewind to before they were, nor on another branch: `undo(2)` means one strike for ever."""
    talk = begun(opened)
    numbers = {strike.number: (strike.index, strike.at) for strike in talk.strikes}
    for turn in range(3):
        talk.rewind(back)
        say(talk, *range(100 * turn + 30, 100 * turn + 38))
        for strike in talk.request(now=(700 + turn) * MINUTE).new_strikes:
            assert strike.number not in numbers
            numbers[strike.number] = strike.index, strike.at
    for branch in talk.branches:
        talk.switch(branch)
        say(talk, 400 + branch.number)
        made = talk.request(now=800 * MINUTE).new_strikes
        assert numbers.keys().isdisjoint(strike.number for strike in made)
        numbers |= {strike.number: (strike.index, strike.at) for strike in made}
    talk.close()


@pytest.mark.parametrize("name", ["undone_then_rewound", "rewound_twice"])
def test_logs_with_numbers_given_out_twice_go_on(opened, name):
    """R150: they open, in every log, what was undone is sent whole, and requests, undo, rewind and fork work."""
    old = open_log(REUSED / f"{name}.jsonl")
    stored = list(old.read())
    talk = opened()
    log = talk._engine.timeline.log
    for one in stored:
        assert log.append([one.record], parent=one.parent) == one.number
    old.close()
    talk.close()
    talk = opened()
    messages = sent(talk)
    whole = [place for place, message in enumerate(messages) if message == talk.messages[place]]
    assert (4 if name.startswith("undone") else 6) in whole
    assert len(talk.strikes) == len({strike.index for strike in talk.strikes})
    assert redline.check(messages) == []
    assert talk.fork().request(now=701 * MINUTE).messages == messages
    say(talk, 60)
    talk.undo(talk.strikes[-1])
    talk.rewind(len(messages) - 1)
    say(talk, 61)
    messages = sent(talk, 702)
    talk.close()
    again = opened()
    assert sent(again, 702) == messages
    again.close()


def test_logs_with_numbers_given_out_twice_can_be_looked_at(tmp_path):
    """R150: the commands that read logs read these."""
    for name in ("undone_then_rewound", "rewound_twice"):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes((REUSED / path.name).read_bytes())
        for command in ("show", "log"):
            done = command_line(command, path)
            assert done.returncode == 0, done.stderr


def test_a_record_that_the_state_refuses_is_never_written(opened):
    """R150: it is checked first, so that no operation, however wrong, leaves a log that cannot be opened."""
    talk = begun(opened)
    log = talk._engine.timeline.log
    before = list(log.read())
    with pytest.raises(LogError):
        talk._engine.commit([StrikeUndone(99)])
    with pytest.raises(LogError):
        talk._engine.move(before[3].number, talk.strikes)  # a strike on a message that is not there yet
    assert list(log.read()) == before
    talk.add({"role": "user", "content": "go on"})
    talk.close()


# --- what users decided


@pytest.mark.parametrize("back", [5, 14, 16])
def test_undone_stays_undone_after_a_rewind(opened, back):
    """R155: whether the strike was made before or after the message that one goes back to."""
    talk = begun(opened)
    talk.undo(1)
    talk.rewind(back)
    say(talk, *range(30, 40))
    messages = sent(talk)
    assert messages[4] == talk.messages[4]
    assert messages[2] != talk.messages[2]
    talk.close()
    again = opened()
    assert sent(again) == messages
    assert again.fork().request(now=700 * MINUTE).messages == messages
    again.close()


@pytest.mark.parametrize("back", [5, 14, 16])
def test_pins_stay_after_a_rewind(opened, back):
    """R155: and so does taking one back."""
    talk = begun(opened)
    talk.pin(4)
    talk.rewind(back)
    say(talk, *range(30, 40))
    messages = sent(talk)
    assert messages[4] == talk.messages[4]
    talk.unpin(4)
    talk.rewind(back)
    say(talk, *range(50, 60))
    assert sent(talk)[4] != talk.messages[4]
    talk.close()


def test_what_was_decided_on_common_messages_holds_on_other_branches(opened):
    """R155: undone and pinned on one branch, a message of both is whole on the other; what only one has is its own."""
    talk = begun(opened)
    talk.rewind(14)
    say(talk, 30, 31)
    here, other = sorted(talk.branches, key=lambda branch: not branch.is_current)
    talk.undo(0)
    talk.pin(4)
    talk.pin(15)
    talk.switch(other)
    say(talk, *range(40, 50))
    messages = sent(talk)
    assert (messages[2], messages[4]) == (talk.messages[2], talk.messages[4])
    assert messages[16] != talk.messages[16]
    assert not any(branch.number == here.number for branch in talk.branches if branch.is_current)
    talk.close()


def test_going_back_with_an_undone_strike_leaves_no_branch_where_nothing_was_said():
    """R155: a place that one only was at is no branch, also if an undone strike came along."""
    talk = begun(lambda: Conversation(project_root="/p"))
    talk.undo(1)
    talk.rewind(16)
    talk.rewind(14)
    assert [branch.is_current for branch in talk.branches] == [False, True]


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_undone_stays_undone_when_an_agent_goes_back(tmp_path, kind):
    """R155: an undo through the record, as `redline mcp` does it, holds in every list that has the message."""
    store = tmp_path if kind == "jsonl" else f"sqlite:///{tmp_path / 'chats.db'}"
    history = [{"role": "user", "content": "go"}, *reads(*range(8))]
    editor = Editor(store, policy=redline.Policy.documents())
    editor.edit(history[:15], now=0)
    made = editor.edit(history, now=600 * MINUTE)
    assert [strike.index for strike in made.strikes] == [2, 4, 6]
    with redline.open(editor.address_of(made)) as talk:
        talk.undo(made.strikes[0])
        talk.pin(4)
    assert [strike.index for strike in editor.edit(history, now=601 * MINUTE).strikes] == [6]
    for turn, back in enumerate((15, 13)):
        branch = [*history[:back], *reads(*range(50 + 10 * turn, 58 + 10 * turn))]
        struck = {strike.index for strike in editor.edit(branch, now=602 * MINUTE).strikes}
        assert 6 in struck
        assert struck.isdisjoint({2, 4})
    editor.close()


def test_an_empty_path_is_gone_on_from():
    """R150: rewinding to the first message, and again, keeps the numbers, and pins of messages that are gone are gone."""
    talk = begun(lambda: Conversation(project_root="/p"))
    talk.pin(9)
    talk.rewind(0)
    talk.rewind(0)
    say(talk, *range(30, 37))
    assert [strike.number for strike in talk.request(now=700 * MINUTE).strikes] == [2, 3]
    assert talk._engine.timeline.path()[0].parent == ROOT
