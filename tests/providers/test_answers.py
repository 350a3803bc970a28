"""What a model answered, whichever SDK returned it."""

import asyncio
import json

import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from anthropic.types import ContentBlock, MessageParam
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseCompletedEvent, ResponseOutputItem
from pydantic import TypeAdapter

from redline.errors import RedlineError, ValidationError
from redline.providers import FORMATS
from redline.providers.answers import read_answer
from redline.testing import conversations, json_values
from redline.testing.endpoints import ENDPOINTS
from tests.providers.answered import ANTHROPIC, BODIES, CHAT, GEMINI, RESPONSES, SENDABLE, TYPES, USAGES, as_object
from tests.providers.sdk_types import kinds_in, least_of

FORMAT_NAMES = tuple(BODIES)
PARAMS = {
    "anthropic": TypeAdapter(MessageParam),
    "openai_chat": TypeAdapter(chat_types.ChatCompletionMessageParam),
    "openai_responses": TypeAdapter(responses_types.ResponseInputItemParam),
    "gemini": TypeAdapter(gemini_types.Content),
}
ENDPOINT = {endpoint.format: endpoint for endpoint in ENDPOINTS}


def given_as(format):
    """One answer in every form in which a caller can have it."""
    body, returned = BODIES[format], as_object(format)
    yield from (body, returned, returned.model_dump(), returned.model_dump(mode="json"), returned.model_dump(exclude_none=True))
    yield from (returned.model_dump(mode="json", by_alias=True), returned.model_dump_json(by_alias=True))
    yield json.dumps(body).encode()


@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_an_answer_is_the_same_however_it_is_given(format):
    """As the SDK's object, dumped in any way, and as the API sends it: message, usage, model and format (R34)."""
    for value in given_as(format):
        answer = read_answer(value)
        assert same_names(answer.messages) == same_names(SENDABLE[format])
        assert (answer.usage, answer.format) == (USAGES[format], format)
        assert answer.model == (BODIES[format].get("model") or "gemini-3-pro")


def same_names(value):
    """With the names of fields in one spelling, and base64 in one alphabet: Gemini takes both, and its SDK gives both."""
    if isinstance(value, dict):
        return {SPELLINGS.get(name, name): same_names(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [same_names(held) for held in value]
    return value.replace("-_-_", "+/+/") if isinstance(value, str) else value


SPELLINGS = {"function_call": "functionCall", "thought_signature": "thoughtSignature"}


@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_the_api_takes_the_messages_back(format):
    """By the SDK's own types of what is sent, and by the laws of the format (R34)."""
    for value in given_as(format):
        messages = read_answer(value).messages
        for message in messages:
            PARAMS[format].validate_python(message)
        assert ENDPOINT[format].complaint(body_with(format, messages)) is None


def body_with(format, messages):
    """A request in which the answer is followed by the result of its call."""
    asked = {"gemini": {"role": "user", "parts": [{"text": "Go."}]}}.get(format, {"role": "user", "content": "Go."})
    result = {
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}]},
        "openai_chat": {"role": "tool", "tool_call_id": "call_1", "content": "text"},
        "openai_responses": {"type": "function_call_output", "call_id": "call_1", "output": "text"},
        "gemini": {
            "role": "user",
            "parts": [{"functionResponse": {"id": "f1", "name": "read", "response": {"output": "text"}}}],
        },
    }[format]
    return {FORMATS[format].messages_field: [asked, *messages, result]}


@pytest.mark.parametrize("kind", kinds_in(ContentBlock), ids=lambda kind: kind.__name__)
def test_every_block_of_anthropic_goes_back(kind):
    """Also dumped with a null for every field that it lacks."""
    block = kind.model_validate(least_of(kind))
    for given_block in (block, block.model_dump()):
        (message,) = read_answer({**ANTHROPIC, "content": [given_block]}).messages
        PARAMS["anthropic"].validate_python(message)


SENT_ONLY = ("AdditionalTools", "ResponseComputerToolCallOutputItem")
"""What the model does not say."""


@pytest.mark.parametrize(
    "kind", [one for one in kinds_in(ResponseOutputItem) if one.__name__ not in SENT_ONLY], ids=lambda kind: kind.__name__
)
def test_every_item_of_responses_goes_back(kind):
    """Also dumped with a null for every field that it lacks."""
    item = kind.model_validate(least_of(kind))
    for given_item in (item, item.model_dump(by_alias=True), item.model_dump(exclude_none=True, by_alias=True)):
        (said,) = read_answer({"output": [given_item]}).messages
        PARAMS["openai_responses"].validate_python(said)


@pytest.mark.parametrize(
    ("format", "value"),
    [
        ("anthropic", as_object("anthropic").content),
        ("anthropic", {"role": "assistant", "content": as_object("anthropic").content}),
        ("openai_chat", as_object("openai_chat").choices[0].message),
        ("openai_chat", CHAT["choices"][0]["message"]),
        ("openai_responses", as_object("openai_responses").output),
        ("openai_responses", RESPONSES["output"]),
        ("gemini", as_object("gemini").candidates[0].content),
        ("gemini", as_object("gemini").candidates[0].content.parts),
        ("gemini", {"parts": GEMINI["candidates"][0]["content"]["parts"]}),
    ],
)
def test_a_part_of_a_response_is_taken_too(format, value):
    """What callers pick out of it: a message, a content, a list of items, blocks or parts. There is no usage in it (R34)."""
    answer = read_answer(value)
    assert (answer.messages, answer.usage, answer.format) == (SENDABLE[format], None, format)


def test_a_single_item_is_an_answer():
    """Of the Responses API, in which each is an element of its own."""
    assert read_answer(as_object("openai_responses").output[2]).messages == (RESPONSES["output"][2],)


def test_the_last_event_of_a_stream_is_an_answer():
    """`response.completed` holds the whole response."""
    event = ResponseCompletedEvent.model_validate({"type": "response.completed", "sequence_number": 9, "response": RESPONSES})
    assert read_answer(event) == read_answer(RESPONSES)


def test_plain_words_are_of_the_format_that_is_named():
    """Their shape fits several."""
    said = {"role": "assistant", "content": "Done."}
    assert [read_answer(said, format).format for format in (None, *FORMAT_NAMES[:3])] == ["openai_chat", *FORMAT_NAMES[:3]]
    assert read_answer(ANTHROPIC, "openai_chat").format == "anthropic"


def test_a_message_that_is_not_finished_is_anthropics():
    """Nothing yet says why it stops, but there is a usage, which no message in a history has."""
    begun = {name: held for name, held in ANTHROPIC.items() if name != "stop_reason"}
    answer = read_answer({**begun, "content": [{"type": "text", "text": "I"}]})
    assert answer.messages == ({"role": "assistant", "content": [{"type": "text", "text": "I"}]},)
    assert (answer.format, answer.usage) == ("anthropic", USAGES["anthropic"])


def test_what_the_sdks_parse_is_left_out():
    """It is a value in the process, and no field of the API."""
    message = {"role": "assistant", "content": "{}", "parsed": {"a": 1}, "tool_calls": None, "audio": None}
    call = {"id": "c", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}", "parsed_arguments": {}}}
    assert read_answer({"choices": [{"message": message}]}).messages == ({"role": "assistant", "content": "{}"},)
    assert read_answer({"role": "assistant", "content": None, "tool_calls": [call]}).messages[0]["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]
    block = {"type": "text", "text": "{}", "parsed_output": {"a": 1}}
    assert read_answer({**ANTHROPIC, "content": [block]}).messages[0]["content"] == [{"type": "text", "text": "{}"}]
    text = {"type": "output_text", "text": "{}", "annotations": [], "parsed": {"a": 1}}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    assert "parsed" not in read_answer({"output": [item]}).messages[0]["content"][0]


def test_fields_of_other_servers_are_kept():
    """Thoughts beside the content, which some of them want back."""
    message = {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}
    assert read_answer({"choices": [{"message": message}]}).messages == (message,)


def test_a_spoken_answer_goes_back_by_its_id():
    """The sound itself is not taken back."""
    audio = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "hi"}
    (said,) = read_answer({"choices": [{"message": {"role": "assistant", "content": None, "audio": audio}}]}).messages
    assert said == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    PARAMS["openai_chat"].validate_python(said)


@pytest.mark.parametrize(
    "value",
    [
        {**ANTHROPIC, "content": []},
        {**RESPONSES, "output": []},
        {**GEMINI, "candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]},
        {**GEMINI, "candidates": [{"finishReason": "SAFETY"}]},
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": GEMINI["usageMetadata"]},
    ],
)
def test_a_model_that_says_nothing_leaves_no_message(value):
    """An empty message would be refused; what it cost is told all the same."""
    answer = read_answer(value)
    assert answer.messages == ()
    assert answer.usage is not None


def test_an_empty_chat_message_has_empty_words():
    """Null is taken only beside a call."""
    message = {"role": "assistant", "content": None, "refusal": None}
    assert read_answer({"choices": [{"message": message}]}).messages == ({"role": "assistant", "content": ""},)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": "many"}, {"completion_tokens": 5}])
def test_an_answer_is_not_lost_for_a_strange_usage(usage):
    """Servers of all kinds speak this format; what the model said has been paid for."""
    answer = read_answer({**CHAT, "usage": usage})
    assert answer.usage is None
    assert answer.messages == SENDABLE["openai_chat"]


async def unawaited():
    """What a call without `await` gives."""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "NoneType"),
        (7, "int"),
        ("Done.", "not JSON"),
        (b"{", "not JSON"),
        ("[]", "str of 0 elements"),
        ([], "list of 0 elements"),
        ([7], "list of 1 elements"),
        ({}, "nothing in it"),
        ({"a": 1, "b": 2}, "a, b"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
        ({"role": "user", "content": "hi"}, "the user's"),
        ({"role": "tool", "tool_call_id": "c", "content": "hi"}, "the tool's"),
        ({"role": "user", "parts": [{"text": "hi"}]}, "the user's"),
        (iter([]), "has not been read"),
        (object(), "object"),
        (TYPES["anthropic"], "Message"),
    ],
)
def test_what_is_no_answer_is_refused(value, found):
    """The error says what was given, and what to pass instead."""
    with pytest.raises(ValidationError, match=found):
        read_answer(value)


def test_a_call_without_await_is_refused():
    """With words that say so."""
    coroutine = unawaited()
    with pytest.raises(ValidationError, match="await"):
        read_answer(coroutine)
    asyncio.run(coroutine)


def test_a_format_that_is_not_known_is_refused():
    """As everywhere."""
    with pytest.raises(ValidationError, match="no format named"):
        read_answer(CHAT, "morse")


def test_a_single_chunk_is_a_short_stream():
    """What it holds is the answer so far."""
    chunk = {"model": "gpt-5", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}
    answer = read_answer(chunk)
    assert (answer.messages, answer.model, answer.format) == (
        ({"role": "assistant", "content": "Hel"},),
        "gpt-5",
        "openai_chat",
    )


@given(json_values())
def test_whatever_is_given_there_is_an_answer_or_an_error(value):
    """Never another exception."""
    for given_value in (value, [value], {"choices": value}, {"output": value}, {"candidates": value}, {"content": value}):
        try:
            answer = read_answer(given_value)
        except RedlineError:
            continue
        assert answer.format in FORMATS


@pytest.mark.parametrize("format", FORMAT_NAMES)
@given(data=st.data())
def test_what_a_model_said_is_said_unchanged(format, data):
    """Any message of the assistant's is read again with the same meaning, and the input is left alone."""
    history = data.draw(conversations(format, with_extras=False))
    for native in history:
        before = FORMATS[format].read(native)
        if before.role != "assistant" or not before.parts:
            continue
        copy = json.loads(json.dumps(native))
        answer = read_answer(native, format)
        assert native == copy
        (after,) = (FORMATS[format].read(message) for message in answer.messages)
        assert [type(part) for part in after.parts] == [type(part) for part in before.parts]
        assert after.text == before.text
