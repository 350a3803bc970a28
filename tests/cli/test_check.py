import json

from tests.cli.sample import write_session
from tests.cli.test_inspect import redline


def test_whole_session_is_fine(tmp_path):
    """A session that a provider would take gives exit code 0."""
    done = redline("check", write_session(tmp_path / "s.jsonl"))
    assert (done.returncode, "no problem found" in done.stdout) == (0, True)


def test_open_call_is_named(tmp_path):
    """A session that ends on an open call gives exit code 1 and the place."""
    path = write_session(tmp_path / "s.jsonl", is_open=True)
    done = redline("check", path)
    assert done.returncode == 1
    assert "the call 't9' of Bash has no result behind it" in done.stdout
    assert json.loads(redline("check", "--json", path).stdout)["law"] == "answered_calls"
