"""Marks carried out on a message."""

import pytest

from redline.engine.sent import struck_message as strike
from redline.errors import ExecutionError, ValidationError
from redline.providers import FORMATS
from redline.rules.rule import Mark


def struck(format_name: str, payload: dict, *marks: tuple):
    made = [Mark("rule", 0, at, replacement, "because") for at, replacement in marks]
    after = strike(FORMATS[format_name].read(payload), made, FORMATS[format_name])
    return after.native if after is not None else None


def test_parts_are_reworded_and_removed_at_once():
    """What is beside them stays, and the message that was given too."""
    blocks = [{"type": "text", "text": word, "x": 1} for word in "abc"]
    payload = {"role": "user", "content": blocks}
    after = struck("anthropic", payload, (("content", 0), None), (("content", 2), "C"))
    assert after == {"role": "user", "content": [blocks[1], {"type": "text", "text": "C", "x": 1}]}
    assert payload == {"role": "user", "content": [{"type": "text", "text": word, "x": 1} for word in "abc"]}


def test_a_mark_on_a_result_covers_what_is_inside():
    """The picture inside goes with it, though it was marked for itself."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [image]}
    marks = (("content", 0), "gone"), (("content", 0, "content", 0), "stub")
    after = struck("anthropic", {"role": "user", "content": [result]}, *marks)
    assert after == {"role": "user", "content": [{**result, "content": "gone"}]}


def test_pictures_stored_beside_a_result_are_removed():
    """There is no place for words among them."""
    payload = {"role": "tool", "tool_call_id": "c", "content": "x", "images": [{"data": "AA", "mimeType": "image/png"}]}
    after = struck("openai_chat", payload, (("images", 0), "stub"))
    assert after == {**payload, "images": []}


def test_a_part_that_cannot_be_reworded_is_refused():
    """What is nothing but a picture is not removed behind the caller's back."""
    shot = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "u"}}
    with pytest.raises(ValidationError, match="computer_call_output"):
        struck("openai_responses", shot, (("output",), "stub"))


def test_nothing_left_is_none():
    """A message that loses all it says is gone."""
    assert struck("anthropic", {"role": "user", "content": "hi"}, (("content",), None)) is None


def test_a_mark_for_another_message_is_refused():
    """A place that is not there means that the message is another one."""
    with pytest.raises(ExecutionError, match="no part at"):
        struck("anthropic", {"role": "user", "content": "hi"}, (("content", 3), "x"))
