import json
import subprocess
import sys

import pytest

from tests.cli.sample import write_session
from tests.corpus import CORPUS, corpus_rows, needs_corpus

KEYS = {
    "format", "conversations", "messages", "tool_calls", "tool_results", "unanswered_calls", "orphan_results",
    "branches", "compactions", "tokens", "tools", "problems",
}  # fmt: skip


def redline(*arguments, width=100):
    return subprocess.run(
        [sys.executable, "-m", "redline", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": "", "COLUMNS": str(width), "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def test_json_has_the_promised_keys(tmp_path):
    """Programs get one object with the counts of the file."""
    done = redline("inspect", "--json", write_session(tmp_path / "s.jsonl", is_open=True))
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert (found["format"], found["conversations"], found["messages"]) == ("claude-code", 1, 8)
    assert (found["tool_calls"], found["tool_results"], found["unanswered_calls"]) == (4, 3, 1)
    assert found["tools"]["Bash"] == {"calls": 2, "results": 1, "errors": 1, "tokens": found["tools"]["Bash"]["tokens"]}
    assert found["repeated_reads"][0]["path"] == "/p/a.py"
    assert found["reported_tokens"] == 903
    assert [problem["law"] for problem in found["problems"]] == ["answered_calls"]


def test_page_for_people_fits_the_terminal(tmp_path):
    """The page names what matters, and no line is wider than the terminal."""
    done = redline("inspect", write_session(tmp_path / "s.jsonl"), width=80)
    assert done.returncode == 0
    assert "Files read more than once" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if str(tmp_path) not in line) <= 80


def test_several_files_are_rows(tmp_path):
    """A folder gives a row for each file, and JSON an object a line with its path."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a session")
    table = redline("inspect", tmp_path, width=80).stdout
    assert {"a.jsonl", "b.jsonl", "claude-code"} <= set(table.split())
    assert "orphans" not in table
    assert max(map(len, table.splitlines())) <= 80
    lines = redline("inspect", "--json", tmp_path).stdout.splitlines()
    assert [json.loads(line)["path"] for line in lines] == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b'{"a": [', b"\x00\x01"])
def test_unreadable_file_is_one_line_and_exit_code_2(tmp_path, content):
    """A file that is no session is refused in one sentence that names it."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    done = redline("inspect", path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "x.jsonl" in done.stderr


def test_missing_file(tmp_path):
    """A file that is not there is named."""
    done = redline("inspect", tmp_path / "gone.jsonl")
    assert (done.returncode, "gone.jsonl" in done.stderr) == (2, True)


def test_unreadable_file_does_not_stop_the_others(tmp_path):
    """What can be read is shown; the exit code still tells."""
    write_session(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text("nonsense")
    done = redline("inspect", "--json", tmp_path)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1


@needs_corpus
def test_every_recorded_session_is_inspected():
    """All files of the corpus are read, as the agent that wrote them, with their number of conversations."""
    done = redline("inspect", "--json", *(CORPUS / row["path"] for row in corpus_rows()))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    told = [(one["format"], one["conversations"]) for one in found]
    assert told == [(row["format"], row["n_sessions"]) for row in corpus_rows()]
