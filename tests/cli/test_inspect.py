import json

import pytest

from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.corpus import CORPUS, corpus_rows, needs_corpus

KEYS = {
    "format", "conversations", "messages", "tool_calls", "tool_results", "unanswered_calls", "orphan_results",
    "branches", "compactions", "tokens", "tools", "problems",
}  # fmt: skip


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
    """A folder gives a row for each session, and JSON an object a line with its path."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a session")
    lines = redline("inspect", "--json", tmp_path).stdout.splitlines()
    assert [json.loads(line)["path"] for line in lines] == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]


def write_many(folder):
    """Sessions with long names, of several days and projects."""
    for number in range(3):
        path = write_session(folder / f"{number}-a-session-with-a-very-long-name-{number}.jsonl", is_open=number == 1)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line |= {"timestamp": f"2026-02-0{number + 1}T00:00:01Z", "cwd": f"/home/me/project-{number}"}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rows_tell_sessions_apart(tmp_path, width):
    """As `sessions` lists them, newest first, with totals, within the terminal (R39, R141)."""
    write_many(tmp_path)
    head, _, *rows, _, total, note = redline("inspect", tmp_path, width=width).stdout.splitlines()
    if width >= 80:
        names = ["name", "when", "agent", "project", "first", "words"]
        assert head.split()[:6] == names
        assert [row.split("project-")[1][0] for row in rows] == ["2", "1", "0"]
        assert "fix it" in rows[0]
        assert total.split()[:3] == ["3", "sessions", "24"]
        assert note.startswith("1 with problems")
    assert max(map(len, [head, *rows, total])) <= width


@pytest.mark.parametrize(
    ("order", "first"), [("date", "2"), ("name", "0"), ("project", "0"), ("problems", "1"), ("tokens", "1"), ("messages", "0")]
)
def test_rows_are_sorted_as_asked(tmp_path, order, first):
    """The newest or the largest first; what is equal, by name (R39)."""
    write_many(tmp_path)
    lines = redline("inspect", "--json", tmp_path, "--sort", order).stdout.splitlines()
    assert json.loads(lines[0])["path"].rsplit("/", 1)[1][0] == first


def test_a_good_session_is_shown_beside_a_bad_one(tmp_path):
    """And the bad one is named (R40)."""
    good = write_session(tmp_path / "good.jsonl")
    done = redline("inspect", good, tmp_path / "bad.jsonl")
    assert (done.returncode, "1 session" in done.stdout, "bad.jsonl" in done.stderr) == (2, True, True)


def test_other_json_in_a_folder_is_left_out(tmp_path):
    """A package.json is no broken session."""
    write_session(tmp_path / "s.jsonl")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    done = redline("inspect", tmp_path)
    assert (done.returncode, "1 .json file left out" in done.stderr) == (0, True)


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
    done = redline("inspect", "--json", *(CORPUS / row["path"] for row in corpus_rows()), timeout=600)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    told = {one["path"]: (one["format"], one["conversations"]) for one in found}
    assert told == {str(CORPUS / row["path"]): (row["format"], row["n_sessions"]) for row in corpus_rows()}
