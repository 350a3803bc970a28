import contextlib
import json
import re
import sys
from pathlib import Path

import pytest

from redline import check, read_transcript
from redline import open as open_conversation
from redline.agents.menders import MENDERS
from tests.cli.run import redline
from tests.cli.sample import write_session


def crashed(tmp_path):
    return write_session(tmp_path / "s.jsonl", is_open=True)


def test_the_diff_is_shown_and_nothing_written(tmp_path):
    """What is added, where, and why; how to go on from there, and where the agent looks for its sessions (R42)."""
    path = crashed(tmp_path)
    before = path.read_bytes()
    done = redline("repair", path)
    assert done.returncode == 0
    assert re.search(r"\+ \w+ line 8: the call 't9' of Bash is answered as interrupted", done.stdout)
    assert "--in-place" in done.stdout
    assert "--write OUT" in done.stdout
    assert "~/.claude/projects/" in done.stdout
    assert ([file.name for file in tmp_path.iterdir()], path.read_bytes()) == (["s.jsonl"], before)


def test_an_open_call_is_not_hidden_by_default(tmp_path):
    """It may have run: it stays, with a result that says so (R42)."""
    redline("repair", crashed(tmp_path), "--write", tmp_path / "out.jsonl")
    (conversation,) = read_transcript(tmp_path / "out.jsonl")
    call, result = conversation.messages[-2:]
    assert (call.calls[0].id, result.results[0].call_id) == ("t9", "t9")


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_the_repaired_session_is_written_elsewhere(tmp_path, strategy):
    """And a provider would take it."""
    out = tmp_path / "out.jsonl"
    done = redline("repair", crashed(tmp_path), "--strategy", strategy, "--write", out)
    assert done.returncode == 0
    assert f"written and proven legal: {out}" in done.stdout.splitlines()
    (conversation,) = read_transcript(out)
    assert check([message.native for message in conversation.messages], format="anthropic") == []
    assert redline("repair", out).stdout == f"{out}: nothing to repair\n"


def test_json_lists_the_changes(tmp_path):
    """One object a line, with the place, the tool and the call."""
    done = redline("repair", "--json", "--strategy", "answer", crashed(tmp_path))
    (change,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert {key: change[key] for key in ("action", "line", "call_id")} == {"action": "add", "line": 8, "call_id": "t9"}
    assert change["session"] == str(tmp_path / "s.jsonl")


def test_a_session_that_needs_nothing(tmp_path):
    """Exit code 0, one line for people and none for programs; asked to, it writes a copy."""
    path = write_session(tmp_path / "s.jsonl")
    assert redline("repair", path).stdout == f"{path}: nothing to repair\n"
    assert redline("repair", "--json", path).stdout == ""
    redline("repair", path, "--write", tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_bytes() == path.read_bytes()


def test_the_file_and_what_exists_are_not_overwritten(tmp_path):
    """Exit code 2 and a sentence; what exists only if forced, the file itself never."""
    path, out = crashed(tmp_path), tmp_path / "out.jsonl"
    out.write_text("mine")
    assert (redline("repair", path, "--write", out).returncode, out.read_text()) == (2, "mine")
    before = path.read_bytes()
    done = redline("repair", path, "--write", tmp_path / "." / path.name, "--force")
    assert (done.returncode, "never overwritten" in done.stderr, path.read_bytes()) == (2, True, before)
    assert redline("repair", path, "--write", out, "--force").returncode == 0
    assert out.read_text() != "mine"


def test_a_place_that_cannot_be_written_is_exit_code_1(tmp_path):
    """The repair was possible, writing it was not."""
    done = redline("repair", crashed(tmp_path), "--write", tmp_path / "nowhere" / "out.jsonl")
    assert (done.returncode, "cannot be written" in done.stderr) == (1, True)


def test_what_cannot_be_repaired_is_exit_code_1_and_not_left_behind(tmp_path):
    """Where no line says who speaks, that is said, and nothing is written."""
    path, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    line = tree_line(0, None)
    line["message"] = {"role": None, "content": [{"type": "text", "text": "hi"}]}
    path.write_text(json.dumps(line) + "\n")
    done = redline("repair", path, "--write", out)
    assert (done.returncode, "none of its lines says who speaks" in done.stderr, out.exists()) == (1, True, False)


def test_lines_whose_order_contradicts_their_parents_are_repaired(tmp_path):
    """The agent would go on from the last line of the file; the repair puts the last message there (R61)."""
    lines = [(2, 1), (0, None), (1, 0), (2, 1)]
    path, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(tree_line(uuid, parent)) + "\n" for uuid, parent in lines))
    assert redline("repair", path, "--write", out).returncode == 0
    assert redline("check", out).returncode == 0


def tree_line(uuid, parent):
    role = "assistant" if parent is not None else "user"
    said = {"role": role, "id": "m", "content": [{"type": "text", "text": f"words {uuid}"}]}
    place = {"uuid": f"u{uuid}", "parentUuid": parent if parent is None else f"u{parent}"}
    return {"type": role, "sessionId": "s", "timestamp": "2026-02-04T00:00:01Z", "message": said, **place}


OTHER_AGENT = {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": []}}


@pytest.mark.parametrize(
    ("content", "words"), [("hello", "x.jsonl"), (json.dumps(OTHER_AGENT), "possible for: Claude Code, Codex")]
)
def test_what_cannot_be_repaired_is_exit_code_2(tmp_path, content, words):
    """A file that nobody can read, and one of an agent whose files cannot be mended: a sentence that says so."""
    path = tmp_path / "x.jsonl"
    path.write_text(content + "\n")
    done = redline("repair", path)
    assert (done.returncode, len(done.stderr.strip().splitlines()), words in done.stderr) == (2, 1, True)


def test_several_are_repaired_and_one_that_cannot_be_is_named(tmp_path):
    """The others are done all the same, and the exit code tells (R39)."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name, is_open=True)
    (tmp_path / "c.jsonl").write_text("hello")
    done = redline("repair", tmp_path, "--in-place")
    assert (done.returncode, "c.jsonl" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
    for name in ("a.jsonl", "b.jsonl"):
        assert (tmp_path / f"{name}.bak").exists()
        assert redline("check", tmp_path / name).returncode == 0
    assert redline("repair", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--write", tmp_path / "out").returncode == 2


def test_a_redline_log_needs_no_repair(tmp_path):
    """It is repaired in every request; its record is never rewritten (R37)."""
    log = tmp_path / "chat.jsonl"
    with contextlib.closing(open_conversation(log)) as talk:
        talk.add({"role": "user", "content": "hi"})
    before = log.read_bytes()
    done = redline("repair", log, "--in-place")
    assert (done.returncode, "repaired in every request" in done.stdout, log.read_bytes()) == (0, True, before)


def test_standard_input_is_repaired_into_a_file(tmp_path):
    """Where there is no file there is none to replace (R40)."""
    content = crashed(tmp_path).read_text()
    assert redline("repair", "-", "--write", tmp_path / "out.jsonl", stdin=content).returncode == 0
    assert redline("check", tmp_path / "out.jsonl").returncode == 0
    done = redline("repair", "-", "--in-place", stdin=content)
    assert (done.returncode, "Use --write OUT" in done.stderr, "/tmp" in done.stderr) == (2, True, False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell who has a file open")
def test_a_file_that_a_program_has_open_is_left_alone(tmp_path):
    """The agent would go on writing to what is no longer there (R42)."""
    path = crashed(tmp_path)
    before = path.read_bytes()
    with path.open("ab"):
        done = redline("repair", path, "--in-place")
    assert (done.returncode, "open in another program" in done.stderr, path.read_bytes()) == (1, True, before)
    assert [file.name for file in tmp_path.iterdir()] == ["s.jsonl"]


AGENTS = [mender for mender in MENDERS if mender.name != "plain lists of messages"]


@pytest.mark.parametrize("mender", AGENTS, ids=lambda mender: mender.name)
def test_every_place_is_documented(mender):
    """What was repaired must be put somewhere, and the page on repairing files has the same table."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "repairing-session-files.md").read_text(encoding="utf-8")
    assert f"| {mender.name} | {mender.looks_at} | {mender.resumes_by} |" in page.replace("`", "")
