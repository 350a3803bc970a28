import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.tools import (
    DEFAULT,
    Action,
    Asks,
    Fetches,
    Lists,
    Notes,
    Reads,
    Resumes,
    Runs,
    Searches,
    SearchesWeb,
    Writes,
    describe,
    normalize_path,
)
from redline.values.messages import ToolCall
from tests.corpus import corpus_path, corpus_rows, needs_corpus

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"


def actions(name: str, value: object) -> tuple[Action, ...]:
    return describe(ToolCall("call_1", name, value))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Read", {"file_path": "/p/a.py"}, (Reads("/p/a.py"),)),
        ("Read", {"file_path": "/p/a.py", "offset": 62, "limit": 20}, (Reads("/p/a.py", (62, 81)),)),
        ("Read", {"file_path": "/p/a.py", "offset": 62}, (Reads("/p/a.py", (62, -1)),)),
        ("Read", {"file_path": "/p/a.py", "limit": 20}, (Reads("/p/a.py", (1, 20)),)),
        ("Read", {"file_path": "/p/a.py", "offset": 0}, (Reads("/p/a.py"),)),
        ("view", {"path": "a.py", "view_range": [100, -1]}, (Reads("a.py", (100, -1)),)),
        ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [5, 9]}, (Reads("a.py", (5, 9)),)),
        ("filesystem-read", {"filePath": "a.ts", "startLine": 1, "endLine": 50}, (Reads("a.ts", (1, 50)),)),
        ("filesystem-read", '{"filePath": "[\\"a.ts\\", \\"b.ts\\"]"}', (Reads("a.ts"), Reads("b.ts"))),
        (
            "read_files",
            {"files": [{"path": "a", "start_line": 1, "end_line": 4}, {"path": "b"}]},
            (Reads("a", (1, 4)), Reads("b")),
        ),
        ("read", {"path": "src/lib.rs:600-700"}, (Reads("src/lib.rs", (600, 700)),)),
        ("read", {"path": "https://example.com/x"}, (Fetches("https://example.com/x"),)),
        ("read_file", {"path": "a.py", "start_line": "3", "end_line": "9"}, (Reads("a.py", (3, 9)),)),
        ("read_many_files", {"paths": ["a.py", "src/**/*.py"]}, ()),
        ("mcp__filesystem__read_file", {"path": "a.py"}, (Reads("a.py"),)),
    ],
)
def test_reads(name: str, value: object, expected: tuple[Action, ...]) -> None:
    """A read names its files, and the lines if the call asks for some."""
    assert actions(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Write", {"file_path": "a.py", "content": ""}, (Writes("a.py"),)),
        ("Edit", {"file_path": "a.py"}, (Writes("a.py", is_edit=True),)),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, (Writes("a.py", is_edit=True),)),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, (Writes("a.py"),)),
        ("apply_patch", PATCH, (Writes("a.py", is_edit=True),)),
        ("apply_patch", {"patchText": PATCH}, (Writes("a.py", is_edit=True),)),
        ("edit", {"input": PATCH}, (Writes("a.py", is_edit=True),)),
        ("edit", {"path": "a.py", "edits": []}, (Writes("a.py", is_edit=True),)),
        ("filesystem-edit", {"filePath": "a.ts"}, (Writes("a.ts", is_edit=True),)),
    ],
)
def test_writes(name: str, value: object, expected: tuple[Action, ...]) -> None:
    """A write names its files and says whether the rest of them is kept."""
    assert actions(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Bash", {"command": "make test"}, (Runs("make test"),)),
        ("Bash", {"command": "cat a.py"}, (Runs("cat a.py"), Reads("a.py"))),
        (
            "exec_command",
            {"cmd": "sed -n 1,9p a.py", "workdir": "/p"},
            (Runs("sed -n 1,9p a.py"), Reads("/p/a.py", (1, 9))),
        ),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, (Runs("cat a.py"), Reads("a.py"))),
        ("shell", {"command": ["apply_patch", PATCH]}, (Runs(f"apply_patch '{PATCH}'"), Writes("a.py", is_edit=True))),
        ("run_commands", {"commands": ["cat a", "cat b"]}, (Runs("cat a"), Runs("cat b"), Reads("a"), Reads("b"))),
        ("run_commands", {"commands": ["cat a", "make"]}, (Runs("cat a"), Runs("make"))),
        ("PowerShell", {"command": "cat a.py"}, (Runs("cat a.py"),)),
        ("python", {"code": "print(1)"}, (Runs("print(1)"),)),
        ("BashOutput", {"bash_id": "bash_3"}, (Resumes("bash_3"),)),
        ("write_stdin", {"session_id": 7, "chars": ""}, (Resumes("7"),)),
    ],
)
def test_commands(name: str, value: object, expected: tuple[Action, ...]) -> None:
    """A command is run, and besides reads files where its output is nothing else."""
    assert actions(name, value) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('const r = await tools.exec_command({cmd:"cat a", workdir:"/p"}); text(r)', (Runs("cat a"), Reads("/p/a"))),
        ('tools.exec_command({cmd:"cat a"}); tools.exec_command({cmd:"make"})', (Runs("cat a"), Runs("make"))),
        ('tools.exec_command({cmd:"cat a"}); tools.exec_command({cmd})', (Runs("cat a"),)),
        ('tools.write_stdin({session_id:5,chars:""})', (Resumes("5"),)),
        ("text(1 + 1)", (Runs("text(1 + 1)"),)),
    ],
)
def test_scripts(code: str, expected: tuple[Action, ...]) -> None:
    """A script does what its calls do; it reads only if all of them do."""
    assert actions("exec", code) == expected


def test_a_patch_in_a_script() -> None:
    """A patch held in a constant is found."""
    code = f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));"
    assert actions("exec", code) == (Writes("a.py", is_edit=True), Runs(code))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Glob", {"pattern": "**/*.ts"}, (Lists(".", "**/*.ts"),)),
        ("LS", {"path": "/p"}, (Lists("/p"),)),
        ("Grep", {"pattern": "x", "path": "src"}, (Searches("x", ("src",)),)),
        ("rg", {"pattern": "x", "paths": "src"}, (Searches("x", ("src",)),)),
        ("grep", {"pattern": "x", "path": "a.rs;b.rs"}, (Searches("x", ("a.rs", "b.rs")),)),
        ("search_files", {"path": "src", "regex": "x"}, (Searches("x", ("src",)),)),
        ("Grep", {"pattern": "x"}, (Searches("x", (".",)),)),
        ("WebFetch", {"url": "https://a.org", "prompt": "?"}, (Fetches("https://a.org"),)),
        ("WebSearch", {"query": "q"}, (SearchesWeb("q"),)),
        ("web_search_call", {"type": "open_page", "url": "https://a.org"}, (Fetches("https://a.org"),)),
        ("Task", {"prompt": "look"}, (Asks("look"),)),
        ("AskUserQuestion", {"questions": [{"question": "ok?"}]}, (Asks('[{"question":"ok?"}]', whom="user"),)),
        ("TodoWrite", {"todos": []}, (Notes(),)),
    ],
)
def test_everything_else(name: str, value: object, expected: tuple[Action, ...]) -> None:
    """Listing, searching, the web, sub-agents, the user, the agent's own notes."""
    assert actions(name, value) == expected


@pytest.mark.parametrize(
    "value", [{}, {"file_path": None}, {"file_path": ""}, {"file_path": 42}, {"file_path": {"path": "a"}}, None, "{bad"]
)
def test_a_read_without_a_path_is_no_read(value: object) -> None:
    """No recognisable path, no action."""
    assert actions("Read", value) == ()


@pytest.mark.parametrize(
    "lines", [{"offset": "x"}, {"offset": True}, {"start_line": 9, "end_line": 3}, {"view_range": [1]}, {"limit": -5}]
)
def test_nonsense_lines_are_ignored(lines: dict[str, object]) -> None:
    """A range that is none leaves a read of the file."""
    assert actions("Read", {"file_path": "a.py", **lines}) == (Reads("a.py"),)


def test_user_tools() -> None:
    """A tool that is told in one line is described like a known one."""
    book = DEFAULT.with_tool("my_read", reads="where")
    assert describe(ToolCall("1", "my_read", {"where": "a.py"}), book) == (Reads("a.py"),)
    assert describe(ToolCall("1", "my_read", {"where": "a.py"})) == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
used_names = {
    name for tool in DEFAULT.tools.values() for name in " ".join(filter(str, map(str, msgspec.structs.astuple(tool)))).split()
}
argument_names = st.sampled_from(sorted(used_names | {"offset", "limit", "start_line", "end_line", "view_range", "workdir"}))
call_inputs = json_values | st.dictionaries(argument_names, json_values, max_size=5)


@given(st.sampled_from(sorted(DEFAULT.tools)) | st.text(), call_inputs)
def test_no_arguments_break_it(name: str, value: object) -> None:
    """Any JSON as the input of any tool gives actions, and the same ones each time."""
    first = actions(name.split()[0] if name.strip() else name, value)
    assert all(isinstance(action, Action) for action in first)
    assert first == actions(name.split()[0] if name.strip() else name, value)


@given(
    st.text().filter(lambda name: DEFAULT.find(name, {}) is None),
    st.dictionaries(argument_names.filter(lambda name: name != "command"), st.text()),
)
def test_unknown_tools_do_nothing_that_is_known(name: str, value: dict[str, str]) -> None:
    """A tool that is not in the book has no actions, whatever its arguments are called."""
    assert actions(name, value) == ()


CASES = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "file_reads.jsonl"


@needs_corpus
def test_the_worked_cases_about_spelling() -> None:
    """In each worked case the files with more reads than are kept are exactly those the case expects something of."""
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        counts = _successful_reads(case["input"])
        has_outdated = any(count > case["input"]["keep_recent"] for count in counts.values())
        assert has_outdated == bool(case["expected"]["simplified"]), case["id"]


def _successful_reads(given_input: dict[str, object]) -> Counter[str]:
    calls: dict[str, ToolCall] = {}
    counts: Counter[str] = Counter()
    for message in given_input["messages"]:  # type: ignore[attr-defined]
        for call in message.get("tool_calls") or []:
            calls[call["id"]] = ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        is_error = str(message.get("content")).startswith("Error:") or message.get("messageStatus") == "error"
        if message["role"] == "tool" and message["tool_call_id"] in calls and "timestamp" in message and not is_error:
            reads = [action.path for action in describe(calls[message["tool_call_id"]]) if isinstance(action, Reads)]
            counts.update({normalize_path(path, str(given_input["project_root"])) for path in reads})
    return counts


AGENTS = (
    "claude-code",
    "cline-sdk",
    "codex",
    "copilot-cli",
    "gemini-cli",
    "mini-swe-agent",
    "opencode",
    "openhands",
    "pi",
)
READS_AND_WRITES = {
    "Read",
    "Edit",
    "MultiEdit",
    "Write",
    "read",
    "edit",
    "write",
    "view",
    "apply_patch",
    "str_replace_editor",
}
COMMANDS = {"Bash", "bash", "exec_command", "exec", "execute_bash", "run_shell_command", "run_commands"}


@needs_corpus
@pytest.mark.parametrize("agent", AGENTS)
def test_recorded_calls_are_described(agent: str) -> None:
    """Of the calls in real sessions, all reads, writes and commands are described, and 95 of 100 of all."""
    described: Counter[tuple[str, bool]] = Counter()
    for call in _recorded_calls(agent):
        described[call.name, bool(describe(call))] += 1
    assert not [name for name, is_described in described if name in READS_AND_WRITES | COMMANDS and not is_described]
    assert sum(count for (_, is_described), count in described.items() if is_described) >= 0.95 * described.total() > 0


def _recorded_calls(agent: str) -> Iterator[ToolCall]:
    for row in corpus_rows(agent, is_whole=True):
        for conversation in redline.read_transcript(corpus_path(row)):
            for entry in conversation.walk():
                yield from (part for part in entry.message.parts if isinstance(part, ToolCall))
                yield from entry.text_calls
