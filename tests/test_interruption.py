"""Ctrl-C at any place leaves a conversation that can go on, and a log that nobody has locked."""

import linecache
import sys
from itertools import count

import pytest

import redline
from redline import check
from redline.testing import asks, conversation, says

MINUTE = 60_000
STEP = 67
"""Every so many lines one is interrupted: all of them would take minutes."""


class Interrupter:
    """Raises KeyboardInterrupt before the line with a number, of those that Redline runs.

    Not where a `with` is left: signals do not interrupt there, so that a lock is always let go of, but a trace would.
    """

    def __init__(self, number):
        self.left, self.has_struck = number, False
        self.entered, self.before = set(), sys.gettrace()  # what `make coverage` traces with goes on afterwards

    def __enter__(self):
        sys.settrace(self._enter)
        return self

    def __exit__(self, kind, *_):
        sys.settrace(self.before)
        return kind is KeyboardInterrupt

    def _enter(self, frame, event, arg):
        return self._line if "redline" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename else None

    def _line(self, frame, event, arg):
        if event == "line" and not self.has_struck:
            self.left -= 1
            leaves_with = self._leaves_with(frame)
            if self.left < 0 and not leaves_with:
                self.has_struck = True
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line

    def _leaves_with(self, frame):
        """Whether the line is a `with` that this frame has come by before."""
        place = id(frame), frame.f_lineno
        is_left = place in self.entered
        if linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            self.entered.add(place)
        return is_left


def turn(number):
    return conversation("openai_chat", asks("terminal-execute", {"command": "ls"}, f"out {number} " * 60, id=f"c{number}"))


def begun(address):
    talk = redline.open(address, durability="os", format="openai_chat")
    for message in (*conversation("openai_chat", [says("user", "go")]), *(one for number in range(7) for one in turn(number))):
        talk.add(message, timestamp_ms=0)
    return talk


CALLS = {
    "add": lambda talk: talk.add({"role": "user", "content": "more"}, timestamp_ms=MINUTE),
    "eager": lambda talk: talk.request(now=60 * MINUTE, schedule="eager"),
    "when_free": lambda talk: talk.request(now=60 * MINUTE, schedule="when_free"),
    "truncate": lambda talk: talk.process({"operation": "truncate", "truncate": {"keep_last": 9}}),
    "rewind": lambda talk: talk.rewind(8),
}


@pytest.mark.parametrize("address", ["{}/{}.jsonl", "sqlite:///{}/chats.db#{}"])
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupted_call_leaves_a_whole_conversation(tmp_path, address, name):
    """It was done or it was not; the conversation goes on, and opened again it is the same (R54)."""
    for number in count(step=STEP):
        where = address.format(tmp_path, number)
        talk = begun(where)
        talk.request(now=MINUTE)
        with Interrupter(number) as interrupter:
            CALLS[name](talk)
        talk.add({"role": "user", "content": "go on"}, timestamp_ms=2 * MINUTE)
        sent = talk.request(now=61 * MINUTE, schedule="eager")
        assert check(sent.messages) == []
        assert sent.messages[-1]["content"] == "go on"
        with redline.open(where, durability="os") as again:
            assert again.messages == talk.messages
            assert again.request(now=61 * MINUTE, schedule="eager").body == sent.body
        talk.close()
        if not interrupter.has_struck:
            return
