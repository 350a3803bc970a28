import json

import pytest

from redline.cli.formatting import width_of
from tests.cli.chat import places, write_branches, write_chat, write_hostile
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.cli.test_terminal import tricks_in
from tests.corpus import CORPUS, corpus_rows, needs_corpus


def drawn(*arguments):
    done = redline("log", *arguments, width=80)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_branches_are_drawn_beside_the_present_path(tmp_path, kind):
    """A way that was left turns off to the right where it began; strikes, undo, pin and batches are named."""
    lines = drawn(write_branches(places(tmp_path)[kind]))
    turn = lines.index("├─╮")
    assert "13 messages, 1 request (0 to 12)" in lines[turn - 1]
    assert lines[turn - 1].startswith("●")
    beside = [line for line in lines if line.startswith("│ ○")]
    assert any("strike 0 undone" in line for line in beside)
    assert any("message 4 pinned" in line for line in beside)
    assert any("1 struck, 160 tokens fewer" in line for line in beside)
    back = next(number for number, line in enumerate(lines) if "went back to here" in line)
    assert back > turn
    assert not any("│" in line for line in lines[back:])
    assert any("batch from message 5" in line for line in lines[back:])
    assert any("25 messages, shares 13 messages with it; .switch(34)" in line for line in lines)
    assert any(".rollback(0) goes back to it" in line for line in lines)


def test_a_straight_record_is_a_straight_line(tmp_path):
    """Nothing is beside it, and runs of messages are one line."""
    lines = drawn(write_chat(places(tmp_path)["jsonl"]))
    assert all(line.startswith("● ") for line in lines)
    assert len(lines) < 25


def test_every_message_is_shown_if_asked(tmp_path):
    """With its role and its first words."""
    lines = drawn(write_chat(places(tmp_path)["jsonl"]), "--all")
    assert sum(": runs make test" in line for line in lines) == 12
    assert any("user: fix the 请 test 🚀 (0)" in line for line in lines)


def test_json_has_the_tree(tmp_path):
    """Each record with the one that it was made on."""
    found = json.loads(redline("log", write_branches(places(tmp_path)["jsonl"]), "--json").stdout)
    numbers = {row["number"] for row in found["records"]}
    assert {row["parent"] for row in found["records"]} <= numbers | {-1}
    assert [branch["is_current"] for branch in found["branches"]] == [False, True]
    assert [batch["boundary"] for batch in found["batches"]] == [0, 5]


def test_an_agents_session_has_branches_and_sub_agents(tmp_path):
    """As far as its file tells."""
    path = write_session(tmp_path / "s.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    other = {**records[0], "uuid": "b1", "parentUuid": "r0", "message": {"role": "user", "content": "no, stop"}}
    side = {**records[0], "uuid": "s1", "parentUuid": None, "isSidechain": True, "agentId": "a1"}
    path.write_text("".join(json.dumps(line) + "\n" for line in [*records[:3], other, *records[3:], side]))
    text = redline("log", path, width=80).stdout
    assert "├─╮\n│ ○" in text
    assert "1 message off the path" in text


def test_nothing_said_reaches_the_terminal_as_more_than_text(tmp_path):
    """Within the width."""
    lines = drawn(write_hostile(tmp_path / "chat.jsonl"), "--all")
    assert tricks_in("\n".join(lines)) == []
    assert max(map(width_of, lines)) <= 80


@needs_corpus
def test_recorded_sessions_are_drawn():
    """Every recorded Claude Code session of the sample that has branches; each line keeps within the terminal."""
    names = ("edge_cases", "representative_messages", "dag_within_fork", "session_b", "sidechain")
    paths = [CORPUS / row["path"] for row in corpus_rows("claude-code") if row["path"].rsplit("/")[-1][:-6] in names]
    assert paths
    for path in paths:
        done = redline("log", path, "--all", width=80)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert max(map(width_of, done.stdout.splitlines())) <= 80
