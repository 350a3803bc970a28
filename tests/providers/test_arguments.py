"""What the methods of the SDKs take."""

import inspect

import anthropic
import google.genai.types as gemini_types
import openai
import pytest
from google import genai
from pydantic import BaseModel

import redline
from redline.errors import ExecutionError, ValidationError
from redline.providers.arguments import sdk_arguments
from redline.testing import fake_provider
from tests.providers.test_tool_definitions import OWN, PLAIN

MESSAGES = {
    "anthropic": [{"role": "user", "content": "Hi."}],
    "openai_chat": [{"role": "user", "content": "Hi."}],
    "openai_responses": [{"role": "user", "content": "Hi."}],
    "gemini": [{"role": "user", "parts": [{"text": "Hi."}]}],
}


def arguments(format, **more):
    return sdk_arguments(format, MESSAGES[format], model="m", system="Be brief.", tools=[PLAIN], **more)


def test_each_goes_to_its_place():
    """The system prompt beside the messages, or as the first of them; in Gemini's case in the settings (R34)."""
    hello = MESSAGES["anthropic"]
    assert arguments("anthropic", max_tokens=9) == {
        "model": "m",
        "system": "Be brief.",
        "tools": [OWN["anthropic"]],
        "messages": hello,
        "max_tokens": 9,
    }
    assert arguments("openai_chat", stream=True) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, *hello],
        "tools": [OWN["openai_chat"]],
        "stream": True,
    }
    assert arguments("openai_responses", store=False) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": hello,
        "tools": [OWN["openai_responses"]],
        "store": False,
    }
    assert arguments("gemini", config={"temperature": 0}, max_output_tokens=9) == {
        "model": "m",
        "contents": MESSAGES["gemini"],
        "config": {"system_instruction": "Be brief.", "tools": [OWN["gemini"]], "temperature": 0, "max_output_tokens": 9},
    }


@pytest.mark.parametrize("format", MESSAGES)
def test_what_is_not_there_is_not_said(format):
    """No null, and no empty list of tools, which OpenAI refuses."""
    given = sdk_arguments(format, MESSAGES[format], model="m")
    assert sorted(given) == sorted(["model", {"openai_responses": "input", "gemini": "contents"}.get(format, "messages")])


def test_the_sdks_take_it():
    """Each name is a parameter of the method, and the provider gets system prompt and tools (R34)."""
    with fake_provider() as provider:
        claude = anthropic.Anthropic(base_url=provider.url, api_key="none", max_retries=0)
        gpt = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0)
        gemini = genai.Client(api_key="none", http_options={"base_url": provider.url})
        claude.messages.create(**arguments("anthropic", max_tokens=9))
        gpt.chat.completions.create(**arguments("openai_chat"))
        gpt.responses.create(**arguments("openai_responses"))
        gemini.models.generate_content(**arguments("gemini", max_output_tokens=9))
    assert provider.statuses == [200] * 4
    assert all("Be brief." in str(exchange.body) and "Shows a file." in str(exchange.body) for exchange in provider.exchanges)


def test_streaming_methods_take_it_too():
    """By the names of their parameters."""
    for method, format in (
        (anthropic.Anthropic(api_key="none").messages.stream, "anthropic"),
        (openai.OpenAI(api_key="none").chat.completions.stream, "openai_chat"),
        (openai.OpenAI(api_key="none").responses.stream, "openai_responses"),
        (genai.Client(api_key="none").models.generate_content_stream, "gemini"),
    ):
        assert arguments(format).keys() <= inspect.signature(method).parameters.keys()


def test_a_system_prompt_in_blocks_keeps_its_marks():
    """Where the provider takes blocks; elsewhere it is their words."""
    blocks = [
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Be kind."},
    ]
    said = {format: sdk_arguments(format, MESSAGES[format], model="m", system=blocks) for format in MESSAGES}
    assert said["anthropic"]["system"] == blocks
    assert said["openai_responses"]["instructions"] == "Be brief.\n\nBe kind."
    assert said["gemini"]["config"] == {"system_instruction": "Be brief.\n\nBe kind."}


class Shape(BaseModel):
    name: str


def test_settings_of_gemini_can_be_an_object():
    """With values that are no JSON, such as the class of what is wanted."""
    config = gemini_types.GenerateContentConfig(temperature=0.5, response_schema=Shape)
    held = arguments("gemini", config=config)["config"]
    assert (held["temperature"], held["response_schema"], held["system_instruction"]) == (0.5, Shape, "Be brief.")


@pytest.mark.parametrize(
    ("format", "more"),
    [
        ("anthropic", {"messages": []}),
        ("openai_chat", {"messages": []}),
        ("openai_responses", {"instructions": "Be long."}),
        ("openai_responses", {"input": []}),
        ("gemini", {"system_instruction": "Be long."}),
        ("gemini", {"config": {"systemInstruction": "Be long."}}),
        ("gemini", {"config": {"tools": [{"googleSearch": {}}]}}),
        ("gemini", {"config": {"temperature": 0}, "temperature": 1}),
        ("gemini", {"config": gemini_types.GenerateContentConfig(system_instruction="Be long.")}),
    ],
)
def test_nothing_is_said_twice(format, more):
    """Which of the two counts could only be guessed."""
    with pytest.raises(ValidationError, match="only here"):
        arguments(format, **more)


@pytest.mark.parametrize("model", [None, "", 7])
def test_a_model_is_needed(model):
    """The SDKs ask for it."""
    with pytest.raises(ValidationError, match="model"):
        sdk_arguments("anthropic", MESSAGES["anthropic"], model=model)


def test_the_rest_is_checked():
    """Formats without an SDK in Python, and settings that are none."""
    with pytest.raises(ValidationError, match="ai_sdk"):
        sdk_arguments("ai_sdk", [{"role": "user", "content": "hi"}], model="m")
    with pytest.raises(ValidationError, match="config"):
        arguments("gemini", config=7)


@pytest.mark.parametrize("format", MESSAGES)
def test_a_request_without_messages_is_refused(format):
    """R163: every provider refuses it; the error says what to do instead."""
    with pytest.raises(ExecutionError, match="Add a message"):
        sdk_arguments(format, [], model="m")
    assert redline.make_legal([], format=format) == []


def test_a_system_prompt_of_white_space_is_left_out():
    """R156: Anthropic refuses white space for text, alone or beside other blocks."""
    messages = MESSAGES["anthropic"]
    assert "system" not in sdk_arguments("anthropic", messages, model="m", system=" \n")
    said = [{"type": "text", "text": " "}, {"type": "text", "text": "Be brief."}]
    assert sdk_arguments("anthropic", messages, model="m", system=said)["system"] == said[1:]


def test_the_messages_are_not_changed():
    """The list is a new one, and the messages are the same."""
    messages = MESSAGES["openai_chat"]
    given = sdk_arguments("openai_chat", messages, model="m", system="Be brief.")["messages"]
    assert given[1] is messages[0]
    assert len(messages) == 1
