"""One rule over a plain list of messages."""

import copy
import json
import logging
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.conversation.lists import simplify_historical_file_reads, simplify_outdated_terminal_results
from redline.errors import FormatError, ValidationError
from redline.providers import FORMATS, read_messages
from redline.rules.facts import Facts, Seen
from redline.rules.results import read_paths
from redline.testing import conversations
from redline.tools import DEFAULT
from redline.tools.failures import DOCUMENTS_SIGNS
from redline.values import payloads
from redline.values.messages import ToolResult
from redline.values.words import EN, ZH
from tests.rules.folding import histories, native, steps

READS = steps(*[("Read", {"file_path": "a.py"}, "content of a")] * 7)
COMMANDS = steps(*[("Bash", {"command": "make"}, "output")] * 7)


def said(messages: list, format_name: str) -> list[str]:
    return [result.text for message in read_messages(messages, format_name) for result in message.results]


@pytest.mark.parametrize("format_name", sorted(FORMATS))
def test_any_format_comes_back_as_it_was(format_name):
    """Only the results that go are exchanged; all other messages are the very same objects."""
    reads, commands = native(READS, format_name), native(COMMANDS, format_name)
    simpler = simplify_historical_file_reads(reads, project_root="/p", format=format_name)
    assert said(simpler, format_name) == [ZH.historical_read] * 2 + ["content of a"] * 5
    assert sum(old is not new for old, new in zip(reads, simpler, strict=True)) == 2
    simpler = simplify_outdated_terminal_results(commands, now=10**9, format=format_name)
    assert said(simpler, format_name) == [ZH.stale_terminal] * 2 + ["output"] * 5


def test_bytes_come_back_as_bytes():
    """A list of JSON texts is taken as one of objects is."""
    reads = [json.dumps(message).encode() for message in native(READS)]
    simpler = simplify_historical_file_reads(reads, project_root="/p")
    assert [type(message) for message in simpler] == [bytes] * len(reads)
    assert payloads.decode(simpler[2])["content"][0]["content"] == ZH.historical_read
    assert simpler[14] is reads[14]


def test_a_book_of_tools_can_be_given():
    """Its tools count, and what it does not know does not."""
    book = DEFAULT.with_tool("look", reads="what")
    looks = native(steps(*[("look", {"what": "a.py"}, "content")] * 2))
    assert simplify_historical_file_reads(looks, project_root="/p", keep_recent=1) == looks
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, tools=book)
    assert said(simpler, "anthropic") == [ZH.historical_read, "content"]


def test_a_name_alone_is_enough_for_a_tool_nobody_knows():
    """Its path is looked for under the usual names."""
    looks = native(steps(*[("look", {"path": "a.py"}, "content")] * 2))
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, tools=["look"])
    assert said(simpler, "anthropic") == [ZH.historical_read, "content"]


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


@pytest.mark.parametrize("argument", ["filePath", "file_path", "target_file", "uri"])
def test_a_known_tool_may_name_its_path_otherwise(argument):
    """Any usual name counts, whatever the tool of this name is known to take (R27)."""
    looks = native(steps(*[("view", {argument: "a.py"}, "content")] * 2))
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, tools=["view"])
    assert said(simpler, "anthropic") == [ZH.historical_read, "content"]


def test_commands_are_reads_only_where_asked():
    """By default, results of terminals are no reads (R22)."""
    looks = native(steps(*[("Bash", {"command": "cat a.py"}, "content")] * 2))
    assert simplify_historical_file_reads(looks, project_root="/p", keep_recent=1) == looks
    simpler = simplify_historical_file_reads(looks, project_root="/p", keep_recent=1, shell_reads=True)
    assert said(simpler, "anthropic") == [ZH.historical_read, "content"]


def test_the_words_can_be_chosen():
    """And a placeholder in any words is left alone, whichever are set (R33)."""
    simpler = simplify_historical_file_reads(native(READS), project_root="/p", words=EN)
    assert said(simpler, "anthropic")[:2] == ["[Earlier read of this file; see the latest one: Read a.py]"] * 2
    assert simplify_historical_file_reads(simpler, project_root="/p") == simpler
    with pytest.raises(ValidationError, match="words"):
        simplify_historical_file_reads([], project_root="/p", words="EN")  # type: ignore[arg-type]


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf, True, None, 10**400, "noon"])
def test_now_is_a_time(now):
    """Anything else is refused, and not silently nothing (R2)."""
    with pytest.raises(ValidationError, match="now must be"):
        simplify_outdated_terminal_results([], now=now)


def test_seconds_are_refused_where_the_messages_have_milliseconds():
    """All of them would lie in the future (R2)."""
    messages = [{**message, "timestamp": 1_770_000_000_000} for message in native(COMMANDS)]
    with pytest.raises(ValidationError, match="looks like seconds"):
        simplify_outdated_terminal_results(messages, now=1_770_000_900.5)


# --- guarantees


@st.composite
def damaged(draw: st.DrawFn, format_name: str) -> list[dict[str, Any]]:
    """Histories of reads, commands and failures with times in any order, of which messages were lost, doubled or moved."""
    messages = [message.native for message in draw(histories(format_name))]
    times = st.none() | st.integers(0, 9) | st.sampled_from(["5", True, math.nan, 10**400])
    for place, time in draw(st.lists(st.tuples(st.integers(0, 30), times), max_size=3)):
        if place < len(messages):
            messages[place] = {**messages[place], "timestamp": time}
    for place, deed in draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["lose", "double", "move"])), max_size=3)):
        if place < len(messages):
            taken = messages[place] if deed == "double" else messages.pop(place)
            messages += [] if deed == "lose" else [taken]
    return messages


def shown(messages: list, format_name: str) -> list[Seen]:
    """The results, each as it is seen in its list."""
    facts = Facts(signs=DOCUMENTS_SIGNS)
    parts = [seen for index, message in enumerate(read_messages(messages, format_name)) for seen in facts.add(index, message)]
    return [seen for seen in parts if seen.result is not None]


def check_guarantees(messages: list, simplify: Callable[[list], list], placeholder: str, format_name: str) -> list[Seen]:
    """What holds for both functions; the results that were replaced."""
    before = copy.deepcopy(messages)
    simpler = simplify(messages)
    assert repr(messages) == repr(before), "the input is as it was"
    assert len(simpler) == len(messages)
    assert repr(simplify(simpler)) == repr(simpler), "doing it twice changes nothing"
    assert all(new is old for old, new in zip(messages, simpler, strict=True) if repr(new) == repr(old))
    gone: list[Seen] = []
    for old, new in zip(shown(messages, format_name), shown(simpler, format_name), strict=True):
        if repr(old.part) == repr(new.part):
            continue
        gone.append(old)
        assert isinstance(new.part, ToolResult)
        assert new.part.text == placeholder
        assert not old.is_error, "errors stay"
        assert old.timestamp_ms is not None, "without a time nothing is touched"
    for old, new in zip(read_messages(messages, format_name), read_messages(simpler, format_name), strict=True):
        assert [repr(part) for part in old.parts if not isinstance(part, ToolResult)] == [
            repr(part) for part in new.parts if not isinstance(part, ToolResult)
        ], "only results change"
        assert [(part.call_id, part.name) for part in old.results] == [(part.call_id, part.name) for part in new.results]
        assert repr(old.timestamp_ms) == repr(new.timestamp_ms)
    return gone


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@given(data=st.data(), keep_recent=st.integers(0, 3))
def test_the_latest_results_stay_whole(format_name: str, data: st.DataObject, keep_recent: int):
    """For any history, damaged too: only old output of commands goes, and none of the latest results."""
    messages = data.draw(damaged(format_name))

    def simplify(given: list) -> list:
        return simplify_outdated_terminal_results(given, now=9, max_age_ms=2, keep_recent=keep_recent, format=format_name)

    gone = check_guarantees(messages, simplify, ZH.stale_terminal, format_name)
    counted = [seen for seen in shown(messages, format_name) if seen.timestamp_ms is not None and not seen.is_error]
    latest = sorted(counted, key=lambda seen: (seen.timestamp_ms, seen.order))[-keep_recent:] if keep_recent else []
    for seen in gone:
        assert seen.is_terminal
        assert 9 - (seen.timestamp_ms or 0) > 2
        assert seen.order not in {one.order for one in latest}


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@given(data=st.data(), keep_recent=st.integers(0, 3), shell_reads=st.booleans())
def test_the_latest_reads_of_each_file_stay(format_name: str, data: st.DataObject, keep_recent: int, shell_reads: bool):
    """For any history, damaged too: only reads go, and of no file one of the latest."""
    messages = data.draw(damaged(format_name))

    def simplify(given: list) -> list:
        return simplify_historical_file_reads(
            given, project_root="/p", keep_recent=keep_recent, shell_reads=shell_reads, format=format_name
        )

    gone = check_guarantees(messages, simplify, ZH.historical_read, format_name)
    reads: dict[str, list[Seen]] = {}
    for seen in shown(messages, format_name):
        if seen.timestamp_ms is not None and not seen.is_error:
            for path in read_paths(seen, "/p", shell_reads=shell_reads):
                reads.setdefault(path, []).append(seen)
    for path, all_reads in reads.items():
        latest = sorted(all_reads, key=lambda seen: (seen.timestamp_ms, seen.order))[-keep_recent:] if keep_recent else []
        assert not {seen.order for seen in latest} & {seen.order for seen in gone}, path
    assert all(read_paths(seen, "/p", shell_reads=shell_reads) for seen in gone)


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
