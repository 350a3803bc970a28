"""Streams joined into whole responses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers.answers import join_stream, read_answer
from redline.providers.usage import Usage
from redline.testing import json_values
from tests.providers.answered import ANTHROPIC, ARGUMENTS, RESPONSES

START = {"type": "message_start", "message": {**ANTHROPIC, "content": [], "usage": {"input_tokens": 4, "output_tokens": 1}}}


def block(place, begun, *deltas):
    """The events of one content block."""
    yield {"type": "content_block_start", "index": place, "content_block": begun}
    yield from ({"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": place}


def test_the_usage_at_the_start_says_which_cache_was_written():
    """The end of a stream repeats the sum of cache writes, not how they are split."""
    writes = {"input_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 60}
    split = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 50}
    start = {"type": "message_start", "message": {**START["message"], "usage": {**writes, "cache_creation": split}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**writes, "output_tokens": 9}}
    answer = read_answer([start, *block(0, {"type": "text", "text": "Hm."}), end])
    assert answer.usage == Usage(4, 9, 100, 60, 50)


def test_blocks_are_filled_by_their_deltas():
    """Text, thoughts with their signature, citations, and the input of a call (R34)."""
    cited = {"type": "char_location", "cited_text": "I", "document_index": 0, "document_title": None}
    events = [
        START,
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "H"},
            {"type": "thinking_delta", "thinking": "m."},
            {"type": "signature_delta", "signature": "sig"},
        ),
        *block(
            1,
            {"type": "text", "text": "", "citations": None},
            {"type": "text_delta", "text": "I "},
            {"type": "citations_delta", "citation": cited},
            {"type": "text_delta", "text": "look."},
        ),
        *block(
            2,
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"path":"a.py",'},
            {"type": "input_json_delta", "partial_json": '"lines":null}'},
        ),
        *block(3, {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9, "input_tokens": None}},
        {"type": "message_stop"},
    ]
    answer = read_answer(events)
    assert answer.messages[0]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "I look.", "citations": [cited]},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": ARGUMENTS},
        {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
    ]
    assert answer.usage == Usage(4, 9)


def test_an_input_that_was_cut_off_is_kept_as_text():
    """The answer is not lost for it, and the model sees what it wrote."""
    deltas = [{"type": "input_json_delta", "partial_json": '{"path":"a'}]
    joined = join_stream([START, *block(0, {"type": "tool_use", "id": "a", "name": "read", "input": {}}, *deltas)])
    assert joined["content"][0]["input"] == {"INVALID_JSON": '{"path":"a'}


def chunk(delta, **more):
    return {"object": "chat.completion.chunk", "model": "gpt-5", "choices": [{"index": 0, "delta": delta}], **more}


def called(place, **more):
    return {"tool_calls": [{"index": place, **more}]}


def test_deltas_of_a_chat_are_put_together():
    """Words, thoughts of other servers, and several calls at once; the usage is in the last chunk (R34)."""
    answer = read_answer(
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"reasoning_content": "two and "}),
            chunk({"reasoning_content": "two", "content": None}),
            chunk({"content": "I "}),
            chunk({"content": "look.", "role": "assistant"}),
            chunk(called(0, id="c0", type="function", function={"name": "read", "arguments": ""})),
            chunk(called(1, id="c1", type="function", function={"name": "list", "arguments": ""})),
            chunk(called(0, function={"arguments": '{"path":'})),
            chunk(called(1, function={"arguments": "{}"})),
            chunk(called(0, function={"arguments": '"a"}'})),
            {"model": "gpt-5", "choices": [{"index": 1, "delta": {"content": "another choice"}}]},
            chunk({}, usage=None),
            {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
        ]
    )
    assert answer.messages == (
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "two and two",
            "tool_calls": [
                {"id": "c0", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
                {"id": "c1", "type": "function", "function": {"name": "list", "arguments": "{}"}},
            ],
        },
    )
    assert (answer.usage, answer.model) == (Usage(5, 2), "gpt-5")


def test_calls_without_a_place_begin_with_their_id():
    """Some servers leave the index out."""
    joined = join_stream(
        [
            chunk({"tool_calls": [{"id": "c0", "type": "function", "function": {"name": "read", "arguments": "{"}}]}),
            chunk({"tool_calls": [{"function": {"arguments": "}"}}]}),
            chunk({"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "list", "arguments": "{}"}}]}),
        ]
    )
    calls = joined["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [("c0", "{}"), ("c1", "{}")]


def test_a_responses_stream_ends_with_the_whole_response():
    """Where the end does not repeat the items, or never came, those that were done count (R34)."""
    done = [
        {"type": "response.output_item.done", "output_index": place, "item": item}
        for place, item in reversed(list(enumerate(RESPONSES["output"])))
    ]
    start = {"type": "response.created", "response": {**RESPONSES, "output": [], "usage": None}}
    end = {"type": "response.completed", "response": RESPONSES}
    assert read_answer([start, *done, end]) == read_answer(RESPONSES)
    assert read_answer([start, *done, {**end, "response": {**RESPONSES, "output": []}}]) == read_answer(RESPONSES)
    assert read_answer([start, *done]).messages == read_answer(RESPONSES).messages


def said(*parts, **more):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}], "modelVersion": "gemini-3-pro", **more}


def test_words_of_gemini_are_joined_and_signatures_stay_where_they_are():
    """Only words of one kind that nobody signed are one part (R34)."""
    call = {"functionCall": {"name": "read", "args": ARGUMENTS}, "thoughtSignature": "YQ=="}
    answer = read_answer(
        [
            said({"text": "H", "thought": True}),
            said({"text": "m.", "thought": True}),
            said({"text": "I ", "thought": None}),
            said({"text": "look"}, {"text": "."}),
            said({"text": "", "thoughtSignature": "Yg=="}),
            said(call, usageMetadata={"promptTokenCount": 5}),
            {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}},
        ]
    )
    assert answer.messages[0]["parts"] == [
        {"text": "Hm.", "thought": True},
        {"text": "I look."},
        {"text": "", "thoughtSignature": "Yg=="},
        call,
    ]
    assert (answer.usage, answer.model) == (Usage(5, 2), "gemini-3-pro")


@pytest.mark.parametrize("events", [[], [7], [{}], [{"type": "text", "text": "hi"}], [START, 7]])
def test_other_lists_are_no_streams(events):
    """They may be something else."""
    assert join_stream(events) is None


names = st.sampled_from(
    [
        *("type", "index", "delta", "message", "content_block", "usage", "choices", "tool_calls", "function", "arguments"),
        *("response", "item", "output_index", "candidates", "content", "parts", "text", "thought", "chunk", "citation", "id"),
    ]
)
kinds = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "response.completed", "chunk"]
)
values = st.recursive(
    st.none() | st.integers(-1, 2) | st.text(max_size=3) | kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(names, values, max_size=4) | st.builds(lambda kind: {**START, "type": kind}, kinds), max_size=6)
)
def test_no_list_of_events_raises(events):
    """However broken they are: a whole response, or none."""
    assert isinstance(join_stream(events), dict | None)


@given(st.lists(json_values(), max_size=4))
def test_no_list_at_all_raises(events):
    """Whatever is in it: a whole response, or none."""
    assert isinstance(join_stream(events), dict | None)


def test_odd_elements_among_the_calls_are_left_out():
    """A server that lists something else than calls does not keep the rest from being read."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "list", "arguments": "{}"}}
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call, ""]}}]}]
    joined = join_stream(chunks)
    assert [one["id"] for one in joined["choices"][0]["message"]["tool_calls"]] == ["c1"]
