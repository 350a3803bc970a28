import dataclasses

import pytest

from redline.errors import ValidationError
from redline.formats import read_messages
from redline.formats.tool_description import describe_tools, is_tool_description
from redline.values.words import EN

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
    """The type stands for the name, and a missing description for none."""
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
