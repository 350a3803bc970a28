from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, Conversation, check, make_legal
from redline.providers.laws import History, problems_of
from redline.repair import NOT_SHOWN, STRATEGIES, Legalizer, clean, legalize
from redline.testing import asks, conversation, says
from tests.effort import holds_once, tries
from tests.repair.damage import damaged
from tests.repair.histories import ANTHROPIC, assistant, natives, read, result, thinking, use, user

everywhere = pytest.mark.parametrize(("format", "strategy"), [(name, strategy) for name in FORMATS for strategy in STRATEGIES])


def fed(format, messages, strategy="drop"):
    """A legalizer that was fed one by one and started again where it refused."""
    legalizer = Legalizer(format, strategy)
    for count, message in enumerate(messages, 1):
        if not legalizer.feed(message):
            legalizer = Legalizer.over(messages[:count], format, strategy)
    return legalizer


def tail(legalizer):
    """What is not settled yet."""
    end = legalizer.end()
    return (*end.said, *end.heard)


@everywhere
@tries(20)
@given(data=st.data())
def test_going_on_after_what_is_settled(format, strategy, data):
    """Who knows only the snapshot and the messages since goes on as who has gone over all of them."""
    reader = FORMATS[format]
    messages = read(reader, data.draw(damaged(format)))
    cut = data.draw(st.integers(0, len(messages)))
    whole = Legalizer.over(messages[:cut], reader, strategy)
    snapshot, settled = whole.snapshot(), len(whole.settled)
    if snapshot is None:
        return
    later = Legalizer(reader, strategy)
    later.restore(snapshot)
    for message in messages[snapshot.count : cut]:
        assert later.feed(message)
    for message in messages[cut:]:
        taken = whole.feed(message)
        assert later.feed(message) == taken
        if not taken:
            return
        assert (whole.settled[settled:], tail(whole)) == (later.settled, tail(later))


@everywhere
@tries(20)
@given(data=st.data())
def test_feeding_gives_what_going_over_gives(format, strategy, data):
    """After each message, what was fed is repaired as the prefix is; the settled part only grows; a refusal changes nothing."""
    reader = FORMATS[format]
    messages = read(reader, data.draw(damaged(format)))
    legalizer = Legalizer(reader, strategy)
    for count, message in enumerate(messages, 1):
        settled, repair = list(legalizer.settled), legalizer.repair()
        if legalizer.feed(message):
            assert legalizer.settled[: len(settled)] == settled
        else:
            assert legalizer.repair() == repair
            legalizer = Legalizer.over(messages[:count], reader, strategy)
        assert legalizer.repair() == legalize(messages[:count], reader, strategy)
        assert (*legalizer.settled, *tail(legalizer)) == legalizer.repair().items


@everywhere
@tries(25)
@given(data=st.data())
def test_every_message_knows_where_it_comes_from(format, strategy, data):
    """An item with a source that has no change is that message of the input; every change names a message of the input."""
    reader = FORMATS[format]
    messages = read(reader, data.draw(damaged(format)))
    for repair in (legalize(messages, reader, strategy), clean(messages, reader, strategy)):
        touched = {change.index for change in repair.changes}
        assert touched <= set(range(len(messages)))
        if not touched:
            assert [item.message for item in repair.items] == messages
        kept = {item.source for item in repair.items if item.source is not None}
        assert set(range(len(messages))) - kept <= touched
        assert all(item.message is messages[item.source] for item in repair.items if item.source not in (touched | {None}))


@everywhere
@tries(10)
@given(data=st.data())
def test_what_is_shown_at_any_time_is_legal(format, strategy, data):
    """Settled and tail together break no law, after every message."""
    reader = FORMATS[format]
    messages = read(reader, data.draw(damaged(format, max_wounds=3)))
    for count in range(len(messages) + 1):
        shown = tuple(item.message for item in fed(reader, messages[:count], strategy).repair().items)
        assert problems_of(History.of(shown, reader)) == []


def test_open_call_is_held_back():
    """A call that still waits for its result is in the tail, not settled; the result completes it."""
    history = read(ANTHROPIC, [user("hi"), assistant(use("a")), user(result("a"))])
    legalizer = Legalizer(ANTHROPIC)
    assert [legalizer.feed(message) for message in history[:2]] == [True, True]
    assert natives(legalizer.settled) == [user("hi")]
    assert tail(legalizer) == ()
    assert legalizer.feed(history[2])
    assert natives(tail(legalizer)) == [assistant(use("a")), user(result("a"))]


def test_late_result_is_refused():
    """A result whose call is settled cannot be taken by appending; going over all again reunites them."""
    history = read(ANTHROPIC, [user("hi"), assistant(use("a")), user("there?"), user(result("a"), "yes")])
    legalizer = Legalizer(ANTHROPIC)
    assert [legalizer.feed(message) for message in history] == [True, True, True, False]
    assert natives(legalizer.repair().items) == [user("hi"), user("there?")]
    again = Legalizer.over(history, ANTHROPIC)
    assert natives(again.repair().items) == [user("hi"), assistant(use("a")), user(result("a")), user("there?"), user("yes")]
    assert again.feed(ANTHROPIC.read(assistant("ok")))
    assert again.repair().items[-1].source == 4


def test_message_to_be_taken_apart_is_refused():
    """A message of the assistant that holds results is handled only by going over all, and what follows it too, for a while."""
    history = read(ANTHROPIC, [user("hi"), assistant(use("a"), result("a", "1")), user(result("a", "2")), assistant("ok")])
    legalizer = Legalizer.over(history[:1], ANTHROPIC)
    assert not legalizer.feed(history[1])
    legalizer = Legalizer.over(history[:2], ANTHROPIC)
    assert natives(legalizer.repair().items) == [user("hi"), assistant(use("a")), user(result("a", "1"))]
    assert not legalizer.feed(history[2])
    assert Legalizer.over(history, ANTHROPIC).feed(ANTHROPIC.read(user("bye")))


def test_result_of_the_user_wins():
    """A result in the assistant's own message counts only where the user gives none."""
    history = [user("hi"), assistant(use("a"), use("b"), result("a", "1"), result("b", "1")), user(result("a", "2"), "so")]
    assert natives(legalize(read(ANTHROPIC, history), ANTHROPIC).items) == [
        user("hi"),
        assistant(use("a"), use("b")),
        user(result("a", "2"), result("b", "1"), "so"),
    ]


def test_user_begins():
    """Where the assistant would begin, one line of the user says that something is missing."""
    repair = legalize(read(ANTHROPIC, [assistant("ok")]), ANTHROPIC)
    assert [item.source for item in repair.items] == [None, 0]
    assert repair.items[0].message.text == NOT_SHOWN
    assert [change.index for change in repair.changes] == [0]


def test_leading_system_message_is_said_by_the_user():
    """Its words stay, and that is a change; what is to be lifted out later is left, and is no beginning (R6)."""
    history = read(ANTHROPIC, [{"role": "system", "content": "be brief"}, assistant(thinking()), assistant("ok")])
    repair = legalize(history, ANTHROPIC)
    assert natives(repair.items) == [user("be brief"), assistant("ok")]
    assert sorted(change.index for change in repair.changes) == [0, 1]
    lifting = Legalizer.over(history, ANTHROPIC, lifts_system=True).repair()
    assert [item.message.role for item in lifting.items] == ["system", "user", "assistant"]
    assert lifting.items[1].message.text == NOT_SHOWN


def test_what_is_dropped_is_no_beginning():
    """The first message that is left is the user's."""
    assert natives(legalize(read(ANTHROPIC, [assistant(use("a")), user("hi")]), ANTHROPIC).items) == [user("hi")]


def test_answer_left_to_write():
    """An empty last answer stays while it is last, after a user's message; it vanishes when more is said."""
    history = read(ANTHROPIC, [user("hi"), assistant(), user("well?")])
    assert natives(legalize(history[:2], ANTHROPIC).items) == [user("hi"), assistant()]
    assert natives(legalize(history, ANTHROPIC).items) == [user("hi"), user("well?")]
    assert legalize(history[1:2], ANTHROPIC).items == ()


@pytest.mark.parametrize("format", FORMATS)
def test_one_more_message_costs_the_same(format):
    """Feeding and asking for the tail take no longer after forty thousand messages than after four thousand (R8)."""
    reader = FORMATS[format]

    def messages(start):
        turns = [turn for number in range(start, start + 1000) for turn in asks("read", {}, "x", id=f"c{number}")]
        return read(reader, conversation(format, [*turns, says("user", "go on")]))

    def seconds_for(batch):
        start = process_time()
        for message in batch:
            legalizer.feed(message)
            tail(legalizer)
        return process_time() - start

    legalizer = Legalizer(reader)
    batches = [messages(1000 * number) for number in range(20)]
    seconds = [seconds_for(batch) for batch in batches]
    assert min(seconds[-3:]) < 4 * min(seconds[1:4])


@pytest.mark.parametrize("format", FORMATS)
def test_whole_histories_cost_in_proportion(format):
    """Ten times the messages take about ten times as long, not a hundred (R8)."""
    reader = FORMATS[format]
    turns = [turn for number in range(20_000) for turn in asks("read", {}, "x", id=f"c{number}")]
    history = read(reader, conversation(format, [says("user", "hi"), *turns]))

    def seconds_for(count):
        start = process_time()
        legalizer = Legalizer(reader)
        for message in history[:count]:
            legalizer.feed(message)
        return process_time() - start

    assert holds_once(lambda: seconds_for(40_000) < 30 * seconds_for(4_000))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_vanishes_at_the_end_uncovers_no_white_space(strategy):
    """Where what came last is not sent, the words before it that end in white space are not the last (R61)."""
    said = [user("go"), assistant("I look. \n"), user(""), assistant("")]
    shown = [item.message for item in legalize(read(ANTHROPIC, said), ANTHROPIC, strategy).items]
    assert problems_of(History.of(shown, ANTHROPIC)) == []
    assert [message.text for message in shown[:2]] == ["go", "I look. \n"]


def test_a_dropped_call_uncovers_no_white_space():
    """An assistant's words that end in white space, then a call that was never answered (R59)."""
    said = [user("go"), assistant("I look. \n"), assistant(use("a"))]
    shown = [item.message for item in legalize(read(ANTHROPIC, said), ANTHROPIC).items]
    assert problems_of(History.of(shown, ANTHROPIC)) == []


def test_items_after_a_message_that_vanishes_are_untied():
    """An empty input between items that were cut off from their reasoning does not tie them again (R61)."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
    texts = [{"type": "output_text", "text": word, "annotations": []} for word in ("a", "b")]
    said = [
        {**item, "content": [texts[0]]},
        {"role": "developer", "content": None},
        {**item, "id": "msg_2", "content": [texts[1]]},
    ]
    once = make_legal(said, format="openai_responses")
    assert check(once, format="openai_responses") == []
    assert make_legal(once, format="openai_responses") == once


SPOKEN = {"role": "assistant", "content": "so far "}
ASKED = {"role": "user", "content": "go"}
OPEN_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]}
SYSTEM = {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("history", [[SPOKEN], [SYSTEM, SPOKEN], [ASKED, SPOKEN, OPEN_CALL], [ASKED, SPOKEN, SPOKEN]])
def test_what_the_repair_leaves_last_does_not_end_in_white_space(history, strategy):
    """Also where the user's line was added before it, or the call after it was dropped; whole, growing, reopened (R59)."""
    repaired = make_legal(history, format="anthropic", strategy=strategy)
    assert check(repaired, format="anthropic") == []
    assert make_legal(repaired, format="anthropic", strategy=strategy) == repaired
    talk = Conversation(format="anthropic", strategy=strategy)
    for message in history:
        talk.add(message)
        assert check(talk.request().messages, format="anthropic") == []
    talk.add(ASKED)
    assert [one for one in talk.request().messages if one["role"] == "assistant"][:1] == [SPOKEN]
