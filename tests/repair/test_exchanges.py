from hypothesis import given
from hypothesis import strategies as st

from redline.providers import FORMATS
from redline.repair import Item
from redline.repair.legalizer import Exchanges
from redline.values.pairs import Spot, pair_up
from tests.effort import tries
from tests.repair.damage import damaged
from tests.repair.histories import (
    ANTHROPIC,
    CHAT,
    RESPONSES,
    assistant,
    calls,
    item_call,
    item_output,
    natives,
    result,
    tool,
    use,
    user,
)


def sorted_into(format, payloads, late="drop"):
    exchanges = Exchanges(format)
    for source, payload in enumerate(payloads):
        assert exchanges.add(Item(format.read(payload), source), late)
    return exchanges


def both_sides(exchanges):
    everything = (*exchanges.closed, exchanges.current)
    return [(natives(one.said), natives(one.heard)) for one in everything if one.said or one.heard]


def test_exchange_is_a_message_its_results_and_the_next_word():
    """The run of results after an assistant message is its own, and so is the first other message."""
    history = [{"role": "user", "content": "hi"}, calls("a", "b"), tool("b"), tool("a"), {"role": "user", "content": "x"}]
    exchanges = sorted_into(CHAT, history)
    assert both_sides(exchanges) == [([], history[:1]), (history[1:2], history[2:])]
    assert exchanges.closed[1].step.is_answered


def test_items_of_the_model_are_said_together():
    """Where each item is a message, what comes between two inputs is one exchange."""
    history = [item_call("a"), item_call("b"), item_output("a"), item_output("b"), item_call("c")]
    assert both_sides(sorted_into(RESPONSES, history)) == [(history[:2], history[2:4]), (history[4:], [])]


def test_unanswered_calls_are_known_by_their_place_in_what_was_said():
    """Each call is open until it has a result."""
    history = [user("hi"), assistant("look", use("a"), use("b"))]
    exchanges = sorted_into(ANTHROPIC, history)
    assert exchanges.current.unanswered == [Spot(0, 1), Spot(0, 2)]
    assert exchanges.add(Item(ANTHROPIC.read(user(result("a"))), 2), "drop")
    assert exchanges.current.unanswered == [Spot(0, 2)]
    items = sorted_into(RESPONSES, [item_call("a"), item_output("a"), item_call("b"), item_call("c"), item_output("b")])
    assert items.current.unanswered == [Spot(1, 0)]


def test_calls_that_the_provider_runs_need_no_answer():
    """A hosted call is not open."""
    hosted = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert sorted_into(ANTHROPIC, [assistant(hosted)]).current.step.is_answered


def test_result_that_nobody_asked_for_is_dropped():
    """A stray result and a second result for one call go, and it is said; what else the message holds stays."""
    history = [assistant(use("a")), user(result("ghost"), result("a"), result("a", "again"), "and?")]
    exchanges = sorted_into(ANTHROPIC, history)
    assert both_sides(exchanges) == [([history[0]], [user(result("a"), "and?")])]
    assert [str(change) for change in exchanges.closed[0].changes] == [
        "message 1: the result for 'ghost' was dropped: no open call asked for it there",
        "message 1: the result for 'a' was dropped: no open call asked for it there",
    ]


def test_late_result_is_moved_to_its_call():
    """A result after other messages goes to the one open call with its id, before anything else that was heard; a whole message
    moves as the same object."""
    history = [calls("a", "b"), tool("a"), {"role": "user", "content": "there?"}, tool("b")]
    exchanges = sorted_into(CHAT, history, "move")
    assert both_sides(exchanges) == [([history[0]], [history[1], history[3], history[2]])]
    assert exchanges.closed[0].heard[1].message.native is history[3]
    assert exchanges.closed[0].has_late_results
    assert exchanges.closed[0].step.is_answered


def test_late_result_leaves_the_rest_of_its_message():
    """Of a message that holds more, only the late result moves."""
    history = [assistant(use("a")), user("there?"), assistant(use("b")), user(result("a"), result("b"), "ok")]
    exchanges = sorted_into(ANTHROPIC, history, "move")
    assert both_sides(exchanges) == [
        ([history[0]], [user(result("a")), user("there?")]),
        ([history[2]], [user(result("b"), "ok")]),
    ]


def test_refusing_changes_nothing():
    """A message with a late result is refused whole; the results that fit are not taken either."""
    history = [assistant(use("a")), user("there?"), assistant(use("b"))]
    exchanges = sorted_into(ANTHROPIC, history, "refuse")
    assert not exchanges.add(Item(ANTHROPIC.read(user(result("b"), result("a"), "so")), 3), "refuse")
    assert not exchanges.current.step.is_answered
    assert exchanges.add(Item(ANTHROPIC.read(user(result("b"))), 3), "refuse")
    assert exchanges.current.step.is_answered


@tries(50)
@given(st.sampled_from(sorted(FORMATS)).flatmap(lambda name: st.tuples(st.just(name), damaged(name))))
def test_matching_is_that_of_pair_up(case):
    """The calls left open are those that `pair_up` finds unanswered, each where it was said."""
    name, history = case
    messages = [FORMATS[name].read(payload) for payload in history]
    pairs = pair_up(messages, items_are_messages=FORMATS[name].items_are_messages)
    exchanges = sorted_into(FORMATS[name], history)
    found = [
        Spot(one.said[spot.message].index, spot.part)
        for one in (*exchanges.closed, exchanges.current)
        for spot in one.unanswered
    ]
    assert found == list(pairs.unanswered)
