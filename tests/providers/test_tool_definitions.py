"""Tools as each provider takes them, and their description in words."""

import dataclasses

import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from anthropic.types import ToolUnionParam
from pydantic import TypeAdapter

from redline.errors import ValidationError
from redline.providers import read_messages
from redline.providers.arguments import describe_tools, is_tool_description, write_tools
from redline.record.blobs.retrieval import recall_tool
from redline.values.words import EN

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


# --- the description

READ = {"name": "read", "description": "read a file"}
TEXT = "可用工具:\n- read: read a file"


def test_each_tool_has_a_line():
    """The heading, then name and description in the order of the tools."""
    tools = [READ, {"name": "bash", "description": "run a command"}]
    assert describe_tools(tools) == "可用工具:\n- read: read a file\n- bash: run a command"


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {**READ, "parameters": {}}},
        {"type": "function", **READ, "parameters": {}},
        {"type": "custom", "custom": READ},
        {"type": "custom", **READ, "input_schema": {}},
        {"function": READ},
        {"functionDeclarations": [READ]},
        {"function_declarations": [READ]},
    ],
)
def test_every_providers_shape_is_read(tool):
    """Name and description are found where the provider keeps them."""
    assert describe_tools([tool]) == TEXT


def test_a_declaration_may_hold_several_tools():
    """Gemini declares functions in a list, and its own tools beside it."""
    tool = {"functionDeclarations": [READ, {"name": "bash"}], "googleSearch": {}, "codeExecution": None}
    assert describe_tools([tool]) == f"{TEXT}\n- bash\n- googleSearch"


def test_a_hosted_tool_may_have_only_a_type():
    """The type is taken for the name, and a missing description for none."""
    assert describe_tools([{"type": "web_search"}]) == "可用工具:\n- web_search"


def test_no_tools_no_description():
    """Without tools there is nothing to describe."""
    assert describe_tools([]) is None


@pytest.mark.parametrize(
    ("tools", "place"),
    [
        (["read"], r"tools\[0\] must be an object"),
        ([READ, {"description": "nameless"}], r"tools\[1\] has no name"),
        ([{"description": "nameless", "input_schema": {}}], r"tools\[0\] has no name"),
        ([{"type": "function", "description": "nameless"}], r"tools\[0\] has no name"),
        ([{"type": "function", "function": {}}], r"tools\[0\].function has no name"),
        ([{"functionDeclarations": [{}]}], r"tools\[0\].functionDeclarations\[0\] has no name"),
        ([{"functionDeclarations": 5}], r"tools\[0\].functionDeclarations must be a list"),
    ],
)
def test_a_tool_without_a_name_is_an_error_that_says_where(tools, place):
    """A tool that cannot be named is not left out in silence."""
    with pytest.raises(ValidationError, match=place):
        describe_tools(tools)


def test_a_description_is_known_by_its_first_line():
    """Only a system message that begins with the heading is one, also with a role of that meaning or in blocks."""
    payloads = [
        {"role": "system", "content": TEXT},
        {"role": "developer", "content": [{"type": "text", "text": TEXT}]},
        {"role": "user", "content": TEXT},
        {"role": "system", "content": f"See below.\n{TEXT}"},
    ]
    assert [is_tool_description(message) for message in read_messages(payloads)] == [True, True, False, False]


def test_the_heading_is_of_the_words():
    """It is known in any words, whichever are set (R33)."""
    own = dataclasses.replace(EN, tools_heading="Werkzeuge:")
    text = describe_tools([{"name": "read"}], EN)
    assert text == "Available tools:\n- read"
    (message,) = read_messages([{"role": "system", "content": text}])
    assert is_tool_description(message)
    assert is_tool_description(message, own)
    (message,) = read_messages([{"role": "system", "content": describe_tools([{"name": "read"}], own)}])
    assert is_tool_description(message, own)
    assert not is_tool_description(message)
