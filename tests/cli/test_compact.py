"""`redline compact`: the outline of a session, or a new log that begins with it."""

import redline
from tests.cli.run import redline as run
from tests.cli.sample import write_session
from tests.outlines.history_of import TASK, native


def test_of_an_agents_session_the_outline_is_printed(tmp_path):
    """The file stays as it is; with --output the outline is in a new file, which is never overwritten."""
    session = write_session(tmp_path / "s.jsonl")
    before = session.read_bytes()
    printed = run("compact", session, "--keep-last", 1, "--budget-tokens", 200)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("[Outline of the earlier conversation")
    assert "fix it" in printed.stdout
    assert "make: *** No rule" in printed.stdout
    assert run("compact", session, "--keep-last", 1, "--budget-tokens", 200, "--output", tmp_path / "o.md").returncode == 0
    assert (tmp_path / "o.md").read_text() == printed.stdout
    assert run("compact", session, "--output", tmp_path / "o.md", "--keep-last", 1).returncode == 2
    assert session.read_bytes() == before


def test_with_a_log_it_becomes_a_new_conversation(tmp_path):
    """It names the session, whose places can be read from it."""
    session = write_session(tmp_path / "s.jsonl")
    before, log = session.read_bytes(), tmp_path / "new.jsonl"
    done = run("compact", session, "--keep-last", 1, "--log", log)
    assert done.returncode == 0, done.stderr
    with redline.open(log) as talk:
        assert talk.origin == str(session)
        assert talk.recall("0#0.0") == "fix it"
        assert redline.check(talk.request().messages) == []
    assert session.read_bytes() == before
    assert run("compact", session, "--keep-last", 1, "--log", log).returncode == 2


def test_of_a_redline_log_a_new_log_is_made_beside_it(tmp_path):
    """As `Conversation.compact` makes it; --dry-run only prints."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path, format="anthropic") as talk:
        for message in native("anthropic"):
            talk.add(message)
    before = path.read_bytes()
    dry = run("compact", path, "--dry-run")
    assert dry.returncode == 0
    assert TASK in dry.stdout
    assert list(tmp_path.iterdir()) == [path]
    assert run("compact", path).returncode == 0
    with redline.open(tmp_path / "chat-2.jsonl") as made:
        assert made.recall("0#0.0") == TASK
    assert path.read_bytes() == before


def test_nothing_to_compact_is_said(tmp_path):
    """Exit code 2, in one line."""
    session = write_session(tmp_path / "s.jsonl")
    done = run("compact", session, "--keep-last", 50)
    assert done.returncode == 2
    assert "nothing to compact" in done.stderr
