import json

import pytest

from redline import check, read_transcript
from tests.cli.sample import write_session
from tests.cli.test_inspect import redline


def crashed(tmp_path):
    return write_session(tmp_path / "s.jsonl", is_open=True)


def test_the_diff_is_shown_and_nothing_written(tmp_path):
    """What goes, where, and why; how to go on from there."""
    path = crashed(tmp_path)
    before = path.read_bytes()
    done = redline("repair", path)
    assert done.returncode == 0
    assert "- line 8: dropped: the call 't9' of Bash was never answered" in done.stdout
    assert "--write OUT" in done.stdout
    assert ([file.name for file in tmp_path.iterdir()], path.read_bytes()) == (["s.jsonl"], before)


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_the_repaired_session_is_written_elsewhere(tmp_path, strategy):
    """And a provider would take it."""
    out = tmp_path / "out.jsonl"
    done = redline("repair", crashed(tmp_path), "--strategy", strategy, "--write", out)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"written and proven legal: {out}")
    (conversation,) = read_transcript(out)
    assert check([message.native for message in conversation.messages], format="anthropic") == []
    assert redline("repair", out).stdout == f"{out}: nothing to repair\n"


def test_json_lists_the_changes(tmp_path):
    """One object a line, with the place, the tool and the call."""
    done = redline("repair", "--json", "--strategy", "answer", crashed(tmp_path))
    (change,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert {key: change[key] for key in ("action", "line", "call_id")} == {"action": "add", "line": 8, "call_id": "t9"}


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


def test_what_cannot_be_proven_is_exit_code_1_and_not_left_behind(tmp_path):
    """Where the order of the lines contradicts their parents, that is said, and nothing is written."""
    lines = [(2, 1), (0, None), (1, 0), (2, 1)]
    path, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(tree_line(uuid, parent)) + "\n" for uuid, parent in lines))
    done = redline("repair", path, "--write", out)
    assert (done.returncode, "would still be refused" in done.stderr, out.exists()) == (1, True, False)


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
