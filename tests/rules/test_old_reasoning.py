"""The reasoning of earlier turns may go."""

import pytest
from hypothesis import given

from redline.errors import ValidationError
from redline.rules.old_reasoning import OldReasoning
from redline.values.messages import Message, Reasoning
from tests.rules.folding import applied, check_laws, histories, marks_of, read


def thinking(*thoughts: str, key: str = "reasoning_content") -> list[dict]:
    said = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": "!", key: thought}] for thought in thoughts]
    return [message for turn in said for message in turn]


def thoughts_left(messages: list[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, Reasoning)]


def test_reasoning_before_the_latest_turns_goes():
    """The number of turns that keep it counts the present one."""
    messages = read(thinking("one", "two", "three"), "openai_chat")
    assert thoughts_left(applied(messages, marks_of(OldReasoning(keep_recent=2), messages))) == ["two", "three"]


def test_bound_reasoning_goes_only_on_request():
    """What is signed stays by default, because providers ask for it."""
    signed = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turns = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [signed, {"type": "text", "text": "!"}]},
    ] * 2
    messages = read(turns)
    assert marks_of(OldReasoning(keep_recent=1), messages) == []
    assert [mark.index for mark in marks_of(OldReasoning(keep_recent=1, bound_too=True), messages)] == [1]


def test_bound_reasoning_that_is_an_item_stays():
    """OpenAI's Responses refuse the item after it without it; what is not bound may go."""
    items = [{"type": "message", "role": "user", "content": "?"}]
    for number in range(4):
        reasoning = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": "hm" * 99}]}
        items += [{**reasoning, "encrypted_content": "x"}, {"type": "message", "role": "assistant", "content": "!"}]
        items += [{"type": "message", "role": "user", "content": "?"}]
    assert marks_of(OldReasoning(keep_recent=1, bound_too=True), read(items, "openai_responses")) == []


def test_an_item_that_is_only_reasoning_vanishes():
    """Where each thought is an item of its own, the item goes."""
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    said = {"type": "message", "role": "assistant", "content": "!"}
    messages = read([thought, said, {"role": "user", "content": "?"}, thought, said], "openai_responses")
    after = applied(messages, marks_of(OldReasoning(keep_recent=1), messages))
    assert [message.role for message in after] == ["assistant", "user", "assistant", "assistant"]


def test_at_least_one_turn_keeps_its_reasoning():
    """The turn in progress is never cut."""
    with pytest.raises(ValidationError, match="keep_recent"):
        OldReasoning(keep_recent=0)


@given(histories())
def test_laws(messages: list[Message]):
    """Only reasoning is marked, and twice is once."""
    for mark in check_laws(OldReasoning(keep_recent=1), messages):
        assert mark.replacement is None
        assert any(isinstance(part, Reasoning) and part.at == mark.at for part in messages[mark.index].parts)
