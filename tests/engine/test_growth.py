"""What a turn costs does not grow with the history, and no operation costs more than the history is long."""

import gc
import time
from functools import partial
from itertools import islice

import pytest

import redline
from bench.generate import history
from redline import Conversation
from redline.providers import FORMATS
from redline.schedules import Budget, Eager, WhenFree
from redline.tokens import Estimate
from redline.values.messages import Text, ToolCall, ToolResult
from tests.effort import holds_once

SHORT, LONG = 250, 2_000
TURNS = 30
MOST_CHARS = 400
"""Of a result: short ones, so that the test waits for the engine and not for the text."""
LEAST_SECONDS = 0.005
"""Less cannot be told apart from what else the processor does."""
SCHEDULES = {"eager": Eager(), "when_free": WhenFree(), "budget": Budget(trigger_tokens=20_000), "held": Budget(10**9)}


def seconds(job):
    """Of the processor, so that what else runs counts less, and without the collector, which comes when it likes."""
    gc.disable()
    try:
        start = time.process_time()
        job()
        return time.process_time() - start
    finally:
        gc.enable()


def messages_of(format, count, *, open_calls=False):
    return list(islice(history(format, MOST_CHARS, open_calls=open_calls), count))


def turn_seconds(format, messages, schedule):
    """What thirty turns cost at the end of a history, the three slowest left out: what is put off for many turns is theirs."""
    talk, now = Conversation(messages[:-TURNS], format=format, counter=Estimate()), messages[-1]["timestamp"]
    talk.request(now=now, schedule=schedule)

    def turn(message):
        talk.add(message)
        talk.request(now=now, schedule=schedule)

    return sum(sorted(seconds(lambda one=one: turn(one)) for one in messages[-TURNS:])[:-3])


@pytest.mark.parametrize(
    ("format", "schedule", "open_calls"),
    [(format, schedule, False) for format in FORMATS for schedule in SCHEDULES]
    + [(format, "eager", True) for format in FORMATS],
)
def test_a_turn_costs_the_same_at_any_length(format, schedule, open_calls):
    """One more message and a request cost about the same after eight times as many messages (R8, R9, R68)."""
    short, long = (messages_of(format, count + TURNS, open_calls=open_calls) for count in (SHORT, LONG))
    spent = partial(turn_seconds, format, schedule=SCHEDULES[schedule])
    assert holds_once(lambda: spent(long) < 3 * spent(short))


@pytest.mark.parametrize("schedule", ["eager", "held"])
def test_a_turn_costs_the_same_after_many_messages(schedule):
    """Also a small cost that grows with the history is found where there is much of it (R8, R9)."""
    messages = messages_of("anthropic", 12_000 + TURNS, open_calls=True)
    short, long = (messages[-count - TURNS :] for count in (1_000, 12_000))
    spent = partial(turn_seconds, "anthropic", schedule=SCHEDULES[schedule])
    assert holds_once(lambda: spent(long) < 3 * spent(short))


NOW = 2e12
SIZE = 500


def rewound(talk):
    talk.rewind(len(talk.all_messages) // 2)
    talk.request(now=NOW)


def pinned(talk):
    talk.pin(2)
    talk.request(now=NOW)


def undone(talk):
    talk.undo(talk.strikes[0])
    talk.request(now=NOW)


def processed(talk):
    talk.process({"operation": "filter", "filter": {"roles": ["assistant", "tool"]}})
    talk.request(now=NOW)


def batched(talk):
    talk.start_batch(len(talk.all_messages) // 2)
    talk.request(now=NOW)
    talk.rollback(0)
    talk.request(now=NOW)


def switched(talk):
    talk.rewind(2)
    talk.switch(talk.branches[0])
    talk.request(now=NOW)


def inserted(talk):
    talk.process({"operation": "insert", "insert": {"position": -1, "messages": [{"role": "user", "content": "More"}]}})
    talk.request(now=NOW)


def compacted(talk):
    talk.compact(lambda _: "All went well.", keep_last=4).request(now=NOW)


def compacted_in_place(talk):
    talk.compact(lambda _: "All went well.", keep_last=4, in_place=True)
    talk.request(now=NOW)


def reported(talk):
    talk.record_usage(input_tokens=1_000, output_tokens=10)
    for number in range(20):
        talk.add({"role": "user", "content": f"And {number}"})
        talk.check_tokens()


OPERATIONS = {
    "add": lambda talk: talk.add({"role": "user", "content": "More"}),
    "request": lambda talk: talk.request(now=NOW).messages,
    "body": lambda talk: talk.request(now=NOW).body,
    "explain": lambda talk: talk.request(now=NOW).explain(),
    "preview": lambda talk: talk.preview(now=NOW, schedule="when_free").held,
    "process": processed,
    "insert": inserted,
    "batches": batched,
    "rewind": rewound,
    "branches": lambda talk: talk.branches,
    "switch": switched,
    "fork": lambda talk: talk.fork().request(now=NOW),
    "compact": compacted,
    "compact in place": compacted_in_place,
    "check_tokens": lambda talk: talk.check_tokens(),
    "record_usage": reported,
    "undo": undone,
    "pin": pinned,
    "request_at": lambda talk: talk.request_at(len(talk.all_messages) // 2, now=NOW),
    "messages": lambda talk: (talk.messages, talk.all_messages, talk.visible_indices, talk.strikes),
}


@pytest.fixture(scope="module")
def talks():
    """A conversation with strikes, and one four times as long; each test works on copies."""
    made = []
    for count in (SIZE, 4 * SIZE):
        messages = messages_of("openai_chat", count)
        talk = Conversation(messages, format="openai_chat", counter=Estimate())
        for now in (messages[count // 2]["timestamp"], messages[-1]["timestamp"]):
            talk.request(now=now)
        made.append(talk)
    return made


def assert_linear(small, large):
    """Four times as much costs at most nine times as much, on a machine where others work; a square would be sixteen."""
    assert large < 9 * max(small, LEAST_SECONDS)


def works_linearly(work, talks):
    """Whether the longer conversation takes as much longer as it is long; each try has copies of its own."""
    small, large = (seconds(partial(work, talk.fork())) for talk in talks)
    return large < 9 * max(small, LEAST_SECONDS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_costs_no_more_than_the_history_is_long(talks, operation):
    """Four times as many messages cost each operation about four times as much, or less (R68)."""
    assert holds_once(lambda: works_linearly(OPERATIONS[operation], talks))


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_closing_and_opening_cost_no_more_than_the_log_is_long(tmp_path, schedule):
    """Four times as many messages take about four times as long to write, close, open and send (R68)."""

    def kept(count):
        messages = messages_of("openai_chat", count)
        with redline.open(tmp_path / f"{count}.jsonl", durability="os", counter=Estimate()) as talk:
            for number, message in enumerate(messages):
                talk.add(message)
                if number % 20 == 0:
                    talk.request(now=message["timestamp"], schedule=schedule)
        with redline.open(tmp_path / f"{count}.jsonl", counter=Estimate()) as talk:
            talk.request(now=messages[-1]["timestamp"], schedule=schedule)

    assert_linear(*(seconds(lambda count=count: kept(count)) for count in (SIZE, 4 * SIZE)))


def test_branches_cost_no_more_than_there_are():
    """Four times as many branches take about four times as long to list (R68)."""

    def talk_with(count):
        talk = Conversation([{"role": "user", "content": "Go on"}], counter=Estimate())
        for number in range(count):
            talk.add({"role": "user", "content": f"One way, {number}"})
            talk.rewind(number)
            talk.add({"role": "user", "content": f"Another way, {number}"})
        return talk

    small, large = (talk_with(count) for count in (50, 200))
    assert len(large.branches) == 201
    assert_linear(*(seconds(lambda talk=talk: [talk.branches for _ in range(20)]) for talk in (small, large)))


@pytest.mark.parametrize("format", FORMATS)
def test_calls_at_once_cost_no_more_than_there_are(format):
    """Four times as many calls in one message, answered in any order, take about four times as long (R68)."""

    def asked(count):
        calls = tuple(ToolCall(f"call_{number}", "look", {"at": number}) for number in range(count))
        results = tuple(ToolResult(call.id, (Text("seen"),), "look") for call in reversed(calls))
        said = [("user", (Text("go"),)), ("assistant", calls), ("tool", results)]
        payloads = [payload for one in said for payload in FORMATS[format].compose(*one).payloads]
        talk = Conversation(payloads, format=format, counter=Estimate())
        assert len(talk.request(now=NOW).repairs) == 0
        redline.check(payloads, format=format)

    asked(10)
    assert_linear(*(min(seconds(lambda count=count: asked(count)) for _ in range(2)) for count in (300, 1_200)))


def test_settings_of_one_request_do_not_cost_the_history_each_time():
    """Turns in which a preview has other rules than the request, and the tokens are checked, cost the same at any length."""

    def turns(count):
        messages = messages_of("anthropic", count + TURNS)
        talk, now = Conversation(messages[:-TURNS], format="anthropic", counter=Estimate()), messages[-1]["timestamp"]

        def turn(message):
            talk.add(message)
            talk.preview(now=now, rules=["masked_results"], schedule=SCHEDULES["held"])
            talk.request(now=now)
            talk.check_tokens()

        turn(messages[-TURNS])
        return sum(sorted(seconds(lambda one=one: turn(one)) for one in messages[1 - TURNS :])[:-3])

    short, long = (turns(count) for count in (SHORT, LONG))
    assert long < 3 * short
