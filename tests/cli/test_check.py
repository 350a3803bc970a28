import json

from tests.cli.run import redline
from tests.cli.sample import write_session


def test_whole_session_is_fine(tmp_path):
    """A session that a provider would take gives exit code 0."""
    done = redline("check", write_session(tmp_path / "s.jsonl"))
    assert (done.returncode, "no problem found" in done.stdout) == (0, True)


def test_open_call_is_named(tmp_path):
    """By its line and by its number, with the way to go on (R39)."""
    path = write_session(tmp_path / "s.jsonl", is_open=True)
    done = redline("check", path)
    assert done.returncode == 1
    problem, advice = done.stdout.splitlines()
    assert problem.startswith(f"{path}: line 8 (message 7): the call 't9' of Bash has no result")
    assert advice == f"To repair it: redline repair {path}"
    found = json.loads(redline("check", "--json", path).stdout)
    assert (found["session"], found["law"], found["line"], found["index"]) == (str(path), "answered_calls", 8, 7)


def test_several_sessions_are_checked(tmp_path):
    """What is wrong is told of each, and how many there were; one that cannot be read is named, and counts most (R39)."""
    write_session(tmp_path / "good.jsonl")
    write_session(tmp_path / "open.jsonl", is_open=True)
    assert redline("check", tmp_path).returncode == 1
    (tmp_path / "bad.jsonl").write_text("hello")
    done = redline("check", tmp_path / "good.jsonl", tmp_path / "bad.jsonl", tmp_path / "open.jsonl")
    assert (done.returncode, done.stderr.count("\n"), "bad.jsonl" in done.stderr) == (2, 1, True)
    problem, summary = done.stdout.splitlines()
    assert problem.startswith(f"{tmp_path / 'open.jsonl'}: line 8 (message 7)")
    assert summary.startswith("2 sessions checked, 1 with problems; `redline repair SESSION`")


def test_what_cannot_be_repaired_in_its_own_format_can_be_exported(tmp_path):
    """The advice is one that works."""
    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {}}
    records = [
        {"type": "session", "id": "s", "cwd": "/p", "timestamp": "2026-02-04T00:00:01Z"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hi"}},
        {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "content": [call]}},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = redline("check", path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        1,
        f"To get messages that a provider takes: redline export {path}",
    )
    (tmp_path / "out.json").write_text(redline("export", path).stdout)
    assert redline("check", tmp_path / "out.json").returncode == 0


def test_a_line_that_cannot_be_read_is_told(tmp_path):
    """It breaks no rule of a provider, since it is not sent."""
    path = write_session(tmp_path / "s.jsonl")
    with path.open("a") as file:
        file.write('{"torn": ')
    done = redline("check", path)
    assert (done.returncode, "line 9, column 10: not JSON" in done.stderr) == (0, True)
