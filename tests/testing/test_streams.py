"""Answers as the providers stream them."""

import json

import pytest
from anthropic.types import RawMessageStreamEvent
from google.genai.types import GenerateContentResponse
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from redline.providers.answers import read_answer
from redline.providers.usage import Usage
from redline.testing.endpoints import ENDPOINTS, stream_answer
from redline.values.messages import Reasoning, Text, ToolCall

PARTS = (Reasoning("I should look into it first."), Text("Let me see what is in there."), ToolCall("c1", "read", {"path": "ä"}))
BY_FORMAT = {endpoint.format: endpoint for endpoint in ENDPOINTS}
TYPES = {
    "anthropic": TypeAdapter(RawMessageStreamEvent),
    "openai_chat": TypeAdapter(ChatCompletionChunk),
    "openai_responses": TypeAdapter(ResponseStreamEvent),
    "gemini": TypeAdapter(GenerateContentResponse),
}


def events_of(format, parts=PARTS, **body):
    """The data of each event."""
    answer = BY_FORMAT[format].answer("m", parts, Usage(3, 5, 7, 2 if format == "anthropic" else 0))
    sent = b"".join(stream_answer(format, answer, body)).decode()
    found = [line.removeprefix("data: ") for line in sent.splitlines() if line.startswith("data: ")]
    return answer, [json.loads(data) for data in found if data != "[DONE]"], sent


def kinds(events):
    """The order of the events, each kind once in a row."""
    found = [event["type"] for event in events]
    return [kind for place, kind in enumerate(found) if place == 0 or found[place - 1] != kind]


def test_anthropic_opens_fills_and_closes_each_block():
    """A start, a ping, the blocks, the reason why it ends with the usage, a stop (R44)."""
    _, events, sent = events_of("anthropic")
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds(events) == ["message_start", block[0], "ping", *block[1:], *block, *block, "message_delta", "message_stop"]
    deltas = [event["delta"]["type"] for event in events if event["type"] == "content_block_delta"]
    assert list(dict.fromkeys(deltas)) == ["thinking_delta", "signature_delta", "text_delta", "input_json_delta"]
    assert events[0]["message"]["content"] == []
    assert events[-2]["usage"] == {
        "input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 7,
        "output_tokens": 5,
    }
    assert sent.startswith("event: message_start\ndata: ")


@pytest.mark.parametrize("is_asked", [False, True])
def test_chat_gives_the_usage_only_when_asked(is_asked):
    """In a last chunk without choices; every other chunk then says that it has none (R44)."""
    answer, chunks, sent = events_of("openai_chat", stream_options={"include_usage": is_asked})
    assert sent.endswith("data: [DONE]\n\n")
    assert ("usage" in chunks[0]) is is_asked
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    finished = chunks[-2 if is_asked else -1]["choices"][0]
    assert (finished["delta"], finished["finish_reason"]) == ({}, "tool_calls")
    assert (chunks[-1]["choices"] == [] and chunks[-1]["usage"] == answer["usage"]) is is_asked


def test_responses_tell_of_every_item():
    """Each is added, filled and done, and the last event holds the whole response (R44)."""
    answer, events, sent = events_of("openai_responses")
    item = ["response.output_item.added", "response.output_item.done"]
    summary = [f"response.reasoning_summary_{kind}" for kind in ("part.added", "text.delta", "text.done", "part.done")]
    text = [
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
    ]
    call = ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
    assert kinds(events) == [
        *("response.created", "response.in_progress"),
        *(item[0], *summary, item[1]),
        *(item[0], *text, item[1]),
        *(item[0], *call, item[1]),
        "response.completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["response"] == answer
    assert sent.startswith("event: response.created\ndata: ")


def test_gemini_gives_chunks_in_the_shape_of_answers():
    """Words in pieces, the call whole; only the last says why it ends (R44)."""
    _, chunks, _ = events_of("gemini")
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks] == [None] * (len(chunks) - 1) + ["STOP"]
    assert "functionCall" in chunks[-1]["candidates"][0]["content"]["parts"][0]
    assert "candidatesTokenCount" not in chunks[0]["usageMetadata"]


@pytest.mark.parametrize("format", TYPES)
def test_the_sdks_know_every_event(format):
    """By their own types; a ping they pass over."""
    _, events, _ = events_of(format, stream_options={"include_usage": True})
    for event in events:
        if event.get("type") != "ping":
            TYPES[format].validate_python(event)


words = st.text(min_size=1, max_size=60)
calls = st.builds(
    ToolCall, st.just("c1"), st.just("read"), st.dictionaries(words, words | st.none() | st.integers(), max_size=3)
)


@pytest.mark.parametrize("format", TYPES)
@given(st.builds(Text, words), st.builds(Reasoning, words), st.lists(calls, max_size=2))
def test_a_stream_says_what_the_whole_answer_says(format, text, thought, called):
    """To a reader of all its events, whatever is said."""
    parts = (text, *called) if format == "gemini" else (thought, text, *called)  # where thoughts move the signature
    answer, events, _ = events_of(format, parts, stream_options={"include_usage": True})
    whole, joined = read_answer(answer), read_answer(events)
    assert joined == whole
