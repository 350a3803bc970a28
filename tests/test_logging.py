"""What is told through `logging`: one line a request, one a part, and what was lost; nothing on standard output."""

import logging

import pytest

from redline import Conversation
from redline.testing import asks, conversation, says

MINUTE = 60_000


def begun(**settings):
    turns = [asks("terminal-execute", {"command": "ls"}, f"hunter2 {number} " * 60, id=f"c{number}") for number in range(8)]
    talk = Conversation(format="openai_chat", **settings)
    for message in conversation("openai_chat", [says("user", "go"), *(turn for pair in turns for turn in pair)]):
        talk.add(message, timestamp_ms=0)
    return talk


def told(caplog, level):
    return [one.getMessage() for one in caplog.records if one.name == "redline.request" and one.levelno == level]


@pytest.mark.parametrize("schedule", ["eager", "when_free", "budget"])
def test_each_request_is_one_line(caplog, capsys, schedule):
    """What was struck by which rule, lifted, refused, repaired, tokens before and after, why now; not what was said (R24)."""
    talk = begun()
    with caplog.at_level(logging.INFO, "redline"):
        request = talk.request(now=60 * MINUTE, schedule=schedule)
        talk.preview(now=61 * MINUTE)
        (line,) = told(caplog, logging.INFO)
    struck = f"stale_terminal {len(request.new_strikes)}" if request.new_strikes else "none"
    assert f"struck now: {struck}" in line
    assert f"about {request.stats.tokens_after} tokens ({request.stats.tokens_before} without strikes)" in line
    assert all(word in line for word in (schedule, "lifted: 0", "refused: 0", "repaired: 0"))
    assert "hunter2" not in caplog.text
    assert capsys.readouterr() == ("", "")


def test_each_part_is_a_line_for_those_who_ask(caplog):
    """What was struck and why, what was lifted, what was repaired (R24)."""
    talk = begun()
    with caplog.at_level(logging.DEBUG, "redline"):
        strikes = talk.request(now=60 * MINUTE).strikes
        talk.process({"operation": "truncate", "truncate": {"keep_first": 6}})
        talk.request(now=60 * MINUTE)
    lines = told(caplog, logging.DEBUG)
    assert [line for line in lines if line.startswith("struck")] == [
        f"struck {strike.number}, message {strike.index}, stale_terminal: {strike.because}" for strike in strikes
    ]
    assert sum(line.startswith("lifted") for line in lines) == 2
    assert sum(line.startswith("repaired") for line in lines) >= 1


def test_a_read_without_a_path_is_told(caplog):
    """It could not be attributed to a file (R24)."""
    talk = Conversation(format="openai_chat")
    for message in conversation("openai_chat", [says("user", "go"), *asks("filesystem-read", {"x": 1}, "text", id="c1")]):
        talk.add(message)
    with caplog.at_level(logging.DEBUG, "redline.rules"):
        talk.request()
    assert "message 2: no path could be found in the call of filesystem-read" in caplog.text


def test_what_is_converted_is_a_warning(caplog):
    """With what was lost (R24)."""
    talk = begun()
    talk.add({"role": "user", "parts": [{"text": "hi"}]})
    assert "A message of another format was converted to openai_chat" in caplog.text
