"""An agent on Anthropic's SDK, against a provider that binds its reasoning to everything before it."""

import itertools

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.rules.masked_results import MaskedResults
from redline.testing import fake_provider
from redline.values.messages import Reasoning, Text, ToolCall
from tests.effort import tries

MODEL = "claude-sonnet-5-5"
MINUTE = 60_000
SYSTEM = "You are a careful engineer."
RULES = [MaskedResults(keep_recent=1)]


def said(turns):
    """What the model says: it thinks before every call, and before it is done."""
    numbers = itertools.count()
    for steps in turns:
        for _ in range(steps):
            yield "assistant", (Reasoning("I should look."), ToolCall(f"c{next(numbers)}", "Bash", {"command": "make"}))
        yield "assistant", (Reasoning("That is all."), Text("Done."))


def connect(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def ask(client, talk, now, **settings):
    request = talk.request(now=now, rules=RULES, model=MODEL, preamble=SYSTEM, **settings)
    answer = client.messages.create(model=MODEL, max_tokens=1000, system=SYSTEM, messages=request.messages)
    talk.record_usage(input_tokens=answer.usage.input_tokens, output_tokens=answer.usage.output_tokens)
    talk.add({"role": "assistant", "content": answer.model_dump(exclude_none=True)["content"]})
    return [block.id for block in answer.content if block.type == "tool_use"]


def run(client, talk, pauses, **settings):
    """A turn after each pause, with tools until the model has done."""
    now = 0.0
    for minutes in pauses:
        now += minutes * MINUTE
        talk.add({"role": "user", "content": "Go on."})
        while calls := ask(client, talk, now, **settings):
            results = [{"type": "tool_result", "tool_use_id": call, "content": "line of output\n" * 200} for call in calls]
            talk.add({"role": "user", "content": results})
            now += MINUTE / 10


@tries(15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([1, 60])), min_size=1, max_size=5),
    st.sampled_from(["eager", "when_free"]),
)
def test_every_request_is_taken(turns, schedule):
    """Whatever the pauses between turns, and whatever the schedule."""
    steps, pauses = zip(*turns, strict=True)
    talk = redline.Conversation(format="anthropic")
    with fake_provider(list(said(steps)), binds_reasoning=True) as provider, connect(provider.url) as client:
        run(client, talk, pauses, schedule=schedule)
    assert set(provider.statuses) == {200}


def test_a_pause_lets_old_results_go():
    """With a cold cache, what waited is struck with the reasoning, and the session goes on."""
    talk = redline.Conversation(format="anthropic")
    with fake_provider(list(said([4, 2])), binds_reasoning=True) as provider, connect(provider.url) as client:
        run(client, talk, [0, 60], schedule="when_free")
    assert {strike.rule for strike in talk.strikes} == {"masked_results", "bound_reasoning"}
    assert set(provider.statuses) == {200}


def test_without_the_law_the_provider_refuses():
    """A history that was struck by hand is answered with status 400."""
    talk = redline.Conversation(format="anthropic")
    with fake_provider(list(said([3])), binds_reasoning=True) as provider, connect(provider.url) as client:
        run(client, talk, [0])
        messages = [*talk.messages, {"role": "user", "content": "Go on."}]
        messages[2]["content"][0]["content"] = "[gone]"
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            client.messages.create(model=MODEL, max_tokens=1000, system=SYSTEM, messages=messages)
