"""A provider that binds its reasoning."""

import copy

from redline.testing.provider import FakeProvider, ReasoningBinder
from redline.values.messages import Reasoning, Text, ToolCall

THINKS = ("assistant", (Reasoning("hm"), Text("so"), Reasoning("aha"), ToolCall("c0", "ls", {})))


def conversation_of(*replies):
    """What a provider was asked and said, until it answers in words."""
    provider = FakeProvider([*replies, ("assistant", (Reasoning("end"), Text("done")))], binder=ReasoningBinder())
    messages = [{"role": "user", "content": "hi"}]
    for reply in (*replies, None):
        answer = provider.exchange("/v1/messages", {"model": "m", "system": "be", "messages": messages}).answer
        messages = [*messages, {"role": "assistant", "content": answer["content"]}]
        if reply is not None:
            calls = [part.id for part in reply[1] if isinstance(part, ToolCall)]
            results = [{"type": "tool_result", "tool_use_id": call, "content": "out"} for call in calls]
            messages = [*messages, {"role": "user", "content": results}]
    return provider, [*messages, {"role": "user", "content": "and now?"}]


def status(provider, messages, **more):
    return provider.exchange("/v1/messages", {"model": "m", "system": "be", "messages": messages, **more}).status


def without(messages, *places):
    """The same without these blocks, by message and place."""
    changed = copy.deepcopy(messages)
    for message, place in sorted(places, reverse=True):
        del changed[message]["content"][place]
    return changed


def test_reasoning_is_taken_back_with_its_past():
    """As it was said, and with a cache breakpoint set elsewhere."""
    provider, messages = conversation_of(THINKS)
    assert status(provider, messages) == 200
    marked = copy.deepcopy(messages)
    marked[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    assert status(provider, marked) == 200


def test_a_changed_past_is_refused():
    """A result, the user's words, the system prompt, the tools; the answer says which block minds."""
    provider, messages = conversation_of(THINKS)
    changed = copy.deepcopy(messages)
    changed[2]["content"][0]["content"] = "[gone]"
    done = provider.exchange("/v1/messages", {"model": "m", "system": "be", "messages": changed})
    assert done.status == 400
    assert "messages.3.content.0: `thinking` block is bound to a different conversation" in str(done.answer)
    assert status(provider, [{"role": "user", "content": "ho"}, *messages[1:]]) == 400
    assert status(provider, messages, system="be not") == 400
    assert status(provider, messages, tools=[{"name": "ls", "input_schema": {"type": "object"}}]) == 400


def test_reasoning_may_go_from_the_front_on():
    """The first, the first two, all; but none from the middle, and a signature of one's own is no signature."""
    provider, messages = conversation_of(THINKS)
    assert status(provider, without(messages, (1, 0))) == 200
    assert status(provider, without(messages, (1, 0), (1, 2))) == 200
    assert status(provider, without(messages, (1, 0), (1, 2), (3, 0))) == 200
    assert status(provider, without(messages, (1, 2))) == 400
    forged = copy.deepcopy(messages)
    forged[3]["content"][0]["signature"] = "mine"
    assert status(provider, forged) == 400


def test_reasoning_of_the_present_turn_must_stay():
    """While the model waits for a result, the thought that led to the call is asked for."""
    provider, messages = conversation_of(THINKS)
    waiting = messages[:3]
    assert status(provider, waiting) == 200
    assert status(provider, without(waiting, (1, 0), (1, 2))) == 400
