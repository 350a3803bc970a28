"""The way back for offloaded results."""

import anthropic.types as anthropic_types
import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from redline.blobs.memory import MemoryBlobs
from redline.errors import ExecutionError, ValidationError
from redline.recall import recall, recall_tool

TEXT = "".join(f"line {number}\n" for number in range(1, 101))


def stored(text: str) -> tuple[str, MemoryBlobs]:
    blobs = MemoryBlobs()
    return blobs.put(text.encode("utf-8", "surrogatepass")), blobs


@given(st.text(st.characters(codec=None)))
def test_the_whole_text_comes_back(text: str):
    """Character for character."""
    reference, blobs = stored(text)
    assert recall(reference, blobs) == text
    assert recall(f"[stored elsewhere: (reference={reference!r})]", blobs) == text


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [
        ("10-12", 10, 12),
        ("99-", 99, 100),
        ("-2", 99, 100),
        ("7", 7, 7),
        ((10, 12), 10, 12),
        (" 10 - 12 ", 10, 12),
        ("99-500", 99, 100),
        ("-500", 1, 100),
    ],
)
def test_some_lines_come_back(lines, first, last):
    """Counted from 1, both ends included; what lies past the end is left out."""
    expected = "\n".join(f"line {number}" for number in range(first, last + 1))
    assert recall(*stored(TEXT), lines=lines) == expected


@pytest.mark.parametrize("lines", ["", "-", "a-b", "1-2-3", "5,7"])
def test_lines_that_cannot_be_read_are_refused(lines):
    """The error shows how to write them."""
    with pytest.raises(ValidationError, match="10-40"):
        recall(*stored(TEXT), lines=lines)


@pytest.mark.parametrize("lines", ["101-", "200-300", "7-3"])
def test_lines_that_are_not_there_are_an_error(lines):
    """It says how many there are."""
    with pytest.raises(ValidationError, match="100 lines"):
        recall(*stored(TEXT), lines=lines)


def test_a_pattern_finds_lines_with_their_numbers():
    """Within the lines asked for; finding none is said, not an error."""
    assert recall(*stored(TEXT), grep="9$", lines="1-30") == "9: line 9\n19: line 19\n29: line 29"
    assert recall(*stored(TEXT), grep="nowhere") == "No line matches 'nowhere'."


def test_a_bad_pattern_is_refused():
    """The error says why."""
    with pytest.raises(ValidationError, match="regular expression"):
        recall(*stored(TEXT), grep="(")


def test_an_unknown_reference_says_what_to_do():
    """Likewise what is no reference at all."""
    with pytest.raises(ExecutionError, match="Copy it from the stub"):
        recall("0" * 64, MemoryBlobs())
    with pytest.raises(ValidationError, match="copy it from the stub"):
        recall("tool-result-1", MemoryBlobs())


@pytest.mark.parametrize(
    ("format_name", "shape"),
    [
        ("anthropic", anthropic_types.ToolParam),
        ("openai_chat", chat_types.ChatCompletionFunctionToolParam),
        ("openai_responses", responses_types.FunctionToolParam),
        ("gemini", gemini_types.Tool),
    ],
)
def test_the_tool_has_the_shape_the_sdk_takes(format_name, shape):
    """As the provider's own types check it."""
    TypeAdapter(shape).validate_python(recall_tool(format_name))


def test_the_tool_of_the_ai_sdk():
    """A function with its JSON schema under `inputSchema`."""
    tool = recall_tool("ai_sdk", name="read_back")
    assert (tool["type"], tool["name"], tool["inputSchema"]["required"]) == ("function", "read_back", ["reference"])


def test_an_unknown_format_is_refused():
    """The error names those there are."""
    with pytest.raises(ValidationError, match="openai_responses"):
        recall_tool("morse")
