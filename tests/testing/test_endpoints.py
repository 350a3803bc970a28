"""What the providers' servers say."""

import json

import anthropic.types as anthropic_types
import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers import FORMATS
from redline.providers.answers import read_answer
from redline.providers.usage import Usage
from redline.testing import conversations
from redline.testing.endpoints import ENDPOINTS, stream_answer
from redline.values.messages import Reasoning, Text, ToolCall

TYPES = {
    "anthropic": anthropic_types.Message,
    "openai_chat": chat_types.ChatCompletion,
    "openai_responses": responses_types.Response,
    "gemini": gemini_types.GenerateContentResponse,
}
BY_FORMAT = {endpoint.format: endpoint for endpoint in ENDPOINTS}


@pytest.mark.parametrize("format", TYPES)
def test_answers_have_the_shape_that_the_sdk_reads(format):
    """Words and calls, as the provider's own types check them."""
    parts = (Text("let me see"), ToolCall("c1", "read", {"path": "a"}))
    answer = BY_FORMAT[format].answer("a-model", parts, Usage(10, 5))
    read = TYPES[format].model_validate(answer)
    assert "let me see" in read.model_dump_json()
    assert "c1" in read.model_dump_json()


@pytest.mark.parametrize("format", TYPES)
@pytest.mark.parametrize(
    "parts", [(Text("one"), Text("two")), (Reasoning("hm"),), (Reasoning("hm"), ToolCall("c1", "read", {}))]
)
def test_whatever_the_model_says_the_sdk_reads_it_whole_and_streamed(format, parts):
    """Several texts, thoughts alone, a call without words."""
    answer = BY_FORMAT[format].answer("a-model", parts, Usage(10, 5))
    TYPES[format].model_validate(answer)
    streamed = b"".join(stream_answer(format, answer, {})).decode().split("\n")
    events = [json.loads(line[6:]) for line in streamed if line.startswith("data: {")]
    assert words_of(format, events) == words_of(format, answer)


def words_of(format, answer):
    """What is said, with the ids of calls; a stream of Gemini does not tell where one text ends and the next begins."""
    messages = [FORMATS[format].read(message) for message in read_answer(answer).messages]
    parts = [part for message in messages for part in message.parts]
    return "".join(part.text if isinstance(part, Text | Reasoning) else str(part.id) for part in parts)


@pytest.mark.parametrize("format", TYPES)
@given(data=st.data())
def test_legal_conversations_are_taken(format, data):
    """Whatever they hold."""
    history = data.draw(conversations(format, with_extras=False))
    assert BY_FORMAT[format].complaint({FORMATS[format].messages_field: history}) is None


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, "at least one message"),
        ({"messages": []}, "at least one message"),
        ({"messages": [7]}, "JSON object"),
        ({"messages": [{"role": "assistant", "content": "hi"}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": "hi", "timestamp": 1}]}, "extra inputs are not permitted"),
    ],
)
def test_what_the_provider_refuses_is_refused(body, found):
    """With the place, and the reason."""
    complaint = BY_FORMAT["anthropic"].complaint(body)
    assert complaint is not None
    assert found in complaint
