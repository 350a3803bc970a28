"""Tools as each provider takes them."""

import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from anthropic.types import ToolUnionParam
from pydantic import TypeAdapter

from redline.blobs.retrieval import recall_tool
from redline.errors import ValidationError
from redline.formats.tool_definitions import write_tools

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
PLAIN = {"name": "read", "description": "Shows a file.", "parameters": SCHEMA}
OWN = {
    "anthropic": {"name": "read", "description": "Shows a file.", "input_schema": SCHEMA},
    "openai_chat": {"type": "function", "function": PLAIN},
    "openai_responses": {"type": "function", **PLAIN, "strict": False},
    "gemini": {
        "functionDeclarations": [{"name": "read", "description": "Shows a file.", "parametersJsonSchema": SCHEMA}],
    },
}
PARAMS = {
    "anthropic": TypeAdapter(ToolUnionParam),
    "openai_chat": TypeAdapter(chat_types.ChatCompletionToolUnionParam),
    "openai_responses": TypeAdapter(responses_types.ToolParam),
    "gemini": TypeAdapter(gemini_types.Tool),
}
HOSTED = {
    "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    "openai_chat": {"type": "custom", "custom": {"name": "sql"}},
    "openai_responses": {"type": "web_search"},
    "gemini": {"googleSearch": {}},
}


@pytest.mark.parametrize("format", OWN)
@pytest.mark.parametrize(
    "given", [PLAIN, *OWN.values(), {"name": "read", "description": "Shows a file.", "inputSchema": SCHEMA}]
)
def test_a_function_is_written_as_the_provider_takes_it(format, given):
    """From a plain description, from MCP's, and from the shape of any of the providers (R34)."""
    assert write_tools(format, [given]) == [OWN[format]]
    PARAMS[format].validate_python(write_tools(format, [given])[0])


@pytest.mark.parametrize("format", OWN)
def test_a_tool_in_its_own_shape_stays_as_it_is(format):
    """Those that the provider runs itself, marks for the cache, and the tool that Redline brings."""
    own = {**OWN[format], "cache_control": {"type": "ephemeral"}} if format == "anthropic" else OWN[format]
    tools = [HOSTED[format], own, recall_tool(format)]
    assert write_tools(format, tools) == tools


def test_functions_of_gemini_are_declared_together():
    """In the place of the first; the API takes one list of them."""
    other = {**PLAIN, "name": "list"}
    written = write_tools("gemini", [PLAIN, HOSTED["gemini"], other])
    assert [one["name"] for one in written[0]["functionDeclarations"]] == ["read", "list"]
    assert written[1:] == [HOSTED["gemini"]]


@pytest.mark.parametrize("format", OWN)
def test_a_tool_may_take_nothing(format):
    """Then its schema says so."""
    assert '"properties": {}' in str(write_tools(format, [{"name": "now"}])).replace("'", '"')


def test_strictness_is_kept():
    """Where it was asked for."""
    strict = {**PLAIN, "strict": True}
    assert write_tools("openai_chat", [strict])[0]["function"]["strict"] is True
    assert write_tools("openai_responses", [strict])[0]["strict"] is True
    assert write_tools("anthropic", [strict])[0]["strict"] is True


def read(path: str) -> str:
    return path


@pytest.mark.parametrize(
    ("format", "tool", "found"),
    [
        ("anthropic", read, "Python function"),
        ("gemini", read, "Python function"),
        ("anthropic", "read", "dictionary"),
        ("anthropic", {"description": "no name"}, "nor a function with a name"),
        ("openai_chat", HOSTED["anthropic"], "nor a function with a name"),
        ("gemini", HOSTED["openai_responses"], "nor a function with a name"),
        ("openai_chat", HOSTED["gemini"], "nor a function with a name"),
        ("ai_sdk", PLAIN, "No SDK of Python"),
    ],
)
def test_a_tool_that_cannot_be_written_is_refused(format, tool, found):
    """With its number, and the reason."""
    with pytest.raises(ValidationError, match=found):
        write_tools(format, [tool])
