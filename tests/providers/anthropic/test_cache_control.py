from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.prompt_cache import PromptCache, Segment
from redline import Budget, Conversation, Decision, ValidationError, check
from redline.prices import PriceRule
from redline.providers.anthropic.cache_control import (
    CONTEXT_EDITING_BETA,
    can_carry,
    clear_tool_uses,
    count_marks,
    in_blocks,
    place_breakpoints,
)
from redline.rules.masked_results import MaskedResults
from redline.testing import conversation, conversations, says
from redline.values.messages import Text, ToolCall, ToolResult

SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


@dataclass(frozen=True)
class At:
    """Marks wait until this moment."""

    moment: float
    name = "at"
    needs_ledger = False

    def decide(self, case):
        return [Decision(mark, is_applied=case.now >= self.moment, why="its time") for mark in case.pending]


def exchange(number, calls=1, size=20):
    """So many parallel calls and their results."""
    made = [ToolCall(f"c{number}_{place}", "Bash", {"n": place}) for place in range(calls)]
    answers = tuple(ToolResult(call.id, (Text(f"{call.id} " * size),), "Bash") for call in made)
    return conversation("anthropic", [("assistant", tuple(made)), ("tool", answers)])


def history(*calls):
    parts = [message for number, count in enumerate(calls) for message in exchange(number, count)]
    return [*conversation("anthropic", [says("user", "go")]), *parts]


def placed(messages, count=3, ttl=None, first_struck=None, first_held=None):
    return place_breakpoints(messages, count=count, ttl=ttl, first_struck=first_struck, first_held=first_held)


def spots(messages):
    """Message and block of each breakpoint."""
    contents = [message["content"] if isinstance(message["content"], list) else [] for message in messages]
    return [
        (place, number)
        for place, blocks in enumerate(contents)
        for number, block in enumerate(blocks)
        if "cache_control" in block
    ]


def without_marks(messages):
    return [
        {**one, "content": [{key: value for key, value in block.items() if key != "cache_control"} for block in one["content"]]}
        for one in map(in_blocks, messages)
    ]


def test_end_and_end_of_the_last_request_and_what_never_changes():
    """The last block, the last that was sent before the assistant spoke, and the last before any result."""
    assert spots(placed(history(1, 1, 2))) == [(1, 0), (4, 0), (6, 1)]
    assert spots(placed(history(1, 1, 2), count=2)) == [(4, 0), (6, 1)]
    assert spots(placed(history(1, 1, 2), count=1)) == [(6, 1)]


def test_the_last_request_ended_before_all_that_the_assistant_said():
    """Also where what it said is more than one message."""
    spoken = conversation("anthropic", [says("assistant", "One moment.")])
    first, second = history(1), exchange(1)
    assert spots(placed([*first, *spoken, *second], count=2)) == [(2, 0), (5, 0)]


def test_in_front_of_what_waits():
    """The block before the first held part, in its own message where results are parallel."""
    assert spots(placed(history(1, 3, 1, 1), first_held=(4, 1))) == [(4, 0), (6, 0), (8, 0)]
    assert spots(placed(history(1, 3, 1, 1), first_held=(4, 0))) == [(3, 2), (6, 0), (8, 0)]


def test_in_front_of_what_was_struck():
    """After a strike the end of the last request is gone: what is left ends before the first struck part."""
    assert spots(placed(history(1, 1, 1, 1), count=2, first_struck=(4, 0))) == [(3, 0), (8, 0)]


def test_a_strike_on_what_was_never_sent_loses_nothing():
    """The end of the last request is still there."""
    assert spots(placed(history(1, 1, 1), count=2, first_struck=(6, 0))) == [(4, 0), (6, 0)]


def test_thinking_and_blank_text_are_passed_over():
    """The nearest block before that can carry it does."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    told = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}, thinking]}]
    assert spots(placed(told, count=1)) == [(1, 0)]
    assert spots(placed([{"role": "user", "content": [thinking]}])) == []


def test_own_breakpoints_stay_and_count():
    """With those that are there no request has more than four, and a block that carries one needs no other."""
    messages = history(1, 1, 1, 1)
    for place in (0, 2):
        messages[place] = placed([messages[place]], count=1)[0]
    assert spots(placed(messages, first_held=(4, 0))) == [(0, 0), (2, 0), (6, 0), (8, 0)]
    for place in (4, 8):
        messages[place] = placed([messages[place]], count=1, ttl="5m")[0]
    assert placed(messages) == [in_blocks(message) for message in messages]


def test_lifetime_is_on_every_breakpoint():
    """With an hour all are for an hour, and one of the user's for less before them is refused."""
    marked = placed(history(1, 1), ttl="1h")
    assert {block["cache_control"]["ttl"] for one in marked for block in one["content"] if "cache_control" in block} == {"1h"}
    own = history(1, 1)
    own[0] = placed(own[:1], count=1)[0]
    with pytest.raises(ValidationError, match="after one that is cached for 5m"):
        placed(own, ttl="1h")


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 5}, {"count": True}, {"count": "3"}, {"ttl": "2h"}, {"ttl": 5}])
def test_wrong_settings_are_refused(wrong):
    """The error says what is possible."""
    with pytest.raises(ValidationError, match=r"count must be|ttl must be"):
        placed(history(1), **wrong)


@given(conversations("anthropic"), st.integers(1, 4), st.sampled_from([None, "5m", "1h"]), st.data())
def test_only_the_marks_are_new(messages, count, ttl, data):
    """A marked request is legal, has as many breakpoints as asked for at most, and is otherwise the same."""
    talk = Conversation(messages, format="anthropic")
    keep = data.draw(st.integers(0, 3))
    request = talk.request(now=0, rules=[MaskedResults(keep_recent=keep)], schedule=At(data.draw(st.integers(0, 1))))
    marked = request.with_breakpoints(count, ttl)
    assert check(marked, format="anthropic") == []
    assert 1 <= count_marks(marked) <= count
    assert without_marks(marked) == [in_blocks(message) for message in request.messages]
    assert request.with_breakpoints(count, ttl) == marked


def sent(cache, request, time_ms):
    """The charge for a request with its breakpoints, one token a block."""
    blocks = [block for message in request.with_breakpoints() for block in message["content"]]
    ends = [number for number, block in enumerate(blocks, 1) if "cache_control" in block]
    plain = [repr({key: value for key, value in block.items() if key != "cache_control"}) for block in blocks]
    return cache.send([Segment(one, 1.0) for one in plain], time_ms, ends)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=8))
def test_the_next_request_finds_the_last_one(calls):
    """However many results a turn has: what was sent last is read from the cache as a whole."""
    cache, talk, before = PromptCache(PriceRule(0.1, 1.25, 1e9)), Conversation(history()), 0
    for number, count in enumerate(calls):
        for message in exchange(number, count):
            talk.add(message)
        charged = sent(cache, talk.request(now=0, rules=[]), float(number))
        assert charged.read == before
        before = round(charged.read + charged.written)


@given(st.lists(st.integers(1, 30), min_size=3, max_size=8), st.integers(0, 5))
def test_a_strike_keeps_what_stands_before_it(calls, keep):
    """When what waited is struck, everything in front of the first of it is read."""
    cache, talk = PromptCache(PriceRule(0.1, 1.25, 1e9)), Conversation(history())
    rules, schedule = [MaskedResults(keep_recent=keep)], At(10.0)
    for number, count in enumerate(calls):
        for message in exchange(number, count):
            talk.add(message)
        waiting = talk.request(now=0, rules=rules, schedule=schedule)
        sent(cache, waiting, float(number))
    if waiting.first_held is None:
        return
    charged = sent(cache, talk.request(now=10, rules=rules, schedule=schedule), 100.0)
    place, block = waiting.first_held
    assert charged.read == sum(len(message["content"]) for message in waiting.with_breakpoints()[:place]) + block


# --- the field


def said(*controls):
    return {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": control} for control in controls]}


def test_words_become_one_block():
    """Content that is words alone becomes a block of text; blocks and blank words stay, and the input is not touched."""
    message = {"role": "user", "content": "hi", "x": 1}
    assert in_blocks(message) == {"role": "user", "content": [{"type": "text", "text": "hi"}], "x": 1}
    assert message["content"] == "hi"
    for other in ({"role": "user", "content": []}, {"role": "user", "content": " "}, {"role": "user"}):
        assert in_blocks(other) is other


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "a"}, True),
        ({"type": "text", "text": " \n"}, False),
        ({"type": "text"}, False),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, False),
        ({"type": "redacted_thinking", "data": "x"}, False),
        ({"type": "tool_use", "id": "a", "name": "n", "input": {}}, True),
        ({"type": "tool_result", "tool_use_id": "a", "content": ""}, True),
        ({"type": "image", "source": {}}, True),
        ({"type": "something_new"}, False),
        ("text", False),
    ],
)
def test_what_can_carry_a_breakpoint(block, expected):
    """Thinking and empty text cannot, nor what is not known."""
    assert can_carry(block) is expected


def test_a_mark_is_added_to_a_copy():
    """The block stays as it was; a lifetime is named only if one is asked for."""
    message = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    assert placed([message])[0]["content"][0] == {"type": "text", "text": "a", "cache_control": SHORT}
    assert placed([message], ttl="1h")[0]["content"][0]["cache_control"] == LONG
    assert message["content"] == [{"type": "text", "text": "a"}]


def test_marks_inside_results_count():
    """The provider counts those on the blocks of a result, too."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": said(SHORT)["content"], "cache_control": SHORT}
    assert count_marks([{"role": "user", "content": [result]}, said(SHORT, None), {"role": "user", "content": "x"}]) == 3


def test_longer_lives_come_first():
    """An hour after five minutes is refused, with the message; the other way round is fine."""
    placed([said(LONG), said(LONG, SHORT), said({"type": "ephemeral", "ttl": "5m"})])
    with pytest.raises(ValidationError, match=r"Message 1 would be cached for 1h, after .* 5m"):
        placed([said(SHORT), said(LONG)])


def test_the_field_is_as_the_provider_wants_it():
    """Each setting is where Anthropic's documentation has it."""
    field = clear_tool_uses(
        trigger_tokens=30_000, keep=5, least_gain_tokens=5_000, exclude_tools={"web_search", "a"}, clear_tool_inputs=False
    )
    assert field == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 30_000},
                "keep": {"type": "tool_uses", "value": 5},
                "clear_at_least": {"type": "input_tokens", "value": 5_000},
                "exclude_tools": ["a", "web_search"],
                "clear_tool_inputs": False,
            }
        ]
    }


def test_no_least_gain_is_no_field():
    """A gain of nothing is not asked for."""
    assert "clear_at_least" not in Budget().context_management()["edits"][0]
    assert Budget.beta == CONTEXT_EDITING_BETA
