"""Objects of SDKs as plain values."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import google.genai.types as gemini_types
import pytest
from anthropic.types import TextBlock, ToolUseBlock
from hypothesis import given
from openai.types.chat import ChatCompletionMessage

from redline import Conversation, check
from redline.errors import ValidationError
from redline.providers.sdk_objects import plain_message, plain_value
from redline.testing import json_values


@given(json_values())
def test_json_is_what_it_is(value):
    """Plain values come back equal."""
    assert plain_value(value) == value


def test_objects_are_read_however_deep():
    """Blocks of an SDK inside a dictionary, as in `{"role": "assistant", "content": response.content}` (R34)."""
    blocks = [TextBlock(type="text", text="hi"), ToolUseBlock(type="tool_use", id="a", name="b", input={"path": None})]
    assert plain_value({"role": "assistant", "content": blocks}) == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "a", "name": "b", "input": {"path": None}},
        ],
    }


def test_bytes_are_base64_and_names_are_the_apis():
    """A thought signature is bytes in Google's SDK, and text on the wire."""
    part = gemini_types.Part(text="hm", thought=True, thought_signature=b"\xfb\xff\xbf")
    assert plain_value(part) == {"text": "hm", "thought": True, "thoughtSignature": "+/+/"}


class Older:
    """Has a method of the right name that takes no arguments."""

    def model_dump(self):
        return {"at": datetime(2026, 1, 2, tzinfo=UTC), "kind": gemini_types.FinishReason.STOP}


class ByName:
    def to_dict(self):
        return {"words": ("a", "b")}


@dataclass
class Noted:
    text: ByName


class Endless:
    def to_dict(self):
        return {"more": Endless()}


class Wrong:
    def to_dict(self):
        return self


def test_what_looks_like_a_model_is_read_like_one():
    """With `model_dump`, with `to_dict`, and dataclasses."""
    given = [Older(), Noted(ByName())]
    assert plain_value(given) == [{"at": "2026-01-02T00:00:00+00:00", "kind": "STOP"}, {"text": {"words": ["a", "b"]}}]
    assert json.dumps(plain_value(given))


@pytest.mark.parametrize("value", [object(), {1, 2}, lambda: 0, TextBlock, Endless(), Wrong(), {"a": [object()]}])
def test_anything_else_is_refused(value):
    """Also what never ends."""
    with pytest.raises(ValidationError):
        plain_value(value)


def test_messages_with_objects_of_an_sdk_are_taken():
    """The idioms of the SDKs' own pages: `content=response.content`, the message itself, a block in a result (R34)."""
    use = ToolUseBlock(type="tool_use", id="t1", name="ls", input={})
    talk = Conversation(format="anthropic")
    talk.add({"role": "user", "content": "hi"})
    talk.add({"role": "assistant", "content": [TextBlock(type="text", text="so"), use]})
    inner = {"type": "tool_result", "tool_use_id": "t1", "content": [TextBlock(type="text", text="files")]}
    talk.add({"role": "user", "content": [inner]})
    assert check(talk.request().messages, format="anthropic") == []
    assert talk.messages[1]["content"][1] == {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
    assert Conversation([ChatCompletionMessage(role="assistant", content="ok")]).messages[0]["content"] == "ok"
    assert Conversation([gemini_types.Content(role="user", parts=[gemini_types.Part(text="hi")])]).format == "gemini"


def test_a_plain_message_is_the_same_object():
    """Nothing is made anew where nothing must be, however deep it is."""
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}], "n": {"a": [1, None, True, 0.5]}}
    assert plain_message(message) is message
