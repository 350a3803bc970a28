"""Recall by files: the placeholder of a struck result names a file with all of it, which the agent's own tools read."""

import json
import re
from pathlib import Path

import pytest

from redline.record.opening import read_log
from redline.record.records import StrikesApplied
from redline.store import Store
from redline.testing import says
from redline.tokens import Estimate
from redline.values.messages import ToolCall
from tests.proxy.recall.sdk_talk import BEGAN, output_of, recalling

FORMATS = ("anthropic", "openai_chat", "openai_responses", "gemini")
NOTICE = re.compile(r"\[Older tool result left out: [^\"\\]*?; all of it: ([^\]\"\\]+\.txt)\]")


def struck_in(body):
    """The files that the placeholders of a request name."""
    return [Path(path) for path in NOTICE.findall(json.dumps(body, ensure_ascii=False))]


@pytest.mark.parametrize("format", FORMATS)
def test_a_placeholder_names_a_file_with_the_whole(format, tmp_path):
    """For its owner only; within 30 tokens besides the path."""
    with recalling(tmp_path, [says("assistant", "ok")], format, recall="file") as (talk, provider, _):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
    (path,) = struck_in(provider.exchanges[-1].body)
    assert path.read_text() == output_of("c1")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (notice,) = [found[0] for found in NOTICE.finditer(json.dumps(provider.exchanges[-1].body, ensure_ascii=False))]
    assert Estimate().count(notice) - Estimate().count(str(path)) <= 30


def test_the_file_is_there_before_the_strike_and_goes_with_the_conversation(tmp_path):
    """The record names it; deleting the conversation deletes it."""
    with recalling(tmp_path, [says("assistant", "ok")], "anthropic", recall="file") as (talk, provider, running):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
        running.settled(3)
    (path,) = struck_in(provider.exchanges[-1].body)
    with Store(tmp_path / "store") as store:
        records = [one.record for one in read_log(store.address_of(store.names()[0])).records]
        (strike,) = [strike for one in records if isinstance(one, StrikesApplied) for strike in one.strikes]
        assert str(strike.reference).startswith(path.stem)
        store.delete(store.names()[0])
    assert not path.exists()


def test_what_is_read_back_stays(tmp_path):
    """Else the model would ask for it again; other results go."""

    def reads_it(messages):
        (path,) = NOTICE.findall("\n".join(result.text for message in messages for result in message.results))
        return "assistant", (ToolCall("c3", "Bash", {"command": f"cat {path}"}),)

    more = [("assistant", (ToolCall(f"c{number}", "Bash", {"command": f"echo {number}"}),)) for number in (4, 5, 6)]
    with recalling(tmp_path, [reads_it, *more], "anthropic", recall="file") as (talk, provider, _):
        calls = talk.say("go").calls
        for number in range(1, 6):
            calls = talk.answer(calls, "read back " * 400 if number == 3 else None).calls
    results = [
        block["content"]
        for one in provider.exchanges[-1].body["messages"]
        if isinstance(one["content"], list)
        for block in one["content"]
        if block["type"] == "tool_result"
    ]
    assert [text.startswith("[Older") for text in results] == [True, True, False, True, False]
    assert results[2].startswith("read back")


@pytest.mark.parametrize(
    "settings", [{"recall": "off"}, {"recall": "file", "whole_in": "off"}, {"recall": "file", "is_dry_run": True}]
)
def test_without_it_no_file_is_written(settings, tmp_path):
    """Switched off, without a folder, in a dry run."""
    with recalling(tmp_path, [says("assistant", "ok")], "anthropic", **settings) as (talk, provider, _):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
    assert struck_in(provider.exchanges[-1].body) == []
    assert not list((tmp_path / "store").rglob("*.txt"))
    is_struck = "run it again" in json.dumps(provider.exchanges[-1].body)
    assert is_struck == (not settings.get("is_dry_run"))


def test_reads_name_the_file_itself(tmp_path):
    """A file is had again from where it is, as it is now; no copy is written."""
    reads = [("assistant", (ToolCall(f"c{number}", "Read", {"file_path": f"/src/{number}.py"}),)) for number in (1, 2)]
    with recalling(tmp_path, [], "anthropic", recall="file") as (talk, provider, _):
        provider.replies = [*reads, says("assistant", "ok")]
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Read", {})])
    assert "if it exists, read it again" in json.dumps(provider.exchanges[-1].body)
    assert not list((tmp_path / "store").rglob("*.txt"))
    assert len(BEGAN) == 2


def test_a_folder_that_cannot_be_written_keeps_the_result(tmp_path):
    """A file in its place: nothing is struck whose file is not there, and the status says why."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "whole").write_text("a file")
    with recalling(tmp_path, [says("assistant", "ok")], "anthropic", recall="file") as (talk, provider, running):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
        status = running.settled(3)
    assert output_of("c1") in [block["content"] for block in provider.exchanges[-1].body["messages"][2]["content"]]
    assert str(tmp_path / "store" / "whole") in status["whole_problem"]
