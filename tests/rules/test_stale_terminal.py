"""Command output goes out of date."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation
from redline.errors import ValidationError
from redline.rules.stale_terminal import StaleTerminal
from redline.tools import DEFAULT
from redline.values.messages import Message, Text
from tests.rules.folding import applied, check_laws, folded, histories, marked, marks_of, native, read, step, steps

OUTPUT = "some output of a command, long enough to gain by going"
COMMAND = ("Bash", {"command": "make"}, OUTPUT)
LISTING = ("Grep", {"pattern": "x"}, OUTPUT)


def test_old_output_with_enough_newer_results_goes():
    """Output goes when it is older than the limit and the number of newer results is reached."""
    turns = steps(COMMAND, COMMAND, LISTING)
    assert marked(StaleTerminal(keep_recent=2), turns, now=3000 + 900_001) == [2]


def test_age_counts_strictly():
    """Output of exactly the greatest age stays; a millisecond later it goes."""
    turns = steps(COMMAND)
    assert marked(StaleTerminal(keep_recent=0), turns, now=3000 + 900_000) == []
    assert marked(StaleTerminal(keep_recent=0), turns, now=3000 + 900_001) == [2]


def test_asking_what_is_due_changes_nothing():
    """However often and for whatever time one asks, the marks are there until they are forgotten (R1)."""
    fold = folded(StaleTerminal(keep_recent=0, max_age_ms=10), read(native(steps(COMMAND, COMMAND))))
    assert [mark.index for mark in fold.due(9999)] == [2, 4]
    assert [mark.index for mark in fold.due(3011)] == [2]
    assert [mark.index for mark in fold.due(3010)] == []
    fold.forget(3011)
    assert [mark.index for mark in fold.due(3011)] == []
    assert [mark.index for mark in fold.due(9999)] == [4]


@given(st.lists(st.integers(0, 50), max_size=40), st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=12))
def test_due_is_what_is_older_and_not_forgotten(times: list[int], asked: list[tuple[int, bool]]):
    """For results in any order of time: at each time all that is older, oldest first, except what was forgotten before (R1)."""
    payloads = native(steps(*[COMMAND] * len(times)))
    for position, time in enumerate(times):
        payloads[2 * position + 2]["timestamp"] = time
    fold = folded(StaleTerminal(keep_recent=0, max_age_ms=3), read(payloads))
    waiting = sorted((time, 2 * position + 2) for position, time in enumerate(times))
    for now, is_forgotten in asked:
        assert [mark.index for mark in fold.due(now)] == [index for time, index in waiting if now - time > 3]
        if is_forgotten:
            fold.forget(now)
            waiting = [(time, index) for time, index in waiting if now - time <= 3]


def test_failures_take_no_slot():
    """A failed result stays and does not push another out of the latest."""
    turns = steps(COMMAND, LISTING)
    failing = [*turns, *step(9, "Bash", {"command": "make"}, '{"stdout":"","stderr":"boom","exitCode":2}')]
    assert marked(StaleTerminal(keep_recent=2), failing) == []
    assert marked(StaleTerminal(keep_recent=1), failing) == [2]


def test_content_that_is_no_string_takes_a_slot_but_stays():
    """A result given as a list of blocks is not command output, and counts among the latest."""
    listed = step(5, "Bash", {"command": "make"}, (Text(OUTPUT), Text(OUTPUT)))
    payloads = native([*steps(COMMAND), *listed])
    payloads[4]["content"][0]["content"] = [{"type": "text", "text": OUTPUT}]
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=1), read(payloads))] == [2]
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=0), read(payloads))] == [2]


def test_blocks_of_text_go_where_they_are_asked_for():
    """With text_blocks output in several texts goes as a whole; what has a picture in it stays."""
    payloads = native(steps(COMMAND, COMMAND))
    texts = [{"type": "text", "text": OUTPUT}, {"type": "text", "text": OUTPUT}]
    payloads[2]["content"][0]["content"] = texts
    payloads[4]["content"][0]["content"] = [
        *texts,
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    ]
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=0), read(payloads))] == []
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=0, text_blocks=True), read(payloads))] == [2]


def test_named_tools_count_alone_and_their_failures_are_seen():
    """With names given only those tools' output goes, and a failure in it is recognised."""
    rule = StaleTerminal(keep_recent=0, tools=frozenset({"my-shell"}))
    succeeded = ("my-shell", {}, '{"stdout":"all is well, and more","stderr":"","exitCode":0}')
    failed = ("my-shell", {}, '{"stdout":"all is well, and more","stderr":"","exitCode":1}')
    assert marked(rule, steps(COMMAND, succeeded, failed)) == [4]


@pytest.mark.parametrize(
    "tools", [{"my-shell"}, ["my-shell", "my-shell"], iter(["my-shell"]), DEFAULT.with_tool("my-shell", runs="line")]
)
def test_tools_of_ones_own_work_in_a_conversation(tools):
    """Names in any collection, or a book of tools (R12)."""
    rule = StaleTerminal(keep_recent=1, tools=tools)
    messages = native(steps(*[("my-shell", {"line": "make"}, OUTPUT * 20)] * 2))
    request = Conversation(messages, format="anthropic").request(now=10**9, rules=[rule])
    assert [strike.index for strike in request.strikes] == [2]


def test_a_tool_named_as_a_terminal_is_one():
    """Whatever it is known for; and only named tools count (R12)."""
    turns = steps(("view", {"command": "make"}, OUTPUT), COMMAND)
    assert marked(StaleTerminal(keep_recent=0, tools=["view"]), turns) == [2]


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, 10**400, -(10**400), True, "5", None, [5]])
def test_a_time_that_no_clock_shows_is_none(time):
    """Such a result is neither counted nor touched (R52)."""
    payloads = native(steps(COMMAND, COMMAND))
    payloads[2]["timestamp"] = time
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=0), read(payloads), now=1e12)] == [4]
    assert [mark.index for mark in marks_of(StaleTerminal(keep_recent=1), read(payloads), now=1e12)] == []


def test_short_output_stays_unless_asked():
    """What is shorter than the placeholder is replaced only on request."""
    turns = steps(("Bash", {"command": "true"}, "ok"))
    assert marked(StaleTerminal(keep_recent=0), turns) == []
    assert marked(StaleTerminal(keep_recent=0, may_grow=True), turns) == [2]


@pytest.mark.parametrize("settings", [{"max_age_ms": -1}, {"keep_recent": -1}, {"keep_recent": None}, {"tools": "Bash"}])
def test_bad_settings_are_refused(settings):
    """A negative number, or none, is an error that names the setting."""
    with pytest.raises(ValidationError, match=next(iter(settings))):
        StaleTerminal(**settings)


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, twice is once, and of dated results the latest stay."""
    rule = StaleTerminal(max_age_ms=0, keep_recent=2)
    marks = check_laws(rule, messages)
    assert len(applied(messages, marks)) == len(messages)
    assert all(messages[mark.index].timestamp_ms is not None for mark in marks)
