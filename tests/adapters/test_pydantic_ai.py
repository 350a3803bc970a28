"""pydantic-ai through the story, and its messages there and back."""

import pytest

import redline
from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("pydantic_ai")


class TestPydanticAi(BoundReasoningStory, AdapterStory):
    agent = "pydantic_ai_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )


def shapes():
    """Messages as models make them, and as people write them."""
    from pydantic_ai import messages as said

    call = said.ToolCallPart("bash", '{"command": "make"}', "c1", id="fc_1", provider_name="openai")
    signed = {"signature": "x", "provider_name": "anthropic"}
    picture = said.ImageUrl("https://example.org/a.png")
    return [
        said.ModelRequest([said.SystemPromptPart("Be brief."), said.UserPromptPart("hi")], instructions="Think."),
        said.ModelRequest([said.UserPromptPart(["see", picture, said.BinaryContent(b"hi", media_type="image/png")])]),
        said.ModelRequest([said.SystemPromptPart("Be brief.")]),
        said.ModelResponse([said.TextPart("ok")]),
        said.ModelResponse([said.ThinkingPart("Hm.", **signed), said.TextPart("So."), call]),
        said.ModelResponse([said.ThinkingPart("", id="redacted_thinking", **signed), call]),
        said.ModelResponse([said.ThinkingPart("Hm.", id="rs_1", signature="y", provider_name="openai"), call]),
        said.ModelResponse([said.TextPart(""), said.ToolCallPart("bash", "{", "c1")]),
        said.ModelRequest([said.ToolReturnPart("bash", {"lines": ["a"]}, "c1"), said.UserPromptPart("and?")]),
        said.ModelRequest([said.ToolReturnPart("bash", "broken", "c1", outcome="failed")]),
        said.ModelRequest([said.ToolReturnPart("bash", ["a", picture], "c1", metadata={"kept": True})]),
    ]


@pytest.mark.parametrize("number", range(11))
def test_there_and_back_nothing_is_lost(number):
    """A message that is read and written back unchanged has the very parts it had, and is of the format it is read as."""
    from redline.adapters.pydantic_ai import _read, _write

    message = shapes()[number]
    payload = _read(message)
    redline.Editor().edit([{"role": "user", "content": "hi"}, payload], format="anthropic")
    if number == 2:  # nothing in it is looked at
        return
    (written,) = _write(message, payload)
    assert written == message
    assert all(one is other for one, other in zip(written.parts, message.parts, strict=True))


def test_a_changed_call_is_no_longer_the_providers_copy():
    """With the id of its item, OpenAI would replay the call that it has stored."""
    from redline.adapters.pydantic_ai import _read, _write

    message = shapes()[6]
    payload = _read(message)
    payload["content"][-1]["input"] = {"command": "…"}
    (written,) = _write(message, payload)
    assert written.parts[0] is message.parts[0]
    assert (written.parts[1].args, written.parts[1].id) == ({"command": "…"}, None)
    assert message.parts[1].id == "fc_1"


def test_what_is_left_out_takes_its_part_along():
    """Reasoning and calls that are not sent; parts that are not looked at stay."""
    from redline.adapters.pydantic_ai import _read, _write

    message = shapes()[4]
    payload = _read(message)
    payload["content"] = payload["content"][1:2]
    (written,) = _write(message, payload)
    assert list(written.parts) == [message.parts[1]]


def test_an_answer_to_an_open_call_is_added_before_the_rest():
    """The repair may put a result beside those of the other calls; the framework's own parts stay what they are."""
    from redline.adapters.pydantic_ai import _read, _write

    message = shapes()[8]
    payload = _read(message)
    payload["content"].insert(1, {"type": "tool_result", "tool_use_id": "c2", "content": "It was interrupted."})
    (written,) = _write(message, payload)
    assert [getattr(part, "tool_call_id", "") for part in written.parts] == ["c2", "c1", ""]
    assert list(written.parts[1:]) == list(message.parts)
