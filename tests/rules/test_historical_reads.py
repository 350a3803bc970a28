"""Of each file only the latest reads stay."""

from collections import Counter

import pytest
from hypothesis import given

from redline import Conversation, simplify_historical_file_reads
from redline.errors import ValidationError
from redline.rules.historical_reads import HistoricalReads
from redline.rules.results import read_paths
from redline.tools import DEFAULT
from redline.values.messages import Message
from tests.rules.folding import check_laws, histories, marked, marks_of, native, read, seen_in, step, steps

CONTENT = "the content of a file, which is longer than the placeholder"


def reading(*paths: str) -> list:
    return steps(*(("Read", {"file_path": path}, CONTENT) for path in paths))


def test_older_reads_of_a_file_go():
    """Of six reads the oldest goes, whatever the spelling of the path."""
    turns = reading("a.py", "./a.py", "/p/a.py", "src/../a.py", "a.py", "a.py", "b.py")
    assert marked(HistoricalReads(project_root="/p"), turns) == [2]
    assert marked(HistoricalReads(project_root="/elsewhere"), turns) == []


def test_commands_that_show_files_are_reads_where_asked():
    """`cat` in a terminal is a read if the setting says so; a command that does more never is (R22)."""
    commands = [("Bash", {"command": command}, CONTENT) for command in ("cat a.py", "cat a.py; ls", "cat a.py")]
    assert marked(HistoricalReads(keep_recent=1), steps(*commands)) == []
    assert marked(HistoricalReads(keep_recent=1, shell_reads=True), steps(*commands)) == [2]
    named = HistoricalReads(keep_recent=1, shell_reads=True, tools=["Bash"])
    assert marked(named, steps(*commands)) == [2]


def test_commands_do_not_push_reads_out():
    """Reads of a read tool stay, however often a shell showed the file since (R22)."""
    heads = [("Bash", {"command": "head -3 a.ts"}, CONTENT)] * 6
    assert marked(HistoricalReads(), steps(("filesystem-read", {"filePath": "a.ts"}, CONTENT), *heads)) == []


OWN = DEFAULT.with_tool("my-read", reads="where")


@pytest.mark.parametrize(
    ("tools", "argument"),
    [({"my-read"}, "path"), (["my-read"], "file_path"), (("my-read",), "uri"), (OWN, "where"), (OWN, "filePath")],
)
def test_tools_of_ones_own_work_in_a_conversation_as_in_the_function(tools, argument):
    """Names in any collection, or a book of tools (R12)."""
    messages = native(steps(*[("my-read", {argument: "a.py"}, CONTENT * 20)] * 2))
    simpler = simplify_historical_file_reads(messages, project_root="/p", keep_recent=1, tools=tools)
    assert [new != old for new, old in zip(simpler, messages, strict=True)] == [False, False, True, False, False]
    rule = HistoricalReads(keep_recent=1, tools=tools)
    request = Conversation(messages, format="anthropic").request(now=0, rules=[rule])
    assert [strike.index for strike in request.strikes] == [2]


@pytest.mark.parametrize(
    "argument", ["filePath", "file_path", "path", "paths", "files", "filename", "target_file", "absolute_path", "uri"]
)
def test_any_usual_name_of_a_path_counts(argument):
    """Whatever the known tool of this name calls it (R27)."""
    for tool in ("view", "Read", "filesystem-read"):
        turns = steps(*[(tool, {argument: "a.py"}, CONTENT)] * 2)
        assert (
            marked(HistoricalReads(keep_recent=1), turns) == marked(HistoricalReads(keep_recent=1, tools=[tool]), turns) == [2]
        )


def test_several_files_in_one_call_go_together_or_not_at_all():
    """A result stays while one of its files has not been read often enough since."""
    both = ("filesystem-read", {"filePath": ["a.py", "b.py"]}, CONTENT)
    one, other = (("filesystem-read", {"filePath": path}, CONTENT) for path in ("a.py", "b.py"))
    assert marked(HistoricalReads(keep_recent=1), steps(both, one)) == []
    assert marked(HistoricalReads(keep_recent=1), steps(both, one, other)) == [2]


def test_the_time_decides_not_the_place():
    """A read that comes later in the list but was made earlier is the older one."""
    payloads = native(reading("a.py", "a.py"))
    payloads[4]["timestamp"] = 0
    assert [mark.index for mark in marks_of(HistoricalReads(keep_recent=1), read(payloads))] == [4]


def test_failed_reads_stay_and_do_not_count():
    """A read that failed neither goes nor pushes another out."""
    turns = [
        *reading("a.py"),
        *step(7, "Read", {"file_path": "a.py"}, "Error: gone " * 9),
        *step(8, "Read", {"file_path": "a.py"}, "no " * 40, is_error=True),
    ]
    assert marked(HistoricalReads(keep_recent=1), turns) == []


def test_named_tools_count_alone():
    """With names given, results of other tools are no reads."""
    assert marked(HistoricalReads(keep_recent=0, tools=frozenset({"other"})), reading("a.py")) == []


def test_the_reason_names_the_file():
    """A mark says which file was read again."""
    (mark,) = marks_of(HistoricalReads(keep_recent=1, project_root="/p"), read(native(reading("/p/a.py", "a.py"))))
    assert mark.because == "1 newer reads of a.py"


@pytest.mark.parametrize("settings", [{"keep_recent": -1}, {"tools": "Read"}, {"tools": [1]}, {"project_root": None}])
def test_bad_settings_are_refused(settings):
    """The error names the setting (R51)."""
    with pytest.raises(ValidationError, match=next(iter(settings))):
        HistoricalReads(**settings)


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, twice is once, and no file loses a read it was promised."""
    rule = HistoricalReads(keep_recent=1, project_root="/p", may_grow=False)
    gone = {(mark.index, mark.at) for mark in check_laws(rule, messages)}
    left, there = Counter(), Counter()
    for seen in seen_in(messages):
        if seen.result is not None and not seen.is_error and seen.timestamp_ms is not None:
            paths = read_paths(seen, "/p", shell_reads=False)
            there.update(paths)
            left.update(paths if (seen.index, seen.part.at) not in gone else ())
    assert all(left[path] >= 1 for path in there)
