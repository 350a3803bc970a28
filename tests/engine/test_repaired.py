import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, Conversation, make_legal
from redline.engine.repaired import RepairedView
from redline.engine.state import State
from redline.record.records import MessageAdded, Strike, StrikesApplied
from redline.rules import MaskedResults, OldImages
from redline.testing import asks, conversation, conversations, says
from redline.values.payloads import decode, encode
from tests.effort import tries


def state_of(payloads, format):
    state = State(FORMATS[format])
    for payload in payloads:
        state.apply(MessageAdded(encode(payload)))
    return state


def sent(view):
    return [decode(one.native) for one in view.sent() if one.native]


@tries(60)
@given(data=st.data(), format=st.sampled_from(list(FORMATS)), strategy=st.sampled_from(["drop", "answer", "strip"]))
def test_growing_conversation_sends_what_the_whole_one_would(data, format, strategy):
    """Whatever is left out or comes twice: message by message the result is that of `make_legal` on the list so far."""
    history = data.draw(conversations(format, max_steps=4, with_extras=False))
    order = data.draw(st.lists(st.sampled_from(range(len(history))), max_size=len(history)))
    state = State(FORMATS[format])
    view = RepairedView(state, strategy)
    said = []
    for place in order:
        said.append(history[place])
        state.apply(MessageAdded(encode(history[place])))
        view.catch_up()
        assert sent(view) == make_legal(said, format=format, strategy=strategy)


def test_strike_exchanges_one_message():
    """After a strike the message is sent in its struck form, settled or not, and the others as before."""
    history = conversation(
        "openai_chat", [says("user", "hi"), *asks("Bash", {}, "long", id="a"), *asks("Bash", {}, "new", id="b")]
    )
    state = state_of(history, "openai_chat")
    view = RepairedView(state, "drop")
    view.catch_up()
    before = sent(view)
    for number, index in enumerate((2, 4)):
        state.apply(StrikesApplied((Strike(number, "r", index, ("content",), "[gone]", "why", 9, 1),)))
    after = sent(view)
    assert [after[2]["content"], after[4]["content"]] == ["[gone]", "[gone]"]
    assert [after[place] for place in (0, 1, 3)] == [before[place] for place in (0, 1, 3)]


def test_strike_on_what_the_repair_changed_is_sent_too():
    """Results that were merged into one message are struck all the same."""
    calls = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in "ab"]
    results = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "x"}]} for name in "ab"]
    state = state_of([{"role": "user", "content": "hi"}, {"role": "assistant", "content": calls}, *results], "anthropic")
    view = RepairedView(state, "drop")
    view.catch_up()
    state.apply(StrikesApplied((Strike(0, "r", 3, ("content", 0), "[gone]", "why", 9, 1),)))
    assert [block["content"] for block in sent(view)[2]["content"]] == ["x", "[gone]"]


@pytest.mark.parametrize(
    ("rule", "struck"),
    [
        (MaskedResults(keep_recent=1), [(2, ("content", 0)), (3, ("content", 0)), (5, ("content", 0)), (7, ("content", 0))]),
        (
            OldImages(keep_messages=1, placeholder="gone"),
            [(2, ("content", 0, "content", 1)), (3, ("content", 0, "content", 1))],
        ),
    ],
)
def test_strikes_on_what_the_repair_changed_stay_in_force(rule, struck):
    """Results that were merged into one message, and pictures in them, are listed as struck in every request from then on."""
    calls = [{"type": "tool_use", "id": name, "name": "Bash", "input": {}} for name in "ab"]
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    shown = [{"type": "text", "text": "word " * 90}, picture]
    results = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": shown}]} for name in "ab"]
    talk = Conversation([{"role": "user", "content": "hi"}, {"role": "assistant", "content": calls}, *results])
    for number in range(3):
        for message in conversation("anthropic", asks("Bash", {}, "line " * 90, id=f"c{number}")):
            talk.add(message)
        request = talk.request(now=number, rules=[rule])
    assert [(strike.index, strike.at) for strike in request.strikes] == struck
    assert {strike.tool for strike in request.strikes} == {"Bash"}
    assert b"example.com" not in request.body
