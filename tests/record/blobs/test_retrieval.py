"""The way back for offloaded results."""

import re

import anthropic.types as anthropic_types
import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.blobs.directory import DirectoryBlobs, ResultFolder
from redline.record.blobs.retrieval import is_recall, recall, recall_tool
from tests.effort import tries

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


@pytest.mark.parametrize("lines", ["-", "a-b", "1-2-3", "5,7", 7, [1], [1, 2, 3], ["1", "2"]])
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


def test_what_a_model_leaves_empty_is_not_asked_for():
    """Some fill in every argument of a tool."""
    assert recall(*stored(TEXT), lines="", grep="") == TEXT


@pytest.mark.parametrize("bad", [{"grep": "("}, {"grep": 7}, {"reference": None}, {"max_chars": 5}, {"max_chars": "many"}])
def test_bad_arguments_are_refused(bad):
    """The error says which, so that the model can try again."""
    reference, blobs = stored(TEXT)
    with pytest.raises(ValidationError, match=next(iter(bad))):
        recall(**{"reference": reference, "blobs": blobs, **bad})


def test_a_long_text_is_cut_and_says_how_to_go_on():
    """Following what it says leads through the whole text, once."""
    text = "".join(f"line {number}\n" for number in range(1, 20_001))
    reference, blobs = stored(text)
    shown, lines = [], "1-"
    while lines:
        part = recall(reference, blobs, lines=lines, max_chars=5000)
        assert len(part) <= 5000
        rows = part.split("\n")
        going_on = re.search(r'lines="(\d+-)"', rows[-1])
        lines = going_on[1] if going_on else ""
        shown += rows[:-1] if going_on else rows
    assert "\n".join(shown) + "\n" == text
    assert recall(reference, blobs, max_chars=None) == text


def test_a_line_that_is_too_long_is_cut_and_can_be_searched():
    """As JSON without line breaks is."""
    reference, blobs = stored("x" * 90_000 + "needle" + "y" * 90_000)
    assert "180,006 characters are not shown" in recall(reference, blobs)
    assert "needle" in recall(reference, blobs, grep="needle")
    many = stored("\n".join(["needle " * 20] * 1000))
    found = recall(*many, grep="needle", max_chars=1000)
    assert len(found) <= 1000
    assert "narrower grep" in found


@tries(300)
@given(st.text(st.sampled_from("ab\n"), max_size=600), st.integers(161, 400))
def test_never_more_than_asked_for(text, max_chars):
    """And what is shown is the beginning of what was stored."""
    shown = recall(*stored(text), max_chars=max_chars)
    assert len(shown) <= max_chars
    assert text.startswith(shown if shown == text else shown.rpartition("\n")[0])


def test_a_directory_is_as_good_as_its_blobs(tmp_path):
    """Both for what the rule stored there and for what `offload_tool_results` did."""
    reference = DirectoryBlobs(tmp_path).put(TEXT.encode())
    assert recall(reference, tmp_path) == recall(reference, str(tmp_path)) == TEXT
    ResultFolder(tmp_path).store("0" * 64, "text of a file")
    assert recall(f"[Content offloaded to: ./tool-result-{'0' * 64}.md]", tmp_path) == "text of a file"


def test_the_recall_tool_is_known_by_its_name():
    """Also after a server's."""
    assert is_recall("recall", "recall")
    assert is_recall("mcp__redline__recall", "recall")
    assert not is_recall("recall_all", "recall")
    assert not is_recall(None, "recall")


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
    assert TypeAdapter(shape).validate_python(recall_tool(format_name))


def test_the_tool_of_the_ai_sdk():
    """A function with its JSON schema under `inputSchema`."""
    tool = recall_tool("ai_sdk", name="read_back")
    assert (tool["type"], tool["name"], tool["inputSchema"]["required"]) == ("function", "read_back", ["reference"])


def test_an_unknown_format_is_refused():
    """The error names those there are."""
    with pytest.raises(ValidationError, match="openai_responses"):
        recall_tool("morse")


@pytest.mark.parametrize(
    "arguments",
    [
        {"lines": " " * 5000},
        {"lines": (10**6000, 10**7000)},
        {"lines": [[10**6000]]},
        {"lines": "9" * 5000},
        {"grep": 10**6000},
        {"grep": "(" * 2000},
        {"max_chars": -(10**6000)},
    ],
)
def test_odd_arguments_are_refused_in_words(arguments):
    """Whatever a model writes: never a hang, nor an error of Python's own (R61, R62)."""
    with pytest.raises(ValidationError):
        recall(*stored(TEXT), **arguments)


@pytest.mark.parametrize(
    "reference", ["x" * 5000, "tool-result-" * 20_000, "\0", "../" * 2000, "\ud83d", "0" * 100_000, [10**6000]]
)
def test_odd_references_are_refused_in_words(reference, tmp_path):
    """Neither blobs nor a directory let an error of the system through (R61)."""
    for blobs in (MemoryBlobs(), DirectoryBlobs(tmp_path), tmp_path):
        with pytest.raises(ValidationError):
            recall(reference, blobs)


def test_what_is_no_text_is_shown_as_well_as_it_can_be():
    """A blob may hold any bytes (R61)."""
    blobs = MemoryBlobs()
    assert recall(blobs.put(b"a\xffb"), blobs) == "a\ufffdb"
