"""One rule over a plain list of messages."""

import copy
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import payloads
from redline.errors import FormatError, ValidationError
from redline.formats import FORMATS, read_messages
from redline.placeholders import DOCUMENTS
from redline.simplify import simplify_historical_file_reads, simplify_outdated_terminal_results
from redline.testing import conversations
from redline.tools import DEFAULT
from tests.rules.folding import native, steps

READS = steps(*[("Read", {"file_path": "a.py"}, "content of a")] * 7)
COMMANDS = steps(*[("Bash", {"command": "make"}, "output")] * 7)


def said(messages: list, format_name: str) -> list[str]:
    return [result.text for message in read_messages(messages, format_name) for result in message.results]


@pytest.mark.parametrize("format_name", sorted(FORMATS))
def test_any_format_comes_back_as_it_was(format_name):
    """Only the results that go are exchanged; all other messages are the very same objects."""
    reads, commands = native(READS, format_name), native(COMMANDS, format_name)
    simpler = simplify_historical_file_reads(reads, project_root="/p", format=format_name)
    assert said(simpler, format_name) == [DOCUMENTS.historical_read] * 2 + ["content of a"] * 5
    assert sum(old is not new for old, new in zip(reads, simpler, strict=True)) == 2
    simpler = simplify_outdated_terminal_results(commands, now=10**9, format=format_name)
    assert said(simpler, format_name) == [DOCUMENTS.stale_terminal] * 2 + ["output"] * 5


def test_bytes_come_back_as_bytes():
    """A list of JSON texts is taken as one of objects is."""
    reads = [json.dumps(message).encode() for message in native(READS)]
    simpler = simplify_historical_file_reads(reads, project_root="/p")
    assert [type(message) for message in simpler] == [bytes] * len(reads)
    assert payloads.decode(simpler[2])["content"][0]["content"] == DOCUMENTS.historical_read
    assert simpler[14] is reads[14]


def test_a_book_of_tools_can_be_given():
    """Its tools count, and what it does not know does not."""
    book = DEFAULT.with_tool("look", reads="what")
    looks = native(steps(*[("look", {"what": "a.py"}, "content")] * 2))
    assert simplify_historical_file_reads(looks, project_root="/p", keep_recent=1) == looks
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, tools=book)
    assert said(simpler, "anthropic") == [DOCUMENTS.historical_read, "content"]


def test_a_name_alone_is_enough_for_a_tool_nobody_knows():
    """Its path is looked for under the usual names."""
    looks = native(steps(*[("look", {"path": "a.py"}, "content")] * 2))
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, tools=["look"])
    assert said(simpler, "anthropic") == [DOCUMENTS.historical_read, "content"]


def test_naming_a_tool_that_also_edits_does_not_make_its_edits_reads():
    """An editor with several commands is known by them."""
    turns = steps(*[("str_replace_editor", {"command": "create", "path": "a"}, "made the file")] * 2)
    edits = native(turns)
    tools = ["str_replace_editor"]
    assert simplify_historical_file_reads(edits, project_root="/p", keep_recent=0, tools=tools) == edits


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"now": "today"}, "now"),
        ({"now": 0, "tools": "Bash"}, "list of names"),
        ({"now": 0, "keep_recent": -1}, "keep_recent"),
    ],
)
def test_bad_arguments_are_refused(options, said):
    """The error names the argument."""
    with pytest.raises(ValidationError, match=said):
        simplify_outdated_terminal_results([], **options)


def test_messages_that_are_none_are_refused():
    """The error says what a message must be."""
    with pytest.raises(FormatError, match="must be a"):
        simplify_historical_file_reads([{"role": "user", "content": "hi"}, 5], project_root="/p")  # type: ignore[list-item]


def test_what_was_done_is_logged(caplog, capsys):
    """How many, of which files, and what could not be attributed; details for those who debug; nothing printed."""
    orphan = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "lost", "content": "?"}],
        "timestamp": 1,
    }
    with caplog.at_level(logging.DEBUG, logger="redline.simplify"):
        simplify_historical_file_reads([*native(READS), orphan], project_root="/p")
    informed = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert informed == [
        "simplified 2 historical file reads of 8 results: a.py",
        "historical file reads: 1 results could not be attributed and stay as they are",
    ]
    assert "message 2: 5 newer reads of a.py" in caplog.text
    assert capsys.readouterr() == ("", "")


def test_doing_nothing_says_nothing(caplog):
    """A list in which nothing is outdated leaves no line."""
    with caplog.at_level(logging.DEBUG, logger="redline.simplify"):
        assert simplify_outdated_terminal_results(native(COMMANDS), now=0) == native(COMMANDS)
    assert caplog.records == []


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@given(data=st.data())
def test_input_stays_and_twice_is_once(format_name: str, data: st.DataObject):
    """For any history: the caller's list is untouched, its messages are returned, and a second pass changes nothing."""
    messages = [
        {**message, "timestamp": data.draw(st.integers(0, 9))}
        for message in data.draw(conversations(format_name, with_extras=False))
    ]
    before = copy.deepcopy(messages)
    for simplify in (
        lambda given: simplify_outdated_terminal_results(given, now=99, max_age_ms=1, keep_recent=1, format=format_name),
        lambda given: simplify_historical_file_reads(given, project_root="/p", keep_recent=1, format=format_name),
    ):
        simpler = simplify(messages)
        assert messages == before
        assert len(simpler) == len(messages)
        assert all(new is old for old, new in zip(messages, simpler, strict=True) if new == old)
        assert simplify(simpler) == simpler
